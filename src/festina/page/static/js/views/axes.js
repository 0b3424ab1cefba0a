/** Axes on a canvas: where numbers are, which of them are written, and how. */

import { chartColours } from "../colours.js";
import { readable, typeset } from "../numbers.js";
import { font, textSize, widthOf } from "./picture.js";

const STEPS = [1, 2, 2.5, 5, 10];
const FEWEST_TICKS = 3;
const MOST_IN_A_DECADE = 6; // of a logarithmic axis, on which even steps come closer and closer
const HEADROOM = 0.04; // of the range, above and below what is drawn

/** The smallest and largest of finite numbers (above zero for a logarithmic axis); null if there is none. */
export function extent(lists, log = false) {
  let [low, high] = [Infinity, -Infinity];
  for (const list of lists) {
    for (const value of list) {
      if (typeof value !== "number" || !Number.isFinite(value) || (log && value <= 0)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  return low <= high ? [low, high] : null;
}

/**
 * A range with some room, unless an end is given. With `floor`, what is never negative and comes near zero begins at
 * zero, not a hair below it.
 */
export function rangeOf(found, { low = null, high = null, log = false, floor = false } = {}) {
  let [first, last] = found ?? (log ? [0.1, 1] : [0, 1]);
  if (log) {
    const room = (last / first) ** HEADROOM || 1;
    const [below, above] = first === last ? [first / 2, last * 2] : [first / room, last * room];
    return [low > 0 ? low : below, high > 0 ? high : above];
  }
  if (first === last) [first, last] = first === 0 ? [-1, 1] : [first - Math.abs(first) / 2, last + Math.abs(last) / 2];
  const room = HEADROOM * (last - first);
  const ends = [low ?? (floor && first >= 0 && first < room ? 0 : first - room), high ?? last + room];
  return ends[0] < ends[1] ? ends : [ends[0], ends[0] + 1];
}

/** A function from numbers to pixels, with its inverse `of`, its `range` and whether it is logarithmic. */
export function scaleOf([low, high], [from, to], log = false) {
  const turn = log ? Math.log10 : (value) => value;
  const [first, last] = [turn(low), turn(high)];
  const at = (value) => from + ((turn(value) - first) / (last - first)) * (to - from);
  at.of = (pixel) => {
    const value = first + ((pixel - from) / (to - from)) * (last - first);
    return log ? 10 ** value : value;
  };
  at.range = [low, high];
  at.log = log;
  return at;
}

/** Whether a value has a place on a scale. */
export const visible = (value, scale) => typeof value === "number" && (!scale.log || value > 0);

/** Round numbers within a range, about so many, and no fewer than three: one number alone says no scale. */
export function ticksOf([low, high], count, log = false) {
  if (log) return powersOf(low, high, count);
  for (let finer = 1; finer < 4; finer *= 1.6) {
    const found = multiplesIn(low, high, (high - low) / Math.max(1, finer * count));
    if (found.length >= FEWEST_TICKS) return found;
  }
  return multiplesIn(low, high, (high - low) / Math.max(1, 4 * count));
}

/** The multiples within a range of a round step that is no smaller than a rough one. */
function multiplesIn(low, high, rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * STEPS.find((one) => one * power >= rough * 0.999);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k += 1) {
    found.push(Number((k * step).toPrecision(12)));
  }
  return found;
}

function powersOf(low, high, count) {
  const [first, last] = [Math.ceil(Math.log10(low) - 1e-9), Math.floor(Math.log10(high) + 1e-9)];
  const decades = last - first + 1;
  if (decades > 2) {
    let every = Math.max(1, Math.ceil(decades / Math.max(2, count)));
    while (every > 1 && Math.floor(last / every) - Math.ceil(first / every) + 1 < FEWEST_TICKS) every -= 1;
    const found = [];
    for (let k = Math.ceil(first / every) * every; k <= last; k += every) found.push(Number(`1e${k}`));
    return found;
  }
  if (high < 10 * low) return ticksOf([low, high], Math.min(MOST_IN_A_DECADE, count)).filter((value) => value > 0);
  const finer = [];
  for (let k = first - 1; k <= last; k += 1) {
    finer.push(...[1, 2, 5].map((digit) => Number(`${digit}e${k}`)).filter((value) => value >= low && value <= high));
  }
  return finer;
}

/** The frame of a plot with two axes: the box inside, the two scales, and their ticks. */
export function frameOf(size, x, y, { equal = false, top = 10 } = {}) {
  const text = textSize(size.width);
  const height = size.height - top - (2 * text + 20);
  const yTicks = ticksOf(y.range, Math.max(2, height / 52), y.log);
  const left = leftOf(yTicks, y.label, height, text);
  const right = Math.max(16, Math.ceil(widthOf(readable(x.range[1], 3), text) / 2) + 4); // half of the last number
  const whole = { left, top, width: size.width - left - right, height };
  const box = equal ? evened(whole, x.range, y.range) : whole;
  const xScale = scaleOf(x.range, [box.left, box.left + box.width], x.log);
  const yScale = scaleOf(y.range, [box.top + box.height, box.top], y.log);
  const xTicks = ticksOf(x.range, Math.max(2, box.width / 72), x.log);
  return {
    box,
    text,
    x: { at: xScale, ticks: xTicks, label: x.label },
    y: { at: yScale, ticks: yTicks, label: y.label },
  };
}

/** The room that the numbers and the label of a vertical axis take. */
export function leftOf(ticks, label, height, text) {
  const widest = Math.max(...ticks.map((value) => widthOf(readable(value, 3), text)), text / 2);
  return Math.round(text * (0.15 + 1.2 * linesOf(label, height, text).length) + 12 + widest);
}

/** A label as one line, or as two where it would not fit beside an axis. */
function linesOf(label, room, text) {
  if (label.length * text * 0.5 <= room + 30 || !label.includes(" ")) return [label];
  const gaps = [...label.matchAll(/ /g)].map((found) => found.index);
  const middle = gaps.reduce((best, gap) => (Math.abs(2 * gap - label.length) < Math.abs(2 * best - label.length) ? gap : best));
  return [label.slice(0, middle), label.slice(middle + 1)];
}

/** A smaller box, in which one is as many pixels along both axes. */
function evened(box, x, y) {
  const pixels = Math.min(box.width / (x[1] - x[0]), box.height / (y[1] - y[0]));
  return { ...box, width: Math.round(pixels * (x[1] - x[0])), height: Math.round(pixels * (y[1] - y[0])) };
}

/** Draw the axes of a frame: pale lines across, numbers, and what they are of. */
export function paintAxes(context, { box, text, x, y }, { grid = true } = {}) {
  const colours = chartColours();
  const [right, bottom] = [box.left + box.width, box.top + box.height];
  context.lineWidth = 1;
  context.font = font(text);
  context.fillStyle = colours.soft;
  context.textAlign = "center";
  context.textBaseline = "top";
  let free = -Infinity; // where the last number ended: two never touch
  for (const value of x.ticks) {
    const place = Math.round(x.at(value)) + 0.5;
    line(context, place, grid ? box.top : bottom, place, bottom + 5, colours.grid);
    const words = readable(value, 3);
    const half = context.measureText(words).width / 2;
    if (place - half < free) continue;
    context.fillText(words, place, bottom + 8);
    free = place + half + 8;
  }
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const value of y.ticks) {
    const place = Math.round(y.at(value)) + 0.5;
    line(context, box.left - 5, place, grid ? right : box.left, place, colours.grid);
    context.fillText(readable(value, 3), box.left - 8, place);
  }
  line(context, box.left + 0.5, box.top, box.left + 0.5, bottom, colours.soft);
  line(context, box.left, bottom + 0.5, right, bottom + 0.5, colours.soft);
  paintLabels(context, { box, text, x, y });
}

/** What the axes are of, in the middle of each; that of the horizontal one ends so many pixels `below` the box. */
export function paintLabels(context, { box, text, x, y, below = 2 * text + 18 }) {
  context.fillStyle = chartColours().ink;
  context.font = font(text);
  context.textAlign = "center";
  context.textBaseline = "bottom";
  writeIndexed(context, typeset(x.label), box.left + box.width / 2, box.top + box.height + below, text, box.left + box.width);
  context.save();
  context.translate(2, box.top + box.height / 2);
  context.rotate(-Math.PI / 2);
  context.textBaseline = "top";
  linesOf(typeset(y.label), box.height, text).forEach((words, row) =>
    context.fillText(words, 0, 1.2 * row * text, box.height + 30),
  );
  context.restore();
}

/** Words about a middle, above a line; what follows a letter and an underscore is its index, as in time (τ_c). */
function writeIndexed(context, words, middle, bottom, text, most) {
  const parts = words.split(/(?<=(?<!\p{L})\p{L})(_\p{L}{1,3})(?!\p{L})/u);
  if (parts.length === 1) return context.fillText(words, middle, bottom, most);
  const sized = parts.map((part) => (part.startsWith("_") ? [part.slice(1), 0.75 * text] : [part, text]));
  let left = middle - sized.reduce((sum, [part, size]) => sum + widthOf(part, size), 0) / 2;
  context.textAlign = "left";
  for (const [part, size] of sized) {
    context.font = font(size);
    context.fillText(part, left, bottom + (size < text ? 0.1 * text : 0));
    left += widthOf(part, size);
  }
  context.textAlign = "center";
  context.font = font(text);
  return undefined;
}

/** A straight line of one colour. */
export function line(context, x0, y0, x1, y1, colour) {
  context.strokeStyle = colour;
  context.beginPath();
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
  context.stroke();
}

/** Draw only within a box, with a little room for marks that stand on its edge. */
export function within(context, box, draw, room = 6) {
  context.save();
  context.beginPath();
  context.rect(box.left - room, box.top - room, box.width + 2 * room, box.height + 2 * room);
  context.clip();
  draw();
  context.restore();
}
