/**
 * A legend, of all views of a page or of one: what dots and lines mean, and one button for each group. Many names that
 * make a table stand in one; a long list shows two lines, and all of them on demand.
 */

import { chartColours } from "./colours.js";
import { element, fill } from "./dom.js";
import { tableOf } from "./legendtable.js";
import { drawDot } from "./markers.js";
import { typeset } from "./numbers.js";

const [WIDTH, NARROW, HEIGHT] = [30, 20, 16];
const [MANY, TALL] = [8, 3.5]; // names of a list, and heights of a button, from which on it may be and is too long
const LABEL = "Groups; press one to hide or show it in all pictures";
const NUMBER = /^(?:inf|-?\d\S*)$/;

/** A legend. `toggle(name)` is called when a group's button is pressed; `word` says what dots are. */
export function createViewLegend(toggle, word = "simulation") {
  const root = element("div", { class: "view-legend", hidden: true });
  let drawn = "";
  let open = false; // whether long lists are seen in full
  const observer = new ResizeObserver((seen) =>
    seen.forEach(({ target }) =>
      target.parentNode?.classList.toggle("long", target.scrollHeight > TALL * target.lastChild.offsetHeight),
    ),
  );

  /** Show families of names; where nothing has changed, nothing is touched, so that the focus stays. */
  function show(families, hidden, { simulation, theory, late = false }, lookOf) {
    const lists = families.filter((family) => family.length > 1);
    const now = JSON.stringify([lists, [...hidden], simulation, theory, late, lookOf(lists[0]?.[0] ?? "").colour]);
    if (now === drawn) return;
    drawn = now;
    const focused = root.contains(document.activeElement) ? document.activeElement.dataset.group : null;
    const styles = [
      simulation && styleEntry(word, true),
      (theory || late) && styleEntry(late ? "theory is being computed …" : "theory", false),
    ].filter(Boolean);
    root.hidden = !styles.length && !lists.length;
    observer.disconnect();
    fill(
      root,
      styles.length ? element("ul", { class: "styles", "aria-label": "Marks" }, styles) : null,
      lists.map((names) => group(names, hidden, lookOf)),
    );
    if (focused !== null) [...root.querySelectorAll("button")].find((one) => one.dataset.group === focused)?.focus();
  }

  /** The buttons of a family: a table if their names make one, else a list. */
  function group(names, hidden, lookOf) {
    const table = tableOf(names);
    return table ? tableGroup(table, hidden, lookOf) : listGroup(names, hidden, lookOf);
  }

  /** A list, in which what all names begin with is said once. */
  function listGroup(names, hidden, lookOf) {
    const { stem, words } = shortened(names);
    const list = element(
      "ul",
      { class: "groups", "aria-label": LABEL },
      stem ? element("li", { class: "stem" }, typeset(stem)) : null,
      names.map((name, k) => element("li", {}, button(name, hidden, lookOf(name), words[k]))),
    );
    return names.length < MANY ? list : folded(list, names.length);
  }

  /** A list of which two lines are seen, if it has many more, until all are asked for. */
  function folded(list, count) {
    const more = element("button", { type: "button", class: "quiet more", onclick: () => unfold(!open) });
    const frame = element("div", { class: "folded" }, list, more);
    const unfold = (all) => {
      open = all;
      frame.classList.toggle("open", open);
      more.textContent = open ? "fewer" : `all ${count} names`;
      more.setAttribute("aria-expanded", String(open));
    };
    unfold(open);
    observer.observe(list);
    return frame;
  }

  /** A table: a row and a column for each part of the names, and a swatch where both meet. */
  function tableGroup({ rows, columns, name }, hidden, lookOf) {
    const { stem, words } = shortened(columns);
    const cell = (own) => element("td", {}, own === null ? null : button(own, hidden, lookOf(own), ""));
    return element(
      "table",
      { class: "groups", "aria-label": LABEL },
      element(
        "tr",
        {},
        element("td", { class: "stem" }, typeset(stem)),
        words.map((word) => element("th", { scope: "col" }, typeset(word))),
      ),
      rows.map((row) =>
        element("tr", {}, element("th", { scope: "row" }, typeset(row)), columns.map((column) => cell(name(row, column)))),
      ),
    );
  }

  /** A button with a swatch, and the words that are left of its name. */
  function button(name, hidden, look, words) {
    return element(
      "button",
      {
        type: "button",
        class: "quiet",
        "data-group": name,
        "aria-pressed": String(!hidden.has(name)),
        "aria-label": words === name ? null : typeset(name) || "all",
        onclick: () => toggle(name),
      },
      swatch(look, true, true, words || !name ? WIDTH : NARROW),
      typeset(words) || (name ? "" : "all"),
    );
  }

  const recolour = () => (drawn = "");
  document.addEventListener("themechange", recolour);
  function close() {
    observer.disconnect();
    document.removeEventListener("themechange", recolour);
  }

  return { root, show, close };
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

function swatch({ colour, marker }, dots, stroked, width = WIDTH) {
  const ratio = devicePixelRatio || 1;
  const size = { class: width === WIDTH ? null : "narrow", width: width * ratio, height: HEIGHT * ratio };
  const canvas = element("canvas", { ...size, "aria-hidden": "true" });
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  context.strokeStyle = colour;
  context.lineWidth = 2.6;
  if (stroked) {
    context.beginPath();
    context.moveTo(1, HEIGHT / 2);
    context.lineTo(width - 1, HEIGHT / 2);
    context.stroke();
  }
  const places = stroked ? [width / 2] : [5, width / 2, width - 5];
  if (dots)
    for (const x of places) drawDot(context, marker, x, HEIGHT / 2, stroked ? 4.6 : 3.8, colour, chartColours().paper);
  return canvas;
}
