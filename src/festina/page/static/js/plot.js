/** One uPlot chart: solid bands of colour for the simulation, dashes over them for the theory. */

import { chartColours, faint, lineColour, markerOf } from "./colours.js";
import { markCurve } from "./markers.js";
import { readable } from "./numbers.js";
import { onScales } from "./series.js";

const LOGARITHMIC = 3; // uPlot's own number for such a scale
const FONT = '12px "Helvetica Neue", Helvetica, Arial, "Liberation Sans", sans-serif';
const DASH = [6, 4];

/** Everything about a chart that, when it changes, needs a new plot rather than new data. */
export function structureOfPlot(curves, look) {
  const parts = [...curves.simulation, ...curves.theory].map((curve) => [curve.kind, curve.line, curve.run]);
  return JSON.stringify([parts, look.logTime, look.logValue, look.stale, [...look.hidden]]);
}

/** The columns that a plot draws: simulation and theory on one axis of time, whether or not their times agree. */
export function columnsOf(curves, times, look) {
  const tables = [
    onScales(times.simulation, curves.simulation, look.logTime, look.logValue),
    onScales(times.theory, curves.theory, look.logTime, look.logValue),
  ].filter((table) => table.length > 1);
  if (tables.length === 0) return [[]];
  return tables.length === 1 ? tables[0] : globalThis.uPlot.join(tables);
}

/** A new plot in an element. */
export function createPlot(parent, curves, columns, look, size, heard) {
  const all = [...curves.simulation, ...curves.theory];
  const count = curves.names.length;
  const colours = chartColours();
  const options = {
    ...size,
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: true } },
    scales: {
      x: { time: false, distr: look.logTime ? LOGARITHMIC : 1 },
      y: { distr: look.logValue ? LOGARITHMIC : 1 },
    },
    axes: [axis(colours, look.timeLabel, 28), axis(colours, null, 52)],
    series: [{}, ...all.map((curve) => seriesOptions(curve, count, look))],
    bands: bandsOf(all, count),
    hooks: {
      draw: [(plot) => markAll(plot, all, count, look)],
      setCursor: [(plot) => heard.cursor(plot.cursor.idx)],
      setSelect: [(plot) => plot.select.width > 0 && heard.zoom()],
    },
  };
  return new globalThis.uPlot(options, columns, parent);
}

function axis(colours, label, size) {
  return {
    stroke: colours.soft,
    font: FONT,
    labelFont: FONT,
    label: label ?? undefined,
    labelSize: label ? 20 : undefined,
    size,
    gap: 4,
    grid: { stroke: colours.grid, width: 1 },
    ticks: { stroke: colours.grid, width: 1, size: 5 },
    values: (plot, splits) => splits.map((value) => (value === null ? "" : readable(value, 3))),
  };
}

function seriesOptions(curve, count, look) {
  const colour = lineColour(curve.number, count);
  const shared = { show: !look.hidden.has(curve.line), points: { show: false }, spanGaps: false };
  if (curve.kind === "theory") return { ...shared, stroke: colour, width: 1.6, dash: DASH };
  if (curve.kind === "simulation") return { ...shared, stroke: faint(colour, look.stale ? 0.16 : 0.5), width: 3.2 };
  return { ...shared, stroke: "transparent", width: 0 };
}

/** A band between the lowest and the highest of many runs. */
function bandsOf(all, count) {
  return all.flatMap((curve, k) =>
    curve.kind === "high" ? [{ series: [k + 1, k + 2], fill: faint(lineColour(curve.number, count), 0.15) }] : [],
  );
}

function markAll(plot, all, count, look) {
  if (count < 2) return;
  const drawn = new Set();
  const bySimulationFirst = all.map((curve, k) => [curve, k + 1]);
  for (const [curve, place] of bySimulationFirst) {
    const wanted = curve.kind === "simulation" ? !look.stale : curve.kind === "theory";
    if (!wanted || drawn.has(curve.line) || look.hidden.has(curve.line)) continue;
    drawn.add(curve.line);
    const colour = lineColour(curve.number, count);
    const { paper } = chartColours();
    markCurve(plot, place, { shape: markerOf(curve.number), colour, paper, number: curve.number, count });
  }
}
