/** A sweep as a map: two of its axes, a variable where runs end, and a slider for each further axis. */

import { sliceOwn } from "./api.js";
import { experimentAddress } from "./address.js";
import { element, fill, freshId } from "./dom.js";
import { createHeatmap } from "./heatmap.js";
import { plain } from "./numbers.js";

/** The page of a sweep; `close()` ends it. */
export function createSweep(sweep, back, item) {
  const [first, second] = sweep.axes.map((axis) => axis.name);
  const state = { variable: sweep.variables[0]?.name, x: first, y: second ?? null, at: {} };
  const readout = element("p", { class: "readout", "aria-live": "polite" });
  const trouble = element("p", { class: "trouble", role: "alert", hidden: true });
  const heatmap = createHeatmap({ open, tell: (text) => fill(readout, text) });
  const others = element("div", { class: "control-grid" });
  const axisOf = (name) => sweep.axes.find((axis) => axis.name === name);
  const names = sweep.axes.map((axis) => axis.name);
  const form = element(
    "form",
    { class: "controls", "aria-label": "Slice", onsubmit: (event) => event.preventDefault() },
    choice(
      "variable",
      sweep.variables.map(({ name, label }) => [name, label]),
      (name) => change({ variable: name }),
    ),
    choice("across", pairs(names), (name) => change({ x: name, y: name === state.y ? state.x : state.y })),
    second
      ? choice("up", pairs(names), (name) => change({ y: name, x: name === state.x ? state.y : state.x }), second)
      : null,
    others,
  );
  const root = element(
    "article",
    { class: "experiment map-page" },
    element("p", { class: "kicker" }, `${sweep.experiment} · sweep · ${Math.round(100 * sweep.done)} % done`),
    element("h1", { tabindex: "-1" }, sweep.name),
    element("p", { class: "links" }, back),
    element(
      "div",
      { class: "workbench" },
      form,
      element("div", { class: "results" }, trouble, heatmap.root, readout),
    ),
  );

  function change(news) {
    Object.assign(state, news);
    showOthers();
    show();
  }

  /** A slider for each axis that is neither across nor up. */
  function showOthers() {
    const left = sweep.axes.filter((axis) => axis.name !== state.x && axis.name !== state.y);
    fill(
      others,
      left.map((axis) => indexSlider(axis, state.at[axis.name] ?? 0, (index) => change({ at: { ...state.at, [axis.name]: index } }))),
    );
  }

  async function show() {
    const own = { ...state };
    try {
      const cells = await sliceOwn(item, own);
      if (own.variable !== state.variable || own.x !== state.x || own.y !== state.y) return;
      const label = sweep.variables.find(({ name }) => name === own.variable)?.label ?? own.variable;
      const labels = { x: own.x, y: own.y ?? "", value: label };
      const numbered = (values) => (values.every((value) => typeof value === "number") ? values : values.map((_, k) => k));
      const [x, y] = [numbered(cells.x), numbered(cells.y)];
      heatmap.update({ level: 0, x, y, values: cells.values }, { x: endsOf(x), y: endsOf(y) }, labels);
      heatmap.describe(`Map of ${label} over ${own.x}${own.y ? ` and ${own.y}` : ""}`);
      trouble.hidden = true;
    } catch (error) {
      fill(trouble, error.message);
      trouble.hidden = false;
    }
  }

  /** A cell is a run: its experiment opens with its settings. */
  function open(x, y) {
    const at = Object.fromEntries(
      sweep.axes
        .filter(({ name }) => name !== state.x && name !== state.y)
        .map(({ name, values }) => [name, plain(values[state.at[name] ?? 0])]),
    );
    const up = state.y ? { [state.y]: plain(y) } : {};
    location.hash = experimentAddress(sweep.experiment, { budget: "quick", [state.x]: plain(x), ...up, ...at });
  }

  if (axisOf(first)) change({});
  return { root, close: heatmap.close };
}

const pairs = (names) => names.map((name) => [name, name.replaceAll("_", " ")]);

/** The ends of an axis, by equal factors where its values are spaced so. */
function endsOf(values) {
  const [from, to, middle] = [values[0], values.at(-1), values[Math.floor(values.length / 2)]];
  const scale = from > 0 && to > 0 && values.length > 2 && middle < (from + to) / 4 ? "log" : "lin";
  return { from, to, scale };
}

function choice(label, options, choose, chosen = options[0]?.[0]) {
  const id = freshId(label);
  const list = element(
    "select",
    { id, onchange: () => choose(list.value) },
    options.map(([value, text]) => element("option", { value, selected: value === chosen }, text)),
  );
  return element("div", { class: "control" }, element("label", { for: id }, label), element("div", { class: "inputs" }, list));
}

function indexSlider(axis, index, choose) {
  const id = freshId(axis.name);
  const said = element("output", { for: id }, plain(axis.values[index]));
  const range = element("input", {
    type: "range",
    id,
    min: "0",
    max: String(axis.values.length - 1),
    value: String(index),
    onchange: () => choose(Number(range.value)),
    oninput: () => fill(said, plain(axis.values[Number(range.value)])),
  });
  return element(
    "div",
    { class: "control" },
    element("label", { for: id }, axis.name.replaceAll("_", " ")),
    element("div", { class: "inputs" }, range, said),
  );
}
