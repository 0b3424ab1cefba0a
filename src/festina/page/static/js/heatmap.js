/** A heat map on a canvas, with axes, a bar of colours, and a cell that arrow keys move. */

import { chartColours, viridis } from "./colours.js";
import { element, fill } from "./dom.js";
import { between, readable } from "./numbers.js";

const MARGIN = { left: 62, right: 14, top: 12, bottom: 46 };
const TICKS = 5;
const MOVES = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

/**
 * A map. `update(cells, map)` draws what the server has found so far; `open(x, y)` is called when a cell is chosen,
 * `tell(text)` when the cell under the pointer or the keys changes.
 */
export function createHeatmap({ open, tell }) {
  const canvas = element("canvas", { "aria-hidden": "true" });
  const bar = element("canvas", { class: "bar", "aria-hidden": "true" });
  const [low, high] = [element("span"), element("span")];
  const name = element("span", { class: "bar-name" });
  const field = element(
    "div",
    { class: "heatmap", tabindex: "0", role: "application", "aria-roledescription": "map" },
    canvas,
  );
  const root = element(
    "figure",
    { class: "map-figure" },
    field,
    element("figcaption", { class: "bar-line" }, name, low, bar, high),
  );
  const state = { cells: null, map: null, labels: null, cursor: null, lines: [] };

  function update(cells, map, labels) {
    if (state.cells && cells && state.cursor) state.cursor = moved(state.cells, cells, state.cursor);
    if (!cells) state.lines = [];
    Object.assign(state, { cells, map, labels });
    if (cells) root.dataset.level = cells.level;
    else delete root.dataset.level;
    draw();
  }

  function draw() {
    const size = sizeOf(field);
    const context = prepared(canvas, size);
    const { cells, map } = state;
    if (!map) return;
    const range = rangeOf(cells);
    if (cells) drawCells(context, size, cells, range);
    drawLines(context, size, map, state.lines);
    drawAxes(context, size, map, state.labels);
    if (cells && state.cursor) outline(context, cellBox(size, cells, state.cursor));
    drawBar(bar);
    fill(name, state.labels?.value ?? "");
    fill(low, range ? readable(range[0], 3) : "");
    fill(high, range ? readable(range[1], 3) : "");
  }

  function point(cursor) {
    const changed = JSON.stringify(cursor) !== JSON.stringify(state.cursor);
    state.cursor = cursor;
    if (!changed) return;
    draw();
    if (cursor) tell(sentence(cursor), cursor);
  }

  function sentence([column, row]) {
    const { cells, labels } = state;
    const value = cells.values[row][column];
    return (
      `${labels.x} = ${readable(cells.x[column], 3)}, ${labels.y} = ${readable(cells.y[row], 3)}: ` +
      `${labels.value} ${value === null ? "not known" : readable(value)}`
    );
  }

  function choose() {
    if (state.cells && state.cursor) open(state.cells.x[state.cursor[0]], state.cells.y[state.cursor[1]]);
  }

  field.addEventListener("pointermove", (event) => state.cells && point(cellUnder(event, field, state.cells)));
  field.addEventListener("click", (event) => {
    if (!state.cells) return;
    const cell = cellUnder(event, field, state.cells);
    if (!cell) return;
    point(cell);
    choose();
  });
  field.addEventListener("keydown", (event) => {
    if (!state.cells) return;
    if (event.key === "Enter" || event.key === " ") choose();
    else if (MOVES[event.key]) point(step(state.cells, state.cursor, MOVES[event.key]));
    else return;
    event.preventDefault();
  });
  const observer = new ResizeObserver(draw);
  observer.observe(field);
  document.addEventListener("themechange", draw);

  /** What is drawn at present. */
  root.plotted = () => state.cells;
  root.outlined = () => state.lines;
  return {
    root,
    update,
    outline(lines) {
      state.lines = lines;
      draw();
    },
    describe: (text) => field.setAttribute("aria-label", text),
    close() {
      observer.disconnect();
      document.removeEventListener("themechange", draw);
    },
  };
}

function step(cells, cursor, [right, up]) {
  if (!cursor) return [0, 0];
  const within = (value, count) => Math.min(count - 1, Math.max(0, value));
  return [within(cursor[0] + right, cells.x.length), within(cursor[1] + up, cells.y.length)];
}

/** The same place on a finer level. */
function moved(before, after, [column, row]) {
  const scaled = (place, from, to) => Math.round((place * (to - 1)) / Math.max(1, from - 1));
  return [scaled(column, before.x.length, after.x.length), scaled(row, before.y.length, after.y.length)];
}

function sizeOf(field) {
  const width = Math.max(260, field.clientWidth);
  return { width, height: Math.round(Math.min(width * 0.78, 560)) };
}

function prepared(canvas, { width, height }) {
  const ratio = devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  return context;
}

/** The smallest and the largest value that are known; null if none is. */
export function rangeOf(cells) {
  const known = cells ? cells.values.flat().filter((value) => value !== null) : [];
  return known.length ? [Math.min(...known), Math.max(...known)] : null;
}

function inner({ width, height }) {
  return { width: width - MARGIN.left - MARGIN.right, height: height - MARGIN.top - MARGIN.bottom };
}

/** Where a cell is; y grows upwards. */
function cellBox(size, cells, [column, row]) {
  const box = inner(size);
  const edge = (place, count, length) => Math.round((place * length) / count); // whole pixels leave no seams
  const [left, right] = [column, column + 1].map((place) => edge(place, cells.x.length, box.width));
  const [bottom, top] = [row, row + 1].map((place) => edge(place, cells.y.length, box.height));
  return [MARGIN.left + left, MARGIN.top + box.height - top, right - left, top - bottom];
}

function cellUnder(event, field, cells) {
  const corner = field.getBoundingClientRect();
  const box = inner(sizeOf(field));
  const across = (event.clientX - corner.left - MARGIN.left) / box.width;
  const up = 1 - (event.clientY - corner.top - MARGIN.top) / box.height;
  if (across < 0 || across >= 1 || up < 0 || up >= 1) return null;
  return [Math.floor(across * cells.x.length), Math.floor(up * cells.y.length)];
}

function drawCells(context, size, cells, range) {
  const span = range ? range[1] - range[0] : 0;
  cells.values.forEach((line, row) =>
    line.forEach((value, column) => {
      const [x, y, wide, tall] = cellBox(size, cells, [column, row]);
      const known = value !== null;
      context.fillStyle = known ? viridis(span ? (value - range[0]) / span : 0.5) : chartColours().grid;
      context.fillRect(x, y, wide, tall);
    }),
  );
}

/** Lines over the map, white with dark edges: seen on every colour. */
function drawLines(context, size, map, lines) {
  const box = inner(size);
  const share = ({ from, to, scale }, value) =>
    scale === "log" ? Math.log(value / from) / Math.log(to / from) : (value - from) / (to - from);
  context.save();
  context.beginPath();
  context.rect(MARGIN.left, MARGIN.top, box.width, box.height);
  context.clip();
  for (const [width, colour] of [
    [5, "#000"],
    [2.5, "#fff"],
  ]) {
    context.lineWidth = width;
    context.strokeStyle = colour;
    for (const line of lines) {
      context.beginPath();
      line.forEach(([x, y], k) => {
        const place = [
          MARGIN.left + share(map.x, x) * box.width,
          MARGIN.top + (1 - share(map.y, y)) * box.height,
        ];
        if (k) context.lineTo(...place);
        else context.moveTo(...place);
      });
      context.stroke();
    }
  }
  context.restore();
}

function outline(context, [x, y, wide, tall]) {
  context.lineWidth = 4;
  context.strokeStyle = "#000";
  context.strokeRect(x, y, wide, tall);
  context.lineWidth = 2;
  context.strokeStyle = "#fff";
  context.strokeRect(x, y, wide, tall);
}

function drawAxes(context, size, map, labels) {
  const box = inner(size);
  const { soft, ink } = chartColours();
  context.font = '13px "Helvetica Neue", Helvetica, Arial, "Liberation Sans", sans-serif';
  const ticks = box.width < 300 ? 3 : TICKS;
  for (let k = 0; k < ticks; k += 1) {
    const share = k / (ticks - 1);
    context.fillStyle = soft;
    context.textAlign = k === 0 ? "left" : k === ticks - 1 ? "right" : "center";
    context.textBaseline = "top";
    const x = readable(between(map.x.from, map.x.to, share, map.x.scale), 2);
    context.fillText(x, MARGIN.left + share * box.width, MARGIN.top + box.height + 7);
    context.textAlign = "right";
    context.textBaseline = "middle";
    const y = readable(between(map.y.from, map.y.to, share, map.y.scale), 2);
    const inset = 6 * (1 - 2 * share); // the ends stay beside the square
    context.fillText(y, MARGIN.left - 8, MARGIN.top + box.height * (1 - share) - inset);
  }
  context.fillStyle = ink;
  context.textAlign = "center";
  context.textBaseline = "bottom";
  context.fillText(labels.x, MARGIN.left + box.width / 2, size.height - 4);
  context.save();
  context.translate(13, MARGIN.top + box.height / 2);
  context.rotate(-Math.PI / 2);
  context.textBaseline = "middle";
  context.fillText(labels.y, 0, 0);
  context.restore();
}

function drawBar(bar) {
  const size = { width: Math.max(80, bar.clientWidth || 200), height: 12 };
  bar.width = size.width;
  bar.height = size.height;
  const context = bar.getContext("2d");
  for (let x = 0; x < size.width; x += 1) {
    context.fillStyle = viridis(x / (size.width - 1));
    context.fillRect(x, 0, 1, size.height);
  }
}
