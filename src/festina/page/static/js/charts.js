/** All charts of an experiment, one for each variable that has something to show. */

import { createChart } from "./chart.js";
import { variablesIn } from "./series.js";

/** Charts in an element. `update(answer)` draws an answer of the server in all of them. */
export function createCharts(place, experiment) {
  const charts = new Map();
  const declared = new Map(experiment.variables.map((variable) => [variable.name, variable]));

  function update({ simulation, theory, stale }) {
    for (const name of variablesIn(simulation, theory)) {
      if (!charts.has(name)) add(name);
    }
    for (const chart of charts.values()) chart.update({ simulation, theory, stale });
  }

  /** Add a chart where the experiment declares its variable; those it does not declare come last. */
  function add(name) {
    const chart = createChart(declared.get(name) ?? { name, label: name.replaceAll("_", " ") }, experiment.time_unit);
    const later = [...place.children].find((root) => rank(root.dataset.variable) > rank(name));
    charts.set(name, chart);
    place.insertBefore(chart.root, later ?? null);
  }

  function rank(name) {
    const order = [...declared.keys()].indexOf(name);
    return order < 0 ? declared.size : order;
  }

  function close() {
    for (const chart of charts.values()) chart.close();
  }

  return { update, close };
}
