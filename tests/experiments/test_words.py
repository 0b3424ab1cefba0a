"""What the page shows of an experiment in words: equations that can be set, presets that can be run."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import festina as fs
from festina.experiment import Experiment
from festina.lab import registry
from patience import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
KATEX = ROOT / "src/festina/page/static/vendor/katex/katex.min.js"
NAMES = registry.names()
LONGEST = 200  # characters of a sentence beside an equation or under a button
TYPESET = """
const katex = require(process.argv[1]);
const formulas = JSON.parse(require("fs").readFileSync(0, "utf8"));
const refused = {};
for (const [where, tex] of formulas) {
  try { katex.renderToString(tex, {displayMode: true, throwOnError: true, strict: "error"}); }
  catch (error) { refused[where] = error.message; }
}
console.log(JSON.stringify(refused));
"""


@pytest.fixture(params=NAMES)
def experiment(request: pytest.FixtureRequest) -> Experiment:
    return registry.find(request.param)


def test_every_experiment_has_equations_and_presets(experiment: Experiment) -> None:
    assert 1 <= len(experiment.equations) <= 3
    assert 1 <= len(experiment.presets) <= 4


def test_sentences_are_short_and_whole(experiment: Experiment) -> None:
    for sentence in (each.sentence for each in (*experiment.equations, *experiment.presets)):
        assert sentence.endswith(".") and sentence[0].isupper(), sentence
        assert len(sentence) <= LONGEST, f"{len(sentence)} characters: {sentence}"


def test_names_of_presets_are_short_and_differ(experiment: Experiment) -> None:
    names = [preset.name for preset in experiment.presets]
    assert len(set(names)) == len(names)
    assert all(name and len(name) <= 30 for name in names)


def test_presets_are_configurations_that_differ(experiment: Experiment) -> None:
    found = [experiment.configure(preset.budget, **preset.fields) for preset in experiment.presets]
    for config, preset in zip(found, experiment.presets, strict=True):
        usual = experiment.configure(preset.budget)
        changed = {name for name in type(config).model_fields if getattr(config, name) != getattr(usual, name)}
        assert changed == set(preset.fields), f"{preset.name!r} names fields that it does not change"
    assert len({(preset.budget, config) for config, preset in zip(found, experiment.presets, strict=True)}) == len(
        found
    )


def test_formulas_are_balanced(experiment: Experiment) -> None:
    for equation in experiment.equations:
        assert _unbalanced(equation.tex) == "", equation.tex


@pytest.mark.parametrize(
    ("tex", "wrong"),
    [
        (r"\frac{a}{b", "braces"),
        (r"a}{b", "braces"),
        (r"\left(a", "left and right"),
        (r"\bigl(a\bigr) + \Bigl[b", "big brackets"),
        (r"\begin{pmatrix} a \end{matrix}", "environments"),
        (r"\bigl\{a\bigr\} \leftarrow \left.b\right|", ""),
    ],
)
def test_what_is_unbalanced_is_seen(tex: str, wrong: str) -> None:
    assert _unbalanced(tex) == wrong


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
@pytest.mark.skipif(not KATEX.exists(), reason="needs the page's own KaTeX")
def test_formulas_can_be_set() -> None:
    formulas = [
        (f"{name}, equation {number}", equation.tex)
        for name in NAMES
        for number, equation in enumerate(registry.find(name).equations)
    ]
    refused = _refused_by_katex([*formulas, ("a bad one", r"\nosuchcommand{a}")])
    assert refused.pop("a bad one", None), "KaTeX takes anything"
    assert refused == {}


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "preset"),
    [("linear/chain", "unit statistics"), ("linear/transition", "small start"), ("linear/continual", "similar tasks")],
)
def test_presets_run(name: str, preset: str, tmp_path: Path) -> None:
    chosen = next(each for each in registry.find(name).presets if each.name == preset)
    result = fs.run(name, budget=chosen.budget, seeds=1, store=tmp_path, **chosen.fields)
    assert not result.failures
    assert max(result.errors()) < 1e-6


def _unbalanced(tex: str) -> str:
    """What does not come in pairs, in a word; empty if all does."""
    bare = tex.replace(r"\{", "").replace(r"\}", "")
    depths = list(_depths(bare))
    pairs = {
        "braces": min(depths, default=0) >= 0 and bare.count("{") == bare.count("}"),
        "left and right": _count(r"\\left", tex) == _count(r"\\right", tex),
        "big brackets": _count(r"\\[bB]igg?l", tex) == _count(r"\\[bB]igg?r", tex),
        "environments": re.findall(r"\\begin{(\w+)}", tex) == re.findall(r"\\end{(\w+)}", tex),
    }
    return next((name for name, balanced in pairs.items() if not balanced), "")


def _depths(tex: str) -> Iterator[int]:
    depth = 0
    for letter in tex:
        depth += (letter == "{") - (letter == "}")
        yield depth


def _count(command: str, tex: str) -> int:
    """How often a command occurs, not counting longer ones that begin with it, such as \\leftarrow."""
    return len(re.findall(command + r"(?![a-zA-Z])", tex))


def _refused_by_katex(formulas: list[tuple[str, str]]) -> dict[str, str]:
    """Why KaTeX would not set a formula, by where it stands."""
    done = subprocess.run(
        ["node", "-e", TYPESET, str(KATEX)],
        input=json.dumps(formulas),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
