/** One control for each field: its name, its input, what it means, and what is wrong with its value. */

import { chipChoice, choice, numberInputs, stepper, textLine, tickBox } from "./inputs.js";
import { element, fill, freshId, prose } from "./dom.js";
import { severalChoices, severalValues } from "./severalvalues.js";

const FEW_CHOICES = 5;
const FEW_NUMBERS = 24; // whole numbers that are quicker stepped through than typed

/**
 * The control of a field. `changed(value)` hears of every new value; `set(value)` shows one, `complain(message)` shows
 * what is wrong with it, and nothing if the message is empty.
 */
export function createControl(field, changed) {
  const id = freshId(`field-${field.name}`);
  const help = element("p", { class: "help", id: `${id}-help` }, prose(field.help));
  const error = element("p", { class: "field-error", id: `${id}-error`, role: "alert" });
  const heard = (value) => {
    complain("");
    changed(value);
  };
  const inputs = inputsFor(field)(field, id, heard, complain);
  inputs.main.setAttribute("aria-describedby", `${id}-help ${id}-error`);
  const name = [field.label || field.name, field.unit ? element("span", { class: "unit" }, ` (${field.unit})`) : null];
  const label = inputs.grouped
    ? element("span", { class: "label", id: `${id}-label` }, name)
    : element("label", { for: id }, name);
  if (inputs.grouped) inputs.main.setAttribute("aria-labelledby", `${id}-label`);
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
    if (message) inputs.main.setAttribute("aria-invalid", "true");
    else inputs.main.removeAttribute("aria-invalid");
  }

  return { root, complain, set: inputs.set, focus: () => inputs.main.focus() };
}

/** The inputs that suit a field: chips for what is few, a slider for what is continuous, a line of text for the rest. */
function inputsFor(field) {
  if (field.values?.type === "choice") return severalChoices;
  if (field.values && field.values.type !== "text") return severalValues;
  if (field.type === "boolean") return tickBox;
  if (field.type === "choice") return field.choices.length <= FEW_CHOICES ? chipChoice : choice;
  if (field.type === "integer" && isSmall(field)) return stepper;
  if (field.type === "number" || field.type === "integer") return numberInputs;
  return textLine;
}

function isSmall({ minimum, maximum, slider }) {
  const [low, high] = [minimum ?? slider?.from, maximum ?? slider?.to];
  return typeof low === "number" && typeof high === "number" && high - low <= FEW_NUMBERS;
}
