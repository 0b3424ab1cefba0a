/**
 * Theory at once, the simulation as it comes. Every change asks theory anew and, after a moment of rest, starts a run;
 * a run that is no longer wanted is cancelled.
 */

import { askTheory, cancel, listen, startRun } from "./api.js";
import { structureOf } from "./settings.js";

const THEORY_REST = 10; // milliseconds without another change
const RUN_REST = 90;
const LATE = 300; // milliseconds after which theory that is still computed is said to be

/**
 * A session with an experiment. `heard` has the functions `theory(answer)`, `late(whether)` where theory takes a while,
 * `points(answer)`, `state(event)`, `claims(answer)`, `done(answer, id)`, `problem(error)` and `confirm(question)`, the last
 * of which promises yes or no.
 */
export function createSession(experiment, heard) {
  const theory = latestOnly((settings) => askTheory(question(settings)), {
    ...heard,
    late: (late) => experiment.theory && heard.late(late),
  });
  const asked = new Map(); // long runs by their structure: whether the reader wants them
  let current = null; // the run that is wanted: {id, stop}
  let wish = 0; // counts changes, so that answers to earlier ones can be told
  let timer = null;

  function question(settings) {
    return { experiment: experiment.name, budget: settings.budget, fields: settings.fields, seed: 0 };
  }

  function change(settings, insist = false) {
    stop();
    theory.ask(settings, THEORY_REST);
    timer = setTimeout(() => begin(settings, wish, insist), RUN_REST);
  }

  /** Start a run; where the server asks whether a long one is wanted, so does the page, once for each structure. */
  async function begin(settings, own, insist) {
    const structure = structureOf(experiment, settings);
    if (insist) asked.delete(structure);
    if (asked.get(structure) === false) return heard.state({ state: "declined" });
    const { seed, ...rest } = question(settings);
    const body = { ...rest, seeds: settings.seeds, confirmed: asked.get(structure) === true };
    try {
      const answer = await startRun(body);
      if (own !== wish) return cancel("runs", answer.id);
      return follow(answer.id, own);
    } catch (error) {
      if (own !== wish) return undefined;
      if (error.status !== 409 || !error.confirm) return heard.problem(error);
      asked.set(structure, await heard.confirm(error));
      return own === wish ? begin(settings, own, false) : undefined;
    }
  }

  function follow(id, own) {
    const mine = (hear) => (event) => own === wish && hear(event);
    const stopListening = listen("runs", id, {
      state: mine((event) => {
        heard.state(event);
        if (event.state === "failed" || event.state === "cancelled") end();
      }),
      points: mine(heard.points),
      theory: mine((answer) => {
        theory.forget();
        heard.theory(answer);
      }),
      claims: mine(heard.claims),
      done: mine((answer) => {
        end();
        heard.done(answer, id);
      }),
      lost: mine(() => {
        current = null;
        heard.state({ state: "failed", message: "The connection to the server was lost." });
      }),
    });
    current = { id, stop: stopListening };
  }

  function end() {
    current?.stop();
    current = null;
  }

  /** Leave what is running, if anything is. */
  function stop() {
    wish += 1;
    clearTimeout(timer);
    if (!current) return;
    const { id } = current;
    end();
    cancel("runs", id);
  }

  return {
    change,
    stop,
    close() {
      stop();
      theory.forget();
    },
  };
}

/**
 * Ask only the latest question: one is under way at most, and its answer is shown unless a newer one has come. Where
 * none is for a while, `heard.late` is told, and again when one is.
 */
function latestOnly(ask, heard) {
  let waiting = null;
  let busy = false;
  let timer = null;
  let era = 0;
  let patience = null;
  let late = false;

  function expect() {
    patience ??= setTimeout(() => say(true), LATE);
  }

  function say(whether) {
    clearTimeout(patience);
    patience = null;
    if (whether === late) return;
    late = whether;
    heard.late(late);
  }

  async function send() {
    if (busy || waiting === null) return;
    const [settings, own] = [waiting, era];
    [waiting, busy] = [null, true];
    try {
      const answer = await ask(settings);
      if (own === era) heard.theory(answer);
    } catch (error) {
      if (own === era && waiting === null) heard.problem(error);
    } finally {
      busy = false;
      say(false);
      if (waiting !== null) expect();
      send();
    }
  }

  return {
    ask(settings, rest) {
      waiting = settings;
      expect();
      clearTimeout(timer);
      timer = setTimeout(send, rest);
    },
    forget() {
      era += 1;
      waiting = null;
      clearTimeout(timer);
      say(false);
    },
  };
}
