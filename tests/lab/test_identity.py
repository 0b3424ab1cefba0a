"""What a result's key depends on: code that the experiment can reach, and no other."""

import importlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import festina
from festina.lab.identity import ALWAYS, identity, reached
from festina.lab.registry import find
from toy import Toy

SOURCE = Path(festina.__file__).parent
ASK = "from festina.lab import identity, registry; print(identity.identity(registry.find({name!r})))"


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package that may be changed."""
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(SOURCE, folder / "festina", ignore=shutil.ignore_patterns("__pycache__", "static"))
    return folder


def asked(copy: Path, name: str) -> str:
    """The identity of an experiment, as a process of its own finds it in the copy."""
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(copy)!r}); {ASK.format(name=name)}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=copy)
    return done.stdout.strip()


@pytest.fixture(scope="module")
def before(copy: Path) -> str:
    """The identity of an experiment before anything was changed."""
    return asked(copy, "linear/chain")


@pytest.mark.mostly_full(2)
@pytest.mark.parametrize(
    ("file", "counts"),
    [
        ("experiments/linear/chain.py", True),
        ("page/security.py", False),
        ("models/chain.py", True),
        ("theory/chain.py", True),
        ("learning/flow.py", True),
        ("lab/batch.py", True),
        ("claims.py", True),
        ("cli/output.py", False),
        ("figures/panels.py", False),
        ("lab/report.py", False),
        ("models/two_layer.py", False),
        ("experiments/linear/reversal.py", False),
        ("theory/views.py", False),
        ("theory/__init__.py", False),
    ],
)
def test_a_change_counts_only_where_the_experiment_can_reach_it(copy, before, file, counts):
    path = copy / "festina" / file
    whole = path.read_text()
    try:
        path.write_text(whole + "\n# a comment\n")
        assert asked(copy, "linear/chain") == before
        path.write_text(whole + "\nADDED = 1\n" if not file.endswith("__init__.py") else f"{whole}\n\n")
        assert (asked(copy, "linear/chain") != before) == counts
    finally:
        path.write_text(whole)


def test_names_lead_to_the_modules_that_define_them():
    found = reached("festina.experiments.linear.chain", *ALWAYS)
    assert {"festina.theory.chain", "festina.measures.stages", "festina.learning.flow"} <= found
    assert not [module for module in found if module.startswith(("festina.page", "festina.cli", "festina.figures"))]
    assert {module for module in found if module.startswith("festina.lab.")} == {
        "festina.lab.batch",
        "festina.lab.labelled",
    }


def test_experiments_differ_and_stay_themselves():
    assert identity(find("linear/chain")) == identity(find("linear/chain")) != identity(find("race/margin"))
    assert identity(find("model/chain")) != identity(find("linear/chain"))


def test_an_experiment_of_ones_own_file_has_the_identity_of_that_file():
    assert identity(Toy()) == identity(Toy()) != identity(find("linear/chain"))


MODEL = """
from toy import Units

class Own(Units):
    name = "own"
"""
EXPERIMENT = """
from festina.experiment import Arms
from own_model import Own
from toy import Toy

class Elsewhere(Toy):
    name = "toy/elsewhere"
    arms = Arms(Own)
"""


def test_models_of_ones_own_count_in_whatever_file_they_are(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "own_model.py").write_text(MODEL)
    (tmp_path / "own_experiment.py").write_text(EXPERIMENT)
    experiment = importlib.import_module("own_experiment").Elsewhere()
    before = identity(experiment)
    (tmp_path / "own_model.py").write_text(f"{MODEL}\n# a comment\n")
    assert identity(experiment) == before
    (tmp_path / "own_model.py").write_text(f"{MODEL}\nADDED = 1\n")
    assert identity(experiment) != before
