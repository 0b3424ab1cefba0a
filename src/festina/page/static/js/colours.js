/** Colours that everyone can tell apart, and the marks and dashes that do without colour. */

import { isDark } from "./theme.js";

// Okabe & Ito, in the order of the package's own figures; the last is the colour of the ink.
const PALETTE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"];
const DARK_PALETTE = ["#56B4E9", "#F0803C", "#2BC79A", "#DE9DC1", "#E69F00", "#8FB7E8"];
const INK = "#1c1c1c";
const DARK_INK = "#e4e3df";

// Viridis: even in lightness, and readable with every kind of colour vision.
const VIRIDIS = [
  [68, 1, 84],
  [72, 24, 106],
  [71, 45, 123],
  [66, 64, 134],
  [59, 82, 139],
  [51, 99, 141],
  [44, 114, 142],
  [38, 130, 142],
  [33, 145, 140],
  [31, 160, 136],
  [40, 174, 128],
  [63, 188, 115],
  [94, 201, 98],
  [132, 212, 75],
  [173, 220, 48],
  [216, 226, 25],
  [253, 231, 37],
];

// Blue through the paper to vermillion: below and above zero.
const DIVERGING = [
  [0, 68, 124],
  [0, 114, 178],
  [129, 184, 217],
  [247, 247, 245],
  [240, 168, 120],
  [213, 94, 0],
  [142, 58, 0],
];
const DARK_DIVERGING = [
  [150, 214, 250],
  [86, 180, 233],
  [38, 92, 128],
  [34, 36, 40],
  [132, 66, 28],
  [240, 128, 60],
  [255, 190, 140],
];

export const MARKERS = ["circle", "square", "triangle", "diamond", "cross", "inverted"];

/** The colour of viridis at a share between 0 and 1. */
export const viridis = (share) => `rgb(${mixed(VIRIDIS, share).join(", ")})`;

/** The colour of a cell as three numbers: viridis, or blue to vermillion over the paper's; grey if nothing is known. */
export function cellColour(share, diverging = false) {
  if (share === null) return isDark() ? [58, 62, 67] : [222, 222, 217];
  return mixed(diverging ? (isDark() ? DARK_DIVERGING : DIVERGING) : VIRIDIS, share);
}

/** The colour of a surface behind other things, as three numbers: pale, so that what lies on it is seen. */
export function surfaceColour(share, diverging = false) {
  const paper = isDark() ? [22, 24, 27] : [255, 255, 255];
  if (diverging)
    return mixed(isDark() ? DARK_DIVERGING : DIVERGING, share).map((part, k) =>
      Math.round(0.5 * part + 0.5 * paper[k]),
    );
  return mixed(
    isDark()
      ? [
          [30, 44, 54],
          [52, 62, 72],
          [88, 94, 100],
        ]
      : [
          [214, 230, 240],
          [240, 244, 245],
          [208, 206, 200],
        ],
    share,
  );
}

function mixed(colours, share) {
  const place = Math.min(1, Math.max(0, share)) * (colours.length - 1);
  const low = Math.min(colours.length - 2, Math.floor(place));
  return colours[low].map((part, k) => Math.round(part + (colours[low + 1][k] - part) * (place - low)));
}

/** The colour of one line among several: the palette for a few, an even scale for many. */
export function lineColour(number, count) {
  const palette = isDark() ? [...DARK_PALETTE, DARK_INK] : [...PALETTE, INK];
  if (count <= palette.length) return palette[number];
  const share = number / (count - 1);
  return viridis(isDark() ? 0.25 + 0.75 * share : 0.85 * share);
}

const [DEEPEST, PALEST] = [-0.5, 0.2]; // of the shades of a colour: towards black, and towards white

/**
 * Colours of lines that stand in a table, by row and column: the palette by row, from deep to pale along it; null if
 * there are more rows than colours.
 */
export function cellColours(rows, columns) {
  const palette = isDark() ? DARK_PALETTE : PALETTE;
  if (rows > palette.length) return null;
  const depths = Array.from({ length: columns }, (_, k) => DEEPEST + ((PALEST - DEEPEST) * k) / Math.max(1, columns - 1));
  return palette.slice(0, rows).map((colour) => depths.map((depth) => shaded(colour, isDark() ? -depth : depth)));
}

/** A colour some way towards black, if the way is negative, or towards white. */
function shaded(colour, way) {
  const [goal, share] = way < 0 ? [0, -way] : [255, way];
  const parts = [1, 3, 5].map((start) => parseInt(colour.slice(start, start + 2), 16));
  return `#${parts.map((part) => Math.round(part + (goal - part) * share).toString(16).padStart(2, "0")).join("")}`;
}

/** The mark of one line among several. */
export const markerOf = (number) => MARKERS[number % MARKERS.length];

/** The colours of axes, of what is written on them, and of the paper. */
export function chartColours() {
  return isDark()
    ? { ink: DARK_INK, soft: "#a5a7a9", grid: "#2c3034", paper: "#16181b" }
    : { ink: INK, soft: "#5c5c5c", grid: "#e9e9e6", paper: "#ffffff" };
}

/** A colour with some of the paper showing through. */
export function faint(colour, opacity) {
  const parts = colour.startsWith("#")
    ? [1, 3, 5].map((start) => parseInt(colour.slice(start, start + 2), 16))
    : colour.match(/\d+/g).slice(0, 3);
  return `rgba(${parts.join(", ")}, ${opacity})`;
}
