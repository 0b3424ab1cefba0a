/** The form of an experiment: what matters most, presets, continuous fields, the others behind a fold. */

import { createControl } from "./controls.js";
import { element, fill, prose } from "./dom.js";
import { plain } from "./numbers.js";
import { budgetSettings, hasEffect, presetSettings, valueOf, withField } from "./settings.js";

const SEEDS = {
  name: "seeds",
  label: "seeds",
  help: "how many independent runs",
  unit: "",
  type: "integer",
  slider: null,
};

/**
 * The form. `changed(settings)` hears of every change made by hand; `show(settings)` shows others;
 * `complain(message, field)` puts a message beside a field and says whether there was such a field.
 */
export function createForm(experiment, changed) {
  let settings = budgetSettings(experiment, "quick");
  const change = (next) => {
    settings = next;
    presets.show(next);
    hideIdle();
    changed(next);
  };
  const controls = new Map(
    experiment.fields.map((field) => [
      field.name,
      createControl(field, (value) => change(withField(field, value, settings))),
    ]),
  );
  const seeds = createControl(SEEDS, (value) => change({ ...settings, seeds: value }));
  const budgets = budgetChoice((budget) => renew(budgetSettings(experiment, budget)));
  const presets = presetButtons(experiment, (preset) => renew(presetSettings(experiment, preset)));
  const parts = partsOf(experiment);
  const rootsOf = (fields) => fields.map((field) => controls.get(field.name).root);
  const advanced = foldOf(rootsOf(parts.advanced));
  const root = element(
    "form",
    { class: "controls", "aria-label": "Settings", onsubmit: (event) => event.preventDefault() },
    headlineOf(rootsOf(parts.headline), tryFirst(experiment, make)),
    presets.root,
    element(
      "fieldset",
      {},
      element("legend", {}, "Settings"),
      element("div", { class: "control-grid" }, rootsOf(parts.usual)),
      element("div", { class: "pair" }, budgets.root, seeds.root),
    ),
    advanced,
  );

  /** Make a move from the settings of now, as if by hand. */
  function make({ field: name, value }) {
    const field = experiment.fields.find((one) => one.name === name);
    renew(withField(field, value, settings));
  }

  function renew(next) {
    show(next);
    changed(next);
  }

  function show(next) {
    settings = next;
    presets.show(next);
    budgets.set(next.budget);
    seeds.set(next.seeds);
    for (const field of experiment.fields) {
      controls.get(field.name).set(valueOf(field, next));
      controls.get(field.name).complain("");
    }
    hideIdle();
    if (parts.advanced.some((field) => field.name in next.fields)) advanced.open = true;
  }

  /** Fields without effect in the present settings are not shown. */
  function hideIdle() {
    for (const field of experiment.fields) {
      controls.get(field.name).root.hidden = !hasEffect(experiment, field, settings);
    }
    if (advanced) advanced.hidden = parts.advanced.every((field) => controls.get(field.name).root.hidden);
  }

  function complain(message, name) {
    const control = name === "seeds" ? seeds : controls.get(name);
    if (!control) return false;
    if (advanced?.contains(control.root)) advanced.open = true;
    control.root.hidden = false;
    control.complain(message);
    return true;
  }

  function clear() {
    for (const control of [seeds, ...controls.values()]) control.complain("");
  }

  return { root, show, complain, clear };
}

/** The fields that matter most, those a slider moves, and the rest, each in the experiment's order. */
function partsOf(experiment) {
  const first = experiment.headline ?? [];
  const named = (name) => experiment.fields.find((field) => field.name === name);
  const others = experiment.fields.filter((field) => !first.includes(field.name));
  return {
    headline: first.map(named).filter(Boolean),
    usual: others.filter((field) => field.kind === "continuous"),
    advanced: others.filter((field) => field.kind !== "continuous"),
  };
}

function headlineOf(inside, about) {
  if (!inside.length) return about;
  const legend = element("legend", { class: "unseen" }, "What matters most");
  return element("fieldset", { class: "headline" }, legend, about, inside);
}

/** What to try first: the move that the experiment names, with a button that makes it, or else the field to begin with. */
function tryFirst(experiment, make) {
  const [name] = experiment.headline ?? [];
  const label = experiment.fields.find((one) => one.name === name)?.label;
  const said = experiment.try?.sentence ?? (label ? `Move ${label}.` : "");
  if (!said) return null;
  const button = experiment.try
    ? element("button", { type: "button", class: "quiet", onclick: () => make(experiment.try) }, "Do it")
    : null;
  return element("p", { class: "try" }, element("strong", {}, "Try first: "), prose(said), " ", button);
}

function foldOf(inside) {
  if (!inside.length) return null;
  return element(
    "details",
    { class: "advanced" },
    element("summary", {}, "Advanced"),
    element("p", { class: "help" }, "Each of these changes the program itself, which is then compiled anew."),
    element("div", { class: "control-grid" }, inside),
  );
}

function presetButtons(experiment, choose) {
  if (!experiment.presets.length) return { root: null, show: () => undefined };
  const about = element("p", { class: "help" }, "Each sets all fields.");
  const buttons = experiment.presets.map((preset) => presetButton(preset, about, choose));
  const root = element(
    "section",
    { class: "presets", "aria-labelledby": "presets-heading" },
    element("h2", { id: "presets-heading" }, "Presets"),
    element(
      "ul",
      {},
      buttons.map((button) => element("li", {}, button)),
    ),
    about,
  );

  /** Mark the preset that some settings are, if they are one. */
  function show(settings) {
    const now = textOf(experiment, settings);
    const active = experiment.presets.findIndex(
      (preset) => textOf(experiment, presetSettings(experiment, preset)) === now,
    );
    buttons.forEach((button, k) => button.setAttribute("aria-pressed", String(k === active)));
    if (active >= 0) fill(about, sentenceOf(experiment.presets[active]));
  }

  return { root, show };
}

function presetButton(preset, about, choose) {
  const tell = () => fill(about, sentenceOf(preset));
  return element(
    "button",
    {
      type: "button",
      title: preset.sentence,
      "aria-description": preset.sentence,
      "aria-pressed": "false",
      onclick: () => choose(preset),
      onfocus: tell,
      onpointerenter: tell,
    },
    preset.name,
  );
}

function sentenceOf(preset) {
  return [...prose(preset.sentence), preset.budget === "full" ? " (full budget)" : ""];
}

function textOf(experiment, settings) {
  return JSON.stringify([
    settings.budget,
    settings.seeds,
    experiment.fields.map((field) => plain(valueOf(field, settings))),
  ]);
}

function budgetChoice(choose) {
  const options = [
    ["quick", "quick: a look"],
    ["full", "full: as in the source"],
  ];
  const list = element(
    "select",
    { id: "budget", onchange: () => choose(list.value) },
    options.map(([value, text]) => element("option", { value }, text)),
  );
  const root = element(
    "div",
    { class: "control" },
    element("label", { for: "budget" }, "budget"),
    element("div", { class: "inputs" }, list),
    element("p", { class: "help" }, "sets all fields anew"),
  );
  return { root, set: (budget) => (list.value = budget) };
}
