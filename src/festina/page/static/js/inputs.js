/** Inputs of a single value: a box to tick, chips, a list, a line of text, a slider beside a number, steps. */

import { element } from "./dom.js";
import { inBox, plain, placeOf, readable, SLIDER_STEPS, valueAt } from "./numbers.js";
import { fromText } from "./settings.js";

/*
 * Each gives {main, all, set}: the element that carries descriptions, all elements, and what shows a value. `grouped`
 * says that the main element is a group, which a label cannot point at.
 */

export function tickBox(field, id, changed) {
  const box = element("input", { type: "checkbox", id, onchange: () => changed(box.checked) });
  return { main: box, all: [box], set: (value) => (box.checked = value === true) };
}

export function choice(field, id, changed) {
  const options = field.choices.map((value) => element("option", { value: plain(value) }, plain(value)));
  const find = () => field.choices.find((value) => plain(value) === list.value);
  const list = element("select", { id, onchange: () => changed(find()) }, options);
  return { main: list, all: [list], set: (value) => (list.value = plain(value)) };
}

/** A few choices, all in view; arrow keys go from one to the next. */
export function chipChoice(field, id, changed) {
  const radios = field.choices.map((value) =>
    element("input", { type: "radio", name: id, value: plain(value), onchange: () => changed(value) }),
  );
  const chips = radios.map((radio) =>
    element("label", { class: "chip" }, radio, element("span", {}, worded(radio.value))),
  );
  const group = element("div", { class: "chips", role: "radiogroup", id }, chips);
  const set = (value) => radios.forEach((radio) => (radio.checked = radio.value === plain(value)));
  return { main: group, all: [group], grouped: true, set };
}

/** A choice as it is written on its chip. */
export const worded = (text) => text.replaceAll("_", " ");

export function textLine(field, id, changed) {
  const line = element("input", { type: "text", id, spellcheck: "false", autocomplete: "off" });
  line.addEventListener("change", () => changed(fromText(field, line.value)));
  return { main: line, all: [line], set: (value) => (line.value = plain(value)) };
}

/** A small whole number with a button on either side. */
export function stepper(field, id, changed, complain) {
  const { main, set } = numberInputs(field, id, changed, complain);
  const by = (step) => () => {
    const next = Number(main.value) + step;
    const [low, high] = [field.minimum ?? -Infinity, field.maximum ?? Infinity];
    if (main.value === "" || next < low || next > high) return;
    set(next);
    changed(next);
  };
  const name = field.label || field.name;
  const less = element(
    "button",
    { type: "button", class: "step", "aria-label": `${name}: one less`, onclick: by(-1) },
    "−",
  );
  const more = element(
    "button",
    { type: "button", class: "step", "aria-label": `${name}: one more`, onclick: by(1) },
    "+",
  );
  return { main, all: [less, main, more], set };
}

export function numberInputs(field, id, changed, complain) {
  const box = element("input", { type: "number", id, step: field.type === "integer" ? "1" : "any" });
  const range = field.slider && field.type === "number" ? sliderFor(`${field.label || field.name}, slider`) : null;
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
    box.value = inBox(value);
    announceValue(value);
    changed(value);
  });
  const set = (value) => {
    box.value = inBox(value);
    place(value);
  };
  return { main: box, all: range ? [range, box] : [box], set };
}

/** A slider without a value yet. */
export function sliderFor(label) {
  return element("input", { type: "range", min: "0", max: String(SLIDER_STEPS), step: "1", "aria-label": label });
}
