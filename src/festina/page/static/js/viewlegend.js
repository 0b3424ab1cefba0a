/** The legend of all views of a page: what dots and lines mean, and one button for each group. */

import { chartColours } from "./colours.js";
import { element, fill } from "./dom.js";
import { drawDot } from "./markers.js";

const [WIDTH, HEIGHT] = [30, 16];

/** A legend. `toggle(name)` is called when a group's button is pressed; `word` says what dots are. */
export function createViewLegend(toggle, word) {
  const root = element("div", { class: "view-legend" });
  let drawn = "";

  /** Show families of names; where nothing has changed, nothing is touched, so that the focus stays. */
  function show(families, hidden, { simulation, theory }, lookOf) {
    const lists = families.filter((family) => family.length > 1);
    const now = JSON.stringify([lists, [...hidden], simulation, theory, lookOf(lists[0]?.[0] ?? "").colour]);
    if (now === drawn) return;
    drawn = now;
    const focused = root.contains(document.activeElement) ? document.activeElement.dataset.group : null;
    const styles = [simulation ? styleEntry(word, true) : null, theory ? styleEntry("theory", false) : null];
    fill(
      root,
      element("ul", { class: "styles", "aria-label": "Marks" }, styles),
      lists.map((names) =>
        element(
          "ul",
          { class: "groups", "aria-label": "Groups; press one to hide or show it in all pictures" },
          names.map((name) => element("li", {}, button(name, hidden, lookOf(name)))),
        ),
      ),
    );
    if (focused !== null) [...root.querySelectorAll("button")].find((one) => one.dataset.group === focused)?.focus();
  }

  function button(name, hidden, look) {
    return element(
      "button",
      {
        type: "button",
        class: "quiet",
        "data-group": name,
        "aria-pressed": String(!hidden.has(name)),
        onclick: () => toggle(name),
      },
      swatch(look, true, true),
      name || "all",
    );
  }

  const recolour = () => (drawn = "");
  document.addEventListener("themechange", recolour);
  return { root, show, close: () => document.removeEventListener("themechange", recolour) };
}

function styleEntry(name, dots) {
  return element("li", { class: "style" }, swatch({ colour: chartColours().ink, marker: "circle" }, dots, !dots), name);
}

function swatch({ colour, marker }, dots, stroked) {
  const ratio = devicePixelRatio || 1;
  const canvas = element("canvas", { width: WIDTH * ratio, height: HEIGHT * ratio, "aria-hidden": "true" });
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  context.strokeStyle = colour;
  context.lineWidth = 2.6;
  if (stroked) {
    context.beginPath();
    context.moveTo(1, HEIGHT / 2);
    context.lineTo(WIDTH - 1, HEIGHT / 2);
    context.stroke();
  }
  const places = stroked ? [WIDTH / 2] : [5, WIDTH / 2, WIDTH - 5];
  if (dots)
    for (const x of places) drawDot(context, marker, x, HEIGHT / 2, stroked ? 4.6 : 3.8, colour, chartColours().paper);
  return canvas;
}
