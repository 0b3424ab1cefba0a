/** What one takes away from a run: the command and the Python call that give it again, the figure, the data. */

import { downloadAddress } from "./api.js";
import { copyButton, element } from "./dom.js";

const FILES = [
  ["PNG", "figure.png", "the figure as an image"],
  ["SVG", "figure.svg", "the figure as lines"],
  ["CSV", "data.csv", "the data as a table"],
  ["NetCDF", "data.nc", "the data with names, in one file"],
  ["Zarr", "data.zip", "the data with names, zipped"],
];

/** Buttons that come alive with a finished run: `show({command, python}, id)`; `clear()` takes them back. */
export function createTakeaway() {
  let words = { command: "", python: "" };
  const copies = [copyButton("Copy command", () => words.command), copyButton("Copy Python", () => words.python)];
  const links = FILES.map(([name, file, about]) => [element("a", { class: "button", title: about }, name), file]);
  const code = element("pre", { class: "command", tabindex: "0", "aria-label": "The command of this run" });
  const root = element(
    "section",
    { class: "takeaway", "aria-labelledby": "takeaway-heading" },
    element("h2", { id: "takeaway-heading" }, "Take it away"),
    code,
    element(
      "div",
      { class: "buttons" },
      copies,
      links.map(([link]) => link),
    ),
  );

  function clear() {
    root.classList.add("waiting");
    code.textContent = "The command comes with the end of the run.";
    for (const button of copies) button.disabled = true;
    for (const [link] of links) {
      link.removeAttribute("href");
      link.setAttribute("aria-disabled", "true");
    }
  }

  function show(found, id) {
    words = found;
    root.classList.remove("waiting");
    code.textContent = `${found.command}\n${found.python}`;
    for (const button of copies) button.disabled = false;
    for (const [link, file] of links) {
      link.setAttribute("href", downloadAddress(id, file));
      link.setAttribute("download", "");
      link.removeAttribute("aria-disabled");
    }
  }

  clear();
  return { root, show, clear };
}
