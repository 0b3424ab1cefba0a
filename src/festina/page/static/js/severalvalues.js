/** Inputs of several values: one chip for each, the chosen one moved by a slider. A field's value is a text with commas. */

import { element, fill } from "./dom.js";
import { sliderFor, worded } from "./inputs.js";
import { between, inBox, plain, placeOf, readable, rounded, valueAt } from "./numbers.js";

const BEYOND = 0.2; // of the slider, where a new value has no neighbour

/** The values in a text with commas; what is no number stays a text, for the server to judge. */
export function listOf(text) {
  return plain(text)
    .split(",")
    .map((part) => part.trim())
    .filter(Boolean)
    .map((part) => (Number.isFinite(Number(part)) ? Number(part) : part));
}

/** Any of a few choices: a box for each; the last one cannot be taken away. */
export function severalChoices(field, id, changed) {
  const boxes = field.values.choices.map((value) =>
    element("input", {
      type: "checkbox",
      value: plain(value),
      onchange: () => take(boxes.find((one) => one.value === plain(value))),
    }),
  );
  const chips = boxes.map((box) => element("label", { class: "chip" }, box, element("span", {}, worded(box.value))));
  const group = element("div", { class: "chips", role: "group", id }, chips);

  function take(box) {
    const chosen = boxes.filter((one) => one.checked).map((one) => one.value);
    if (chosen.length) changed(chosen.join(","));
    else box.checked = true;
  }

  const set = (text) => {
    const chosen = listOf(text).map(plain);
    for (const box of boxes) box.checked = chosen.includes(box.value);
  };
  return { main: group, all: [group], grouped: true, set };
}

/** Several numbers. */
export function severalValues(field, id, changed) {
  const { slider, type, most = 12 } = field.values;
  const name = field.label || field.name;
  const state = { list: [], chosen: 0 };
  const chips = element("ul", { class: "chips" });
  const range = slider ? sliderFor(`${name}, slider`) : null;
  const box = element("input", {
    type: "text",
    inputmode: "decimal",
    class: "one-value",
    spellcheck: "false",
    autocomplete: "off",
  });
  const add = element(
    "button",
    { type: "button", class: "step", "aria-label": `${name}: add a value`, onclick: insert },
    "+",
  );
  const which = element("span", { class: "which" });
  const group = element(
    "div",
    { class: "several", role: "group", id },
    chips,
    element("div", { class: "moving" }, which, range, box),
  );
  range?.addEventListener("input", () => {
    const value = valueAt(slider, Number(range.value));
    replace(type === "integer" ? Math.round(value) : value);
  });
  box.addEventListener("change", () => {
    const [value, ...more] = listOf(box.value);
    if (value === undefined) return show();
    state.list.splice(state.chosen, 1, value, ...more);
    return tell();
  });

  function set(text) {
    state.list = listOf(text);
    state.chosen = Math.min(state.chosen, Math.max(0, state.list.length - 1));
    show();
  }

  function replace(value) {
    if (state.list[state.chosen] === value) return;
    state.list[state.chosen] = value;
    tell();
  }

  function insert() {
    const value = newValue(state.list, state.chosen, field.values);
    if (value === null) return;
    state.list.splice(state.chosen + 1, 0, value);
    state.chosen += 1;
    tell();
  }

  function remove(place) {
    if (state.list.length < 2) return;
    state.list.splice(place, 1);
    state.chosen = Math.min(place, state.list.length - 1);
    tell();
    chips.querySelectorAll(".chip-value")[state.chosen]?.focus();
  }

  function tell() {
    show();
    changed(state.list.map(plain).join(","));
  }

  function show() {
    const focus = chips.contains(document.activeElement) ? document.activeElement : null;
    fill(chips, state.list.map(chip), element("li", {}, add));
    if (focus === add) add.focus();
    else if (focus) chips.querySelectorAll(".chip-value")[state.chosen]?.focus();
    add.disabled = state.list.length >= most;
    const value = state.list[state.chosen];
    const words = `${name} ${readable(value, 3)}`;
    fill(which, `value ${state.chosen + 1} of ${state.list.length}`);
    box.value = inBox(value ?? "");
    box.setAttribute("aria-label", `${words}, chosen value`);
    if (!range) return;
    range.setAttribute("aria-label", `${words}, slider`);
    range.setAttribute("aria-valuetext", readable(value, 3));
    range.value = String(typeof value === "number" ? placeOf(slider, value) : range.max);
  }

  function chip(value, place) {
    const text = typeof value === "number" ? readable(value, 4) : value === "inf" ? "∞" : String(value);
    const choose = () => {
      state.chosen = place;
      show();
    };
    const pressed = String(place === state.chosen);
    return element(
      "li",
      { class: "chip removable", "data-value": plain(value) },
      element(
        "button",
        {
          type: "button",
          class: "chip-value",
          "aria-pressed": pressed,
          "aria-label": `${name} ${text}`,
          onclick: choose,
        },
        text,
      ),
      state.list.length > 1
        ? element(
            "button",
            {
              type: "button",
              class: "chip-remove",
              "aria-label": `Remove ${name} ${text}`,
              onclick: () => remove(place),
            },
            "×",
          )
        : null,
    );
  }

  return { main: group, all: [group], grouped: true, set };
}

/** A value between the chosen one and the next, or beyond the last; null if there is no room for another. */
export function newValue(list, chosen, { slider, type, minimum, maximum }) {
  const [here, next] = [list[chosen], list[chosen + 1]];
  const scale = slider?.scale === "log" && here > 0 && !(next <= 0) ? "log" : "lin";
  const fits = (value) =>
    !list.includes(value) &&
    !(value < (minimum ?? -Infinity)) &&
    !(value > (maximum ?? Infinity)) &&
    Number.isFinite(value);
  const shaped = (value) => (type === "integer" ? Math.round(value) : rounded(value));
  const from = typeof here === "number" ? here : (slider?.from ?? 0);
  const to = typeof next === "number" ? next : beyond(list, chosen, slider, scale, from);
  const share = typeof next === "number" ? 0.5 : 1;
  const wanted = shaped(between(from, to, share, scale));
  if (fits(wanted)) return wanted;
  if (type !== "integer") return [0.25, 0.75].map((part) => shaped(between(from, to, part, scale))).find(fits) ?? null;
  for (let step = 1; step < 100; step += 1) {
    const found = [wanted + step, wanted - step].find(fits);
    if (found !== undefined) return found;
  }
  return null;
}

/** Where a value after the last one goes: as far as the last step, or else a part of the slider further. */
function beyond(list, chosen, slider, scale, from) {
  const before = list[chosen - 1];
  if (typeof before === "number" && before !== from)
    return scale === "log" && before > 0 ? (from * from) / before : 2 * from - before;
  if (!slider) return from + 1;
  const place = placeOf(slider, from);
  const further = place + BEYOND * 1000;
  return valueAt(slider, further <= 1000 ? further : place - BEYOND * 1000);
}
