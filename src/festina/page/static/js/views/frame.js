/**
 * What all views share: a figure with a title, a picture, and a sentence about what is under the pointer or the keys.
 * A kind of view is a plain object of functions that draw; see `createView`.
 */

import { element, fill, freshId, prose } from "../dom.js";
import { createPicture } from "./picture.js";

const NOTHING = {
  simulation: null,
  theory: null,
  beside: [],
  moment: null,
  hidden: new Set(),
  stale: false,
  late: false,
  absent: false,
  lookOf: () => ({ colour: "#7f7f7f", marker: "circle" }),
};

/**
 * A view of a kind, whose functions are
 *   height(width, state)           how tall the picture is; `state.large` says whether it is the first of its page
 *   wide(state)                    whether it needs the width of the page; if it never does, left out
 *   layout(state, size)            what is drawn where, as plain data; null if there is nothing
 *   paint(context, layout, cursor) draws it
 *   find(layout, x, y)             the cursor under the pointer, or null
 *   step(layout, cursor, right, up) the cursor after an arrow key; `cursor` is null at first
 *   runOf(layout, cursor)          the run under the cursor, {experiment, fields}, for `open`; where there is none, null
 *   say(layout, cursor)            what is under the cursor, in words
 *   describe(layout)               what the picture shows, in words with numbers
 *   plotted(layout)                what is drawn, for tests
 * `update(state)` draws a state {simulation, theory, beside, moment, hidden, stale, late, absent, lookOf}: the two scenes,
 * further scenes whose ranges the axes cover too, the chosen time (null: the last), the names of hidden groups, whether the
 * simulation is of other settings (`stale`), whether theory is and has been for a while (`late`), whether a run has nothing to show here (`absent`), and the colour and mark of a
 * group by its name.
 */
export function createView(kind, drawing, { title = "", large = false, open = null } = {}) {
  const state = { ...NOTHING, large };
  let cursor = null;
  let layout = null;
  let laid = { width: 0, height: 0 }; // the size it was laid out for
  const id = freshId("view");
  const caption = element("figcaption", { class: "view-title", id }, prose(title));
  const note = element("p", { class: "view-note" });
  const readout = element("p", { class: "view-readout", "aria-live": "polite" });
  const picture = createPicture({
    height: (width) => drawing.height(width, state),
    paint(context, size) {
      if (size.width !== laid.width || size.height !== laid.height) lay(size);
      if (layout) drawing.paint(context, layout, cursor);
    },
    point(x, y) {
      if (x === null) return document.activeElement === picture.root ? undefined : show(null);
      return layout ? show(drawing.find(layout, x, y)) : undefined;
    },
    move: (right, up) => layout && show(drawing.step(layout, cursor, right, up)),
    choose() {
      const run = layout && cursor !== null ? drawing.runOf?.(layout, cursor) : null;
      if (run) open?.(run);
    },
  });
  picture.root.setAttribute("aria-roledescription", "picture");
  picture.root.setAttribute("aria-labelledby", id);
  const root = element(
    "figure",
    { class: `view ${kind}${large ? " large" : ""}`, "data-kind": kind },
    caption,
    picture.root,
    element("div", { class: "view-words" }, readout, note),
  );

  function lay(size) {
    laid = size;
    layout = (state.simulation ?? state.theory) ? drawing.layout(state, size) : null;
  }

  function show(next) {
    cursor = next;
    readout.textContent = next === null ? "" : drawing.say(layout, next);
    picture.draw();
  }

  function update(news) {
    Object.assign(state, news);
    const scene = state.simulation ?? state.theory;
    root.classList.toggle("empty", !scene);
    if (scene) {
      picture.root.classList.toggle("opens", Boolean(open && scene.opens));
      root.classList.toggle("wide", drawing.wide?.(state) ?? false);
      fill(caption, prose(scene.title || title));
      const words = [scene.note || state.theory?.note, open && scene.opens ? "Click a cell to see its run." : ""];
      fill(note, prose(words.filter(Boolean).join(" ")));
    } else fill(note, state.absent ? "There is nothing to show of it with these settings, or not yet." : "");
    lay(picture.size());
    if (cursor !== null) readout.textContent = layout ? drawing.say(layout, cursor) : "";
    describe();
    picture.draw();
  }

  /** For those who do not see it: what it shows, with its numbers. */
  function describe() {
    const told = layout ? drawing.describe(layout) : "Nothing to show yet.";
    picture.root.setAttribute("aria-label", `${caption.textContent}. ${told} Arrow keys read values.`);
    picture.root.removeAttribute("aria-labelledby");
  }

  describe();
  /** What is drawn at present, as plain data. */
  root.plotted = () => (layout ? { kind, stale: state.stale, late: state.late, ...drawing.plotted(layout) } : null);
  return { root, update, close: picture.close };
}

/** The scenes of a state, the simulation's first, each with where it is from. */
export function scenesOf({ simulation, theory }) {
  return [
    ["simulation", simulation],
    ["theory", theory],
  ].filter(([, scene]) => scene);
}

/** Which parts are of other settings than those of now, and so are pale. */
export const outdatedIn = ({ stale, late }) => ({ simulation: stale, theory: late });

/** All scenes whose numbers the axes cover: those that are drawn, and those beside them. */
export const coveredBy = ({ simulation, theory, beside }) => [simulation, theory, ...beside].filter(Boolean);

/** The name of a part's group; the empty text if it has none. */
export const groupOf = (scene, part) => scene.groups[part.group] ?? "";

/** The place of the last time that is not after a moment; the last of all if there is no moment. */
export function placeAt(times, moment) {
  if (moment === null || times.length === 0) return Math.max(0, times.length - 1);
  const limit = moment + 1e-9 * Math.abs(moment);
  let place = 0;
  while (place + 1 < times.length && times[place + 1] <= limit) place += 1;
  return place;
}

/** The frame of a moment; the only one, if there is one. */
export const frameAt = (frames, times, moment) => frames[Math.min(frames.length - 1, placeAt(times, moment))];
