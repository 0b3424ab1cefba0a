/** Small marks on lines: they tell lines apart where colour cannot. */

const SIZE = 4.2;
const SPACING = 110; // pixels of the screen between two marks of one line, more where there are many lines
const SPACING_PER_LINE = 22;

const SHAPES = {
  circle: (path, x, y, r) => path.arc(x, y, r, 0, 2 * Math.PI),
  square: (path, x, y, r) => path.rect(x - 0.9 * r, y - 0.9 * r, 1.8 * r, 1.8 * r),
  triangle: (path, x, y, r) =>
    polygon(path, [
      [x, y - 1.2 * r],
      [x + 1.1 * r, y + 0.8 * r],
      [x - 1.1 * r, y + 0.8 * r],
    ]),
  inverted: (path, x, y, r) =>
    polygon(path, [
      [x, y + 1.2 * r],
      [x + 1.1 * r, y - 0.8 * r],
      [x - 1.1 * r, y - 0.8 * r],
    ]),
  diamond: (path, x, y, r) =>
    polygon(path, [
      [x, y - 1.3 * r],
      [x + 1.3 * r, y],
      [x, y + 1.3 * r],
      [x - 1.3 * r, y],
    ]),
  cross: (path, x, y, r) => {
    const [a, b] = [0.4 * r, 1.15 * r];
    const corners = [
      [a, b],
      [a, a],
      [b, a],
      [b, -a],
      [a, -a],
      [a, -b],
      [-a, -b],
      [-a, -a],
      [-b, -a],
      [-b, a],
      [-a, a],
      [-a, b],
    ];
    polygon(
      path,
      corners.map(([dx, dy]) => [x + dx, y + dy]),
    );
  },
};

function polygon(path, corners) {
  corners.forEach(([x, y], k) => (k ? path.lineTo(x, y) : path.moveTo(x, y)));
  path.closePath();
}

/** Draw one mark on a canvas. */
export function drawMarker(context, shape, x, y, colour, paper, ratio = 1) {
  context.beginPath();
  SHAPES[shape](context, x, y, SIZE * ratio);
  context.fillStyle = paper;
  context.strokeStyle = colour;
  context.lineWidth = 1.5 * ratio;
  context.fill();
  context.stroke();
}

/** Mark a curve of a uPlot chart every so many pixels; each line begins elsewhere, so that marks do not hide others. */
export function markCurve(plot, place, { shape, colour, paper, number, count }) {
  const ratio = devicePixelRatio || 1;
  const [times, values] = [plot.data[0], plot.data[place]];
  const spacing = Math.max(SPACING, SPACING_PER_LINE * count) * ratio;
  let next = plot.bbox.left + spacing * (0.25 + (0.75 * (number + 0.5)) / Math.max(1, count));
  for (let k = 0; k < times.length; k += 1) {
    const x = plot.valToPos(times[k], "x", true);
    if (x < next || values[k] === null || values[k] === undefined) continue;
    if (x > plot.bbox.left + plot.bbox.width) break;
    const y = plot.valToPos(values[k], "y", true);
    if (y >= plot.bbox.top - 1 && y <= plot.bbox.top + plot.bbox.height + 1) {
      drawMarker(plot.ctx, shape, x, y, colour, paper, ratio);
    }
    next = Math.max(next, x) + spacing;
  }
}

/** Draw one dot of a simulation: full of its colour, with a thin edge of paper so that dots stay apart. */
export function drawDot(context, shape, x, y, radius, colour, paper) {
  context.beginPath();
  SHAPES[shape](context, x, y, radius);
  context.lineWidth = 1.4;
  context.strokeStyle = paper;
  context.stroke();
  context.fillStyle = colour;
  context.fill();
}
