/** Curves over time or over any other number: dots for the simulation, lines for the theory, reference lines. */

import { chartColours, faint } from "../colours.js";
import { drawDot } from "../markers.js";
import { readable } from "../numbers.js";
import { extent, frameOf, line, paintAxes, rangeOf, visible, within } from "./axes.js";
import { coveredBy, createView, frameAt, groupOf, outdatedIn, scenesOf } from "./frame.js";
import { tallest } from "./picture.js";
import { paintReferences, paintUprights, referencesOf, withUprights } from "./references.js";

const [FEWEST_DOTS, MOST_DOTS, SPACING] = [12, 40, 24];
const RADIUS = 3.9;
const SAID = 6; // groups whose last values are said

/** A view of curves. */
export const create = (options) =>
  createView("curves", { height, layout, paint, find, step, say, describe, plotted }, options);

function height(width, { large }) {
  return Math.max(250, Math.min(width * (large && width > 700 ? 0.52 : 0.66), large ? tallest(480) : 340));
}

function layout(state, size) {
  const scenes = scenesOf(state);
  const { x, y } = scenes[0][1];
  const all = coveredBy(state).flatMap((scene) => shown(scene, state.hidden).map((one) => [scene, one]));
  const xs = extent([...all.map(([scene, one]) => scene.grids[one.grid]), markPlaces(scenes, "x")], x.log);
  const reach = all.flatMap(([, one]) => [one.y, one.low, one.high].filter(Boolean)).map((row) => row.flat());
  const ys = extent([...reach, markPlaces(scenes, "y")], y.log);
  const across = { ...x, range: xs && xs[0] < xs[1] && !x.log ? xs : rangeOf(xs, { log: x.log }) }; // time begins at the axis
  const up = { ...y, range: rangeOf(ys, { ...y, floor: true }) };
  const marks = marksOf(scenes);
  const { frame, uprights } = withUprights(marks, (top) => frameOf(size, across, up, { top }));
  const predicted = new Set(
    state.theory ? shown(state.theory, state.hidden).map((one) => groupOf(state.theory, one)) : [],
  );
  const lines = scenes.flatMap(([source, scene]) =>
    shown(scene, state.hidden).map((one) => lineOf(source, scene, one, predicted, state, frame)),
  );
  const timed = scenes[0][1].time_label && x.label === scenes[0][1].time_label;
  const references = referencesOf(marks, frame, lines);
  return { frame, lines, marks, uprights, references, outdated: outdatedIn(state), now: timed ? state.moment : null };
}

/** The row of a line at a moment: lines along another dimension than time have one for each frame. */
const rowAt = (rows, scene, moment) =>
  rows && Array.isArray(rows[0]) ? frameAt(rows, scene.times, moment) : (rows ?? null);

const shown = (scene, hidden) => scene.lines.filter((one) => !hidden.has(groupOf(scene, one)));

const markPlaces = (scenes, axis) => scenes.flatMap(([, scene]) => (scene.marks ?? []).map((mark) => mark[axis]));

/** The marks of all scenes, each once. */
const marksOf = (scenes) => [
  ...new Map(scenes.flatMap(([, scene]) => scene.marks ?? []).map((one) => [JSON.stringify(one), one])).values(),
];

function lineOf(source, scene, one, predicted, state, frame) {
  const group = groupOf(scene, one);
  const x = scene.grids[one.grid];
  const dotted = source === "simulation" && !one.quiet;
  const drawn = {
    source,
    name: one.name,
    group,
    run: one.run,
    quiet: Boolean(one.quiet),
    x,
    y: rowAt(one.y, scene, state.moment),
    look: state.lookOf(group),
  };
  const siblings = scene.lines.filter((other) => other.group === one.group && !other.quiet).length;
  return {
    ...drawn,
    low: rowAt(one.low, scene, state.moment),
    high: rowAt(one.high, scene, state.moment),
    stroked: source === "theory" || one.quiet || !predicted.has(group),
    dots: dotted ? dotsOf(drawn, frame, one.group / Math.max(1, scene.groups.length), siblings) : [],
  };
}

/** Which points of a line get a dot: evenly spread over the picture, each line's a little beside the others'. */
function dotsOf({ x, y }, { box, x: axis, y: up }, offset, siblings) {
  const known = x.map((_, k) => k).filter((k) => visible(x[k], axis.at) && visible(y[k], up.at));
  const wanted = Math.max(FEWEST_DOTS, Math.min(MOST_DOTS, Math.round(box.width / SPACING / Math.sqrt(siblings))));
  if (known.length <= wanted) return known;
  const spacing = box.width / wanted;
  const found = new Set();
  let next = box.left + spacing * (offset || 0) * 0.999;
  for (const k of known) {
    if (axis.at(x[k]) < next) continue;
    found.add(k);
    next = Math.max(next, axis.at(x[k])) + spacing * 0.999;
  }
  for (let n = 0; found.size < FEWEST_DOTS && n < FEWEST_DOTS; n += 1) {
    found.add(known[Math.round((n * (known.length - 1)) / (FEWEST_DOTS - 1))]); // a few late points far apart
  }
  return [...found].sort((a, b) => a - b);
}

function paint(context, laid, cursor) {
  const { frame, lines, outdated, now } = laid;
  paintAxes(context, frame);
  within(context, frame.box, () => {
    for (const one of lines) if (one.low && one.high) paintBand(context, frame, one, outdated);
    for (const one of lines.filter((one) => one.quiet)) stroke(context, frame, one, 1, fade(one, outdated, 0.35));
    for (const one of lines.filter((one) => one.stroked && !one.quiet)) {
      const firm = one.source === "theory";
      stroke(context, frame, one, firm ? 2.6 : 1.8, fade(one, outdated, firm ? 1 : 0.55));
    }
    for (const one of lines) paintDots(context, frame, one, outdated.simulation);
    if (now !== null && visible(now, frame.x.at)) paintNow(context, frame, now);
  });
  paintUprights(context, frame, laid.uprights);
  paintReferences(context, frame, laid.references);
  if (cursor) ring(context, frame, lines[cursor.line], cursor.point);
}

const fade = (one, outdated, share) => faint(one.look.colour, outdated[one.source] ? share * 0.25 : share);

function stroke(context, { x, y }, one, width, colour) {
  context.beginPath();
  let down = false;
  for (let k = 0; k < one.y.length; k += 1) {
    const known = visible(one.x[k], x.at) && visible(one.y[k], y.at);
    if (known) context[down ? "lineTo" : "moveTo"](x.at(one.x[k]), y.at(one.y[k]));
    down = known;
  }
  context.lineWidth = width;
  context.strokeStyle = colour;
  context.stroke();
}

function paintBand(context, { x, y }, one, outdated) {
  const places = one.x
    .map((_, k) => k)
    .filter((k) => visible(one.low[k], y.at) && visible(one.high[k], y.at) && visible(one.x[k], x.at));
  context.beginPath();
  places.forEach((k) => context.lineTo(x.at(one.x[k]), y.at(one.high[k])));
  places.reverse().forEach((k) => context.lineTo(x.at(one.x[k]), y.at(one.low[k])));
  context.closePath();
  context.fillStyle = fade(one, outdated, 0.18);
  context.fill();
}

function paintDots(context, { x, y }, one, stale) {
  const { paper } = chartColours();
  context.globalAlpha = stale ? 0.22 : 1;
  for (const k of one.dots)
    drawDot(context, one.look.marker, x.at(one.x[k]), y.at(one.y[k]), RADIUS, one.look.colour, paper);
  context.globalAlpha = 1;
}

function paintNow(context, { box, x }, moment) {
  context.lineWidth = 1.5;
  line(context, x.at(moment), box.top, x.at(moment), box.top + box.height, faint(chartColours().ink, 0.45));
}

function ring(context, { x, y }, one, k) {
  if (!one || !visible(one.y[k], y.at) || !visible(one.x[k], x.at)) return;
  context.beginPath();
  context.arc(x.at(one.x[k]), y.at(one.y[k]), 8, 0, 2 * Math.PI);
  context.lineWidth = 2.2;
  context.strokeStyle = chartColours().ink;
  context.stroke();
}

/** The nearest point of any line that is not behind the others. */
function find({ frame, lines }, left, top) {
  const { box, x, y } = frame;
  if (left < box.left - 8 || left > box.left + box.width + 8 || top < box.top - 8 || top > box.top + box.height + 8)
    return null;
  let [best, nearest] = [null, Infinity];
  lines.forEach((one, number) => {
    if (one.quiet) return;
    one.y.forEach((value, k) => {
      if (!visible(value, y.at) || !visible(one.x[k], x.at)) return;
      const distance = (x.at(one.x[k]) - left) ** 2 + 0.4 * (y.at(value) - top) ** 2;
      if (distance < nearest) [best, nearest] = [{ line: number, point: k }, distance];
    });
  });
  return best;
}

/** Left and right along a line, up and down to the next one. */
function step({ frame, lines }, cursor, right, up) {
  const readableLines = lines.map((one, k) => k).filter((k) => !lines[k].quiet);
  if (!readableLines.length) return null;
  if (!cursor || !lines[cursor.line]) {
    const one = lines[readableLines[0]];
    return {
      line: readableLines[0],
      point: Math.max(
        0,
        one.y.findIndex((value, k) => visible(value, frame.y.at) && visible(one.x[k], frame.x.at)),
      ),
    };
  }
  const here = lines[cursor.line];
  if (up) {
    const place = readableLines.indexOf(cursor.line) - up;
    const next = readableLines[(place + readableLines.length) % readableLines.length];
    return { line: next, point: nearestTo(lines[next].x, here.x[cursor.point]) };
  }
  return { ...cursor, point: Math.min(here.y.length - 1, Math.max(0, cursor.point + right)) };
}

function nearestTo(list, value) {
  let best = 0;
  list.forEach((one, k) => {
    if (Math.abs(one - value) < Math.abs(list[best] - value)) best = k;
  });
  return best;
}

function say({ frame, lines }, cursor) {
  const one = lines[cursor.line];
  if (!one) return "";
  const at = one.x[cursor.point];
  const other = partner(lines, one);
  const values = [`${one.source} ${readable(one.y[cursor.point] ?? null, 3)}`];
  if (other) values.push(`${other.source} ${readable(other.y[nearestTo(other.x, at)] ?? null, 3)}`);
  return `${nameOf(one)}${frame.x.label} = ${readable(at, 3)}: ${values.join(", ")}`;
}

/** The line of the other source that is about the same: by its name, or else by its group. */
function partner(lines, one) {
  const others = lines.filter((other) => other.source !== one.source && other.group === one.group && !other.quiet);
  return others.find((other) => other.name === one.name) ?? others[0];
}

function nameOf({ name, group, run }) {
  const words = [...new Set([group, name])].filter(Boolean);
  if (typeof run === "number") words.push(`run ${run}`);
  return words.length ? `${words.join(", ")} · ` : "";
}

function describe({ frame, lines }) {
  const last = (one) => readable([...one.y].reverse().find((value) => typeof value === "number") ?? null, 3);
  const said = lines
    .filter((one) => !one.quiet)
    .slice(0, 2 * SAID)
    .map((one) => `${nameOf(one)}${one.source} ends at ${last(one)}`);
  return `${frame.y.label} over ${frame.x.label}: ${said.join("; ")}.`;
}

function plotted({ frame, lines, marks, now }) {
  return {
    x: { range: frame.x.at.range, log: frame.x.at.log, label: frame.x.label },
    y: { range: frame.y.at.range, log: frame.y.at.log, label: frame.y.label },
    lines: lines.map(({ source, name, group, run, quiet, stroked, x, y, low, high, dots, look }) => ({
      source,
      name,
      group,
      run,
      quiet,
      stroked,
      x,
      y,
      low,
      high,
      colour: look.colour,
      dots: dots.map((k) => [x[k], y[k]]),
    })),
    marks,
    now,
  };
}
