/** Lecture mode: a story step by step, each a picture that can be turned; arrow keys go on and back. */

import { describeExperiment, tellStory } from "./api.js";
import { storyAddress } from "./address.js";
import { createControl } from "./controls.js";
import { announce, element, fill, prose } from "./dom.js";
import { createSession } from "./live.js";
import { budgetSettings, valueOf, withField } from "./settings.js";
import { createViews } from "./views.js";

const ON = new Set(["ArrowRight", "PageDown"]);
const BACK = new Set(["ArrowLeft", "PageUp"]);
const OWN_KEYS = "input, select, textarea, [role=application], [role=group]"; // arrows there move something else

/** Show a story at one of its steps, counted from 1; gives what ends it. */
export async function showStory(place, { name, step }) {
  const story = await tellStory(name);
  const number = Math.min(Math.max(step, 1), story.steps.length);
  const told = story.steps[number - 1];
  const scene = createScene(await describeExperiment(told.experiment), told);
  const go = (to) => (location.hash = storyAddress(name, to));
  const turn = (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target.closest?.(OWN_KEYS)) return;
    if (ON.has(event.key) && number < story.steps.length) go(number + 1);
    else if (BACK.has(event.key) && number > 1) go(number - 1);
    else return;
    event.preventDefault();
  };
  place.replaceChildren(lecture(story, number, told, scene, go));
  document.addEventListener("keydown", turn);
  document.title = `${told.title} · ${story.title} · festina`;
  announce(`Step ${number} of ${story.steps.length}: ${told.title}`);
  scene.begin();
  return () => {
    document.removeEventListener("keydown", turn);
    scene.close();
  };
}

function lecture(story, number, told, scene, go) {
  const count = story.steps.length;
  const button = (words, to, primary) =>
    element(
      "button",
      { type: "button", class: primary ? "primary" : "", disabled: to < 1 || to > count, onclick: () => go(to) },
      words,
    );
  return element(
    "article",
    { class: "lecture" },
    element(
      "header",
      { class: "lecture-head" },
      element("p", { class: "kicker" }, `${story.title} · ${number} of ${count}`),
      element("h1", { tabindex: "-1" }, prose(told.title)),
    ),
    element(
      "div",
      { class: "lecture-body" },
      element(
        "div",
        { class: "said" },
        told.text
          .trim()
          .split(/\n\s*\n/)
          .map((text) => element("p", {}, prose(text))),
        told.question ? element("p", { class: "question" }, prose(told.question)) : null,
        scene.control,
        element("p", { class: "links" }, element("a", { href: `#/${told.experiment}` }, `Open ${told.experiment}`)),
      ),
      scene.root,
    ),
    element(
      "nav",
      { class: "lecture-steps", "aria-label": "Steps" },
      button("Back", number - 1, false),
      element("progress", { max: String(count), value: String(number), "aria-label": `Step ${number} of ${count}` }),
      fullScreenButton(),
      button("On", number + 1, true),
    ),
  );
}

/** One picture of an experiment with the settings of a step, and the control of the field to drag. */
function createScene(experiment, told) {
  const usual = budgetSettings(experiment, told.budget);
  let settings = { ...usual, seeds: told.seeds ?? usual.seeds, fields: { ...told.fields } };
  const answers = { simulation: null, theory: null, stale: true, late: false, streaming: false };
  const views = createViews(experiment.views ?? [], { only: told.view - 1 });
  const trouble = element("p", { class: "trouble", role: "alert", hidden: true });
  const state = element("p", { class: "help", role: "status" });
  const session = createSession(experiment, {
    theory: (answer) => draw({ theory: answer }),
    late: (late) => draw({ late }),
    points: (answer) => draw({ simulation: answer, stale: false, streaming: answer.records < answer.of }),
    state: (event) => fill(state, event.message || event.state),
    claims: () => undefined,
    done: () => {
      fill(state, "");
      draw({ streaming: false });
    },
    problem,
    confirm: () => Promise.resolve(true), // who wrote the story knows how long it takes
  });

  function draw(news) {
    Object.assign(answers, news);
    const { simulation, theory, stale, late, streaming } = answers;
    views.update({ simulation: simulation?.scenes, theory: theory?.scenes, stale, late, streaming });
  }

  function problem(error) {
    trouble.textContent = error.message;
    trouble.hidden = false;
  }

  function change(next) {
    settings = next;
    trouble.hidden = true;
    draw({ stale: true, streaming: false });
    session.change(settings);
  }

  const field = experiment.fields.find((one) => one.name === told.drag);
  const control = field ? createControl(field, (value) => change(withField(field, value, settings))) : null;
  control?.set(valueOf(field, settings));
  return {
    root: element("div", { class: "shown" }, trouble, views.root, state),
    control: control ? element("div", { class: "headline" }, control.root) : null,
    begin: () => change(settings),
    close() {
      session.close();
      views.close();
    },
  };
}

function fullScreenButton() {
  if (!document.fullscreenEnabled) return null;
  const toggle = () =>
    document.fullscreenElement ? document.exitFullscreen() : document.documentElement.requestFullscreen();
  return element("button", { type: "button", class: "quiet", onclick: toggle }, "Full screen");
}
