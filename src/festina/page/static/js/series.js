/** From the server's lists of series to what one chart draws: aligned columns, and what each of them is. */

/** The names of all lines of one variable, in the order in which they first come. */
export function lineNames(...lists) {
  return [...new Set(lists.flat().map((series) => series.line))];
}

/** The series of one variable among all of an answer `{times, series}`; none if there is no answer. */
export function seriesOf(answer, variable) {
  return answer ? answer.series.filter((one) => one.variable === variable && one.values.length > 0) : [];
}

/** The variables of answers, in the order in which they first come. */
export function variablesIn(...answers) {
  return [...new Set(answers.filter(Boolean).flatMap((answer) => answer.series.map((one) => one.variable)))];
}

/** Whether times are spaced by equal factors, so that a logarithmic axis shows them evenly. */
export function spacedByFactors(times) {
  if (times.length < 12) return false;
  const [first, last] = [times[0], times[times.length - 1]];
  return (times[Math.floor(times.length / 2)] - first) / (last - first) < 0.12;
}

/**
 * What a chart of one variable draws. Every curve is {kind, line, run, number, values, label}: `kind` is "simulation",
 * "theory", "low" or "high", `number` is the line's place among the lines.
 */
export function curvesOf(variable, simulation, theory) {
  const simulated = seriesOf(simulation, variable);
  const predicted = seriesOf(theory, variable);
  const names = lineNames(simulated, predicted);
  const curve = (kind, one, values) => ({
    kind,
    line: one.line,
    run: one.run,
    number: names.indexOf(one.line),
    values,
  });
  const bands = simulated.filter((one) => one.low && one.high);
  return {
    names,
    unit: (simulated[0] ?? predicted[0])?.unit ?? "",
    simulation: [
      ...bands.flatMap((one) => [curve("high", one, one.high), curve("low", one, one.low)]),
      ...simulated.map((one) => curve("simulation", one, one.values)),
    ],
    theory: predicted.map((one) => curve("theory", one, one.values)),
  };
}

/** Times and values without the recordings a logarithmic axis cannot show: time zero, and values not above zero. */
export function onScales(times, curves, logTime, logValue) {
  const keep = times.map((time) => !logTime || time > 0);
  const kept = (values) => values.filter((_, k) => keep[k]);
  const shown = (value) => (value === null || (logValue && value <= 0) ? null : value);
  return [kept(times), ...curves.map((curve) => kept(curve.values).map(shown))];
}

/** The last known value of a list, and null if there is none. */
export function lastKnown(values) {
  for (let k = values.length - 1; k >= 0; k -= 1) if (values[k] !== null) return values[k];
  return null;
}

/** The mean of a line's last values over runs, simulated and predicted: what the table beside a chart says. */
export function lastValues(curves) {
  const mean = (list) => {
    const known = list.map((curve) => lastKnown(curve.values)).filter((value) => value !== null);
    return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
  };
  return curves.names.map((line) => ({
    line,
    simulated: mean(curves.simulation.filter((curve) => curve.line === line && curve.kind === "simulation")),
    predicted: mean(curves.theory.filter((curve) => curve.line === line)),
  }));
}
