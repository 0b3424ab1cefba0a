"""An experiment or a model in a file of one's own, run where it stands."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import festina as fs
from festina.cli import main
from festina.errors import FestinaError
from festina.lab.registry import find

MODEL = '''
import festina as fs
from festina._lazy import jnp, np
from festina.config import continuous, structural
from festina.model import Model, Variable


class Decay(Model):
    """A weight that forgets."""

    name = "decay"
    variables = {"weight": Variable("weight w")}

    rate: float = continuous(1.0, ge=1e-3, le=100, help="rate of forgetting")
    records: int = structural(20, ge=2, le=10_000, help="recordings")

    def start(self, key):
        return jnp.asarray(1.0, float)

    def process(self, start):
        times = jnp.linspace(0.0, 5.0, self.records + 1)
        return fs.learning.flow_process(
            lambda weight, stage: -self.rate * weight, start, times, lambda state: {"weight": state.parameters}
        )

    def solution(self, start):
        return lambda time: {"weight": start * np.exp(-self.rate * np.asarray(time))}
'''
EXPERIMENT = '''
from festina import claims
from festina.experiment import Arms, Experiment
from festina.figures.panels import Page, curves
from festina.sources import LECTURE


class Forgetting(Experiment):
    """A weight forgets the faster, the larger its rate."""

    name = "mine/forgetting"
    sources = (LECTURE,)
    arms = Arms(Decay, rate=(1.0, 2.0))

    @claims.theory(claims.below(1e-9))
    def exact(self, result):
        """A weight without input is an exponential."""
        return result.errors("weight")

    def figure(self, result):
        with Page(1, 1, height=2.5) as page:
            curves(page[0], result, "weight", by="rate")
        return page.figure
'''


@pytest.fixture
def write(tmp_path):
    def write(text, name="mine.py"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


def test_a_model_in_a_file_runs_and_is_answered_from_the_store(write, tmp_path, capsys):
    path = write(MODEL)
    words = ["run", path, "--rate", "2", "--json", "--out", str(tmp_path / "runs")]
    assert main(words) == 0
    first = json.loads(capsys.readouterr().out)
    assert first["experiment"] == "model/decay" and first["config"]["rate"] == 2
    assert first["command"] == f"festina run {path} --rate 2"
    assert Path(first["figures"][0]).exists()
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)["from_store"]
    loaded = fs.load(first["folder"], experiment=path)
    assert loaded.config.rate == 2


def test_an_experiment_in_a_file_stands_before_its_model(write, tmp_path, capsys):
    path = write(MODEL + EXPERIMENT)
    assert main(["run", path, "--no-figure", "--out", str(tmp_path / "runs")]) == 0
    assert "1 of 1 comparison with theory reproduced" in capsys.readouterr().out
    assert find(f"{path}:Decay").name == "model/decay"
    assert find(path).name == "mine/forgetting"


def test_show_help_and_sweep_know_files(write, tmp_path, capsys):
    path = write(MODEL)
    assert main(["show", path]) == 0
    assert f"festina run {path}\n" in capsys.readouterr().out
    assert main(["run", path, "--help"]) == 0
    assert "rate of forgetting" in capsys.readouterr().out
    assert main(["sweep", path, "--over", "rate=1,2,3", "--out", str(tmp_path / "runs")]) == 0
    said = capsys.readouterr().out
    assert "3 runs done" in said
    folder = next((tmp_path / "runs").glob("model/decay/sweep-*"))
    assert f"open_sweep({str(folder)!r}, {path!r})" in said
    assert fs.lab.open_sweep(folder, path)["weight"].sizes["rate"] == 3
    assert main(["sweep", "slurm", path, "--over", "rate=1,2", "--out", str(tmp_path / "runs")]) == 2
    assert "tasks of a job cannot find the experiment 'model/decay'" in capsys.readouterr().err


def test_python_knows_files_and_sees_that_one_has_changed(write):
    path = write(MODEL)
    assert fs.run(path).data.sizes["time"] == 21
    assert type(find(path)) is type(find(path))
    write(MODEL.replace("structural(20", "structural(30 "))
    assert fs.run(path).data.sizes["time"] == 31


def test_neighbours_can_be_imported(write):
    write("RECORDS = 12\n", "neighbour_of_mine.py")
    text = MODEL.replace("structural(20", "structural(RECORDS")
    path = write(f"from neighbour_of_mine import RECORDS\n{text}")
    assert find(path).configure().records == 12


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x = 1\n", r"mine.py must define an Experiment or a Model, but defines none"),
        ("from festina.models import Chain\n", r"must define an Experiment or a Model, but defines none"),
        (
            MODEL + "\n\nclass Other(Decay):\n    name = 'other'\n",
            r"several: Decay, Other; .* as in .*py:Decay",
        ),
        ("import festina\n1 / 0\n", r"mine.py cannot be imported: line 2: ZeroDivisionError: division by zero"),
        ("import nothing_of_the_kind\n", r"cannot be imported: line 1: ModuleNotFoundError: No module named"),
        ("class Decay(:\n", r"cannot be imported: line 1: SyntaxError: "),
        (MODEL.replace('name = "decay"', ""), r"Decay in .*mine.py must have a class attribute `name`, but has none"),
    ],
    ids=["nothing", "imported", "several", "error", "import", "syntax", "nameless"],
)
def test_a_file_that_cannot_be_run_says_why(text, says, write, capsys):
    assert main(["run", write(text)]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert re.search(says, err), err


def test_a_path_or_a_name_that_is_not_there(write, tmp_path):
    with pytest.raises(FestinaError, match=r"cannot run '.*no.py': there is no such file"):
        find(str(tmp_path / "no.py"))
    (tmp_path / "folder.py").mkdir()
    with pytest.raises(FestinaError, match=r"cannot run '.*folder.py': is a folder"):
        find(str(tmp_path / "folder.py"))
    with pytest.raises(FestinaError, match=r"unknown experiment or model in .*mine.py 'Deca'; did you mean 'Decay'"):
        find(write(MODEL) + ":Deca")


def test_help_on_a_file_imports_nothing_heavy(write):
    program = (
        "import sys; from festina.cli import main; code = main(sys.argv[1:]); "
        "print([name for name in ('jax', 'numpy') if name in sys.modules], file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", program, "show", write(MODEL)], capture_output=True, text=True)
    assert done.stderr == "[]\n"
