"""Who has to wait for more than an hour is told so, by sweeps and by theories as by runs; time is made up here."""

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import festina as fs
from festina.errors import FestinaWarning
from festina.lab.batch import Run
from festina.lab.labelled import theory
from festina.lab.sweeps.crew import Crew, _Worker
from festina.lab.sweeps.sweep import _Course
from festina.learning.progress import Progress
from toy import Toy


def course(runs, done=0):
    return _Course("sweep toy", runs, done, Progress("sweep toy", total=runs, silent=True))


def test_a_sweep_of_hours_says_so_after_its_second_batch(clock):
    sweep = course(runs=100)
    clock.now += 9000.0
    sweep.reach(10)  # was compiled, which says nothing
    clock.now += 300.0
    sweep.reach(10)
    clock.now += 300.0
    with pytest.warns(FestinaWarning, match="^sweep toy will take about 1 h 20 min more at this pace"):
        sweep.reach(20)
    clock.now += 1e5
    sweep.reach(21)


def test_a_sweep_of_minutes_says_nothing_however_often_it_is_looked_at(clock):
    sweep = course(runs=100, done=50)
    for done in range(50, 100, 10):
        for _ in range(100):
            clock.now += 0.2
            sweep.reach(done)


def test_a_sweep_tells_of_itself(clock, tmp_path):
    clock.every_look = 1000.0
    with pytest.warns(FestinaWarning) as said:
        fs.sweep(Toy(), "speed=lin:1:2:10", budget="quick", store=tmp_path, tile=1)
    sentences = [str(each.message).split(" will take ")[0] for each in said]
    assert "sweep toy/decay" in sentences
    assert "runs 1–1" in sentences


NOBODY: Any = None  # a worker whose process does not matter


def test_what_workers_warn_of_is_passed_on_once():
    with tempfile.TemporaryFile() as words, tempfile.TemporaryFile() as others:
        workers = [_Worker(NOBODY, each) for each in (words, others)]
        crew = Crew(Path("somewhere"), 2, workers)
        for each in (words, others):
            os.write(each.fileno(), b"some noise\nfestina: warning: runs 1 to 9 will take days\nfestina: warning: and")
        with pytest.warns(FestinaWarning) as said:
            crew._pass_on_warnings()
        assert [str(each.message) for each in said] == ["runs 1 to 9 will take days"]
        crew._pass_on_warnings()
        os.write(words.fileno(), b" nights\nno warning\n")
        with pytest.warns(FestinaWarning, match="^and nights$"):
            crew._pass_on_warnings()


def test_a_theory_of_hours_says_so_after_its_first_run(clock):
    config = Toy().configure("quick")
    runs, times = [Run(config, seed) for seed in range(20)], np.tile(np.linspace(0.0, 1.0, 5), (20, 1, 1))
    clock.every_look = 100.0
    theory(Toy(), runs, times)
    clock.every_look = 200.0
    with pytest.warns(FestinaWarning, match="^the theory of toy/decay will take about 1 h 3 min more") as said:
        theory(Toy(), runs, times)
    assert len(said) == 1
