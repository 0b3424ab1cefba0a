/** One control for each field: a slider beside a number, a box to tick, a choice, or a line of text. */

import { element, fill, freshId, prose } from "./dom.js";
import { plain, placeOf, readable, SLIDER_STEPS, valueAt } from "./numbers.js";
import { fromText } from "./settings.js";

/**
 * The control of a field. `changed(value)` hears of every new value; `set(value)` shows one, `complain(message)` shows
 * what is wrong with it, and nothing if the message is empty.
 */
export function createControl(field, changed) {
  const id = freshId(`field-${field.name}`);
  const help = element("p", { class: "help", id: `${id}-help` }, prose(field.help));
  const error = element("p", { class: "field-error", id: `${id}-error`, role: "alert" });
  const inputs = buildInputs(
    field,
    id,
    (value) => {
      complain("");
      changed(value);
    },
    complain,
  );
  inputs.main.setAttribute("aria-describedby", `${id}-help ${id}-error`);
  const label = element(
    "label",
    { for: id },
    field.label || field.name,
    field.unit ? element("span", { class: "unit" }, ` (${field.unit})`) : null,
  );
  const root = element(
    "div",
    { class: `control ${field.type}`, "data-field": field.name },
    label,
    element("div", { class: "inputs" }, inputs.all),
    help,
    error,
  );

  function complain(message) {
    fill(error, prose(message));
    inputs.main.toggleAttribute("aria-invalid", Boolean(message));
    if (message) inputs.main.setAttribute("aria-invalid", "true");
  }

  return { root, complain, set: inputs.set, focus: () => inputs.main.focus() };
}

function buildInputs(field, id, changed, complain) {
  if (field.type === "boolean") return tickBox(id, changed);
  if (field.type === "choice") return choice(field, id, changed);
  if (field.type === "number" || field.type === "integer") return numberInputs(field, id, changed, complain);
  return textLine(field, id, changed);
}

function tickBox(id, changed) {
  const box = element("input", { type: "checkbox", id, onchange: () => changed(box.checked) });
  return { main: box, all: [box], set: (value) => (box.checked = value === true) };
}

function choice(field, id, changed) {
  const options = field.choices.map((value) => element("option", { value: plain(value) }, plain(value)));
  const find = () => field.choices.find((value) => plain(value) === list.value);
  const list = element("select", { id, onchange: () => changed(find()) }, options);
  return { main: list, all: [list], set: (value) => (list.value = plain(value)) };
}

function textLine(field, id, changed) {
  const line = element("input", { type: "text", id, spellcheck: "false", autocomplete: "off" });
  line.addEventListener("change", () => changed(fromText(field, line.value)));
  return { main: line, all: [line], set: (value) => (line.value = plain(value)) };
}

function numberInputs(field, id, changed, complain) {
  const box = element("input", { type: "number", id, step: field.type === "integer" ? "1" : "any" });
  const range = field.slider && field.type === "number" ? sliderFor(field) : null;
  const announceValue = (value) =>
    range?.setAttribute("aria-valuetext", `${readable(value, 3)}${field.unit ? ` ${field.unit}` : ""}`);
  const place = (value) => {
    if (!range || typeof value !== "number") return;
    range.value = String(placeOf(field.slider, value));
    announceValue(value);
  };
  box.addEventListener("change", () => {
    if (box.value === "")
      return complain(`\`${field.name}\` must be ${field.type === "integer" ? "a whole number" : "a number"}.`);
    place(Number(box.value));
    return changed(Number(box.value));
  });
  range?.addEventListener("input", () => {
    const value = valueAt(field.slider, Number(range.value));
    box.value = String(value);
    announceValue(value);
    changed(value);
  });
  const set = (value) => {
    box.value = plain(value);
    place(value);
  };
  return { main: box, all: range ? [range, box] : [box], set };
}

function sliderFor(field) {
  return element("input", {
    type: "range",
    min: "0",
    max: String(SLIDER_STEPS),
    step: "1",
    "aria-label": `${field.label || field.name}, slider`,
  });
}
