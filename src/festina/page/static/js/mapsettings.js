/** What a map shows: two continuous fields with their ranges, a variable, and the entry of it that is meant. */

import { rounded } from "./numbers.js";
import { parametersOf, settingsFrom, valueOf } from "./settings.js";

export const COUNT = 33;
const REACH = 3;

/** The map that an address asks for; what it leaves open is chosen from the experiment. */
export function mapFrom(experiment, parameters) {
  const continuous = mappable(experiment);
  const settings = { ...settingsFrom(experiment, parameters), seeds: 1 };
  const known = (name) => continuous.find((field) => field.name === name);
  const x = known(parameters.get("x")) ?? continuous[0];
  const y = known(parameters.get("y")) ?? continuous.find((field) => field !== x);
  const variables = colourable(experiment);
  const variable = variables.find((one) => one.name === parameters.get("variable")) ?? variables[0];
  const entry = Object.fromEntries(
    (variable.dims ?? []).flatMap((dim) =>
      parameters.has(`entry.${dim}`) ? [[dim, Number(parameters.get(`entry.${dim}`))]] : [],
    ),
  );
  return { settings, x: axisFrom(x, "x", parameters), y: axisFrom(y, "y", parameters), variable: variable.name, entry };
}

/** What colour can stand for: numbers of a whole run, and last values of variables. */
export function colourable(experiment) {
  return [...experiment.variables, ...(experiment.scalars ?? [])];
}

/** The fields a map can have on its axes; those that span decades come first, for they change most. */
export function mappable(experiment) {
  const usable = experiment.fields.filter((field) => field.kind === "continuous" && field.slider);
  const spansDecades = (field) => field.slider.scale === "log";
  return [...usable.filter(spansDecades), ...usable.filter((field) => !spansDecades(field))];
}

/** Where an axis goes if nobody says: over the slider, but not to its ends where these are many times off the usual. */
export function usualAxis(field) {
  const { from, to, scale } = field.slider;
  const middle = field.quick ?? field.default;
  const near = scale === "lin" && middle > 0;
  return {
    field: field.name,
    scale,
    from: near ? Math.max(from, rounded(middle / REACH)) : from,
    to: near ? Math.min(to, rounded(middle * REACH)) : to,
  };
}

function axisFrom(field, name, parameters) {
  const usual = usualAxis(field);
  const end = (which) =>
    parameters.has(`${name}.${which}`) ? Number(parameters.get(`${name}.${which}`)) : usual[which];
  const scale = parameters.get(`${name}.scale`);
  return {
    ...usual,
    from: end("from"),
    to: end("to"),
    scale: scale === "lin" || scale === "log" ? scale : usual.scale,
  };
}

/** A map as parameters of an address. Fields on the axes are left out: the axes say which values they take. */
export function mapParameters(experiment, map) {
  const { seeds, ...rest } = parametersOf(experiment, fixedOf(map));
  const axis = (name) => ({
    [name]: map[name].field,
    [`${name}.from`]: map[name].from,
    [`${name}.to`]: map[name].to,
    [`${name}.scale`]: map[name].scale,
  });
  const entry = Object.fromEntries(Object.entries(map.entry).map(([dim, index]) => [`entry.${dim}`, index]));
  return { ...axis("x"), ...axis("y"), variable: map.variable, ...entry, ...rest };
}

/** The settings that all cells of a map share. */
export function fixedOf(map) {
  const fields = { ...map.settings.fields };
  delete fields[map.x.field];
  delete fields[map.y.field];
  return { ...map.settings, fields };
}

/** The settings of one cell. */
export function cellSettings(experiment, map, x, y) {
  const shared = fixedOf(map);
  return {
    ...shared,
    seeds: experiment.seeds[shared.budget],
    fields: { ...shared.fields, [map.x.field]: x, [map.y.field]: y },
  };
}

/** What is asked of the server. */
export function mapQuestion(experiment, map) {
  const { budget, fields } = fixedOf(map);
  const axis = ({ field, from, to, scale }) => ({ field, from, to, scale, count: COUNT });
  const entry = Object.keys(map.entry).length ? map.entry : null;
  return {
    experiment: experiment.name,
    budget,
    fields,
    x: axis(map.x),
    y: axis(map.y),
    variable: map.variable,
    entry,
    seed: 0,
  };
}

/** Fields that all cells share and that differ from the budget's own, in words. */
export function sharedText(experiment, map) {
  const names = Object.keys(fixedOf(map).fields);
  return experiment.fields
    .filter((field) => names.includes(field.name))
    .map((field) => `${field.label || field.name} = ${valueOf(field, map.settings)}`)
    .join(", ");
}
