/** The sweep view: one variable over two fields, coarse first, then ever finer; every cell is a run to open. */

import { cancel, describeExperiment, listen, startMap } from "./api.js";
import { experimentAddress, replaceAddress } from "./address.js";
import { element } from "./dom.js";
import { createHeatmap } from "./heatmap.js";
import { createMapForm } from "./mapform.js";
import { cellSettings, colourable, fixedOf, mapFrom, mappable, mapParameters, mapQuestion, sharedText } from "./mapsettings.js";
import { parametersOf } from "./settings.js";

const REST = 150; // milliseconds without another change
const STATES = {
  queued: "Waiting for other runs",
  compiling: "Compiling",
  running: "Computing",
  done: "Done",
  cancelled: "Cancelled",
  failed: "Failed",
};

/** Show the map of an experiment in an element; gives what ends it. */
export async function showMap(place, { name, parameters }) {
  const experiment = await describeExperiment(name);
  const count = mappable(experiment).length;
  if (count < 2) throw new Error(`A map needs two continuous fields, and ${name} has ${count}.`);
  const page = buildPage(experiment);
  place.replaceChildren(page.root);
  document.title = `${experiment.name}, map · festina`;
  page.begin(mapFrom(experiment, parameters));
  return page.close;
}

function buildPage(experiment) {
  const form = createMapForm(experiment, change);
  const status = element("p", { class: "status-text", role: "status" });
  const trouble = element("p", { class: "trouble", role: "alert", hidden: true });
  const readout = element("p", { class: "readout", "aria-live": "polite" });
  const shared = element("p", { class: "help" });
  const back = element("a", {}, "Back to the experiment");
  const heatmap = createHeatmap({ open, tell: (text) => (readout.textContent = text) });
  const job = createMapJob({ cells, state, problem, boundary: ({ lines }) => heatmap.outline(lines) });
  const stop = element(
    "button",
    {
      type: "button",
      onclick: () => {
        job.stop();
        state("cancelled");
      },
    },
    "Cancel",
  );
  let map = null;
  const root = element(
    "article",
    { class: "experiment map-page" },
    element(
      "header",
      { class: "experiment-head" },
      element("p", { class: "kicker" }, `${experiment.name} · map`),
      element("h1", { tabindex: "-1" }, "Where does it happen?"),
      element("p", { class: "lead" }, experiment.summary),
      element("p", { class: "links" }, back),
    ),
    element(
      "div",
      { class: "workbench" },
      form.root,
      element(
        "div",
        { class: "results" },
        element("div", { class: "status" }, status, element("div", { class: "buttons" }, stop)),
        trouble,
        heatmap.root,
        readout,
        shared,
        element(
          "p",
          { class: "help" },
          "Colour: the last value of the variable, or the number that is named, one run a cell (seed 0). A white line is where theory says that something changes. Click a cell to see its run; with the keyboard, arrow keys move and Enter opens.",
        ),
      ),
    ),
  );

  function begin(first) {
    form.show(first);
    change(first);
  }

  function change(next) {
    map = next;
    replaceAddress(experimentAddress(experiment.name, mapParameters(experiment, map), true));
    back.setAttribute(
      "href",
      experimentAddress(experiment.name, {
        ...parametersOf(experiment, fixedOf(map)),
        seeds: experiment.seeds[map.settings.budget],
      }),
    );
    const same = sharedText(experiment, map);
    shared.textContent = same ? `The same in all cells: ${same}.` : "";
    trouble.hidden = true;
    readout.textContent = "";
    heatmap.update(null, map, labels());
    heatmap.describe(
      `Map of ${labels().value} over ${labels().x} and ${labels().y}. Arrow keys move, Enter opens the run.`,
    );
    state("queued");
    job.start(mapQuestion(experiment, map), REST);
  }

  function labels() {
    const label = (name) => {
      const field = experiment.fields.find((one) => one.name === name);
      return `${field.label || field.name}${field.unit ? ` (${field.unit})` : ""}`;
    };
    const variable = colourable(experiment).find((one) => one.name === map.variable);
    return { x: label(map.x.field), y: label(map.y.field), value: variable.label || variable.name };
  }

  function cells(found) {
    heatmap.update(found, map, labels());
    status.textContent = `Computing: ${found.x.length} × ${found.y.length} cells`;
  }

  function state(name, message = "") {
    root.dataset.state = name;
    stop.disabled = ["done", "failed", "cancelled"].includes(name);
    status.textContent = [STATES[name] ?? name, message].filter(Boolean).join(". ");
  }

  function problem(error) {
    state("failed");
    trouble.textContent = error.message;
    trouble.hidden = false;
  }

  function open(x, y) {
    location.hash = experimentAddress(experiment.name, parametersOf(experiment, cellSettings(experiment, map, x, y)));
  }

  function close() {
    job.stop();
    heatmap.close();
  }

  return { root, begin, close };
}

/** At most one map under way: starting another cancels it. */
function createMapJob(heard) {
  let current = null;
  let wish = 0;
  let timer = null;

  function stop() {
    wish += 1;
    clearTimeout(timer);
    if (current) {
      current.stop();
      cancel("maps", current.id);
    }
    current = null;
  }

  function start(question, rest) {
    stop();
    const own = wish;
    timer = setTimeout(() => begin(question, own), rest);
  }

  async function begin(question, own) {
    try {
      const { id } = await startMap(question);
      if (own !== wish) return cancel("maps", id);
      return follow(id, own);
    } catch (error) {
      return own === wish ? heard.problem(error) : undefined;
    }
  }

  function follow(id, own) {
    const mine = (hear) => (event) => own === wish && hear(event);
    const end = (state, message) => {
      current?.stop();
      current = null;
      heard.state(state, message);
    };
    const stopListening = listen("maps", id, {
      state: mine(({ state, message }) =>
        ["failed", "cancelled"].includes(state) ? end(state, message) : heard.state(state, message),
      ),
      cells: mine(heard.cells),
      boundary: mine(heard.boundary),
      done: mine(() => end("done")),
      lost: mine(() => end("failed", "The connection to the server was lost.")),
    });
    current = { id, stop: stopListening };
  }

  return { start, stop };
}
