/** A surface behind a plane: bands of equal height, pale, drawn once and kept. */

import { surfaceColour } from "../colours.js";
import { isDark } from "../theme.js";
import { extent } from "./axes.js";

const [WIDE, TALL] = [180, 150]; // pixels of the kept image; it is smoothed when it is drawn
const kept = new WeakMap(); // images by surface

/**
 * Where bands begin. A surface with both signs has even bands about zero, so that zero is a border; any other has bands
 * of equal area, for errors grow so fast that even bands would show only their rim.
 */
export function levelsOf({ values, levels = 10 }) {
  const [low, high] = extent(values) ?? [0, 1];
  const count = Math.max(2, levels);
  if (low < 0 && high > 0) {
    const most = Math.max(-low, high);
    const even = count + (count % 2);
    return { diverging: true, at: Array.from({ length: even - 1 }, (_, k) => -most + (2 * most * (k + 1)) / even) };
  }
  const sorted = values
    .flat()
    .filter((value) => typeof value === "number")
    .sort((a, b) => a - b);
  const at = Array.from({ length: count - 1 }, (_, k) => sorted[Math.floor(((k + 1) * sorted.length) / count)]);
  return { diverging: false, at };
}

/** The height of a surface at a place, between its points; null outside. */
export function heightAt({ x, y, values }, px, py) {
  const [column, row] = [between(x, px), between(y, py)];
  if (column === null || row === null) return null;
  const [[i, u], [j, v]] = [column, row];
  const at = (down, right) => values[Math.min(values.length - 1, down)]?.[Math.min(x.length - 1, right)];
  const corners = [at(j, i), at(j, i + 1), at(j + 1, i), at(j + 1, i + 1)];
  if (corners.some((value) => typeof value !== "number")) return null;
  return (corners[0] * (1 - u) + corners[1] * u) * (1 - v) + (corners[2] * (1 - u) + corners[3] * u) * v;
}

/** Between which two of growing (or falling) numbers a number is, and how far; null outside of all. */
function between(list, value) {
  const last = list.length - 1;
  const falling = list[0] > list[last];
  const [low, high] = falling ? [list[last], list[0]] : [list[0], list[last]];
  if (!(value >= low && value <= high)) return null;
  let [first, after] = [0, last];
  while (after - first > 1) {
    const middle = (first + after) >> 1;
    if (list[middle] <= value !== falling) first = middle;
    else after = middle;
  }
  return [first, list[after] === list[first] ? 0 : (value - list[first]) / (list[after] - list[first])];
}

/** Draw a surface where the scales of a frame put it. */
export function paintSurface(context, surface, { box, x, y }) {
  const image = imageOf(surface);
  const [left, right] = [surface.x[0], surface.x.at(-1)].map(x.at).sort((a, b) => a - b);
  const [top, bottom] = [surface.y[0], surface.y.at(-1)].map(y.at).sort((a, b) => a - b);
  context.save();
  context.beginPath();
  context.rect(box.left, box.top, box.width, box.height);
  context.clip();
  context.imageSmoothingEnabled = true;
  context.imageSmoothingQuality = "high";
  context.drawImage(image, left, top, right - left, bottom - top);
  context.restore();
}

function imageOf(surface) {
  const dark = isDark();
  const known = kept.get(surface);
  if (known?.dark === dark) return known.sheet;
  const { at, diverging } = levelsOf(surface);
  const image = new ImageData(WIDE, TALL);
  const [x0, x1] = [surface.x[0], surface.x.at(-1)].sort((a, b) => a - b);
  const [y0, y1] = [surface.y[0], surface.y.at(-1)].sort((a, b) => a - b);
  for (let row = 0; row < TALL; row += 1) {
    for (let column = 0; column < WIDE; column += 1) {
      const value = heightAt(surface, x0 + (x1 - x0) * (column / (WIDE - 1)), y1 - (y1 - y0) * (row / (TALL - 1)));
      if (value === null) continue;
      const band = at.findIndex((level) => value < level);
      const share = (band < 0 ? at.length : band) / at.length;
      image.data.set([...surfaceColour(share, diverging), 255], 4 * (row * WIDE + column));
    }
  }
  const sheet = new OffscreenCanvas(WIDE, TALL);
  sheet.getContext("2d").putImageData(image, 0, 0);
  kept.set(surface, { dark, sheet });
  return sheet;
}
