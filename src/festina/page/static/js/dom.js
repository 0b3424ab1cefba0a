/** Elements from JavaScript. Text is only ever set as text, never as markup. */

/**
 * An element with attributes and children. A listener is an attribute such as `onclick` with a function; `true` and
 * `false` set and leave out an attribute; children that are null are left out.
 */
export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

/** A sentence whose `backticked` parts are code, and whose symbols have their indices and powers: τ_c, P^(1/L). */
export function prose(text) {
  return String(text ?? "")
    .split("`")
    .flatMap((part, place) => (place % 2 ? element("code", {}, part) : symbols(part)));
}

// A single letter with an index of one to three signs, or a power of one or two, or one in brackets.
const RAISED = /(?<=(?<![\p{L}_])\p{L}|‖)_([\p{L}\d]{1,3})(?![\p{L}\d_])|\^\(([^()]+)\)|\^([\p{L}\d]{1,2})(?![\p{L}\d])/gu;

function symbols(text) {
  const parts = [];
  let end = 0;
  for (const found of text.matchAll(RAISED)) {
    const [whole, index, bracketed, power] = found;
    parts.push(text.slice(end, found.index), element(index ? "sub" : "sup", {}, index ?? bracketed ?? power));
    end = found.index + whole.length;
  }
  return [...parts, text.slice(end)].filter((part) => part !== "");
}

/** Put other children into an element. */
export function fill(node, ...children) {
  node.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined));
}

/** Say something to those who listen to the page rather than look at it. */
export function announce(text) {
  const place = document.getElementById("announcements");
  if (place && place.textContent !== text) place.textContent = text;
}

let count = 0;

/** An identifier that no other element has. */
export function freshId(stem) {
  count += 1;
  return `${stem}-${count}`;
}

/** A button that copies a text and says so. `text` is asked for when the button is pressed. */
export function copyButton(label, text) {
  const button = element("button", { type: "button" }, label);
  button.addEventListener("click", async () => {
    const copied = await copy(text());
    button.textContent = copied ? "Copied" : "Could not copy";
    announce(button.textContent);
    setTimeout(() => (button.textContent = label), 1500);
  });
  return button;
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

/** For pages that may not use the clipboard directly, such as a file. */
function copyBySelection(text) {
  const area = element("textarea", { class: "unseen", "aria-hidden": "true" });
  area.value = text;
  document.body.append(area);
  area.select();
  const copied = document.execCommand("copy");
  area.remove();
  return copied;
}
