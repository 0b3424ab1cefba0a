/** Where words can stand in a picture: away from what is drawn, and from each other. */

const GAP = 5; // pixels between two words
const PER_WORD = 1000; // what it costs to stand on another word, in points that would be hidden

/** A rectangle around words whose middle is at a height. */
export const around = (left, middle, width, text) => ({ left, right: left + width, top: middle - 0.6 * text, bottom: middle + 0.6 * text });

/** The best of some places, each with its rectangle `area`: the first of those that hide least. */
export function best(places, { taken, points = [], paths = [] }) {
  const costOf = ({ area, cost = 0 }) =>
    cost +
    PER_WORD * taken.filter((other) => touch(area, other)).length +
    points.filter(([x, y]) => inside(area, x, y)).length +
    paths.reduce((sum, path) => sum + crossings(area, path), 0);
  const costs = places.map(costOf);
  return places[costs.indexOf(Math.min(...costs))];
}

const touch = (a, b) => a.left < b.right + GAP && b.left < a.right + GAP && a.top < b.bottom && b.top < a.bottom;

const inside = (area, x, y) => x > area.left - 2 && x < area.right + 2 && y > area.top && y < area.bottom;

/** How many pieces of a path of points [x, y] pass through a rectangle; a gap in it is null. */
function crossings(area, path) {
  let count = 0;
  for (let k = 1; k < path.length; k += 1) if (path[k - 1] && path[k] && passes(area, path[k - 1], path[k])) count += 1;
  return count;
}

/** Whether a straight piece passes through a rectangle: what is left of it within all four sides is not nothing. */
function passes({ left, right, top, bottom }, [x0, y0], [x1, y1]) {
  if (Math.max(x0, x1) < left || Math.min(x0, x1) > right || Math.max(y0, y1) < top || Math.min(y0, y1) > bottom) return false;
  let [from, to] = [0, 1];
  for (const [begin, end, low, high] of [
    [x0, x1, left, right],
    [y0, y1, top, bottom],
  ]) {
    if (begin === end) continue;
    const [a, b] = [(low - begin) / (end - begin), (high - begin) / (end - begin)].sort((p, q) => p - q);
    [from, to] = [Math.max(from, a), Math.min(to, b)];
  }
  return from <= to;
}
