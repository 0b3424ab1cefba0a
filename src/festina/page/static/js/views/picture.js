/** A canvas that keeps its size and its sharpness, and says where the pointer and the keys are. */

import { element } from "../dom.js";

const FAMILY = '"Helvetica Neue", Helvetica, Arial, "Liberation Sans", sans-serif';
const NARROW = 420; // pixels: below, text is as small as a projector allows
const MOVES = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

const hall = matchMedia("(min-width: 106rem)"); // the width of a projector: all text is larger, as in base.css

/** How large text is on a picture of some width; never too small for the last row of a lecture hall. */
export const textSize = (width) => Math.round((width < NARROW ? 13 : width < 760 ? 14 : 15) * (hall.matches ? 1.2 : 1));

/** How tall a picture may be: no taller than leaves room for its controls in the window. */
export const tallest = (pixels) => Math.min(pixels, Math.max(300, Math.round(0.5 * innerHeight)));

/** A font of the page for a canvas. */
export const font = (size, weight = 400) => `${weight} ${size}px ${FAMILY}`;

const ruler = new OffscreenCanvas(1, 1).getContext("2d");

/** How many pixels wide words are. */
export function widthOf(words, size, weight = 400) {
  ruler.font = font(size, weight);
  return ruler.measureText(words).width;
}

/** Words in as many lines as a width demands, broken where there is a space or a hyphen. */
export function wrapped(words, width, size, weight = 400) {
  const lines = [""];
  for (const word of words.split(/(?<=[ -])/)) {
    const longer = lines.at(-1) + word;
    if (lines.at(-1) && widthOf(longer.trimEnd(), size, weight) > width) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  return lines.map((line) => line.trimEnd());
}

/**
 * A canvas in a focusable element. `height(width)` says how tall it is, `paint(context, size)` draws it, `point(x, y)`
 * hears where the pointer is (null when it has left), `move(right, up)` hears the arrow keys, `choose()` a click or
 * Enter. `draw()` paints it at the next frame, once however often it is asked.
 */
export function createPicture({ height, paint, point, move, choose }) {
  const canvas = element("canvas", { "aria-hidden": "true" });
  const root = element("div", { class: "picture", tabindex: "0", role: "application" }, canvas);
  let waiting = null;
  let size = { width: 0, height: 0 };

  let measured = null; // the width, until it changes: to ask for it is slow while the page is being written

  function sizeNow() {
    measured ??= root.clientWidth || null;
    const width = Math.max(220, Math.floor(measured ?? 0));
    return { width, height: Math.round(height(width)) };
  }

  function draw() {
    waiting ??= requestAnimationFrame(() => {
      waiting = null;
      if (root.isConnected) drawNow();
    });
  }

  function drawNow() {
    const now = sizeNow();
    const ratio = devicePixelRatio || 1;
    if (now.width !== size.width || now.height !== size.height || canvas.width !== Math.round(now.width * ratio)) {
      size = now;
      canvas.width = Math.round(size.width * ratio);
      canvas.height = Math.round(size.height * ratio);
      canvas.style.height = `${size.height}px`;
    }
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, size.width, size.height);
    context.lineJoin = "round";
    context.lineCap = "butt";
    paint(context, size);
  }

  const place = (event) => {
    const corner = canvas.getBoundingClientRect();
    point(event.clientX - corner.left, event.clientY - corner.top);
  };
  root.addEventListener("pointermove", place);
  root.addEventListener("pointerdown", place);
  root.addEventListener("click", () => choose());
  root.addEventListener("pointerleave", () => point(null, null));
  root.addEventListener("blur", () => point(null, null));
  root.addEventListener("keydown", (event) => {
    if (event.key === "Enter") choose();
    const step = MOVES[event.key];
    if (!step || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    move(step[0] * (event.shiftKey ? 10 : 1), step[1]);
  });
  const observer = new ResizeObserver(() => {
    measured = null;
    draw();
  });
  observer.observe(root);
  document.addEventListener("themechange", draw);

  return {
    root,
    draw,
    size: sizeNow,
    close() {
      observer.disconnect();
      document.removeEventListener("themechange", draw);
      cancelAnimationFrame(waiting);
    },
  };
}
