/** The gallery: every experiment as a card, by family, with a box that filters them. */

import { listExperiments, listOwn, listStories } from "./api.js";
import { storyAddress } from "./address.js";
import { MARKS } from "./claims.js";
import { announce, element, prose } from "./dom.js";

/** Show the gallery in an element; there is nothing to end. */
export async function showGallery(place) {
  const [{ experiments: found, families: known, version }, stories, mine] = await Promise.all([
    listExperiments(),
    listStories(),
    listOwn(),
  ]);
  const { experiments, families } = asCourse(found, known);
  const labels = new Map(families.flatMap((family) => family.sources.map((source) => [source.key, source.label])));
  const groups = families.map((family) => familySection(family, experiments, labels));
  const none = element("p", { class: "nothing", hidden: true }, "No experiment matches.");
  const box = element("input", {
    type: "search",
    id: "filter",
    placeholder: "depth, gates, Saxe…",
    autocomplete: "off",
  });
  box.addEventListener("input", () => {
    const shown = groups.map((group) => group.filter(box.value)).reduce((sum, count) => sum + count, 0);
    none.hidden = shown > 0;
    announce(`${shown} experiments`);
  });
  place.replaceChildren(
    element(
      "header",
      { class: "gallery-head" },
      element("h1", { tabindex: "-1" }, "Theories of learning, to be played with"),
      element(
        "p",
        { class: "lead" },
        "Every card is a phenomenon: its simulation, what mathematics says of it, and the ",
        "claims of the papers, judged when you run it. Move a slider; theory answers at once.",
      ),
      element(
        "div",
        { class: "filter" },
        element("label", { for: "filter" }, "Filter"),
        box,
        element(
          "span",
          { class: "legend-line" },
          Object.entries(MARKS).map(([name, mark]) => element("span", {}, `${mark} ${name}`)),
        ),
      ),
    ),
    mine.length ? element("p", { class: "links" }, element("a", { href: "#/own" }, `Your folder (${mine.length})`)) : "",
    storySection(stories),
    ...groups.map((group) => group.root),
    none,
    element("footer", { class: "colophon" }, `festina ${version} · ${experiments.length} experiments`),
  );
  document.title = "festina";
  return () => undefined;
}

/** Lectures, each a link to its first step. */
function storySection(stories) {
  const cards = stories.map(({ name, title, summary, steps }) =>
    element(
      "li",
      { class: "story-card" },
      element("a", { href: storyAddress(name, 1) }, prose(title)),
      element("p", {}, prose(summary)),
      element("p", { class: "kicker" }, `${steps} steps`),
    ),
  );
  return element(
    "section",
    { class: "stories", "aria-labelledby": "stories-heading" },
    element("h2", { id: "stories-heading" }, "Lectures"),
    element("p", { class: "step" }, "New here? Begin with the first one; arrow keys go on."),
    element("ul", { class: "story-cards" }, cards),
  );
}

/** Experiments and families in the order of the course; those without a place in it stay where the server put them. */
export function asCourse(experiments, families) {
  const place = ({ course }) => course ?? Infinity;
  const sorted = [...experiments].sort((a, b) => (place(a) === place(b) ? 0 : place(a) - place(b)));
  const first = (family) => Math.min(...sorted.filter((one) => one.family === family.name).map(place), Infinity);
  const ordered = [...families].sort((a, b) => (first(a) === first(b) ? 0 : first(a) - first(b)));
  return { experiments: sorted, families: ordered };
}

function familySection(family, experiments, labels) {
  const cards = experiments.filter((one) => one.family === family.name).map((one) => card(one, labels));
  const id = `family-${family.name}`;
  const root = element(
    "section",
    { class: "family", "aria-labelledby": id },
    element("h2", { id }, family.name),
    family.step ? element("p", { class: "step" }, prose(family.step)) : null,
    element("p", { class: "kicker" }, family.sources.map((source) => source.label).join(" · ")),
    element(
      "ul",
      { class: "cards" },
      cards.map((one) => one.root),
    ),
  );

  function filter(text) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const shown = cards.filter((one) => {
      one.root.hidden = !words.every((word) => one.text.includes(word));
      return !one.root.hidden;
    });
    root.hidden = shown.length === 0;
    return shown.length;
  }

  return { root, filter };
}

function card(experiment, labels) {
  const sources = experiment.sources.map((key) => labels.get(key) ?? key).join(" · ");
  const root = element(
    "li",
    { class: "card" },
    element(
      "a",
      { href: `#/${experiment.name}` },
      element("img", { src: experiment.thumbnail, alt: "", width: "320", height: "180", loading: "lazy" }),
      experiment.picture ? element("span", { class: "card-picture" }, experiment.picture) : null,
      element("span", { class: "card-name" }, experiment.name.split("/")[1].replaceAll("_", " ")),
    ),
    experiment.step ? element("p", { class: "card-step" }, prose(experiment.step)) : null,
    element("p", { class: "card-summary" }, prose(experiment.summary)),
    experiment.try ? element("p", { class: "card-try" }, element("strong", {}, "Try: "), prose(experiment.try)) : null,
    element("p", { class: "card-status" }, statusText(experiment)),
    element("p", { class: "card-sources" }, sources),
  );
  return { root, text: `${experiment.name} ${experiment.summary} ${experiment.step ?? ""} ${sources}`.toLowerCase() };
}

/** How its claims came out when the package was made: those of papers as marks and in words, the others counted. */
function statusText({ status, claims }) {
  if (!status) return `${claims.length} ${claims.length === 1 ? "claim" : "claims"}, not judged yet`;
  const { paper = {}, ...others } = status.counts;
  const parts = Object.entries(MARKS).flatMap(([name, mark]) =>
    paper[name] ? [element("span", { class: name.replaceAll(" ", "-") }, `${mark} ${paper[name]} ${name}`)] : [],
  );
  const counted = Object.entries(others).map(([kind, found]) => `${kind} ${held(found)} of ${total(found)}`);
  return [
    ...parts.flatMap((part, k) => (k ? [", ", part] : [part])),
    element("span", { class: "aside" }, (parts.length ? " · " : "") + [...counted, `${status.budget} budget`].join(" · ")),
  ];
}

function held(found) {
  return (found.reproduced ?? 0) + (found["reproduced qualitatively"] ?? 0);
}

function total(found) {
  return Object.values(found).reduce((sum, count) => sum + count, 0);
}
