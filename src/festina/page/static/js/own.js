/** What lies in the reader's own folder: results, sweeps, reports of trainings. */

import { listOwn, openOwn } from "./api.js";
import { element } from "./dom.js";
import { createFinished } from "./finished.js";
import { createSweep } from "./ownsweep.js";
import { createViews } from "./views.js";

const KINDS = { result: "Results", sweep: "Sweeps", report: "Trainings", story: "Stories" };

/** Show one item of the folder, or a list of all; gives what ends it. */
export async function showOwn(place, { item }) {
  if (item === null) {
    place.replaceChildren(listing(await listOwn()));
    document.title = "Your folder · festina";
    return () => undefined;
  }
  const shown = await openOwn(item);
  const back = element("a", { href: "#/own" }, "All in your folder");
  const pages = {
    result: () => createFinished(shown, back),
    sweep: () => createSweep(shown, back, item),
    report: () => createReport(shown, back),
  };
  const page = pages[shown.kind]();
  place.replaceChildren(page.root);
  document.title = `${shown.name} · festina`;
  return page.close;
}

const addressOf = ({ id, kind, name }) =>
  kind === "story" ? `#/story/${name.split("/").pop().replace(/\.toml$/, "")}/1` : `#/own/${id}`;

function listing(items) {
  const sections = Object.entries(KINDS).flatMap(([kind, title]) => {
    const own = items.filter((one) => one.kind === kind);
    if (!own.length) return [];
    const links = own.map((one) => element("li", {}, element("a", { href: addressOf(one) }, one.name)));
    return [element("section", {}, element("h2", {}, title), element("ul", { class: "own-list" }, links))];
  });
  return element(
    "article",
    {},
    element("h1", { tabindex: "-1" }, "Your folder"),
    sections.length ? sections : element("p", {}, "It holds no result, no sweep and no report."),
    element("p", { class: "links" }, element("a", { href: "#/" }, "All experiments")),
  );
}

/** A watched training: the verdict in words, and its numbers as curves. */
function createReport(report, back) {
  const declared = report.simulation.map(({ kind, title }) => ({ kind, title }));
  const views = createViews(declared, { word: "training" });
  const [word, ...reasons] = report.verdict.split("\n");
  const root = element(
    "article",
    { class: "experiment" },
    element("p", { class: "kicker" }, report.name),
    element("h1", { tabindex: "-1" }, word ? `This training was ${word}` : report.name),
    element("p", { class: "links" }, back),
    element(
      "ul",
      { class: "reasons" },
      reasons.map((reason) => element("li", {}, reason.trim())),
    ),
    views.root,
  );
  views.update({ simulation: report.simulation, theory: report.theory, stale: false });
  return { root, close: views.close };
}
