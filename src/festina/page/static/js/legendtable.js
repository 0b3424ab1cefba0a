/** Names of groups that say where they stand in a table: "deep, rank 2" is in the row "deep" and the column "rank 2". */

const FEWEST = 8; // names, below which a line or two holds them
const FULL = 0.6; // of a table, at least: one that is mostly empty says less than a list

/**
 * The table that names make: `{rows, columns, name(row, column)}`, the last null where there is no such name; null if
 * they make none.
 */
export function tableOf(names) {
  if (names.length < FEWEST) return null;
  const places = names.map((name) => {
    const end = name.lastIndexOf(", ");
    return end < 0 ? null : [name.slice(0, end), name.slice(end + 2)];
  });
  if (places.includes(null)) return null;
  const [rows, columns] = [0, 1].map((part) => [...new Set(places.map((place) => place[part]))]);
  if (rows.length < 2 || columns.length < 2 || names.length < FULL * rows.length * columns.length) return null;
  const known = new Set(names);
  const name = (row, column) => (known.has(`${row}, ${column}`) ? `${row}, ${column}` : null);
  return { rows, columns: inOrder(columns), name };
}

/** Columns as they come, but numbered ones by their numbers: where rows have different ones they come in any order. */
function inOrder(columns) {
  const numbers = columns.map((column) => Number(column.slice(column.lastIndexOf(" ") + 1)));
  if (numbers.some(Number.isNaN)) return columns;
  return columns.map((_, k) => k).sort((a, b) => numbers[a] - numbers[b]).map((k) => columns[k]);
}
