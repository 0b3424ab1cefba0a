/**
 * What is asked of an experiment: a budget, a number of seeds, and the fields that differ from the budget's own.
 * Settings are plain objects {budget, seeds, fields} that are never changed, only replaced.
 */

import { plain } from "./numbers.js";

/** The value a field has at a budget if nobody says otherwise. */
export function usual(field, budget) {
  return budget === "quick" && field.quick !== null && field.quick !== undefined ? field.quick : field.default;
}

/** The value of a field in some settings. */
export function valueOf(field, settings) {
  return field.name in settings.fields ? settings.fields[field.name] : usual(field, settings.budget);
}

/** Settings of a preset. */
export function presetSettings(experiment, preset) {
  return { budget: preset.budget, seeds: experiment.seeds[preset.budget], fields: { ...preset.fields } };
}

/** The usual settings of a budget. */
export function budgetSettings(experiment, budget) {
  return { budget, seeds: experiment.seeds[budget], fields: {} };
}

/** The same settings with another value of a field; the usual value is not written down. */
export function withField(field, value, settings) {
  const fields = { ...settings.fields, [field.name]: value };
  if (plain(value) === plain(usual(field, settings.budget))) delete fields[field.name];
  return { ...settings, fields };
}

/** Settings from the parameters of an address. Bad values are kept as text: the server says what is wrong with them. */
export function settingsFrom(experiment, parameters) {
  const budget = parameters.get("budget") === "full" ? "full" : "quick";
  const known = new Map(experiment.fields.map((field) => [field.name, field]));
  const fields = {};
  for (const [name, text] of parameters) if (known.has(name)) fields[name] = fromText(known.get(name), text);
  const seeds = parameters.has("seeds") ? number(parameters.get("seeds")) : experiment.seeds[budget];
  return { budget, seeds, fields };
}

/** Settings as parameters of an address. */
export function parametersOf(experiment, settings) {
  const fields = experiment.fields.filter((field) => field.name in settings.fields);
  return {
    budget: settings.budget,
    seeds: settings.seeds,
    ...Object.fromEntries(fields.map((field) => [field.name, plain(settings.fields[field.name])])),
  };
}

/** Whether a field has an effect in some settings: each field it depends on must have one of the values named. */
export function hasEffect(experiment, field, settings) {
  return Object.entries(field.matters ?? {}).every(([name, allowed]) => {
    const other = experiment.fields.find((one) => one.name === name);
    if (!other) return true;
    const values = plain(valueOf(other, settings)).split(",");
    return allowed.some((value) => values.includes(plain(value)) || plain(value) === plain(valueOf(other, settings)));
  });
}

/** In what settings differ from others, in words; the budget and the seeds too. */
export function differing(experiment, settings, others) {
  const words = experiment.fields
    .filter((field) => plain(valueOf(field, settings)) !== plain(valueOf(field, others)))
    .map((field) => `${field.label || field.name} = ${plain(valueOf(field, settings)).replaceAll(",", ", ")}`);
  if (settings.budget !== others.budget) words.push(`${settings.budget} budget`);
  if (settings.seeds !== others.seeds) words.push(`${settings.seeds} seeds`);
  return words.join(" · ");
}

/** Whether two settings need the same compiled program: all but continuous fields agree. */
export function structureOf(experiment, settings) {
  const structural = experiment.fields.filter((field) => field.kind !== "continuous");
  return JSON.stringify([settings.budget, settings.seeds, structural.map((field) => valueOf(field, settings))]);
}

/** The value that a text stands for, by the type of its field. */
export function fromText(field, text) {
  if (field.type === "boolean") return text === "true" ? true : text === "false" ? false : text;
  return field.type === "number" || field.type === "integer" ? number(text) : text;
}

function number(text) {
  const value = Number(text);
  return text.trim() !== "" && Number.isFinite(value) ? value : text;
}
