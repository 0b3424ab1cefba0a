/** A legend, of all views of a page or of one: what dots and lines mean, and one button for each group. */

import { chartColours } from "./colours.js";
import { element, fill } from "./dom.js";
import { drawDot } from "./markers.js";
import { typeset } from "./numbers.js";

const [WIDTH, HEIGHT] = [30, 16];
const NUMBER = /^(?:inf|-?\d\S*)$/;

/** A legend. `toggle(name)` is called when a group's button is pressed; `word` says what dots are. */
export function createViewLegend(toggle, word = "simulation") {
  const root = element("div", { class: "view-legend", hidden: true });
  let drawn = "";

  /** Show families of names; where nothing has changed, nothing is touched, so that the focus stays. */
  function show(families, hidden, { simulation, theory }, lookOf) {
    const lists = families.filter((family) => family.length > 1);
    const now = JSON.stringify([lists, [...hidden], simulation, theory, lookOf(lists[0]?.[0] ?? "").colour]);
    if (now === drawn) return;
    drawn = now;
    const focused = root.contains(document.activeElement) ? document.activeElement.dataset.group : null;
    const styles = [simulation && styleEntry(word, true), theory && styleEntry("theory", false)].filter(Boolean);
    root.hidden = !styles.length && !lists.length;
    fill(
      root,
      styles.length ? element("ul", { class: "styles", "aria-label": "Marks" }, styles) : null,
      lists.map((names) => group(names, hidden, lookOf)),
    );
    if (focused !== null) [...root.querySelectorAll("button")].find((one) => one.dataset.group === focused)?.focus();
  }

  /** The buttons of a family; what all names begin with is said once. */
  function group(names, hidden, lookOf) {
    const { stem, words } = shortened(names);
    return element(
      "ul",
      { class: "groups", "aria-label": "Groups; press one to hide or show it in all pictures" },
      stem ? element("li", { class: "stem" }, typeset(stem)) : null,
      names.map((name, k) => element("li", {}, button(name, hidden, lookOf(name), words[k]))),
    );
  }

  function button(name, hidden, look, words) {
    return element(
      "button",
      {
        type: "button",
        class: "quiet",
        "data-group": name,
        "aria-pressed": String(!hidden.has(name)),
        "aria-label": words === name ? null : typeset(name),
        onclick: () => toggle(name),
      },
      swatch(look, true, true),
      typeset(words) || "all",
    );
  }

  const recolour = () => (drawn = "");
  document.addEventListener("themechange", recolour);
  return { root, show, close: () => document.removeEventListener("themechange", recolour) };
}

/**
 * Names without the words that come before a number in all of them, and these words: "depth 1" and "depth 2" are "1" and
 * "2" of "depth"; "wide, rank 1" and "deep, rank 2" are "wide, 1" and "deep, 2" of "rank". Two numbers keep their words.
 */
export function shortened(names) {
  const parts = names.map((name) => name.split(", ").reverse()); // counted from the end, for some names have more
  const stems = parts[0].map((first, place) => {
    const stem = first.slice(0, first.lastIndexOf(" ") + 1);
    const alike = (part = "") => part.startsWith(stem) && NUMBER.test(part.slice(stem.length));
    return parts.every((own) => alike(own[place])) ? stem : "";
  });
  if (stems.filter(Boolean).length !== 1) return { stem: "", words: names };
  const short = (own) => own.map((part, place) => part.slice(stems[place]?.length ?? 0));
  return { stem: stems.join("").trim(), words: parts.map((own) => short(own).reverse().join(", ")) };
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
