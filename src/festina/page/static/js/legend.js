/** The legend of a chart: what solid and dashed mean, and one button per line that hides and shows it. */

import { chartColours, faint, lineColour, markerOf } from "./colours.js";
import { element, fill } from "./dom.js";
import { drawMarker } from "./markers.js";
import { readable } from "./numbers.js";

const [WIDTH, HEIGHT] = [34, 14];

/** A legend in an element; `toggle(line)` is called when a line's button is pressed. */
export function createLegend(toggle) {
  const root = element("ul", { class: "legend", "aria-label": "Lines; press one to hide or show it" });
  let values = new Map();

  function show(names, hidden, { simulation, theory }) {
    values = new Map();
    const styles = [simulation ? styleEntry("simulation", false) : null, theory ? styleEntry("theory", true) : null];
    const lines = names.length > 1 || names[0] ? names.map((name, k) => lineEntry(name, k, names.length, hidden)) : [];
    fill(root, styles, lines);
  }

  function lineEntry(name, number, count, hidden) {
    const value = element("span", { class: "value", "aria-hidden": "true" });
    values.set(name, value);
    const button = element(
      "button",
      { type: "button", class: "quiet", "aria-pressed": String(!hidden.has(name)), onclick: () => toggle(name) },
      swatch(lineColour(number, count), markerOf(number)),
      name || "all",
      value,
    );
    return element("li", {}, button);
  }

  /** Write beside each line the value under the pointer; nothing if there is none. */
  function read(found) {
    for (const [name, place] of values) {
      const value = found?.get(name);
      place.textContent = value === undefined || value === null ? "" : readable(value, 3);
    }
  }

  return { root, show, read };
}

function styleEntry(name, dashed) {
  return element("li", { class: "style" }, swatch(chartColours().ink, null, dashed), name);
}

function swatch(colour, marker, dashed = false) {
  const ratio = devicePixelRatio || 1;
  const canvas = element("canvas", { width: WIDTH * ratio, height: HEIGHT * ratio, "aria-hidden": "true" });
  const context = canvas.getContext("2d");
  context.strokeStyle = dashed ? colour : faint(colour, 0.75);
  context.lineWidth = (dashed ? 1.6 : 3) * ratio;
  context.setLineDash(dashed ? [5 * ratio, 4 * ratio] : []);
  context.beginPath();
  context.moveTo(ratio, (HEIGHT / 2) * ratio);
  context.lineTo((WIDTH - 1) * ratio, (HEIGHT / 2) * ratio);
  context.stroke();
  if (marker) {
    drawMarker(context, marker, (WIDTH / 2) * ratio, (HEIGHT / 2) * ratio, colour, chartColours().paper, ratio);
  }
  return canvas;
}
