/** The pictures of an experiment: the first one large, all with one legend and one time, and a copy to compare with. */

import { element, fill } from "./dom.js";
import { familiesOf, looksOf, renamed } from "./groups.js";
import { createTimeline, timesOf } from "./timeline.js";
import { createViewLegend } from "./viewlegend.js";
import * as bars from "./views/bars.js";
import * as curves from "./views/curves.js";
import * as graph from "./views/graph.js";
import * as heat from "./views/heat.js";
import * as plane from "./views/plane.js";
import * as raster from "./views/raster.js";

const KINDS = { bars, curves, graph, heat, plane, raster };
const EMPTY = { simulation: [], theory: [] };

/**
 * Pictures for the views that an experiment declares. `update({simulation, theory, stale, late, streaming})` draws lists of
 * scenes, one for each view or null; `pin()` keeps what is drawn beside what comes, `unpin()` takes it away, and
 * `caption(now, kept)` says how the two differ. With `only`, the number of a view, it is the only one; `word` says what
 * dots are, and `open({experiment, fields})` hears of a cell that was clicked.
 */
export function createViews(declared, { unpinned = () => undefined, only = null, word = "simulation", open = null } = {}) {
  const state = { live: EMPTY, kept: null, stale: false, late: false, streaming: false, hidden: new Set() };
  const known = declared
    .map((view, number) => ({ ...view, number }))
    .filter((view) => view.kind in KINDS && (only ?? view.number) === view.number);
  const legend = createViewLegend(toggle, word);
  const timeline = createTimeline(draw);
  const live = createColumn("Now", known, { open, toggle });
  let kept = null; // a column beside it
  const columns = element("div", { class: "view-columns" }, live.root);
  const root = element("section", { class: "views", "aria-label": "Pictures" }, legend.root, columns, timeline.root);

  function update({ simulation, theory, stale, late = false, streaming = false }) {
    const live = { simulation: simulation ?? [], theory: theory ?? [] };
    for (const source of ["theory", "simulation"]) live[source].forEach((scene, k) => follow(state.live[source][k], scene));
    state.live = live;
    Object.assign(state, { stale, late, streaming });
    draw();
  }

  /** What is hidden stays so when the value in its name moves; the old name counts until nothing has it any more. */
  function follow(before, after) {
    if (!before || !after || before === after) return;
    for (const [old, name] of renamed(before.groups, after.groups)) if (state.hidden.has(old)) state.hidden.add(name);
  }

  /** Forget hidden names that no picture has. */
  function forget(families) {
    const known = new Set(families.flat());
    for (const name of state.hidden) if (!known.has(name)) state.hidden.delete(name);
  }

  function draw() {
    const { families, lookOf } = looks();
    const scenes = [state.live, ...(state.kept ? [state.kept] : [])].flatMap(scenesIn);
    timeline.show(timesOf(scenes), scenes[0]?.time_label || "time", newest());
    if (!state.stale && state.live.simulation.some(Boolean)) forget(families);
    const owned = (number) => families.filter((family) => ownerOf(family) === number);
    const shared = { moment: timeline.moment(), hidden: state.hidden, lookOf, owned };
    live.draw(state.live, state.kept ?? EMPTY, { ...shared, stale: state.stale, late: state.late });
    kept?.draw(state.kept, state.live, { ...shared, stale: false, late: false });
    const has = (source) => scenes.length > 0 && [state.live, state.kept].some((one) => one?.[source].some(Boolean));
    legend.show(owned(null), state.hidden, { simulation: has("simulation"), theory: has("theory"), late: state.late }, lookOf);
  }

  /** The only picture that has a family of names, which then stand with it; null for those of the first, or of several. */
  function ownerOf(family) {
    const of = ({ simulation, theory }, number) => [simulation[number], theory[number]].filter(Boolean);
    const having = known.filter(({ number }) =>
      [...of(state.live, number), ...of(state.kept ?? EMPTY, number)].some(({ groups }) =>
        groups.some((name) => family.includes(name)),
      ),
    );
    return having.length === 1 && having[0] !== known[0] ? having[0].number : null;
  }

  /** What is drawn of all pictures, theory's first. */
  function scenesIn(answer) {
    return ["theory", "simulation"].flatMap((source) => known.map(({ number }) => answer[source][number])).filter(Boolean);
  }

  /** How far a run has come, while it streams. */
  function newest() {
    if (!state.streaming || state.stale) return null;
    return timesOf(state.live.simulation.filter(Boolean)).at(-1) ?? null;
  }

  /** Colours by name. A simulation that is out of date does not count where theory knows the groups of now. */
  function looks() {
    const pairs = known.map(({ number }) => [state.live.simulation[number], state.live.theory[number]]);
    const outdated = pairs.filter(([simulation, theory]) => state.stale && simulation && theory);
    const current = pairs.flatMap(([simulation, theory]) => (simulation && !(state.stale && theory) ? [simulation] : []));
    const predicted = pairs.flatMap(([, theory]) => (theory ? [theory] : []));
    const families = familiesOf([...predicted, ...current, ...(state.kept ? scenesIn(state.kept) : [])]);
    return { families, lookOf: looksOf(families, outdated) };
  }

  function toggle(name) {
    if (!state.hidden.delete(name)) state.hidden.add(name);
    draw();
  }

  function pin() {
    state.kept = state.live;
    if (!kept) {
      kept = createColumn("Pinned", known, { open, toggle }, element("button", { type: "button", onclick: unpin }, "Unpin"));
      columns.append(kept.root);
      columns.classList.add("compared");
    }
    draw();
  }

  function unpin() {
    state.kept = null;
    kept?.close();
    kept?.root.remove();
    kept = null;
    columns.classList.remove("compared");
    draw();
    unpinned();
  }

  function caption(now, then) {
    live.caption(now);
    kept?.caption(then);
  }

  document.addEventListener("themechange", draw);

  function close() {
    document.removeEventListener("themechange", draw);
    timeline.close();
    legend.close();
    live.close();
    kept?.close();
  }

  return { root, update, pin, unpin, caption, close, count: known.length };
}

/** Whether the first picture has room for another at its side: it is square, or one of two. */
const isBeside = (known) =>
  known.length === 2 || (known.length > 2 && ["plane", "heat", "raster"].includes(known[0].kind));

/** One column of pictures: those of now, or those that were kept. */
function createColumn(title, known, { open, toggle }, ...buttons) {
  const words = element("span", { class: "differing" });
  const views = known.map(({ kind, title: name, number }, place) => {
    const view = KINDS[kind].create({ title: name, large: place === 0, open });
    const legend = createViewLegend(toggle);
    view.root.firstChild.after(legend.root);
    return { number, legend, ...view };
  });
  const root = element(
    "div",
    { class: "view-column" },
    element("div", { class: "column-head" }, element("strong", {}, title), " ", words, buttons),
    element(
      "div",
      { class: isBeside(known) ? "view-grid beside" : "view-grid" },
      views.map((view) => view.root),
    ),
  );

  function draw(mine, others, { owned, ...shared }) {
    for (const { number, legend, update } of views) {
      legend.show(owned(number), shared.hidden, {}, shared.lookOf);
      const beside = [others.simulation[number], others.theory[number]].filter(Boolean);
      const [simulation, theory] = [mine.simulation[number] ?? null, mine.theory[number] ?? null];
      update({ simulation, theory, beside, absent: mine.simulation.length > 0 && !simulation && !theory, ...shared });
    }
  }

  return {
    root,
    draw,
    caption: (text) => fill(words, text),
    close: () => views.forEach((view) => [view, view.legend].forEach((one) => one.close())),
  };
}
