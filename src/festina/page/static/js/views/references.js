/** What curves are held against: upright lines named above the picture, level lines and points named within it. */

import { chartColours, faint } from "../colours.js";
import { drawDot } from "../markers.js";
import { line, visible } from "./axes.js";
import { around, best } from "./labels.js";
import { font, widthOf } from "./picture.js";

const MOST_ROWS = 3; // of names above a picture
const ROW = 1.25; // of the size of text
const DENSE = 18; // pixels between upright lines, below which they are pale
const [PLAIN, NAMED] = [10, 8]; // pixels above a picture without names, and above its names
const LETTER = 2; // signs: so short a name stands after its line, a longer one over it

/** A frame with room for the names of upright lines above it; `framed(top)` makes the frame. */
export function withUprights(marks, framed) {
  const plain = framed(PLAIN);
  const own = marks.filter((mark) => visible(mark.x, plain.x.at) && !visible(mark.y, plain.y.at));
  const placed = rowsOf(own, plain);
  const rows = Math.max(0, ...placed.map((one) => one.row + 1));
  const gaps = placed.slice(1).map((one, k) => one.across - placed[k].across);
  const uprights = { placed, rows, dense: Math.min(...gaps, Infinity) < DENSE };
  return { frame: rows ? framed(NAMED + Math.ceil(rows * ROW * plain.text)) : plain, uprights };
}

/** Where each name stands: in the lowest row in which it touches no other; without a row where there is no room. */
function rowsOf(marks, { box, text, x }) {
  const ends = Array(MOST_ROWS).fill(-Infinity); // where the last name of each row ends
  return marks
    .map((mark) => ({ label: mark.label, across: x.at(mark.x) }))
    .sort((a, b) => a.across - b.across)
    .map(({ label, across }) => {
      const width = widthOf(label, text);
      const most = box.left + box.width + 12 - width;
      const left = Math.min(most, Math.max(box.left - 8, label.length <= LETTER ? across + 3 : across - width / 2));
      const row = label ? ends.findIndex((end) => left > end + 4) : -1;
      if (row >= 0) ends[row] = left + width;
      return { label, across, left, row };
    });
}

/** Upright lines with their names above. */
export function paintUprights(context, { box, text }, { placed, dense }) {
  const { soft } = chartColours();
  context.font = font(text);
  context.fillStyle = soft;
  context.textAlign = "left";
  context.textBaseline = "middle";
  for (const { label, across, left, row } of placed) {
    context.lineWidth = 1.4;
    context.setLineDash([2, 3]);
    line(context, across, box.top - 3, across, box.top + box.height, dense ? faint(soft, 0.45) : soft);
    context.setLineDash([]);
    if (row >= 0) context.fillText(label, left, box.top - 4 - (row + 0.5) * ROW * text);
  }
}

/** Level lines and points, with the places of their names where they hide least of the curves. */
export function referencesOf(marks, { box, text, x, y }, lines) {
  const levels = marks.filter((mark) => visible(mark.y, y.at));
  if (!levels.length) return [];
  const paths = lines.filter((one) => one.stroked).map((one) => pixelsOf(one, x, y));
  const points = lines.flatMap((one) => one.dots.map((k) => [x.at(one.x[k]), y.at(one.y[k])]));
  const taken = [];
  return levels.map((mark) => {
    const [across, up] = [visible(mark.x, x.at) ? x.at(mark.x) : null, y.at(mark.y)];
    const width = widthOf(mark.label, text);
    const { area } = best(placesOf({ across, up, width, box, text }), { taken, points, paths });
    if (mark.label) taken.push(area);
    return { label: mark.label, across, up, area };
  });
}

const pixelsOf = (one, x, y) =>
  one.y.map((value, k) => (visible(value, y.at) && visible(one.x[k], x.at) ? [x.at(one.x[k]), y.at(value)] : null));

/** Where a name may stand, best first: beside its point, or above or below its line, at the right rather than the left. */
function placesOf({ across, up, width, box, text }) {
  const heights = [up - 0.9 * text, up + text];
  const lefts =
    across === null
      ? [1, 0.75, 0.5, 0.25, 0].map((share) => box.left + 6 + share * (box.width - width - 12))
      : [across + 7, across - 7 - width];
  const fits = ({ area }) => area.top >= box.top - 2 && area.bottom <= box.top + box.height && area.right <= box.left + box.width + 8;
  const places = lefts.flatMap((left, k) => heights.map((middle) => ({ area: around(left, middle, width, text), cost: 0.1 * k })));
  return places.some(fits) ? places.filter(fits) : places;
}

/** Level lines and points, with their names. */
export function paintReferences(context, { box, text }, references) {
  const { ink, soft, paper } = chartColours();
  context.font = font(text);
  context.textAlign = "left";
  context.textBaseline = "middle";
  for (const { label, across, up, area } of references) {
    context.lineWidth = 1.4;
    context.setLineDash([2, 3]);
    if (across === null) line(context, box.left, up, box.left + box.width, up, soft);
    context.setLineDash([]);
    if (across !== null) drawDot(context, "diamond", across, up, 5, ink, paper);
    context.lineWidth = 4;
    context.strokeStyle = faint(paper, 0.85);
    context.strokeText(label, area.left, (area.top + area.bottom) / 2);
    context.fillStyle = soft;
    context.fillText(label, area.left, (area.top + area.bottom) / 2);
  }
}
