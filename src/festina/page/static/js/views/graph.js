/** A network: nodes, and edges as wide as they are strong; a path whose gate is closed is pale. */

import { chartColours, faint } from "../colours.js";
import { readable } from "../numbers.js";
import { extent } from "./axes.js";
import { coveredBy, createView, frameAt, groupOf, outdatedIn, scenesOf } from "./frame.js";
import { font, textSize } from "./picture.js";

const [THINNEST, WIDEST] = [1.2, 15];
const PALEST = 0.12;
const BEND = 0.16; // of an edge's length, between edges that join the same nodes

/** A view of a graph. */
export const create = (options) =>
  createView("graph", { height, layout, paint, find, step, say, describe, plotted }, options);

const height = (width, { large }) => Math.max(260, Math.min(width * 0.62, large ? 460 : 360));

function layout(state, size) {
  const scenes = scenesOf(state);
  const { nodes, value } = scenes[0][1];
  const text = textSize(size.width);
  const around = { x: Math.min(90, size.width * 0.16), y: 40 };
  const place = ({ x, y }) => [
    around.x + x * (size.width - 2 * around.x),
    around.y + (1 - y) * (size.height - 2 * around.y),
  ];
  const places = new Map(nodes.map((node) => [node.id, place(node)]));
  const all = coveredBy(state).flatMap((scene) => scene.edges.map((edge) => edge.values));
  const found = extent(all) ?? [0, 1];
  const most = Math.max(Math.abs(value.low ?? found[0]), Math.abs(value.high ?? found[1])) || 1;
  return {
    text,
    nodes: nodes.map((node) => ({ ...node, place: places.get(node.id) })),
    edges: edgesOf(state, places),
    most,
    value,
    outdated: outdatedIn(state),
  };
}

/** Every edge once, with what the simulation and the theory say of it; those between the same nodes bend apart. */
function edgesOf(state, places) {
  const edges = new Map();
  for (const [source, scene] of scenesOf(state)) {
    for (const edge of scene.edges) {
      const group = groupOf(scene, edge);
      if (state.hidden.has(group)) continue;
      const key = JSON.stringify([edge.from, edge.to, edge.name]);
      if (!edges.has(key))
        edges.set(key, {
          from: edge.from,
          to: edge.to,
          name: edge.name,
          group,
          look: state.lookOf(group),
          simulation: null,
          theory: null,
        });
      edges.get(key)[source] = frameAt(edge.values, scene.times, state.moment) ?? null;
    }
  }
  const drawn = [...edges.values()].filter((edge) => places.has(edge.from) && places.has(edge.to));
  return drawn.map((edge) => {
    const same = drawn.filter((one) => one.from === edge.from && one.to === edge.to);
    const bend = BEND * (same.indexOf(edge) - (same.length - 1) / 2);
    return { ...edge, curve: curveOf(places.get(edge.from), places.get(edge.to), bend) };
  });
}

function curveOf(from, to, bend) {
  const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
  return { from, to, by: [(from[0] + to[0]) / 2 - 2 * bend * dy, (from[1] + to[1]) / 2 + 2 * bend * dx] };
}

const widthOf = (value, most) => THINNEST + (WIDEST - THINNEST) * Math.min(1, Math.abs(value ?? 0) / most);

function paint(context, { nodes, edges, most, text, outdated }, cursor) {
  context.lineCap = "butt";
  edges.forEach((edge, number) => paintEdge(context, edge, most, outdated, cursor?.edge === number));
  for (const node of nodes) paintNode(context, node, text);
}

/** The simulation's strength as a band; the theory's as two thin lines where the rim of the band should be. */
function paintEdge(context, edge, most, outdated, chosen) {
  const { ink } = chartColours();
  const filled = edge.simulation ?? edge.theory;
  const share = Math.min(1, Math.abs(filled ?? 0) / most);
  const fading = outdated[edge.simulation === null ? "theory" : "simulation"] ? 0.3 : 1;
  if (chosen) sweep(context, edge.curve, 0, widthOf(filled, most) + 6, faint(ink, 0.5));
  sweep(
    context,
    edge.curve,
    0,
    widthOf(filled, most),
    faint(edge.look.colour, fading * (PALEST + (0.85 - PALEST) * Math.sqrt(share))),
  );
  if (edge.simulation === null || edge.theory === null) return;
  const half = widthOf(edge.theory, most) / 2 + 1;
  for (const side of [-half, half]) sweep(context, edge.curve, side, 1.5, faint(ink, outdated.theory ? 0.3 : 1));
}

/** A curve moved to its side by some pixels. */
function sweep(context, { from, by, to }, side, width, colour) {
  const length = Math.hypot(to[0] - from[0], to[1] - from[1]) || 1;
  const [nx, ny] = [(-(to[1] - from[1]) / length) * side, ((to[0] - from[0]) / length) * side];
  context.beginPath();
  context.moveTo(from[0] + nx, from[1] + ny);
  context.quadraticCurveTo(by[0] + nx, by[1] + ny, to[0] + nx, to[1] + ny);
  context.lineWidth = width;
  context.strokeStyle = colour;
  context.stroke();
}

function paintNode(context, { place: [left, top], label }, text) {
  const { ink, paper } = chartColours();
  context.font = font(text, 600);
  const half = Math.max(15, context.measureText(label).width / 2 + 10);
  context.beginPath();
  context.roundRect(left - half, top - 15, 2 * half, 30, 15);
  context.fillStyle = paper;
  context.fill();
  context.lineWidth = 1.8;
  context.strokeStyle = ink;
  context.stroke();
  context.fillStyle = ink;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText(label, left, top);
}

/** Points along a curve. */
function along({ from, by, to }, share) {
  const rest = 1 - share;
  return [0, 1].map((k) => rest * rest * from[k] + 2 * rest * share * by[k] + share * share * to[k]);
}

function find({ edges }, left, top) {
  let [best, nearest] = [null, 16];
  edges.forEach((edge, number) => {
    for (let share = 0.05; share < 1; share += 0.05) {
      const [x, y] = along(edge.curve, share);
      const distance = Math.hypot(x - left, y - top);
      if (distance < nearest) [best, nearest] = [{ edge: number }, distance];
    }
  });
  return best;
}

function step({ edges }, cursor, right, up) {
  if (!edges.length) return null;
  if (!cursor) return { edge: 0 };
  return { edge: (((cursor.edge + right - up) % edges.length) + edges.length) % edges.length };
}

function told(edge, label) {
  const values = ["simulation", "theory"].flatMap((source) =>
    edge[source] === null ? [] : [`${source} ${readable(edge[source], 3)}`],
  );
  const words = [...new Set([edge.name, edge.group])].filter(Boolean).join(", ") || `${edge.from} to ${edge.to}`;
  return `${words}: ${label} ${values.join(", ")}`;
}

const say = ({ edges, value }, { edge }) => (edges[edge] ? told(edges[edge], value.label) : "");

function describe({ nodes, edges, value }) {
  const said = edges.slice(0, 12).map((edge) => told(edge, ""));
  return `${nodes.length} nodes, ${edges.length} paths; ${value.label}. ${said.join("; ")}.`;
}

function plotted({ nodes, edges, most }) {
  return {
    nodes: nodes.map(({ id, label }) => ({ id, label })),
    edges: edges.map((edge) => ({
      from: edge.from,
      to: edge.to,
      name: edge.name,
      group: edge.group,
      simulation: edge.simulation,
      theory: edge.theory,
      width: widthOf(edge.simulation ?? edge.theory, most),
    })),
  };
}
