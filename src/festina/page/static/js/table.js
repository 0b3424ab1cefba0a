/** Series as a table of text: one row for each value, so that any program can read it. */

const HEAD = ["kind", "variable", "line", "run", "time", "value"];

/** Comma-separated values of answers by their kind, such as `{simulation: {times, series}}`; unknown values are empty. */
export function asTable(answers) {
  const rows = Object.entries(answers).flatMap(([kind, answer]) =>
    answer ? answer.series.flatMap((series) => rowsOf(kind, series, answer.times)) : [],
  );
  return `${[HEAD, ...rows].map((row) => row.map(quoted).join(",")).join("\n")}\n`;
}

function rowsOf(kind, series, times) {
  return series.values.map((value, k) => [
    kind,
    series.variable,
    series.line,
    series.run ?? "mean",
    times[k],
    value ?? "",
  ]);
}

function quoted(value) {
  const text = String(value);
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
