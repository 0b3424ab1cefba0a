/** How an experiment is introduced: its name and sources, its sentence, its equations, what it is about. */

import { element, prose } from "./dom.js";
import { equationList } from "./equations.js";

/** The heading of an experiment's page. */
export function experimentHeading(experiment, ...links) {
  const sources = experiment.sources.map((source) => source.label).join(" · ");
  return element(
    "header",
    { class: "experiment-head" },
    element(
      "p",
      { class: "kicker" },
      `${experiment.name}${sources ? ` · ${sources}` : ""}`,
      links.flatMap((link) => [" · ", link]),
    ),
    element("h1", { tabindex: "-1" }, prose(experiment.summary)),
    equationList(experiment.equations),
  );
}

/** The experiment's own text and the sources it cites, folded away. */
export function aboutSection(experiment) {
  const paragraphs = [experiment.text]
    .flat()
    .join("\n\n")
    .split(/\n\s*\n/)
    .filter((text) => text.trim());
  return element(
    "details",
    { class: "about" },
    element("summary", {}, "About this experiment"),
    paragraphs.map(paragraph),
    element(
      "ul",
      { class: "sources" },
      experiment.sources.map((source) => element("li", {}, source.citation)),
    ),
  );
}

function paragraph(text) {
  const set = text.split("\n").every((line) => line.startsWith("   "));
  if (set) return element("p", { class: "set" }, text);
  return element("p", {}, prose(text.split(/\s+/).join(" ").trim()));
}
