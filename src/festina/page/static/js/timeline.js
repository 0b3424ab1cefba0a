/** Time, for all pictures of a page at once: a slider that follows a run, and a button that plays. */

import { element, fill, freshId, prose } from "./dom.js";
import { readable } from "./numbers.js";

const PLAYING = 6000; // milliseconds from the first time to the last
const STEPS_IF_STILL = 12; // for readers who want little motion: few steps instead of a film
const calm = matchMedia("(prefers-reduced-motion: reduce)");

/** Whether a scene changes with time. */
export function moves(scene) {
  if (!scene || scene.times.length < 2) return false;
  const several = (list, key) => (list ?? []).some((part) => part[key].length > 1);
  return (
    (scene.lines ?? []).some((one) => Array.isArray(one.y[0])) ||
    several(scene.panels, "frames") ||
    several(scene.paths, "x") ||
    several(scene.clouds, "frames") ||
    several(scene.edges, "values") ||
    several(scene.bars, "frames")
  );
}

/** The times a slider goes through: those of the scene that lasts longest; none if nothing moves. */
export function timesOf(scenes) {
  const lasting = scenes.filter(moves).map((scene) => scene.times);
  const before = (a, b) => a.at(-1) < b.at(-1) || (a.at(-1) === b.at(-1) && a.length < b.length);
  return lasting.reduce((longest, times) => (before(longest, times) ? times : longest), lasting[0] ?? []);
}

/**
 * The slider. `show(times, label, newest)` says through which times it goes and, while a run streams, how far that is;
 * `moment()` is the chosen time, null for the end; `changed()` is called when it is another.
 */
export function createTimeline(changed) {
  const state = { times: [], label: "time", newest: null, following: true, place: 0, timer: null };
  const id = freshId("timeline");
  const play = element("button", { type: "button", class: "play", onclick: () => (state.timer ? pause() : begin()) });
  const slider = element("input", {
    type: "range",
    id,
    min: "0",
    step: "1",
    oninput: () => drag(Number(slider.value)),
  });
  const said = element("output", { for: id, class: "moment" });
  const name = element("label", { for: id, class: "unseen" }, "time");
  const root = element("div", { class: "timeline", hidden: true }, play, name, slider, said);
  slider.addEventListener("keydown", (event) => {
    if (event.key !== " ") return;
    event.preventDefault();
    play.click();
  });

  function show(times, label, newest) {
    Object.assign(state, { times, label, newest });
    root.hidden = times.length < 2;
    if (root.hidden) return pause();
    slider.max = String(times.length - 1);
    if (state.following) state.place = newest === null ? times.length - 1 : placeOf(times, newest);
    state.place = Math.min(state.place, times.length - 1);
    return write();
  }

  /** By hand: at the end it follows again. */
  function drag(place) {
    pause();
    settle(place);
  }

  function settle(place) {
    state.place = place;
    state.following = place >= state.times.length - 1;
    write();
    changed();
  }

  function begin() {
    const last = state.times.length - 1;
    if (state.place >= last) settle(0);
    const [from, began] = [state.place, performance.now()];
    const pace = calm.matches ? PLAYING / STEPS_IF_STILL : 1000 / 30;
    state.timer = setInterval(() => {
      const gone = ((performance.now() - began) / PLAYING) * last;
      const place = Math.min(last, Math.round(from + gone));
      if (place !== state.place) settle(place);
      if (place >= last) pause();
    }, pace);
    write();
  }

  function pause() {
    clearInterval(state.timer);
    state.timer = null;
    write();
  }

  function write() {
    slider.value = String(state.place);
    const words = `${state.label} ${readable(state.times[state.place] ?? null, 3)}`;
    fill(said, prose(words));
    slider.setAttribute("aria-valuetext", words);
    play.textContent = state.timer ? "❚❚" : "▶";
    play.setAttribute("aria-label", state.timer ? "Pause" : "Play");
  }

  function moment() {
    if (root.hidden) return null;
    if (state.following) return state.newest;
    return state.times[state.place];
  }

  write();
  return { root, show, moment, close: pause };
}

/** The place of the last of growing times that is not after a moment. */
function placeOf(times, moment) {
  const after = times.findIndex((time) => time > moment * (1 + 1e-9));
  return after < 0 ? times.length - 1 : Math.max(0, after - 1);
}
