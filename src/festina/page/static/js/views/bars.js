/** Bars: the simulation's as bars with their errors, theory's as a dash across each. */

import { chartColours, faint } from "../colours.js";
import { readable, typeset } from "../numbers.js";
import { extent, leftOf, line, paintLabels, rangeOf, scaleOf, ticksOf } from "./axes.js";
import { coveredBy, createView, frameAt, groupOf, outdatedIn, scenesOf } from "./frame.js";
import { font, textSize, widthOf, wrapped } from "./picture.js";

const FEW = 8; // names that are written in lines; of more, some are left out
const LINE = 1.15; // of the size of text

/** A view of bars. */
export const create = (options) =>
  createView("bars", { height, layout, paint, find, step, say, describe, plotted }, options);

const height = (width, { large }) => Math.max(240, Math.min(width * 0.6, large ? 420 : 320));

function layout(state, size) {
  const scenes = scenesOf(state);
  const { x, y } = scenes[0][1];
  const text = textSize(size.width);
  const reach = coveredBy(state).flatMap((scene) => scene.bars.flatMap(reachOf));
  const range = rangeOf(extent([[0], ...reach]), { ...y, floor: true });
  const ticks = ticksOf(range, Math.max(2, (size.height - 80) / 60));
  const left = leftOf(ticks, y.label, size.height - 80, text);
  const width = size.width - left - 12;
  const names = namesOf(scenes, width, text);
  const below = Math.round(2 * text + 18 + (Math.max(...names.map(({ lines }) => lines.length), 1) - 1) * LINE * text);
  const box = { left, top: 10, width, height: size.height - 12 - below };
  const at = scaleOf(range, [box.top + box.height, box.top]);
  const parts = scenes.flatMap(([source, scene]) =>
    scene.bars.filter((bar) => !state.hidden.has(groupOf(scene, bar))).map((bar) => partOf(source, scene, bar, state)),
  );
  const columns = columnsOf(parts, names.map(({ name }) => name), box);
  return { text, box, below, at, ticks, names, x, y, outdated: outdatedIn(state), columns };
}

/** What stands below the bars: each name in as many lines as its room demands. */
function namesOf(scenes, width, text) {
  const names = [...new Set(scenes.flatMap(([, scene]) => scene.bars.map((bar) => bar.name)))];
  const room = width / Math.max(1, names.length) - 4;
  const few = names.length <= FEW;
  return names.map((name) => ({ name, lines: few ? wrapped(typeset(name), room, text) : [typeset(name)] }));
}

function reachOf({ frames, errors }) {
  return errors
    ? [frames, frames.map((value, k) => value + (errors[k] ?? 0)), frames.map((value, k) => value - (errors[k] ?? 0))]
    : [frames];
}

function partOf(source, scene, bar, state) {
  const group = groupOf(scene, bar);
  const value = frameAt(bar.frames, scene.times, state.moment) ?? null;
  const error = bar.errors ? (frameAt(bar.errors, scene.times, state.moment) ?? null) : null;
  return { source, name: bar.name, group, value, error, look: state.lookOf(group) };
}

/** One column for each name and group; groups of one name stand side by side. */
function columnsOf(parts, names, box) {
  const each = box.width / Math.max(1, names.length);
  return names.flatMap((name, place) => {
    const groups = [...new Set(parts.filter((part) => part.name === name).map((part) => part.group))];
    const width = Math.min(90, (0.72 * each) / Math.max(1, groups.length));
    return groups.map((group, k) => {
      const mine = (source) =>
        parts.find((part) => part.name === name && part.group === group && part.source === source);
      const middle = box.left + (place + 0.5) * each + (k - (groups.length - 1) / 2) * width;
      return {
        name,
        group,
        middle,
        width: 0.86 * width,
        simulation: mine("simulation") ?? null,
        theory: mine("theory") ?? null,
      };
    });
  });
}

function paint(context, laid, cursor) {
  const { box, at, columns, outdated } = laid;
  paintGrid(context, laid);
  const zero = at(Math.min(Math.max(0, at.range[0]), at.range[1]));
  columns.forEach((column, number) => {
    const { simulation, theory } = column;
    if (simulation && simulation.value !== null) paintBar(context, column, simulation, zero, at, outdated.simulation);
    if (theory && theory.value !== null) paintDash(context, column, theory, zero, at, { alone: !simulation, stale: outdated.theory });
    if (cursor?.column !== number) return;
    context.lineWidth = 2;
    context.strokeStyle = chartColours().ink;
    context.strokeRect(column.middle - column.width / 2 - 4, box.top, column.width + 8, box.height);
  });
}

function paintBar(context, { middle, width }, { value, error, look }, zero, at, stale) {
  context.fillStyle = faint(look.colour, stale ? 0.16 : 0.72);
  context.fillRect(middle - width / 2, Math.min(zero, at(value)), width, Math.abs(at(value) - zero));
  if (error === null) return;
  context.lineWidth = 1.8;
  line(context, middle, at(value - error), middle, at(value + error), chartColours().ink);
}

function paintDash(context, { middle, width }, { value, look }, zero, at, { alone, stale }) {
  const share = stale ? 0.25 : 1;
  if (alone) {
    context.lineWidth = 1.2;
    context.strokeStyle = faint(look.colour, 0.7 * share);
    context.strokeRect(middle - width / 2, Math.min(zero, at(value)), width, Math.abs(at(value) - zero));
  }
  context.lineWidth = 3.4;
  line(context, middle - width / 2 - 5, at(value), middle + width / 2 + 5, at(value), faint(chartColours().ink, share));
}

function paintGrid(context, { box, below, at, ticks, names, text, x, y }) {
  const colours = chartColours();
  context.font = font(text);
  context.lineWidth = 1;
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const value of ticks) {
    const place = Math.round(at(value)) + 0.5;
    line(context, box.left - 5, place, box.left + box.width, place, value === 0 ? colours.soft : colours.grid);
    context.fillStyle = colours.soft;
    context.fillText(readable(value, 3), box.left - 8, place);
  }
  line(context, box.left + 0.5, box.top, box.left + 0.5, box.top + box.height, colours.soft);
  const each = box.width / Math.max(1, names.length);
  const need = Math.max(...names.map(({ lines }) => widthOf(lines[0], text)), 1) + 6;
  const every = each * 1.6 < need && names.length > FEW ? Math.ceil(need / each) : 1;
  context.textAlign = "center";
  context.textBaseline = "top";
  names.forEach(({ lines }, k) => {
    if (k % every) return;
    lines.forEach((words, row) =>
      context.fillText(words, box.left + (k + 0.5) * each, box.top + box.height + 7 + row * LINE * text, each * every - 2),
    );
  });
  paintLabels(context, { box, text, x, y, below });
}

function find({ box, columns }, left, top) {
  if (top < box.top || top > box.top + box.height + 30) return null;
  const number = columns.findIndex(({ middle, width }) => Math.abs(left - middle) <= width / 2 + 6);
  return number < 0 ? null : { column: number };
}

function step({ columns }, cursor, right, up) {
  if (!columns.length) return null;
  if (!cursor) return { column: 0 };
  return { column: (((cursor.column + right + up) % columns.length) + columns.length) % columns.length };
}

function say(laid, { column }) {
  const here = laid.columns[column];
  return here ? told(here) : "";
}

function told({ name, group, simulation, theory }) {
  const words = [...new Set([name, group])].filter(Boolean).join(", ");
  const error =
    simulation?.error === null || simulation?.error === undefined ? "" : ` ± ${readable(simulation.error, 2)}`;
  const values = [
    simulation ? `simulation ${readable(simulation.value, 3)}${error}` : "",
    theory ? `theory ${readable(theory.value, 3)}` : "",
  ];
  return `${words}: ${values.filter(Boolean).join(", ")}`;
}

function describe({ y, columns }) {
  const more = columns.length > 12 ? "; and more" : "";
  return `${y.label}. ${columns.slice(0, 12).map(told).join("; ")}${more}.`;
}

function plotted({ at, columns }) {
  const part = (one) => one && { value: one.value, error: one.error };
  return {
    range: at.range,
    bars: columns.map(({ name, group, simulation, theory }) => ({
      name,
      group,
      simulation: part(simulation),
      theory: part(theory),
    })),
  };
}
