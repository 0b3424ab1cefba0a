/** The figure as the package draws it for a paper, for the settings of a finished run. */

import { downloadAddress, reasonOf } from "./api.js";
import { element, fill } from "./dom.js";

/** A button that comes alive with a finished run: `show(id)`; `clear()` takes it and the figure back. */
export function createPublished(name) {
  let run = null;
  const button = element("button", { type: "button", onclick: draw }, "Draw the published figure");
  const said = element("p", { class: "help", role: "status" });
  const place = element("div", { class: "published-figure" });
  const root = element(
    "section",
    { class: "published", "aria-labelledby": "published-heading" },
    element("h2", { id: "published-heading" }, "The published figure"),
    element("div", { class: "buttons" }, button),
    said,
    place,
  );

  function clear() {
    run = null;
    button.disabled = true;
    fill(place);
    fill(said, "It can be drawn at the end of a run, for its settings.");
  }

  function show(id) {
    run = id;
    button.disabled = false;
    fill(said, "Drawn with the numbers of this run, as the package draws it for a paper.");
  }

  function draw() {
    const own = run;
    const address = downloadAddress(own, "figure.svg");
    button.disabled = true;
    fill(said, "Drawing…");
    const figure = element("img", {
      alt: `The published figure of ${name} for these settings`,
      src: address,
      onload: () => finish(own, figure, "Drawn."),
      onerror: async () => finish(own, null, `The figure could not be drawn: ${await reasonOf(address)}`),
    });
  }

  /** Show what came, unless the settings are others by now. */
  function finish(own, figure, words) {
    if (own !== run) return;
    button.disabled = false;
    fill(place, figure);
    fill(said, words);
  }

  clear();
  return { root, show, clear };
}
