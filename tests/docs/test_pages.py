"""Pages about networks of one's own: every example runs as written, those of other libraries where installed."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

RUNNER = Path(__file__).with_name("run_pages.py")
OTHERS = ("torch", "flax")
DOCS = Path(__file__).resolve().parent.parent.parent / "docs"
SAYS = [
    ("howto/own_learning", "Taught", (r"5 seeds, 61 recordings", r"test loss: \[0\.\d+ +0\.00\d+\]")),
    ("howto/own_learning", "load_digits", (r"accuracy on images not seen: \[0\.9\d 0\.9\d? 0\.9\d?\]",)),
    ("howto/own_learning", "huber", (r"median error: [1-9]\.\d+\nmedian error: 0\.0",)),
    ("howto/own_data", "correlations", (r"learned: \[5\. 3\. 1\.\]", r"Comparison\(")),
    (
        "howto/own_network",
        "Graph.of",
        (r"the reduction applies", r"FAILS: initial weights are decoupled", r"loss at the end"),
    ),
    (
        "howto/own_network",
        "candidates",
        (r"won by example 0, example 1, example 2, example 3", r"won by positive, negative"),
    ),
    ("howto/own_network", "torch", (r"strength mixed", r"effective gated linear network of [3-7] pathways")),
    ("howto/own_network", "flax", (r"strength mixed", r"effective gated linear network of [3-7] pathways")),
    ("howto/own_network", "labels = np.repeat", (r"redundant code of 3 classes in 200 neurons", r"\{dog eel\}")),
    (
        "howto/own_network",
        "neuron",
        (
            r"gates of 150 units",
            r"half-way between its low",
            r"150 of 150 units",
            r"\{odd old\} [23]",
            r"'odd' 'old' 'red'",
        ),
    ),
    (
        "howto/own_network",
        "channel_maxima",
        (r"gates of 32 units .* in 3 contexts", r"on above 0,", r"purely contextual"),
    ),
    ("howto/analyser", "torch", (r"analog code of 3 classes in 300 neurons", r"share of the top tenth 0.4")),
    ("howto/analyser", "flax", (r"analog code of 3 classes in 300 neurons", r"share of the top tenth 0.4")),
    (
        "theory/abstraction",
        "arms",
        (
            r"flexible right in (9\d|100).*100% of switches detected",
            r"forgetful right in [4-7]\d",
            r"\(arm, seed, step, path\)",
        ),
    ),
    ("reference/models", "TwoLayer", (r"imbalance: 3, scale: 2",)),
    (
        "howto/sampling",
        "np.sin",
        (r"4 chains of 500 draws after 500: mean energy", r"deviation 0\.[01]\d among the data, [12]\.\d"),
    ),
    ("howto/sampling", "Collapsed", (r"\d\d% of neurons accepted, R̂ of answers at most 1\.\d\d",)),
    ("howto/sampling", "networks.LAZY", (r"difference of mean answers 0\.0\d, with standard deviations of 0\.(19|2)",)),
    (
        "howto/sampling",
        "labels",
        (r"0\.7\d right; posterior sample_stats posterior_predictive observed_data constant_data",),
    ),
    ("howto/sampling", "ReplicaExchange", (r"change places in \d+% of their meetings or more",)),
    ("howto/own_model", "# mine.py", ()),
    ("howto/own_story", "pictures", (r"^\['The wait'\]",)),
    ("howto/own_experiment", "# forgetting.py", ()),
    ("howto/jupyter", "result.figure()", ()),
    ("howto/reproduce", "verdict.word", (r"^reproduced \| exact",)),
    (
        "howto/ask_and_keep",
        "fs.load",
        (r"^True", r"exact \[theory\]: reproduced at 3 of 3 points", r"'initial', 'depth'"),
    ),
    (
        "howto/watch_pytorch",
        "torch",
        (
            r"20 looks from step 0 to 600, 2 layers, tangent kernels exact",
            r"^rich",
            r"layers: 0 rich",
            r"trained alike",
        ),
    ),
    ("howto/watch_jax", "def apply(parameters", (r"scale 0.1: rich", r"scale 3.0: lazy")),
    ("howto/watch_activations", "sessions", (r"^rich", r"1 − CKA", r"activations alone do not tell")),
    ("howto/watch_checkpoints", "fs.diagnose(", (r"5 looks from step 0 to 400", r"^rich")),
    ("howto/analyser", "odours", (r"sparse code of 3 classes in 200 neurons", r"\{musk\} \[2\]")),
]
"""A page, a word by which one of its examples is known, and what the example says."""


def examples(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (DOCS / f"{page}.md").read_text(encoding="utf-8"), re.DOTALL)


def is_there(library: str) -> bool:
    return importlib.util.find_spec(library) is not None


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """What every example said, and how it failed, if it did; all of them run in one process."""
    files = {}
    for number, (page, mark, _) in enumerate(SAYS):
        if mark not in OTHERS or is_there(mark):
            (code,) = [example for example in examples(page) if mark in example]
            files[page, mark] = tmp_path_factory.mktemp("example") / f"example_{number}.py"
            files[page, mark].write_text(code, encoding="utf-8")
    words = [sys.executable, RUNNER, *map(str, files.values())]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    return {example: said[str(path)] for example, path in files.items()}


@pytest.mark.full
@pytest.mark.parametrize(("page", "mark", "lines"), SAYS, ids=[f"{page}-{mark}" for page, mark, _ in SAYS])
def test_the_example_runs_as_written(page, mark, lines, outcomes):
    if mark in OTHERS and not is_there(mark):
        pytest.skip(f"{mark} is not installed")
    said, error = outcomes[page, mark]
    assert error == ""
    for line in lines:
        assert re.search(line, said, re.MULTILINE), said


PAGES = [
    "howto/analyser",
    "howto/ask_and_keep",
    "howto/jupyter",
    "howto/own_data",
    "howto/own_experiment",
    "howto/own_learning",
    "howto/own_model",
    "howto/own_network",
    "howto/own_story",
    "howto/reproduce",
    "howto/sampling",
    "reference/models",
    "howto/watch_activations",
    "howto/watch_checkpoints",
    "howto/watch_jax",
    "howto/watch_pytorch",
]


@pytest.mark.parametrize("page", PAGES)
def test_every_example_is_tried(page):
    assert len(examples(page)) == sum(tried == page for tried, *_ in SAYS)
