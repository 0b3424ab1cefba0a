"""What the page shows of an experiment in words: equations that can be set, presets that can be run."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import festina as fs
from festina.lab import registry
from festina.testing.words import unbalanced
from patience import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
KATEX = ROOT / "src/festina/page/static/vendor/katex/katex.min.js"
NAMES = registry.runnable_names()
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
    assert unbalanced(tex) == wrong


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
    assert {verdict.outcome for verdict in result.verdicts if verdict.claim.startswith("exact")} == {"reproduced"}


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
