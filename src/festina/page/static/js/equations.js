/** Equations, each with the sentence that says what it means. */

import { element, prose } from "./dom.js";

/** A list of equations. KaTeX builds elements itself and sets their styles one by one, as the page's rules demand. */
export function equationList(equations) {
  if (!equations.length) return null;
  return element("ul", { class: "equations" }, equations.map(equationItem));
}

function equationItem({ tex, sentence }) {
  const place = element("div", { class: "equation", tabindex: "0", role: "group", "aria-label": sentence });
  try {
    globalThis.katex.render(tex, place, { displayMode: true, throwOnError: true });
  } catch {
    place.replaceChildren(element("code", {}, tex)); // better unset than not seen
  }
  return element("li", {}, place, element("p", {}, prose(sentence)));
}
