/** How panels of cells are drawn and read: heat maps and rasters differ only in what stands beside their rows. */

import { chartColours } from "../colours.js";
import { readable, typeset } from "../numbers.js";
import {
  bracket,
  cellUnder,
  heightOf,
  isCrowded,
  nextCell,
  outline,
  paintBar,
  paintCells,
  paintTitle,
  paintValues,
  placed,
  valueRange,
} from "./cells.js";
import { outdatedIn, scenesOf } from "./frame.js";
import { font, textSize } from "./picture.js";

/** The functions of a view of panels; `stretch` lets cells be wider than tall. */
export function panelDrawing({ stretch }) {
  const margin = (width, state) => marginOf(width, state, stretch);
  return {
    height: (width, state) => heightOf(width, state, margin),
    wide: isCrowded,
    layout: (state, size) => layout(state, size, margin(size.width, state)),
    find: cellUnder,
    step: nextCell,
    runOf,
    paint,
    say,
    describe,
    plotted,
  };
}

const named = (value) => (typeof value === "number" ? readable(value, 3) : String(value));

const bandsOf = (state) => scenesOf(state).find(([, scene]) => scene.bands?.length)?.[1].bands ?? [];

function marginOf(width, state, stretch) {
  const text = textSize(width);
  const { y } = scenesOf(state)[0][1];
  const bands = bandsOf(state);
  const words = bands.length ? bands.map((band) => band.label) : y.values.map(named);
  const longest = Math.max(...words.map((word) => word.length), 1);
  const left = text * 1.5 + (bands.length ? 18 : 10) + Math.min(0.3 * width, longest * text * 0.54);
  return { left: Math.round(left), right: 8, stretch };
}

function layout(state, size, margin) {
  const { x, y, value, opens = null } = scenesOf(state)[0][1];
  return {
    opens,
    size,
    text: textSize(size.width),
    panels: placed(size, state, margin),
    bands: bandsOf(state),
    range: valueRange(state),
    outdated: outdatedIn(state),
    left: margin.left,
    x,
    y,
    value,
  };
}

function paint(context, laid, cursor) {
  const { panels, range, value, text, x, y, bands, outdated } = laid;
  for (const panel of panels) {
    paintCells(context, panel, range, value.diverging, outdated[panel.source]);
    paintTitle(context, panel, text);
    paintValues(context, panel.box, x.values, text, "bottom");
    if (bands.length) paintBands(context, panel, bands, text);
    else if (panel.first) paintValues(context, panel.box, y.values, text, "left");
    paintLabels(context, panel, laid);
  }
  paintBar(context, laid.size, { value, range, left: laid.left, text });
  if (cursor && panels[cursor.panel]) outline(context, panels[cursor.panel], [cursor.row, cursor.column]);
}

/** Bands on the left of the first panel, and a line between two of them in every panel. */
function paintBands(context, { box, rows, first }, bands, text) {
  const at = (row) => box.top + (row / Math.max(1, rows.length)) * box.height;
  for (const band of bands) {
    if (first) bracket(context, box, at(band.from), at(band.to), band.label, text);
    if (band.to >= rows.length) continue;
    context.fillStyle = chartColours().paper;
    context.fillRect(box.left, at(band.to) - 0.75, box.width, 1.5);
  }
}

function paintLabels(context, { box, first }, { x, y, text }) {
  context.font = font(text);
  context.fillStyle = chartColours().ink;
  context.textAlign = "center";
  context.textBaseline = "top";
  context.fillText(typeset(x.label), box.left + box.width / 2, box.top + box.height + text + 9, box.width + 20);
  if (!first) return;
  context.save();
  context.translate(2, box.top + box.height / 2);
  context.rotate(-Math.PI / 2);
  context.fillText(typeset(y.label), 0, 0, box.height + 20);
  context.restore();
}

/** The run of a cell: what all cells share, and the values of its row and its column. */
function runOf({ opens, panels, x, y }, { panel, row, column }) {
  if (!opens || !panels[panel]) return null;
  const own = { [opens.rows]: y.values[panels[panel].order?.[row] ?? row], [opens.columns]: x.values[column] };
  return { experiment: opens.experiment, fields: { ...opens.fields, ...own } };
}

function say({ panels, x, y, value, bands }, { panel, row, column }) {
  const here = panels[panel];
  if (!here) return "";
  const at = (axis, place) => `${axis.label} ${named(axis.values[place] ?? place)}`;
  const band = bands.find((one) => row >= one.from && row < one.to)?.label;
  const other = panels.find((one) => one.name === here.name && one.source !== here.source);
  const words = [[here.name, here.source].filter(Boolean).join(", "), band].filter(Boolean).join(" · ");
  const found = readable(here.rows[row]?.[column] ?? null, 3);
  const compared = other ? ` (${other.source} ${readable(other.rows[row]?.[column] ?? null, 3)})` : "";
  return `${words} · ${at(y, here.order?.[row] ?? row)}, ${at(x, column)}: ${value.label} ${found}${compared}`;
}

function describe({ panels, bands, value, range }) {
  const said = panels.map(({ name, source, rows }) => {
    const known = rows.flat().filter((one) => typeof one === "number");
    const mean = known.length ? known.reduce((sum, one) => sum + one, 0) / known.length : null;
    return `${[name, source].filter(Boolean).join(", ")}: ${rows.length} by ${rows[0]?.length ?? 0} cells, mean ${readable(mean, 3)}`;
  });
  const grouped = bands.map((band) => `${band.label}: ${band.to - band.from} rows`).join(", ");
  const ends = `from ${readable(range[0], 3)} to ${readable(range[1], 3)}`;
  return `${value.label} ${ends}. ${said.join("; ")}.${grouped ? ` ${grouped}.` : ""}`;
}

function plotted({ panels, range, value, bands }) {
  const drawn = panels.map(({ source, name, rows, order }) => ({ source, name, rows, order }));
  return { range, diverging: Boolean(value.diverging), bands, panels: drawn };
}
