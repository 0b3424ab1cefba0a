"""The guide to adding an experiment works as written."""

import re
from pathlib import Path

import festina as fs
from festina.experiment import Experiment

GUIDE = Path(__file__).resolve().parent.parent.parent / "CONTRIBUTING.md"


def test_the_guide_s_experiment_runs_and_passes_its_own_tests(monkeypatch):
    experiment, tests = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict = {"__name__": "decay"}
    exec(experiment, names)
    decay = next(
        thing
        for thing in names.values()
        if isinstance(thing, type) and issubclass(thing, Experiment) and thing.__module__ == "decay"
    )
    monkeypatch.setattr("festina.lab.run.find", lambda name: {"linear/decay": decay()}[name])
    checks: dict = {}
    exec(tests, checks)
    found = [check for name, check in checks.items() if name.startswith("test_")]
    assert len(found) == 2
    for check in found:
        check()
    assert len(fs.run("linear/decay", budget="quick").figure().axes) == 1
