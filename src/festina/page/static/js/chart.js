/** The chart of one variable with its heading, its legend, its switches, and a table that says the same in words. */

import { element, fill } from "./dom.js";
import { createLegend } from "./legend.js";
import { readable } from "./numbers.js";
import { columnsOf, createPlot, structureOfPlot } from "./plot.js";
import { curvesOf, lastValues, spacedByFactors } from "./series.js";

const HEIGHT = 260;

/** A chart in a `figure`. `update({simulation, theory, stale})` draws answers of the server; `close()` ends it. */
export function createChart(variable, timeUnit) {
  const state = {
    answer: { simulation: null, theory: null, stale: false },
    hidden: new Set(),
    logTime: null,
    logValue: false,
    plot: null,
    structure: "",
    zoomed: false,
    curves: null,
  };
  const caption = element("figcaption", { class: "chart-title" });
  const place = element("div", { class: "plot", role: "img" });
  const legend = createLegend(toggleLine);
  const table = element("tbody");
  const switches = {
    time: scaleSwitch("log time", () => setScale({ logTime: !logTimeNow() })),
    value: scaleSwitch("log value", () => setScale({ logValue: !state.logValue })),
  };
  const root = element(
    "figure",
    { class: "chart", "data-variable": variable.name },
    element(
      "div",
      { class: "chart-head" },
      caption,
      element("div", { class: "switches" }, switches.time, switches.value),
    ),
    place,
    legend.root,
    lastValuesTable(variable, table),
  );

  function logTimeNow() {
    if (state.logTime !== null) return state.logTime;
    const times = (state.answer.theory ?? state.answer.simulation)?.times ?? [];
    return spacedByFactors(times);
  }

  function look() {
    return {
      logTime: logTimeNow(),
      logValue: state.logValue,
      stale: state.answer.stale,
      hidden: state.hidden,
      timeLabel: timeUnit ? `time (${timeUnit})` : "time",
    };
  }

  function update(answer) {
    state.answer = answer;
    state.curves = curvesOf(variable.name, answer.simulation, answer.theory);
    draw();
    describe();
  }

  function draw() {
    const { curves, answer } = state;
    const times = { simulation: answer.simulation?.times ?? [], theory: answer.theory?.times ?? [] };
    const now = look();
    const columns = columnsOf(curves, times, now);
    const structure = structureOfPlot(curves, now);
    if (state.plot && structure === state.structure) {
      state.plot.setData(columns, !state.zoomed);
      if (state.zoomed) state.plot.redraw();
      return;
    }
    renew(columns, now, structure);
    legend.show(curves.names, state.hidden, {
      simulation: curves.simulation.length > 0,
      theory: curves.theory.length > 0,
    });
    switches.time.setAttribute("aria-pressed", String(now.logTime));
    switches.value.setAttribute("aria-pressed", String(now.logValue));
  }

  function renew(columns, now, structure) {
    state.plot?.destroy();
    state.zoomed = false;
    const heard = { cursor: readValues, zoom: () => (state.zoomed = true) };
    state.plot = createPlot(place, state.curves, columns, now, size(), heard);
    state.plot.over.addEventListener("dblclick", () => (state.zoomed = false));
    state.structure = structure;
  }

  function size() {
    return { width: Math.max(240, place.clientWidth || 480), height: HEIGHT };
  }

  /** Values under the pointer, the simulation's where there are both. */
  function readValues(index) {
    if (index === null || index === undefined || !state.plot) return legend.read(null);
    const found = new Map();
    [...state.curves.simulation, ...state.curves.theory].forEach((curve, k) => {
      const value = state.plot.data[k + 1]?.[index];
      const known = curve.kind === "simulation" || curve.kind === "theory";
      if (known && value !== null && value !== undefined && !found.has(curve.line)) found.set(curve.line, value);
    });
    return legend.read(found);
  }

  function describe() {
    const { unit } = state.curves;
    fill(caption, variable.label, unit ? element("span", { class: "unit" }, ` (${unit})`) : null);
    const last = lastValues(state.curves);
    fill(
      table,
      last.map((row) => tableRow(row, state.answer.stale)),
    );
    place.setAttribute("aria-label", `Chart of ${variable.label} over time. ${lastSentence(last)}`);
  }

  function toggleLine(name) {
    if (!state.hidden.delete(name)) state.hidden.add(name);
    draw();
    const again = [...legend.root.querySelectorAll("button")][state.curves.names.indexOf(name)];
    again?.focus();
  }

  function setScale(change) {
    Object.assign(state, change);
    draw();
  }

  const recolour = () => {
    state.structure = "";
    if (state.curves) draw();
  };
  const observer = new ResizeObserver(() => state.plot?.setSize(size()));
  observer.observe(place);
  document.addEventListener("themechange", recolour);

  function close() {
    observer.disconnect();
    document.removeEventListener("themechange", recolour);
    state.plot?.destroy();
  }

  /** What is drawn at present: the columns, and which curve each of them is. */
  root.plotted = () => ({
    columns: state.plot?.data ?? [[]],
    curves: state.curves ? [...state.curves.simulation, ...state.curves.theory] : [],
    stale: state.answer.stale,
  });
  return { root, update, close };
}

function scaleSwitch(label, press) {
  return element("button", { type: "button", class: "quiet small", "aria-pressed": "false", onclick: press }, label);
}

function lastValuesTable(variable, body) {
  const head = ["line", "simulation", "theory"].map((name) => element("th", { scope: "col" }, name));
  return element(
    "details",
    { class: "last-values" },
    element("summary", {}, "Last values as a table"),
    element(
      "table",
      {},
      element("caption", { class: "unseen" }, `Last values of ${variable.label}`),
      element("thead", {}, element("tr", {}, head)),
      body,
    ),
  );
}

function tableRow({ line, simulated, predicted }, stale) {
  return element(
    "tr",
    {},
    element("th", { scope: "row" }, line || "all"),
    element("td", {}, stale ? "…" : readable(simulated)),
    element("td", {}, readable(predicted)),
  );
}

function lastSentence(rows) {
  const said = rows.slice(0, 6).map(({ line, simulated, predicted }) => {
    const values = [
      simulated === null ? null : `simulated ${readable(simulated, 3)}`,
      predicted === null ? null : `theory ${readable(predicted, 3)}`,
    ].filter(Boolean);
    return `${line ? `${line}: ` : ""}${values.join(", ")}`;
  });
  return said.length ? `Last values: ${said.join("; ")}${rows.length > 6 ? "; and more in the table" : ""}.` : "";
}
