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
    globalThis.katex.render(tex, place, { displayMode: true, throwOnError: true });
  } catch {
    place.replaceChildren(element("code", {}, tex)); // better unset than not seen
  }
  return place;
}
