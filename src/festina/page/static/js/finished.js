/** The page of one finished run, from all that is known of it: an exported file's, or one of a folder's. */

import { createClaims } from "./claims.js";
import { copyButton, element } from "./dom.js";
import { aboutSection, experimentHeading } from "./heading.js";
import { duration } from "./numbers.js";
import { asTable } from "./table.js";
import { createVariables } from "./variables.js";
import { createViews } from "./views.js";

/** A finished run as an article; `close()` ends it. */
export function createFinished(run, ...links) {
  const views = createViews(run.experiment.views ?? []);
  const pictured = views.count > 0;
  const variables = createVariables(run.experiment, pictured);
  const claims = createClaims(run.experiment.claims);
  const root = element(
    "article",
    { class: "experiment" },
    experimentHeading(run.experiment, ...links),
    element(
      "div",
      { class: "workbench exported" },
      settingsSection(run),
      element(
        "div",
        { class: "results" },
        failures(run),
        pictured ? views.root : variables.root,
        claims.root,
        pictured ? variables.root : null,
        takeaway(run),
        aboutSection(run.experiment),
      ),
    ),
  );
  claims.show(run.claims.verdicts, run.claims.sentence);
  views.update({ simulation: run.simulation.scenes, theory: run.theory?.scenes, stale: false });
  variables.update({ simulation: run.simulation, theory: run.theory, stale: false });

  function close() {
    views.close();
    variables.close();
  }

  return { root, close };
}

/** What was asked, field by field. */
function settingsSection(run) {
  const count = run.seeds.length;
  const facts = [
    ...run.experiment.fields.map((field) => [
      field.label,
      `${run.settings[field.name]}${field.unit ? ` ${field.unit}` : ""}`,
    ]),
    ["budget", run.budget],
    ["seeds", count > 1 ? `${run.seeds[0]} to ${run.seeds[count - 1]}` : String(run.seeds[0])],
    ["computed", `${run.created.slice(0, 10)}, in ${duration(run.seconds)}`],
    ["festina", run.version],
  ];
  return element(
    "section",
    { class: "settings-list", "aria-labelledby": "settings-heading" },
    element("h2", { id: "settings-heading" }, "Settings"),
    element(
      "dl",
      {},
      facts.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]),
    ),
  );
}

function failures(run) {
  return run.failures.length ? element("p", { class: "trouble" }, `Runs that failed: ${run.failures.join(" ")}`) : null;
}

function takeaway(run) {
  return element(
    "section",
    { class: "takeaway", "aria-labelledby": "takeaway-heading" },
    element("h2", { id: "takeaway-heading" }, "Run it yourself"),
    element(
      "pre",
      { class: "command", tabindex: "0", "aria-label": "The command of this run" },
      `${run.command}\n${run.python}`,
    ),
    element(
      "div",
      { class: "buttons" },
      copyButton("Copy command", () => run.command),
      copyButton("Copy Python", () => run.python),
      element("button", { type: "button", onclick: () => save(run) }, "Save the charts' data (CSV)"),
    ),
  );
}

function save(run) {
  const text = asTable({ simulation: run.simulation, theory: run.theory });
  const address = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  const link = element("a", { href: address, download: `${run.experiment.name.replace("/", "-")}.csv` });
  link.click();
  URL.revokeObjectURL(address);
}
