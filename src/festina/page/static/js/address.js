/** The address of a view: everything that is seen can be read from it, so that a link shows the same picture. */

/** What an address such as `#/linear/chain/map?x=initial` asks for. */
export function parseAddress(hash) {
  const [path, query] = split(hash.replace(/^#/, ""), "?");
  const parts = path.split("/").filter(Boolean).map(decode);
  const parameters = new URLSearchParams(query);
  if (parts.length === 0) return { view: "gallery", parameters };
  if (parts[0] === "story" && parts.length <= 3 && parts.length > 1)
    return { view: "story", name: parts[1], step: whole(parts[2] ?? "1") ?? 1, parameters };
  if (parts[0] === "own" && parts.length <= 2) return { view: "own", item: whole(parts[1] ?? ""), parameters };
  if (parts.length === 2) return { view: "experiment", name: parts.join("/"), parameters };
  if (parts.length === 3 && parts[2] === "map") return { view: "map", name: parts.slice(0, 2).join("/"), parameters };
  return { view: "nowhere", path, parameters };
}

/** The address of an experiment, or of its map, with parameters in the order given. */
export function experimentAddress(name, parameters = {}, map = false) {
  const query = new URLSearchParams(Object.entries(parameters).map(([key, value]) => [key, String(value)]));
  const text = query.toString().replaceAll("%2C", ",");
  return `#/${name}${map ? "/map" : ""}${text ? `?${text}` : ""}`;
}

/** The address of a step of a story. */
export const storyAddress = (name, step) => `#/story/${encodeURIComponent(name)}/${step}`;

/** Show an address in the browser's bar without loading anything. */
export function replaceAddress(address) {
  if (location.hash !== address) history.replaceState(null, "", address);
}

function whole(text) {
  return /^\d{1,6}$/.test(text) ? Number(text) : null;
}

function split(text, mark) {
  const place = text.indexOf(mark);
  return place < 0 ? [text, ""] : [text.slice(0, place), text.slice(place + 1)];
}

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
