"""The one loop: batches, chunks, checkpoints, kills, failures, interrupts."""

import os
import signal
import subprocess
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from festina.errors import FestinaWarning
from festina.learning import Checkpoint, descent_process, drive, flow_process
from festina.learning import checkpoint as checkpoints
from festina.learning.loop import chunk_length
from festina.learning.progress import Progress
from interrupting import answering
from patience import wait_for
from shared import apart

RUNS = 5


def noisy(inputs):
    """A random walk in a quadratic bowl: random numbers matter in every step."""

    def rate(weights, key, stage):
        return -inputs["stiffness"] * weights + jax.random.normal(key, weights.shape)

    return descent_process(
        rate, jnp.ones(3), jax.random.key(inputs["seed"]), 0.01, 120, 7, lambda state: {"weights": state.parameters}
    )


def oscillator(inputs):
    """A flow whose answer is known."""
    rate = lambda state, stage: {"x": state["v"], "v": -(inputs["stiffness"] ** 2) * state["x"]}  # noqa: E731
    start = {"x": jnp.asarray(1.0), "v": jnp.asarray(0.0)}
    return flow_process(rate, start, jnp.linspace(0.0, 10.0, 61), lambda state: {"x": state.parameters["x"]})


def batch(runs=RUNS, first=0):
    return {"stiffness": jnp.linspace(0.5, 2.0, RUNS)[first : first + runs], "seed": first + jnp.arange(runs)}


@pytest.mark.parametrize("build", [noisy, pytest.param(oscillator, marks=pytest.mark.full)])
def test_a_run_is_the_same_alone_and_in_any_batch(build):
    whole = drive(build, batch())
    for first, runs in ((0, 1), (2, 1), (1, 3)):
        part = drive(build, batch(runs, first))
        for name, values in part.observed.items():
            np.testing.assert_allclose(values, whole.observed[name][first : first + runs], atol=1e-10, rtol=1e-10)


def test_the_flow_is_right():
    outcome = drive(oscillator, batch())
    expected = np.cos(np.asarray(batch()["stiffness"])[:, None] * outcome.times)
    np.testing.assert_allclose(outcome.observed["x"], expected, atol=1e-8)


@pytest.mark.parametrize("intervals", [1, 7, 100, 200, 365, 400, 1000, 40_000])
def test_about_a_hundred_chunks_of_one_length(intervals):
    length = chunk_length(intervals)
    assert intervals % length == 0
    assert intervals / length <= 150


class Stop(Exception):
    pass


@pytest.mark.parametrize("build", [noisy, oscillator])
@pytest.mark.parametrize("cut", [3, 50])
def test_resumed_from_a_checkpoint_to_the_last_bit(build, cut, tmp_path):
    undisturbed = drive(build, batch())
    place = Checkpoint(tmp_path / "state.npz", every=0.0, mark="a")

    def stop(records, observed):
        if records > cut:
            raise Stop

    with pytest.raises(Stop):
        drive(build, batch(), checkpoint=place, listen=stop)
    resumed = drive(build, batch(), checkpoint=place)
    assert 1 < resumed.resumed_from < undisturbed.times.shape[1]
    for name, values in undisturbed.observed.items():
        np.testing.assert_array_equal(resumed.observed[name], values)
    for one, other in zip(jax.tree.leaves(undisturbed.state), jax.tree.leaves(resumed.state), strict=True):
        np.testing.assert_array_equal(one, other)


KILLED = """
import sys, time, jax.numpy as jnp
sys.path[:0] = [{tests!r}, {here!r}]
import conftest
import test_loop as t
from festina.learning import Checkpoint, drive
from pathlib import Path
slow = (lambda records, observed: time.sleep(0.02 if records < 60 else 3600)) if {slow} else None
with t.jax.enable_x64(True):
    done = drive(t.noisy, t.batch(), checkpoint=Checkpoint(Path({path!r}), every=0.0, mark="k"), listen=slow)
t.np.save({path!r} + ".npy", done.observed["weights"])
print(done.resumed_from)
"""


@pytest.mark.full
def test_killed_in_the_middle_and_resumed_to_the_last_bit(tmp_path):
    """SIGKILL at whatever moment; the process started again ends with the same bits."""
    path = tmp_path / "state.npz"
    here = Path(__file__).parent

    def script(slow):
        code = KILLED.format(tests=str(here.parent), here=str(here), path=str(path), slow=slow)
        return [sys.executable, "-c", code]

    own = os.environ | apart(tmp_path / "cache")
    process = subprocess.Popen(script(True), env=own)
    wait_for(path.exists)
    time.sleep(0.3)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not Path(f"{path}.npy").exists()
    resumed = subprocess.run(script(False), check=True, capture_output=True, text=True, env=own)
    assert int(resumed.stdout) > 1
    np.testing.assert_array_equal(np.load(f"{path}.npy"), drive(noisy, batch()).observed["weights"])


def test_a_damaged_or_foreign_checkpoint_is_named_and_not_trusted(tmp_path):
    path = tmp_path / "state.npz"
    path.write_bytes(b"PK, but no checkpoint at all")
    with pytest.warns(FestinaWarning, match="is damaged; moved to state.npz.unusable-1"):
        outcome = drive(noisy, batch(), checkpoint=Checkpoint(path, every=0.0))
    assert outcome.resumed_from == 0
    other = batch() | {"stiffness": jnp.ones(RUNS)}
    with pytest.warns(FestinaWarning, match="belongs to another run"):
        assert drive(noisy, other, checkpoint=Checkpoint(path, every=0.0)).resumed_from == 0


@pytest.mark.full
def test_no_byte_of_a_checkpoint_can_be_changed_unnoticed(tmp_path):
    """What is read back is what was written, or nothing; an archive's own errors do not come through."""
    path, arrays = tmp_path / "state.npz", {"state": np.arange(6.0), "observed": np.ones((2, 3))}
    checkpoints.save(path, "mark", 3, arrays, {"failures": []})
    content = path.read_bytes()
    for place in range(2, len(content)):  # the first two say that it is an archive
        path.write_bytes(content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FestinaWarning)
            found = checkpoints.load(path, "mark")
        if found is not None:
            assert found[0] == 3 and found[1].keys() == arrays.keys(), place
            assert all(np.array_equal(found[1][name], arrays[name]) for name in arrays), place


def test_an_unwritable_checkpoint_does_not_cost_the_run(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.warns(FestinaWarning, match="no checkpoint: cannot write .*; going on without"):
        outcome = drive(noisy, batch(), checkpoint=Checkpoint(tmp_path / "file" / "state.npz", every=0.0))
    assert not outcome.interrupted


def test_one_run_fails_and_the_others_go_on():
    """Euler's method is unstable beyond stiffness · dt = 2: one run of three leaves the finite numbers."""
    inputs = {"stiffness": jnp.asarray([1.0, 2e5, 2.0]), "seed": jnp.arange(3)}
    outcome = drive(noisy, inputs)
    assert [failure.run for failure in outcome.failures] == [1]
    assert "run 1 failed at step" in str(outcome.failures[0])
    assert "non-finite value in `state`" in str(outcome.failures[0])
    assert np.isfinite(outcome.observed["weights"][[0, 2]]).all()
    assert np.isnan(outcome.observed["weights"][1, -1]).all()
    alone = drive(noisy, {"stiffness": jnp.ones(1), "seed": jnp.zeros(1, int)})
    np.testing.assert_allclose(outcome.observed["weights"][0], alone.observed["weights"][0], atol=1e-10)


def test_a_failure_from_before_a_checkpoint_is_remembered_after_it(tmp_path):
    """What a run observes after it has failed may be finite: only the note of the failure keeps it from being shown."""

    def watched(inputs):
        return replace(noisy(inputs), observe=lambda state: {"step": state.step.astype(float)})

    inputs = {"stiffness": jnp.asarray([1.0, 2e5, 2.0]), "seed": jnp.arange(3)}
    undisturbed = drive(watched, inputs)
    place = Checkpoint(tmp_path / "state.npz", every=0.0, mark="a")

    def stop(records, observed):
        if records > 110:
            raise Stop

    with pytest.raises(Stop):
        drive(watched, inputs, checkpoint=place, listen=stop)
    resumed = drive(watched, inputs, checkpoint=place)
    assert resumed.resumed_from > 100
    assert [str(failure) for failure in resumed.failures] == [str(failure) for failure in undisturbed.failures] != []
    np.testing.assert_array_equal(resumed.observed["step"], undisturbed.observed["step"])
    assert np.isnan(resumed.observed["step"][1, -1])


def test_the_end_is_recorded_once_and_only_of_runs_that_got_there():
    def concluding(inputs):
        ends = lambda state: {"last": state.parameters, "steps": state.step, "kind": jnp.ones(())}  # noqa: E731
        return replace(noisy(inputs), conclude=ends)

    inputs = {"stiffness": jnp.asarray([1.0, 2e5, 2.0]), "seed": jnp.arange(3)}
    outcome = drive(concluding, inputs)
    np.testing.assert_array_equal(outcome.concluded["last"], outcome.observed["weights"][:, -1])
    assert np.isnan(outcome.concluded["last"][1]).all() and outcome.concluded["steps"][0] == 840
    np.testing.assert_array_equal(outcome.concluded["kind"], [1.0, np.nan, 1.0])  # finite by itself, and no result
    assert drive(noisy, inputs).concluded == {}


def runaway(inputs):
    """ẋ = x² escapes to infinity at t = 1/x₀."""
    observe = lambda state: {"x": state.parameters}  # noqa: E731
    return flow_process(lambda x, stage: x**2, inputs["start"], jnp.linspace(0.0, 2.0, 41), observe)


def test_a_flow_that_escapes_in_finite_time_is_given_up_there():
    outcome = drive(runaway, {"start": jnp.asarray([0.1, 1.0])})
    assert [failure.run for failure in outcome.failures] == [1]
    assert outcome.failures[0].time == pytest.approx(1.0, abs=1e-6)
    assert np.isfinite(outcome.observed["x"][1, :20]).all() and np.isnan(outcome.observed["x"][1, 21:]).all()
    np.testing.assert_allclose(outcome.observed["x"][0], 1 / (10 - outcome.times[0]), rtol=1e-8)


@pytest.mark.parametrize("held", [True, False])
def test_control_c_keeps_what_is_done(tmp_path, held):
    """Held back until the step is finished, or not, as where others than the command line have their own ways."""
    place = Checkpoint(tmp_path / "state.npz", every=1e9, mark="c")

    def interrupt(records, observed):
        if records == 31:
            if not held:
                raise KeyboardInterrupt
            signal.raise_signal(signal.SIGINT)

    with answering(signal.default_int_handler):
        outcome = drive(noisy, batch(), checkpoint=place, listen=interrupt)
    assert outcome.interrupted and outcome.records == 31
    assert np.isfinite(outcome.observed["weights"][:, :31]).all()
    resumed = drive(noisy, batch(), checkpoint=place)
    assert resumed.resumed_from == 31
    np.testing.assert_array_equal(resumed.observed["weights"], drive(noisy, batch()).observed["weights"])


def test_progress_is_silent_without_a_terminal_and_counts_all_runs(capsys, monkeypatch):
    drive(noisy, batch())
    assert capsys.readouterr().err == ""
    counted = []
    monkeypatch.setattr(Progress, "advance", lambda self, count: counted.append(count))
    drive(noisy, batch())
    assert sum(counted) == RUNS * 120
