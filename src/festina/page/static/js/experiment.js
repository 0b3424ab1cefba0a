/** The page of one experiment: settings at the side, pictures that follow them, claims below, then all the rest. */

import { describeExperiment } from "./api.js";
import { experimentAddress, replaceAddress } from "./address.js";
import { createClaims } from "./claims.js";
import { confirmLongRun } from "./dialog.js";
import { announce, element } from "./dom.js";
import { createForm } from "./form.js";
import { aboutSection, experimentHeading } from "./heading.js";
import { createSession } from "./live.js";
import { mappable } from "./mapsettings.js";
import { createPublished } from "./published.js";
import { budgetSettings, differing, parametersOf, settingsFrom } from "./settings.js";
import { createStatus } from "./status.js";
import { createTakeaway } from "./takeaway.js";
import { createVariables } from "./variables.js";
import { createViews } from "./views.js";

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
  const state = {
    settings: budgetSettings(experiment, "quick"),
    pinned: null, // the settings of the pictures that are kept
    simulation: null,
    theory: null,
    stale: false,
    late: false, // theory
    streaming: false,
  };
  const form = createForm(experiment, change);
  const claims = createClaims(experiment.claims);
  const takeaway = createTakeaway();
  const pin = element(
    "button",
    { type: "button", class: "pin", onclick: keep, disabled: true },
    "Pin this run and compare",
  );
  const views = createViews(experiment.views ?? [], {
    unpinned: () => compare(null),
    open: (run) => (location.hash = experimentAddress(run.experiment, run.fields)),
  });
  const pictured = views.count > 0;
  const variables = createVariables(experiment, pictured);
  const published = createPublished(experiment.name);
  const trouble = element("p", { class: "trouble", role: "alert", hidden: true });
  const mapLink = element("a", {}, "Map two fields");
  const session = createSession(experiment, {
    theory: (answer) => draw({ theory: answer }),
    late: (late) => draw({ late }),
    points: (answer) => {
      draw({ simulation: answer, stale: false, streaming: answer.records < answer.of });
      status.progress(answer.records, answer.of);
    },
    state: (event) => status.show(event.state, event.message ?? ""),
    claims: (answer) => claims.show(answer.verdicts, answer.sentence),
    done: (answer, id) => {
      status.done(answer.seconds, answer.failures);
      takeaway.show(answer, id);
      published.show(id);
      draw({ streaming: false });
    },
    problem,
    confirm: confirmLongRun,
  });
  const status = createStatus({ cancel, rerun: () => change(state.settings, true) }, pictured ? pin : null);
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
        pictured ? views.root : variables.root,
        claims.root,
        pictured ? variables.root : null,
        published.root,
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
    published.clear();
    draw({ stale: true, streaming: false });
    compare(state.pinned);
    status.show("queued");
    session.change(settings, insist);
  }

  function draw(news) {
    Object.assign(state, news);
    const { simulation, theory, stale, late, streaming } = state;
    views.update({ simulation: simulation?.scenes, theory: theory?.scenes, stale, late, streaming });
    variables.update({ simulation, theory, stale });
    pin.disabled = !(simulation?.scenes && !stale);
  }

  /** Keep the pictures of now beside those to come. */
  function keep() {
    views.pin();
    compare(state.settings);
    announce("Pinned. Change a setting to compare.");
  }

  /** Say how the settings of now and those of the kept pictures differ. */
  function compare(pinned) {
    state.pinned = pinned;
    if (!pinned) return;
    views.caption(
      differing(experiment, state.settings, pinned) || "the same settings",
      differing(experiment, pinned, state.settings) || "the same settings: change one to compare",
    );
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
    views.close();
    variables.close();
  }

  return { root, begin, close };
}
