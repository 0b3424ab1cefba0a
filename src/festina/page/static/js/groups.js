/** What colours tell apart on a page: groups of the same name look the same in every picture. */

import { cellColours, lineColour, markerOf } from "./colours.js";
import { tableOf } from "./legendtable.js";

/**
 * Families of groups, each a list of names: scenes that share a name share a family, so that arms keep one palette and
 * the items of another picture have theirs.
 */
export function familiesOf(scenes) {
  let families = [];
  for (const { groups } of scenes) {
    if (!groups.length) continue;
    const akin = families.filter((family) => groups.some((name) => family.includes(name)));
    const joined = [...new Set([...akin.flat(), ...groups])];
    const place = akin.length ? families.indexOf(akin[0]) : families.length;
    families = families.filter((family) => !akin.includes(family));
    families.splice(place, 0, joined);
  }
  return families;
}

/**
 * New names of groups whose values have moved: pairs [before, after], in order, if as many have gone as have come.
 */
export function renamed(before, after) {
  const gone = before.filter((name) => !after.includes(name));
  const come = after.filter((name) => !before.includes(name));
  return gone.length === come.length ? gone.map((name, number) => [name, come[number]]) : [];
}

/**
 * The look of every group by its name, as a function. A simulation of earlier settings has the colours of the groups
 * that stand in its groups' places now: `earlier` are pairs of such a scene and the one that holds.
 */
export function looksOf(families, earlier = []) {
  const looks = new Map();
  for (const family of families) for (const [name, look] of looksIn(family)) looks.set(name, look);
  for (const [before, now] of earlier) {
    before.groups.forEach((name, number) => {
      if (looks.has(name)) return;
      looks.set(name, looks.get(now.groups[number]) ?? lookOf(number, before.groups.length));
    });
  }
  return (name) => looks.get(name) ?? lookOf(0, 1);
}

/** The looks of a family: where its names make a table, a colour for each row and a shade and a mark for each column. */
function looksIn(family) {
  const table = tableOf(family);
  const colours = table && cellColours(table.rows.length, table.columns.length);
  if (!colours) return family.map((name, number) => [name, lookOf(number, family.length)]);
  return table.rows.flatMap((row, up) =>
    table.columns.map((column, across) => [
      table.name(row, column),
      { colour: colours[up][across], marker: markerOf(across) },
    ]),
  );
}

const lookOf = (number, count) => ({ colour: lineColour(number, count), marker: markerOf(number) });
