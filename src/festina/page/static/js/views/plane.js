/** A plane: trajectories on a surface, points that move, and the places that matter: saddles, minima, targets. */

import { chartColours, faint } from "../colours.js";
import { drawDot } from "../markers.js";
import { readable } from "../numbers.js";
import { extent, frameOf, paintAxes, rangeOf, within } from "./axes.js";
import { coveredBy, createView, frameAt, groupOf, outdatedIn, placeAt, scenesOf } from "./frame.js";
import { around, best } from "./labels.js";
import { font, tallest, widthOf } from "./picture.js";
import { heightAt, paintSurface } from "./surface.js";

const MOST_DOTS = 60; // of a simulated trajectory
const TOGETHER = 9; // pixels within which points are in one place
const FEW = 16; // points that carry their names
const WINDING = 3; // a path so many times as long as the picture's sides hides it, unless it is thin

/** A view of a plane. */
export const create = (options) =>
  createView("plane", { height, layout, paint, find, step, say, describe, plotted }, options);

function height(width, { large, ...state }) {
  const equal = scenesOf(state)[0]?.[1].equal;
  return Math.max(270, Math.min(width * (equal && !large ? 0.95 : 0.72), large ? tallest(500) : 400));
}

function layout(state, size) {
  const scenes = scenesOf(state);
  const first = scenes[0][1];
  const surface = scenes.map(([, scene]) => scene.surface).find(Boolean) ?? null;
  const frame = frameOf(
    size,
    { ...first.x, range: axisRange(state, "x"), log: false },
    { ...first.y, range: axisRange(state, "y"), log: false },
    { equal: first.equal },
  );
  const shown = (scene, parts) => (parts ?? []).filter((part) => !state.hidden.has(groupOf(scene, part)));
  const parts = {
    paths: scenes.flatMap(([source, scene]) =>
      shown(scene, scene.paths).map((path) => pathOf(source, scene, path, state, frame)),
    ),
    clouds: scenes.flatMap(([source, scene]) =>
      shown(scene, scene.clouds).map((cloud) => cloudOf(source, scene, cloud, state)),
    ),
    marks: [
      ...new Map(scenes.flatMap(([, scene]) => scene.marks ?? []).map((one) => [JSON.stringify(one), one])).values(),
    ],
  };
  return { frame, surface, outdated: outdatedIn(state), ...parts, names: placed(frame, parts) };
}

/** All names of a picture, each where it hides least of what is drawn. */
function placed(frame, { paths, clouds, marks }) {
  const { box, x, y } = frame;
  const named = clouds.filter(
    (cloud) => cloud.labels && cloud.x.length <= FEW && (cloud.source === "simulation" || !twin(clouds, cloud)),
  );
  const wanted = [
    ...marks.filter((mark) => mark.label && known(mark.x, mark.y)),
    ...namesOf(frame, headsOf(paths)),
    ...named.flatMap((cloud) => namesOf(frame, cloud)),
  ];
  if (!wanted.length) return [];
  const pixels = (part, until = part.x.length - 1) =>
    part.x.slice(0, until + 1).map((px, k) => (known(px, part.y[k]) ? [x.at(px), y.at(part.y[k])] : null));
  const drawn = {
    paths: paths.filter((path) => path.source === "theory").map((path) => pixels(path)),
    points: [
      ...paths.flatMap((path) => (path.source === "simulation" ? pixels(path, path.until) : [])),
      ...clouds.flatMap((cloud) => pixels(cloud)),
      ...wanted.map((one) => [x.at(one.x), y.at(one.y)]),
    ].filter(Boolean),
    taken: [],
  };
  const found = [];
  for (const one of wanted) {
    const [left, top] = [x.at(one.x), y.at(one.y)];
    const outside = left < box.left - 8 || left > box.left + box.width + 8 || top < box.top - 8 || top > box.top + box.height + 8;
    const said = found.some((other) => other.label === one.label && Math.hypot(other.at[0] - left, other.at[1] - top) < 60);
    if (outside || said) continue;
    const { area } = best(spotsOf(frame, left, top, widthOf(one.label, frame.text)), drawn);
    drawn.taken.push(area);
    found.push({ label: one.label, at: [left, top], area });
  }
  return found;
}

/** Where the name of a point may stand, best first; a place that must be moved into the box is worse than any other. */
function spotsOf({ box, text }, left, top, width) {
  const [near, far] = [15, 0.7 * text + 10];
  const spots = [
    [left + near, top],
    [left - near - width, top],
    [left - width / 2, top - far],
    [left - width / 2, top + far],
    [left + 6, top - far],
    [left + 6, top + far],
    [left - 6 - width, top - far],
    [left - 6 - width, top + far],
  ];
  const inside = ([a, b]) => [
    Math.max(box.left + 3, Math.min(box.left + box.width - width - 3, a)),
    Math.max(box.top + text * 0.7, Math.min(box.top + box.height - text * 0.7, b)),
  ];
  return spots.map((spot, k) => {
    const [a, b] = inside(spot);
    const moved = Math.hypot(a - spot[0], b - spot[1]);
    return { area: around(a, b, width, text), cost: 0.2 * k + (moved > 0 ? 2 + 0.1 * moved : 0) };
  });
}

/** The range of an axis: all that the scenes name and ever draw, so that nothing jumps while time runs. */
function axisRange(state, axis) {
  const lists = coveredBy(state).flatMap((scene) => [
    [scene[axis].low, scene[axis].high],
    ...(scene.paths ?? []).map((path) => path[axis]),
    ...(scene.clouds ?? []).flatMap((cloud) => cloud.frames.map((frame) => frame[axis])),
    (scene.marks ?? []).map((mark) => mark[axis]),
  ]);
  const surface = extent(coveredBy(state).map((scene) => scene.surface?.[axis] ?? []));
  const found = extent(lists);
  if (!surface || surface[0] === surface[1]) return rangeOf(found);
  return extent([surface, found ?? []]); // a surface needs no margin around it
}

function pathOf(source, scene, path, state, frame) {
  const group = groupOf(scene, path);
  const last = scene.times.length ? placeAt(scene.times, state.moment) : path.x.length - 1;
  const until = Math.min(path.x.length - 1, last);
  const look = state.lookOf(group);
  return {
    source,
    name: path.name,
    group,
    run: path.run ?? null,
    x: path.x,
    y: path.y,
    until,
    times: scene.times,
    winding: source === "theory" && lengthOf(path, frame) > WINDING * (frame.box.width + frame.box.height),
    look,
  };
}

/** How many pixels long a path is. */
function lengthOf(path, { x, y }) {
  let length = 0;
  for (let k = 1; k < path.x.length; k += 1) {
    if (!known(path.x[k], path.y[k]) || !known(path.x[k - 1], path.y[k - 1])) continue;
    length += Math.hypot(x.at(path.x[k]) - x.at(path.x[k - 1]), y.at(path.y[k]) - y.at(path.y[k - 1]));
  }
  return length;
}

function cloudOf(source, scene, cloud, state) {
  const group = groupOf(scene, cloud);
  const frame = frameAt(cloud.frames, scene.times, state.moment) ?? { x: [], y: [] };
  const labels = frame.labels ?? cloud.labels ?? null;
  return { source, name: cloud.name, group, x: frame.x, y: frame.y, labels, look: state.lookOf(group) };
}

function paint(context, laid, cursor) {
  const { frame, surface, paths, clouds, marks } = laid;
  if (surface) paintSurface(context, surface, frame);
  paintAxes(context, frame, { grid: !surface });
  within(context, frame.box, () => {
    for (const source of ["theory", "simulation"]) // dots on lines, not under them
      for (const path of paths) if (path.source === source) paintPath(context, frame, path, laid.outdated[source]);
    for (const mark of marks) paintShape(context, frame, mark);
    for (const cloud of clouds) paintCloud(context, frame, cloud, laid.outdated[cloud.source]);
    for (const path of paths) paintHead(context, frame, path, laid.outdated[path.source]);
  });
  for (const one of laid.names) write(context, frame, one);
  if (cursor) ring(context, frame, pointsOf(laid)[cursor.point]);
}

const twin = (clouds, cloud) => clouds.some((one) => one.source === "simulation" && one.group === cloud.group);

const known = (x, y) => typeof x === "number" && typeof y === "number";

/** Theory's path is a line, pale where it has not been yet; the simulation's a row of dots up to now. */
function paintPath(context, { x, y }, path, stale) {
  if (path.source === "simulation") {
    const every = Math.max(1, Math.ceil((path.until + 1) / MOST_DOTS));
    context.globalAlpha = stale ? 0.2 : 0.9;
    for (let k = 0; k <= path.until; k += every) {
      if (known(path.x[k], path.y[k])) {
        drawDot(context, "circle", x.at(path.x[k]), y.at(path.y[k]), 2.7, path.look.colour, chartColours().paper);
      }
    }
    context.globalAlpha = 1;
    return;
  }
  const [width, firm] = path.winding ? [1.2, 0.7] : [2.6, 1];
  const share = stale ? 0.25 * firm : firm;
  trace(context, x, y, path, 0, path.x.length - 1, 0.6 * width, faint(path.look.colour, 0.35 * share));
  trace(context, x, y, path, 0, path.until, width, faint(path.look.colour, share));
}

function trace(context, x, y, path, from, to, width, colour) {
  context.beginPath();
  let down = false;
  for (let k = from; k <= to; k += 1) {
    const here = known(path.x[k], path.y[k]);
    if (here) context[down ? "lineTo" : "moveTo"](x.at(path.x[k]), y.at(path.y[k]));
    down = here;
  }
  context.lineWidth = width;
  context.strokeStyle = colour;
  context.stroke();
}

/** Where a path is now: a full mark for the simulation, a ring for the theory. */
function paintHead(context, { x, y }, path, stale) {
  const [px, py] = [path.x[path.until], path.y[path.until]];
  if (!known(px, py)) return;
  if (path.source === "simulation") {
    context.globalAlpha = stale ? 0.25 : 1;
    drawDot(context, path.look.marker, x.at(px), y.at(py), 7, path.look.colour, chartColours().ink);
    context.globalAlpha = 1;
    return;
  }
  context.beginPath();
  context.arc(x.at(px), y.at(py), 7.5, 0, 2 * Math.PI);
  context.lineWidth = 2.4;
  context.strokeStyle = faint(path.look.colour, stale ? 0.25 : 1);
  context.stroke();
}

function paintCloud(context, { x, y }, cloud, stale) {
  const { paper } = chartColours();
  const radius = cloud.x.length > 60 ? 3 : 5;
  context.globalAlpha = stale ? 0.25 : 0.92;
  cloud.x.forEach((px, k) => {
    if (!known(px, cloud.y[k])) return;
    if (cloud.source === "simulation") {
      drawDot(context, cloud.look.marker, x.at(px), y.at(cloud.y[k]), radius, cloud.look.colour, paper);
      return;
    }
    context.beginPath();
    context.arc(x.at(px), y.at(cloud.y[k]), radius + 3, 0, 2 * Math.PI);
    context.lineWidth = 1.8;
    context.strokeStyle = cloud.look.colour;
    context.stroke();
  });
  context.globalAlpha = 1;
}

/** The mark of a place: a cross for a saddle, a full circle for a minimum, two rings for a target. */
function paintShape(context, { x, y }, { x: px, y: py, shape }) {
  if (!known(px, py)) return;
  const { ink, paper } = chartColours();
  const [left, top, r] = [x.at(px), y.at(py), 7];
  context.strokeStyle = ink;
  context.fillStyle = ink;
  context.lineWidth = 2.2;
  context.beginPath();
  if (shape === "saddle") {
    context.moveTo(left - r, top - r);
    context.lineTo(left + r, top + r);
    context.moveTo(left - r, top + r);
    context.lineTo(left + r, top - r);
    context.stroke();
  } else if (shape === "target") {
    context.arc(left, top, r + 2, 0, 2 * Math.PI);
    context.moveTo(left + 4, top);
    context.arc(left, top, 4, 0, 2 * Math.PI);
    context.stroke();
  } else {
    context.arc(left, top, shape === "minimum" ? r : 3.5, 0, 2 * Math.PI);
    context.fill();
    context.strokeStyle = paper;
    context.stroke();
  }
}

/** Where paths of one colour are now, with their names; nothing where colours tell them apart, or they are many. */
function headsOf(paths) {
  const source = paths.some((path) => path.source === "simulation") ? "simulation" : "theory";
  const own = paths.filter((path) => path.source === source && path.name && path.run === paths[0].run);
  const named = own.length > 1 && own.length <= FEW && new Set(own.map((path) => path.group)).size === 1 ? own : [];
  const at = (axis) => named.map((path) => path[axis][path.until]);
  return { x: at("x"), y: at("y"), labels: named.map((path) => path.name) };
}

/** The names of points; those of points in one place are written as one. */
function namesOf({ x, y }, cloud) {
  const places = [];
  cloud.x.forEach((px, k) => {
    if (!known(px, cloud.y[k])) return;
    const [left, top] = [x.at(px), y.at(cloud.y[k])];
    const same = places.find((one) => Math.hypot(one.left - left, one.top - top) < TOGETHER);
    if (same) same.labels.push(cloud.labels[k]);
    else places.push({ x: px, y: cloud.y[k], left, top, labels: [cloud.labels[k]] });
  });
  return places.map((one) => ({ ...one, label: joined(one.labels) }));
}

/** Names in one line: the first words that all share are said once. */
function joined(labels) {
  const [first, ...others] = labels;
  const head = /^\D+ (?=\S+$)/.exec(first ?? "")?.[0] ?? "";
  const shared = head && others.every((label) => label.startsWith(head)) ? head.length : 0;
  return [first, ...others.map((label) => label.slice(shared))].join(", ");
}

/** Write a name where it was placed. */
function write(context, { text }, { label, area }) {
  const { ink, paper } = chartColours();
  const middle = (area.top + area.bottom) / 2;
  context.font = font(text);
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.lineWidth = 4;
  context.strokeStyle = faint(paper, 0.8);
  context.strokeText(label, area.left, middle);
  context.fillStyle = ink;
  context.fillText(label, area.left, middle);
}

function ring(context, { x, y }, point) {
  if (!point) return;
  context.beginPath();
  context.arc(x.at(point.x), y.at(point.y), 11, 0, 2 * Math.PI);
  context.lineWidth = 2.2;
  context.strokeStyle = chartColours().ink;
  context.stroke();
}

/** All that can be read: heads and points of paths, points of clouds, marks. */
function pointsOf({ paths, clouds, marks }) {
  const words = (part) => [...new Set([part.group, part.name])].filter(Boolean).join(", ");
  return [
    ...marks.filter((mark) => known(mark.x, mark.y)).map(({ x, y, label, shape }) => ({ x, y, said: label || shape })),
    ...clouds.flatMap((cloud) =>
      cloud.x.flatMap((x, k) =>
        known(x, cloud.y[k])
          ? [{ x, y: cloud.y[k], said: [cloud.labels?.[k] ?? words(cloud), cloud.source].filter(Boolean).join(", ") }]
          : [],
      ),
    ),
    ...paths.flatMap((path) =>
      path.x.slice(0, path.until + 1).flatMap((x, k) => {
        const when = path.times[k] === undefined ? "" : ` at ${readable(path.times[k], 3)}`;
        return known(x, path.y[k])
          ? [{ x, y: path.y[k], said: `${[words(path), path.source].filter(Boolean).join(", ")}${when}` }]
          : [];
      }),
    ),
  ];
}

/** The nearest point, or the place on the surface if no point is near. */
function find(laid, left, top) {
  const { box, x, y } = laid.frame;
  if (left < box.left || left > box.left + box.width || top < box.top || top > box.top + box.height) return null;
  let [best, nearest] = [null, 26 ** 2];
  pointsOf(laid).forEach((point, number) => {
    const distance = (x.at(point.x) - left) ** 2 + (y.at(point.y) - top) ** 2;
    if (distance < nearest) [best, nearest] = [{ point: number }, distance];
  });
  return best ?? (laid.surface ? { x: x.at.of(left), y: y.at.of(top) } : null);
}

function step(laid, cursor, right, up) {
  const count = pointsOf(laid).length;
  if (!count) return null;
  if (cursor?.point === undefined) return { point: 0 };
  return { point: (((cursor.point + right - up) % count) + count) % count };
}

function say(laid, cursor) {
  const { x, y } = laid.frame;
  const point = cursor.point === undefined ? { ...cursor, said: "" } : pointsOf(laid)[cursor.point];
  if (!point) return "";
  const height = laid.surface ? heightAt(laid.surface, point.x, point.y) : null;
  const places = `${x.label} ${readable(point.x, 3)}, ${y.label} ${readable(point.y, 3)}`;
  const over = height === null ? "" : `, ${laid.surface.label || "height"} ${readable(height, 3)}`;
  return `${point.said ? `${point.said}: ` : ""}${places}${over}`;
}

function describe({ frame, paths, clouds, marks }) {
  const at = (x, y) => `(${readable(x ?? null, 3)}, ${readable(y ?? null, 3)})`;
  const words = (part) => [...new Set([part.group, part.name, part.source])].filter(Boolean).join(", ");
  const said = [
    ...paths.slice(0, 6).map((path) => `${words(path)} at ${at(path.x[path.until], path.y[path.until])}`),
    ...clouds.slice(0, 6).map((cloud) => `${words(cloud)}: ${cloud.x.length} points`),
    ...marks.slice(0, 6).map((mark) => `${mark.label || mark.shape} at ${at(mark.x, mark.y)}`),
  ];
  return `${frame.y.label} against ${frame.x.label}. ${said.join("; ")}.`;
}

function plotted({ frame, surface, paths, clouds, marks }) {
  return {
    x: { range: frame.x.at.range, label: frame.x.label },
    y: { range: frame.y.at.range, label: frame.y.label },
    box: frame.box,
    surface,
    paths: paths.map(({ source, name, group, run, x, y, until }) => ({
      source,
      name,
      group,
      run,
      x: source === "simulation" ? x.slice(0, until + 1) : x,
      y: source === "simulation" ? y.slice(0, until + 1) : y,
      head: [x[until], y[until]],
    })),
    clouds: clouds.map(({ source, name, group, x, y, labels }) => ({ source, name, group, x, y, labels })),
    marks,
  };
}
