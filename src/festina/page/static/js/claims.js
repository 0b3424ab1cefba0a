/** Claims and their verdicts: what is said, what is expected, what was measured, and what follows. */

import { element, fill, prose } from "./dom.js";
import { readable, readableText } from "./numbers.js";

export const MARKS = {
  reproduced: "✓",
  "reproduced qualitatively": "≈",
  "not reproduced": "✗",
  undecided: "?",
  "not applicable": "–",
  "needs the full budget": "…",
  broken: "!",
};

/** A table of claims. `show(verdicts, sentence)` fills in verdicts; `clear()` takes them back. */
export function createClaims(claims) {
  const body = element("tbody");
  const sentence = element("p", { class: "claims-sentence" });
  const head = ["Claim", "Expected", "Measured", "Verdict"].map((name) => element("th", { scope: "col" }, name));
  const root = element(
    "section",
    { class: "claims", "aria-labelledby": "claims-heading", hidden: claims.length === 0 },
    element("h2", { id: "claims-heading" }, "Claims"),
    sentence,
    element("table", { class: "claims-table" }, element("thead", {}, element("tr", {}, head)), body),
  );

  function clear() {
    fill(sentence, "Verdicts come at the end of a run.");
    fill(
      body,
      claims.map((claim) => row({ ...claim, expected: claim.expectation }, claim.budget)),
    );
  }

  function show(verdicts, said) {
    fill(sentence, said);
    fill(
      body,
      verdicts.map((verdict) => row(verdict)),
    );
  }

  clear();
  return { root, show, clear };
}

function row(verdict, budget = null) {
  const kind = verdict.outcome ? verdict.outcome.replaceAll(" ", "-") : "pending";
  const needs = budget === "full" ? "needs the full budget" : "";
  return element(
    "tr",
    { "data-claim": verdict.id },
    element(
      "td",
      { "data-head": "Claim" },
      element("span", {}, prose(verdict.sentence)),
      element(
        "span",
        { class: "aside" },
        element("span", { class: "kind" }, verdict.kind),
        ` · ${verdict.source} · `,
        element("code", {}, verdict.id),
      ),
    ),
    element("td", { class: "number", "data-head": "Expected" }, readableText(verdict.expected)),
    element("td", { class: "number", "data-head": "Measured" }, measured(verdict.measured)),
    element("td", { class: `verdict ${kind}`, "data-head": "Verdict" }, outcome(verdict), note(verdict.note || needs)),
  );
}

function measured(value) {
  if (value === null || value === undefined) return "—";
  return typeof value === "number" ? readable(value) : readableText(value);
}

function outcome({ outcome: name, word }) {
  if (!name) return element("span", {}, "not yet run");
  return element("span", {}, element("span", { class: "mark", "aria-hidden": "true" }, MARKS[name]), ` ${word}`);
}

function note(text) {
  return text ? element("span", { class: "aside" }, readableText(text)) : null;
}
