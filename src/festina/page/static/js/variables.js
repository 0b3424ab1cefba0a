/** All that was recorded, variable by variable: behind a fold where pictures come first, in the open where none do. */

import { createCharts } from "./charts.js";
import { element } from "./dom.js";

/** Charts of all variables. Behind a fold they are made when it is opened for the first time. */
export function createVariables(experiment, folded) {
  const place = element("div", { class: "charts" });
  let charts = folded ? null : createCharts(place, experiment);
  let latest = null;
  const root = folded
    ? element("details", { class: "variables" }, element("summary", {}, "All recorded variables"), place)
    : place;
  root.addEventListener("toggle", () => {
    if (!root.open) return;
    charts ??= createCharts(place, experiment);
    if (latest) charts.update(latest);
  });

  function update(answers) {
    latest = answers;
    if (!folded || root.open) charts?.update(answers);
  }

  return { root, update, close: () => charts?.close() };
}
