/** Equations, each with the sentence that says what it means. */

import { element, prose } from "./dom.js";

/**
 * The first equation in one line; what it says, and the others, behind a fold. KaTeX builds elements itself and sets
 * their styles one by one, as the page's rules demand.
 */
export function equationList(equations) {
  if (!equations.length) return null;
  const [first, ...others] = equations;
  const more = others.length ? `, and ${others.length} more equation${others.length > 1 ? "s" : ""}` : "";
  return element(
    "div",
    { class: "equations" },
    equation(first),
    element(
      "details",
      {},
      element("summary", {}, `What it says${more}`),
      element("p", {}, prose(first.sentence)),
      others.map((one) => [equation(one), element("p", {}, prose(one.sentence))]).flat(),
    ),
  );
}

function equation({ tex, sentence }) {
  const place = element("div", { class: "equation", tabindex: "0", role: "group", "aria-label": sentence });
  try {
    for (const part of partsOf(tex)) {
      const own = element("span", { class: "part" });
      globalThis.katex.render(part, own, { displayMode: true, throwOnError: true });
      place.append(own);
    }
  } catch {
    place.replaceChildren(element("code", {}, tex)); // better unset than not seen
  }
  return place;
}

/** The equations that stand in one line with wide spaces between them: where there is no room, one goes below the other. */
export function partsOf(tex) {
  const parts = [""];
  let depth = 0;
  for (const piece of tex.split(/(\\(?:left|right|begin|end)(?![a-z])|\\q?quad(?![a-z])|\\.|[{}])/)) {
    if (/^(?:\{|\\left|\\begin)$/.test(piece)) depth += 1;
    if (/^(?:\}|\\right|\\end)$/.test(piece)) depth -= 1;
    if (depth === 0 && /^\\q?quad$/.test(piece)) parts.push("");
    else parts[parts.length - 1] += piece;
  }
  return parts.filter((part) => part.trim());
}
