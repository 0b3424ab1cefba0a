/** Panels of coloured cells, which heat maps and rasters share: where they are, what colours they have. */

import { chartColours, cellColour } from "../colours.js";
import { readable, typeset } from "../numbers.js";
import { extent, line, ticksOf } from "./axes.js";
import { coveredBy, frameAt, placeAt, scenesOf } from "./frame.js";
import { font, textSize, widthOf, wrapped } from "./picture.js";

const GAP = 22; // pixels between panels
const BAR = { height: 12, below: 52 };
const [SMALLEST, SMALLEST_OF_THREE] = [124, 84]; // pixels a panel needs to be worth a column; three stay side by side
const LINE = 1.2; // of the size of text, in titles
const MANY = 12; // cells along an axis, from which on round numbers are written

/** The panels of a state: simulation's and theory's of one name beside each other. */
export function panelsOf(state) {
  const found = scenesOf(state).flatMap(([source, scene]) =>
    scene.panels.map((panel, number) => {
      const place = Math.min(panel.frames.length - 1, placeAt(scene.times, state.moment));
      const order = panel.orders?.[Math.min(panel.orders.length - 1, place)] ?? null;
      const rows = frameAt(panel.frames, scene.times, state.moment) ?? [];
      return { source, number, name: panel.name, order, rows: order ? order.map((row) => rows[row] ?? []) : rows };
    }),
  );
  const names = [...new Set(found.map((panel) => panel.name))];
  return found.sort((a, b) => names.indexOf(a.name) - names.indexOf(b.name));
}

/** The range of colours: as the scenes say, or of all numbers of all frames; even on both sides of zero if it diverges. */
export function valueRange(state) {
  const scenes = coveredBy(state);
  const numbers = scenes.map(({ value, panels }) =>
    isKnown(value.low) && isKnown(value.high)
      ? [value.low, value.high]
      : panels.flatMap((panel) => panel.frames.flat(2)),
  );
  let [low, high] = extent(numbers) ?? [0, 1];
  if (scenes[0].value.diverging) [low, high] = [-1, 1].map((sign) => sign * Math.max(Math.abs(low), Math.abs(high)));
  return low < high ? [low, high] : [low - 0.5, low + 0.5];
}

const isKnown = (value) => value !== null && value !== undefined;

/** How many columns of panels there are, and how large each is. */
export function grid(width, state, margin) {
  const panels = panelsOf(state);
  const count = Math.max(1, panels.length);
  const smallest = count <= 3 ? SMALLEST_OF_THREE : SMALLEST;
  const room = Math.max(1, Math.min(count, Math.floor((width - margin.left + GAP) / (smallest + GAP))));
  const paired = state.simulation && state.theory && room > 1; // simulation and theory stay side by side
  const most = paired ? room - (room % 2) : room;
  const even = Math.ceil(count / Math.ceil(count / most)); // as many in every line, as far as they go
  const columns = paired ? even + (even % 2) : even;
  const across = (width - margin.left - margin.right - GAP * (columns - 1)) / columns;
  const [rows, cells] = [panels[0]?.rows.length || 1, panels[0]?.rows[0]?.length || 1];
  const tallest = count > columns ? 240 : state.large ? 400 : 300;
  const squared = (across * rows) / cells;
  const tall = Math.max(90, Math.min(tallest, margin.stretch ? Math.max(squared, 0.75 * across) : squared));
  const wide = Math.floor(margin.stretch ? across : Math.min(across, Math.max((tall * cells) / rows, 110)));
  const titles = titlesOf(panels, Boolean(state.simulation && state.theory), wide, textSize(width));
  const above = Math.round(LINE * textSize(width) * Math.max(...titles.map((lines) => lines.length), 1)) + 13;
  return { panels, titles, columns, lines: Math.ceil(count / columns), wide, tall: Math.floor(tall), above };
}

/** What stands above each panel, in lines: its name and where it is from in one, or in several where there is no room. */
function titlesOf(panels, both, wide, text) {
  const parts = panels.map(({ name, source }) => [name, both || !name ? source : ""].filter(Boolean));
  const fits = (words) => widthOf(words, text, 600) <= wide + 8;
  if (parts.every((words) => fits(words.join(" · ")))) return parts.map((words) => [words.join(" · ")]);
  return parts.map((words) => words.flatMap((one) => wrapped(one, wide + 8, text, 600)));
}

/** Whether the panels are too many to stand in half of the page. */
export function isCrowded(state) {
  const names = new Set(scenesOf(state).flatMap(([, scene]) => scene.panels.map((panel) => panel.name)));
  return names.size * (state.simulation && state.theory ? 2 : 1) > 4 || (names.size > 3 && "bands" in scenesOf(state)[0][1]);
}

/** How tall a picture of panels is. */
export function heightOf(width, state, margin) {
  if (!scenesOf(state).length) return state.large ? 360 : 280;
  const { lines, tall, above } = grid(width, state, margin(width, state));
  return lines * (tall + above + 2 * textSize(width) + 14) + BAR.below;
}

/** Panels with their boxes. */
export function placed(size, state, margin) {
  const { panels, titles, columns, wide, tall, above } = grid(size.width, state, margin);
  const text = textSize(size.width);
  return panels.map((panel, k) => ({
    ...panel,
    title: titles[k].map(typeset),
    first: k % columns === 0,
    box: {
      left: margin.left + (k % columns) * (wide + GAP),
      top: above + Math.floor(k / columns) * (tall + above + 2 * text + 14),
      width: wide,
      height: tall,
    },
  }));
}

/** Draw the cells of a panel, each a rectangle without seams. */
export function paintCells(context, { box, rows }, [low, high], diverging, stale) {
  if (!rows.length || !rows[0].length) return;
  const image = new ImageData(rows[0].length, rows.length);
  const nothing = cellColour(null);
  rows.forEach((row, up) =>
    row.forEach((value, across) => {
      const colour = typeof value === "number" ? cellColour((value - low) / (high - low), diverging) : nothing;
      image.data.set([...colour, 255], 4 * (up * row.length + across));
    }),
  );
  const sheet = new OffscreenCanvas(image.width, image.height);
  sheet.getContext("2d").putImageData(image, 0, 0);
  context.imageSmoothingEnabled = false;
  context.globalAlpha = stale ? 0.3 : 1;
  context.drawImage(sheet, box.left, box.top, box.width, box.height);
  context.globalAlpha = 1;
  context.lineWidth = 1;
  context.strokeStyle = chartColours().soft;
  context.strokeRect(box.left - 0.5, box.top - 0.5, box.width + 1, box.height + 1);
}

/** What a panel shows, above it. */
export function paintTitle(context, { title, box }, text) {
  context.font = font(text, 600);
  context.fillStyle = chartColours().ink;
  context.textAlign = "left";
  context.textBaseline = "bottom";
  title.forEach((words, k) => {
    context.fillText(words, box.left, box.top - 5 - LINE * text * (title.length - 1 - k), box.width + GAP - 4);
  });
}

/** Write as many of an axis's values as there is room for. */
export function paintValues(context, box, values, text, side) {
  context.font = font(text);
  context.fillStyle = chartColours().soft;
  const down = side === "left";
  const length = (down ? box.height : box.width) / Math.max(1, values.length);
  context.textAlign = down ? "right" : "center";
  context.textBaseline = down ? "middle" : "top";
  for (const [words, place] of down ? upright(values, length, text) : level(values, length, text)) {
    const middle = (place + 0.5) * length;
    if (down) context.fillText(words, box.left - 6, box.top + middle, 0.3 * box.left + 110);
    else context.fillText(words, box.left + middle, box.top + box.height + 6);
  }
}

const named = (value) => (typeof value === "number" ? readable(value, 3) : String(value));

const fractions = (values) => !values.every(Number.isInteger);

/** Which values are written beside rows, as pairs of words and places. */
function upright(values, length, text) {
  const count = (values.length * length) / (2.2 * text);
  if (values.length <= MANY || 1.15 * text <= length) return thinned(values.map(named), length, 1.15 * text);
  return (fractions(values) && between(values, count)) || rounded(values, count);
}

/** Which values are written below columns; words that all begin alike are cut short rather than left out. */
function level(values, length, text) {
  const words = values.map(named);
  const need = (list) => Math.max(...list.map((word) => widthOf(word, text)), 1) + 8;
  if (need(words) <= length) return thinned(words, length, need(words));
  const count = (values.length * length) / need(words);
  if (values.length > MANY && values.every(Number.isInteger)) return rounded(values, count);
  const round = values.length > MANY && between(values, count);
  if (round) return round;
  const short = withoutStem(words);
  return need(short) <= length ? thinned(short, length, 0) : thinned(words, length, need(words));
}

const thinned = (words, length, need) => {
  const every = Math.max(1, Math.ceil(need / length));
  return words.flatMap((word, k) => (k % every ? [] : [[word, k]]));
};

/** Words without what all of them begin with, such as 1 and 2 of "student 1" and "student 2". */
function withoutStem(words) {
  const stem = words[0].slice(0, words[0].lastIndexOf(" ") + 1);
  return words.every((word) => word.startsWith(stem)) ? words.map((word) => word.slice(stem.length)) : words;
}

/** Round numbers at their places among numbers that rise or fall evenly; null of others. */
function between(values, count) {
  const [first, last] = [values[0], values.at(-1)];
  const step = (last - first) / (values.length - 1);
  const even = (value, k) => typeof value === "number" && Math.abs(value - first - k * step) < 0.01 * Math.abs(step);
  if (!values.every(even)) return null;
  const range = [Math.min(first, last), Math.max(first, last)];
  return ticksOf(range, count).map((value) => [readable(value, 3), (value - first) / step]);
}

/** Round numbers at their places among growing whole numbers; of others, every so many. */
function rounded(values, count) {
  const growing = values.every((value, k) => Number.isInteger(value) && (k === 0 || value > values[k - 1]));
  if (!growing) return thinned(values.map(named), 1, values.length / Math.max(1, count));
  return ticksOf([values[0], values.at(-1)], count)
    .filter(Number.isInteger)
    .map((tick) => {
      const after = Math.max(1, values.findIndex((value) => value >= tick));
      const [low, high] = [values[after - 1], values[after]];
      return [named(tick), after - 1 + (tick - low) / (high - low)];
    });
}

/** The bar of colours with its ends, below all panels. */
export function paintBar(context, size, { value, range, left, text }) {
  const top = size.height - BAR.below + 16;
  const most = Math.max(...range.map(Math.abs));
  const [low, high] = range.map((end) => readable(Math.abs(end) < 1e-3 * most ? 0 : end, 2)); // a hair beside zero is zero
  context.font = font(text);
  context.textBaseline = "middle";
  const start = left + context.measureText(low).width + 8;
  const wide = Math.max(60, Math.min(260, size.width - start - context.measureText(high).width - 24));
  for (let k = 0; k < wide; k += 1) {
    context.fillStyle = `rgb(${cellColour(k / (wide - 1), value.diverging).join(" ")})`;
    context.fillRect(start + k, top, 1.5, BAR.height);
  }
  const { soft, ink } = chartColours();
  context.fillStyle = soft;
  context.textAlign = "left";
  context.fillText(low, left, top + BAR.height / 2);
  context.fillText(high, start + wide + 8, top + BAR.height / 2);
  context.fillStyle = ink;
  context.textBaseline = "top";
  context.fillText(value.label, left, top + BAR.height + 6, size.width - left);
}

/** An outline around one cell that is seen on every colour. */
export function outline(context, { box, rows }, [row, column]) {
  const [wide, tall] = [box.width / (rows[0]?.length || 1), box.height / (rows.length || 1)];
  const place = [box.left + column * wide, box.top + row * tall, wide, tall];
  context.lineWidth = 4;
  context.strokeStyle = "#000";
  context.strokeRect(...place);
  context.lineWidth = 2;
  context.strokeStyle = "#fff";
  context.strokeRect(...place);
}

/** The cell under the pointer: {panel, row, column}. */
export function cellUnder({ panels }, left, top) {
  const number = panels.findIndex(
    ({ box }) => left >= box.left && left < box.left + box.width && top >= box.top && top < box.top + box.height,
  );
  if (number < 0) return null;
  const { box, rows } = panels[number];
  if (!rows.length) return null;
  return {
    panel: number,
    row: Math.floor(((top - box.top) / box.height) * rows.length),
    column: Math.floor(((left - box.left) / box.width) * rows[0].length),
  };
}

/** Arrow keys move from cell to cell, and beyond the last column into the next panel. */
export function nextCell({ panels }, cursor, right, up) {
  if (!panels.length) return null;
  if (!cursor || !panels[cursor.panel]) return { panel: 0, row: 0, column: 0 };
  const { rows } = panels[cursor.panel];
  const row = Math.min(rows.length - 1, Math.max(0, cursor.row - up));
  const column = cursor.column + right;
  if (column >= rows[0].length && cursor.panel + 1 < panels.length) return { panel: cursor.panel + 1, row, column: 0 };
  if (column < 0 && cursor.panel > 0) {
    return { panel: cursor.panel - 1, row, column: panels[cursor.panel - 1].rows[0].length - 1 };
  }
  return { panel: cursor.panel, row, column: Math.min(rows[0].length - 1, Math.max(0, column)) };
}

/** A bracket along some rows, with its name, on the left of a panel. */
export function bracket(context, box, from, to, label, text) {
  const { ink } = chartColours();
  context.lineWidth = 2;
  line(context, box.left - 7, from + 1, box.left - 7, to - 1, ink);
  if (!label || to - from < 4) return;
  context.font = font(text);
  context.fillStyle = ink;
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.fillText(label, box.left - 13, (from + to) / 2, box.left - 15);
}
