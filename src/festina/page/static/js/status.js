/** How far a run is: a bar, a sentence, and the buttons that stop it and start it anew. */

import { announce, element, fill } from "./dom.js";
import { duration } from "./numbers.js";

const SENTENCES = {
  queued: "Waiting for other runs",
  compiling: "Compiling",
  running: "Running",
  judging: "Judging the claims",
  done: "Done",
  failed: "Failed",
  cancelled: "Cancelled",
  declined: "Not run: it would take long. Press “Run” to be asked again.",
};
const BUSY = new Set(["queued", "compiling", "running", "judging"]);

/** The status of a run. `cancel()` and `rerun()` are called by its buttons; further buttons stand beside them. */
export function createStatus({ cancel, rerun }, ...more) {
  const bar = element("progress", { max: "1", "aria-label": "Progress of the run" });
  const text = element("p", { class: "status-text" });
  const stop = element("button", { type: "button", onclick: cancel }, "Cancel");
  const again = element("button", { type: "button", onclick: rerun }, "Run");
  const root = element(
    "section",
    { class: "status", "aria-label": "Run" },
    bar,
    text,
    element("div", { class: "buttons" }, stop, again, more),
  );
  let share = 0;

  function show(state, note = "", detail = "") {
    root.dataset.state = state;
    const sentence = [SENTENCES[state] ?? state, note].filter(Boolean).join(BUSY.has(state) ? ": " : ". ");
    fill(text, sentence, detail ? element("span", { class: "aside" }, detail) : null);
    announce(sentence);
    const busy = BUSY.has(state);
    stop.disabled = !busy;
    again.disabled = busy;
    if (state === "done") share = 1;
    if (!busy && state !== "done") share = 0;
    if (busy && state !== "running" && state !== "judging") bar.removeAttribute("value");
    else bar.value = share;
  }

  /** A run has got so far. Only looked at, not announced: it changes too often to listen to. */
  function progress(records, of) {
    share = of ? records / of : 0;
    bar.value = share;
    root.dataset.state = "running";
    fill(text, `Running: ${records} of ${of} recordings`);
  }

  function done(seconds, failures) {
    show("done", `It took ${duration(seconds)}`, failures.length ? `Runs that failed: ${failures.join(" ")}` : "");
  }

  return { root, show, progress, done };
}
