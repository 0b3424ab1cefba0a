/** The page of one experiment: settings at the side, charts that follow them, claims below. */

import { describeExperiment } from "./api.js";
import { experimentAddress, replaceAddress } from "./address.js";
import { createCharts } from "./charts.js";
import { createClaims } from "./claims.js";
import { confirmLongRun } from "./dialog.js";
import { element } from "./dom.js";
import { createForm } from "./form.js";
import { aboutSection, experimentHeading } from "./heading.js";
import { createSession } from "./live.js";
import { mappable } from "./mapsettings.js";
import { budgetSettings, parametersOf, settingsFrom } from "./settings.js";
import { createStatus } from "./status.js";
import { createTakeaway } from "./takeaway.js";

/** Show an experiment in an element, with the settings of its address; gives what ends it. */
export async function showExperiment(place, { name, parameters }) {
  const experiment = await describeExperiment(name);
  const page = buildPage(experiment);
  place.replaceChildren(page.root);
  document.title = `${experiment.name} · festina`;
  page.begin(settingsFrom(experiment, parameters));
  return page.close;
}

function buildPage(experiment) {
  const state = { settings: budgetSettings(experiment, "quick"), simulation: null, theory: null, stale: false };
  const form = createForm(experiment, change);
  const claims = createClaims(experiment.claims);
  const takeaway = createTakeaway();
  const place = element("div", { class: "charts" });
  const charts = createCharts(place, experiment);
  const trouble = element("p", { class: "trouble", role: "alert", hidden: true });
  const mapLink = element("a", {}, "Map two fields");
  const session = createSession(experiment, {
    theory: (answer) => draw({ theory: answer }),
    points: (answer) => {
      draw({ simulation: answer, stale: false });
      status.progress(answer.records, answer.of);
    },
    state: (event) => status.show(event.state, event.message ?? ""),
    claims: (answer) => claims.show(answer.verdicts, answer.sentence),
    done: (answer, id) => {
      status.done(answer.seconds, answer.failures);
      takeaway.show(answer, id);
    },
    problem,
    confirm: confirmLongRun,
  });
  const status = createStatus({ cancel, rerun: () => change(state.settings, true) });
  const root = element(
    "article",
    { class: "experiment" },
    experimentHeading(experiment, ...(mappable(experiment).length >= 2 ? [mapLink] : [])),
    element(
      "div",
      { class: "workbench" },
      form.root,
      element(
        "div",
        { class: "results" },
        status.root,
        trouble,
        place,
        claims.root,
        takeaway.root,
        aboutSection(experiment),
      ),
    ),
  );

  function begin(settings) {
    form.show(settings);
    change(settings);
  }

  function change(settings, insist = false) {
    state.settings = settings;
    const parameters = parametersOf(experiment, settings);
    replaceAddress(experimentAddress(experiment.name, parameters));
    mapLink.setAttribute("href", experimentAddress(experiment.name, parameters, true));
    form.clear();
    trouble.hidden = true;
    claims.clear();
    takeaway.clear();
    draw({ stale: true });
    status.show("queued");
    session.change(settings, insist);
  }

  function draw(news) {
    Object.assign(state, news);
    charts.update(state);
  }

  function cancel() {
    session.stop();
    status.show("cancelled");
  }

  /** Show a problem beside its field, and above the charts if it has none. */
  function problem(error) {
    session.stop();
    status.show("failed");
    if (form.complain(error.message, error.field)) return;
    trouble.textContent = error.message;
    trouble.hidden = false;
  }

  function close() {
    session.close();
    charts.close();
  }

  return { root, begin, close };
}
