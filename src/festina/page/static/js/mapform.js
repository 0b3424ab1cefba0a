/** The form of a map: which fields, from where to where, and of which variable. */

import { element, fill } from "./dom.js";
import { plain } from "./numbers.js";
import { colourable, mappable, usualAxis } from "./mapsettings.js";

const SCALES = [
  ["lin", "even steps"],
  ["log", "equal factors"],
];

/** The form. `changed(map)` hears of every change; `show(map)` shows a map. */
export function createMapForm(experiment, changed) {
  const fields = mappable(experiment);
  let map = null;
  const change = (part) => {
    show({ ...map, ...part });
    changed(map);
  };
  const axes = ["x", "y"].map((name) => axisGroup(name, fields, (axis) => change({ [name]: axis })));
  const variable = select(
    "map-variable",
    "variable",
    colourable(experiment).map((one) => [one.name, one.label || one.name]),
    (name) => change({ variable: name, entry: {} }),
  );
  const entries = element("div", { class: "entries" });
  const root = element(
    "form",
    { class: "controls", "aria-label": "Map", onsubmit: (event) => event.preventDefault() },
    axes.map((axis) => axis.root),
    element("fieldset", {}, element("legend", {}, "Colour"), variable.root, entries),
  );

  function show(next) {
    map = next;
    axes.forEach((axis) => axis.set(map[axis.name], map[axis.name === "x" ? "y" : "x"].field));
    variable.set(map.variable);
    const { dims = [] } = colourable(experiment).find((one) => one.name === map.variable);
    fill(
      entries,
      dims.map((dim) => entryInput(dim, map.entry, (entry) => change({ entry }))),
    );
  }

  return { root, show };
}

function axisGroup(name, fields, changed) {
  let axis = null;
  const change = (part) => changed({ ...axis, ...part });
  const names = fields.map((field) => [field.name, field.label || field.name]);
  const field = select(`map-${name}`, "field", names, (chosen) =>
    changed(usualAxis(fields.find((one) => one.name === chosen))),
  );
  const from = numberBox(`map-${name}-from`, "from", (value) => change({ from: value }));
  const to = numberBox(`map-${name}-to`, "to", (value) => change({ to: value }));
  const scale = select(`map-${name}-scale`, "in", SCALES, (value) => change({ scale: value }));
  const legend = name === "x" ? "Across" : "Up";
  const root = element(
    "fieldset",
    {},
    element("legend", {}, legend),
    field.root,
    element("div", { class: "pair" }, from.root, to.root),
    scale.root,
  );

  /** Show an axis; the other axis's field cannot be chosen. */
  function set(next, other) {
    axis = next;
    field.set(next.field, other);
    from.set(next.from);
    to.set(next.to);
    scale.set(next.scale);
  }

  return { name, root, set };
}

function labelled(id, label, input) {
  return element(
    "div",
    { class: "control" },
    element("label", { for: id }, label),
    element("div", { class: "inputs" }, input),
  );
}

function select(id, label, options, changed) {
  const list = element(
    "select",
    { id, onchange: () => changed(list.value) },
    options.map(([value, text]) => element("option", { value }, text)),
  );
  const set = (value, barred = null) => {
    list.value = value;
    for (const option of list.options) option.disabled = option.value === barred;
  };
  return { root: labelled(id, label, list), set };
}

function numberBox(id, label, changed) {
  const box = element("input", { type: "number", id, step: "any" });
  box.addEventListener("change", () => box.value !== "" && changed(Number(box.value)));
  return { root: labelled(id, label, box), set: (value) => (box.value = plain(value)) };
}

function entryInput(dim, entry, changed) {
  const id = `map-entry-${dim}`;
  const box = element("input", { type: "number", id, min: "0", step: "1", placeholder: "mean of all" });
  box.value = dim in entry ? String(entry[dim]) : "";
  box.addEventListener("change", () => {
    const { [dim]: before, ...others } = entry;
    changed(box.value === "" ? others : { ...others, [dim]: Number(box.value) });
  });
  return labelled(id, `${dim.replaceAll("_", " ")}, number`, box);
}
