"""Running and storing experiments."""

import os
import subprocess
import sys
from dataclasses import FrozenInstanceError, fields
from pathlib import Path

import jax
import numpy as np
import pytest
import xarray as xr

import festina as fs
from festina.claims import Claim, below
from festina.errors import ArgumentError, FestinaError, FestinaWarning, StoreError, UnknownName
from festina.lab import store as stores
from festina.lab.answer import Predicted, Recorded, Whole
from festina.lab.batch import Run, _own_checkpoint
from festina.lab.labelled import so_far
from festina.lab.registry import find
from festina.learning import Checkpoint
from narrowing import there
from toy import Toy


def test_a_result_has_dims_units_and_provenance():
    result = fs.run(Toy(), seeds=3)
    assert result["level"].dims == ("run", "time", "unit")
    assert result["level"].attrs == {"long_name": "level", "units": "V"}
    assert list(result["seed"].values) == [0, 1, 2]
    for name in ("version", "code", "commit", "jax", "seconds", "precision", "created", "config_speed"):
        assert name in result.data.attrs
    assert "linear decay" in repr(result) and "reproduced" in repr(result)


def test_theory_stands_beside_the_simulation():
    result = fs.run(Toy(), seeds=2, speed=0.7)
    assert result.errors("level").shape == (2,)
    assert result.errors().max() < 1e-9
    assert [verdict.outcome for verdict in result.verdicts] == ["reproduced", "reproduced", "not reproduced"]


def test_what_is_recorded_once_has_no_time(tmp_path):
    result = fs.run(Toy(), seeds=2, spread=0.1, store=tmp_path)
    for part in (result.data, there(result.theory), fs.run(Toy(), seeds=2, spread=0.1, store=tmp_path).data):
        assert part["rest"].dims == ("run", "unit")
        np.testing.assert_allclose(part["rest"], part["level"].isel(time=-1), rtol=1e-9)
    swept = fs.sweep(Toy(), {"speed": [1.0, 2.0]}, seeds=2, store=tmp_path)
    np.testing.assert_array_equal(swept["rest"], swept["level"].isel(time=-1))


def test_the_full_budget_attempts_what_the_quick_one_does_not():
    quick, full = (fs.run(Toy(), budget=budget) for budget in ("quick", "full"))
    assert quick["time"].size < full["time"].size
    assert quick.verdicts[1].outcome == "needs the full budget" and full.verdicts[1].outcome == "reproduced"


def test_asked_twice_answered_from_the_store(tmp_path):
    first = fs.run(Toy(), store=tmp_path, seeds=2)
    second = fs.run(Toy(), store=tmp_path, seeds=2)
    assert not first.from_store and second.from_store
    assert second.data.identical(first.data) and there(second.theory).identical(there(first.theory))
    assert second.verdicts == first.verdicts
    assert not fs.run(Toy(), store=tmp_path, seeds=2, speed=2.0).from_store
    assert not fs.run(Toy(), store=tmp_path, seeds=2, fresh=True).from_store


def test_another_version_of_the_code_computes_anew(tmp_path, monkeypatch):
    fs.run(Toy(), store=tmp_path)
    monkeypatch.setattr("festina.lab.question.identity", lambda experiment: "another")
    assert not fs.run(Toy(), store=tmp_path).from_store


def test_a_damaged_result_is_named_set_aside_and_computed_again(tmp_path):
    folder = there(fs.run(Toy(), store=tmp_path).path)
    chunk = next(path for path in (folder / "data.zarr" / "simulation" / "level").rglob("*") if path.is_file())
    chunk.write_bytes(b"damage")
    with pytest.warns(FestinaWarning, match=r"is damaged \(data.zarr/.*missing or changed\)"):
        again = fs.run(Toy(), store=tmp_path)
    assert not again.from_store
    assert folder.with_name(f"{folder.name}.damaged-1").exists()
    assert fs.run(Toy(), store=tmp_path).from_store


def test_an_unreadable_card_is_damage(tmp_path):
    folder = there(fs.run(Toy(), store=tmp_path).path)
    (folder / stores.CARD).write_text("{")
    with pytest.warns(FestinaWarning, match="result.json is not readable"):
        assert not fs.run(Toy(), store=tmp_path).from_store


def test_a_half_written_result_is_not_trusted(tmp_path):
    folder = there(fs.run(Toy(), store=tmp_path).path)
    (folder / stores.CARD).unlink()
    left = folder / stores.DATA / "of-another-time"
    left.write_text("")
    assert not fs.run(Toy(), store=tmp_path).from_store
    assert not left.exists()
    assert fs.run(Toy(), store=tmp_path).from_store


def test_killed_while_it_is_written_anew_a_result_is_not_trusted(tmp_path, monkeypatch):
    """Its card goes before its data does."""
    result = fs.run(Toy(), store=tmp_path)
    folder = there(result.path)

    def killed(*given):
        assert not (folder / stores.CARD).exists()
        raise KeyboardInterrupt

    monkeypatch.setattr(stores, "write_zarr", killed)
    with pytest.raises(KeyboardInterrupt):
        stores.save(folder, result, {})
    assert stores.find_trouble(folder) == "unfinished"


def test_an_unwritable_store_is_refused_before_the_work(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot write results to"):
        fs.run(Toy(), store=tmp_path / "file" / "runs")


def test_failed_runs_are_kept_with_their_reason():
    result = fs.run(Toy(), speed=-1.0, explode=True, seeds=2)
    assert len(result.failures) == 2 and "run 0 failed at step" in result.failures[0]
    assert result.verdicts[0].outcome == "undecided" and result.verdicts[0].note == "2 of the runs failed"


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"units": 0}, ArgumentError, "`units` must be greater than or equal to 1, but is 0"),
        ({"speed": "fast"}, ArgumentError, "`speed` must be a valid number"),
        ({"sped": 1.0}, UnknownName, "unknown field of toy/decay 'sped'; did you mean 'speed'"),
        ({"seeds": 0}, ArgumentError, "`seeds` must be at least 1, but is 0"),
        ({"seeds": [3]}, ArgumentError, r"`seeds` must be a whole number, but is \[3\]"),
        ({"first_seed": 0.5}, ArgumentError, "`first_seed` must be a whole number, but is 0.5"),
        ({"budget": "huge"}, ArgumentError, "`budget` must be 'quick' or 'full', but is 'huge'"),
    ],
)
def test_bad_questions_are_refused_in_one_sentence(arguments, error, message):
    with pytest.raises(error, match=message):
        fs.run(Toy(), **arguments)


def test_unknown_experiments_get_a_suggestion():
    with pytest.raises(UnknownName, match="did you mean 'linear/chain'"):
        fs.run("linear/chian")


def test_a_spread_says_over_what():
    """Runs differ by chance, units by design: a reader must see which it was."""
    result = fs.run(Toy(), budget="quick", seeds=3)
    wanted = {
        "runs": (lambda r: r["final"].values * np.arange(r.data.sizes["run"]), " over 3 runs"),
        "units": (lambda r: r["rest"].isel(run=0) * [1.0, 2.0], " over 2 units"),
        "both": (lambda r: r["rest"] * [1.0, 2.0], " over 3 runs and 2 units"),
        "unnamed": (lambda r: np.arange(7.0), " over 7 values"),
        "one": (lambda r: r["final"][0], "0.2707"),
    }
    for name, (quantity, end) in wanted.items():
        claim = Claim(name, "theory", "ours", "s", lambda _, result, quantity=quantity: quantity(result), below(1e9))
        verdict = claim.judge(result, "quick")
        assert verdict.measurement.endswith(end), verdict


def test_a_disk_that_fills_up_costs_nothing_computed(tmp_path, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("festina.lab.store.write_zarr", full)
    with pytest.raises(StoreError, match=r"cannot write .*: No space left on device") as caught:
        fs.run(Toy(), store=tmp_path)
    assert caught.value.result.verdicts[0].outcome == "reproduced"
    monkeypatch.undo()
    assert not fs.run(Toy(), store=tmp_path).from_store


def test_a_run_cut_short_goes_on_from_its_checkpoint(tmp_path, monkeypatch):
    """The state is kept under the result's own folder, and the same question finds it."""
    from festina.errors import Interrupted
    from festina.learning import loop

    whole = fs.run(Toy(), spread=0.3)
    advance, calls = loop._advance_journey, []

    def interrupted(*args):
        calls.append(1)
        if len(calls) == 20:
            raise KeyboardInterrupt
        advance(*args)

    monkeypatch.setattr(loop, "_advance_journey", interrupted)
    with pytest.raises(Interrupted, match=r"toy/decay interrupted at \d+%; kept in .*ask again to go on"):
        fs.run(Toy(), store=tmp_path, spread=0.3)
    result = fs.run(Toy(), store=tmp_path, spread=0.3)
    assert len(calls) == 20 + 21
    np.testing.assert_array_equal(result["level"], whole["level"])
    assert not list(tmp_path.rglob("checkpoint.npz"))


@pytest.mark.parametrize("event", [Recorded(1, {}), Whole(xr.Dataset(), np.zeros(1), 0.0), Predicted(None)])
def test_who_hears_of_a_step_cannot_change_it(event):
    for field in fields(event):
        with pytest.raises(FrozenInstanceError):
            setattr(event, field.name, None)


def test_each_batch_has_a_checkpoint_of_its_own_and_keeps_it_while_others_wait(tmp_path):
    path = tmp_path / "run.checkpoint"
    own = [_own_checkpoint(Checkpoint(path), number, 3) for number in range(3)]
    assert [each.path.name for each in own] == ["run.checkpoint", "run-1.checkpoint", "run-2.checkpoint"]
    assert [each.last for each in own] == [True, True, False] and {each.path.parent for each in own} == {tmp_path}


def test_a_fresh_run_cut_short_while_it_is_written_leaves_no_damage(tmp_path, monkeypatch):
    """What is there of it is unfinished, and the same question is simply computed again."""
    first = fs.run(Toy(), store=tmp_path)

    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("festina.lab.store.write_zarr", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fs.run(Toy(), store=tmp_path, fresh=True)
    monkeypatch.undo()
    again = fs.run(Toy(), store=tmp_path)  # a warning would be an error here
    assert not again.from_store and again.path == first.path
    np.testing.assert_array_equal(again["level"], first["level"])


@pytest.mark.parametrize("card", ["[]", "null", '{"files": {}}'])
def test_a_card_that_is_no_card_is_damage(tmp_path, card):
    folder = there(fs.run(Toy(), store=tmp_path).path)
    (folder / stores.CARD).write_text(card)
    with pytest.warns(FestinaWarning, match="result.json is not readable"):
        assert not fs.run(Toy(), store=tmp_path).from_store


def test_a_changed_verdict_is_noticed(tmp_path):
    path = there(fs.run(Toy(), store=tmp_path).path) / stores.CARD
    path.write_text(path.read_text().replace('"not reproduced"', '"reproduced"'))
    with pytest.warns(FestinaWarning, match="result.json was changed"):
        assert fs.run(Toy(), store=tmp_path).verdicts[2].outcome == "not reproduced"


def test_no_claim_is_reproduced_on_the_runs_that_are_left():
    result = fs.run(Toy(), budget="quick", speed=-1.0, explode=True)
    claim = Claim("c", "theory", "ours", "s", lambda experiment, result: 0.0, below(1.0))
    verdict = claim.judge(result, "quick")
    assert (verdict.outcome, verdict.note) == ("undecided", "1 of the runs failed")


def test_an_experiment_is_known_by_its_name_itself_or_its_class():
    assert fs.run(Toy, budget="quick").experiment.name == "toy/decay"
    with pytest.raises(ArgumentError, match="`experiment` must be a name or an Experiment, but is None"):
        fs.run(None)  # pyright: ignore[reportArgumentType]


def test_infinite_values_are_refused():
    with pytest.raises(ArgumentError, match="`speed` must be a finite number"):
        fs.run(Toy(), speed=float("inf"))


def test_theory_begins_with_what_the_simulation_has_drawn(monkeypatch):
    model = fs.models.TwoLayer(records=20)
    apart = model.theory(seed=1)  # draws again

    def again(batch):
        raise AssertionError("drawn twice")

    monkeypatch.setattr("festina.lab.labelled.starts_of", again)
    result = model.run(seeds=2)
    assert result.theory is not None
    for name, values in apart(result.data["time"].values).items():
        np.testing.assert_allclose(result.theory[name].isel(run=1), values, rtol=1e-12, atol=1e-12)


def test_what_is_recorded_so_far_has_room_for_arms_that_are_larger():
    """In `linear/regimes` the square networks have a mode more than the funnel, which is simulated first."""
    experiment = find("linear/regimes")
    config = experiment.configure("quick")
    arms, modes = len(experiment.arms_at(config)), len(experiment.coordinates(config)["mode"])
    observed = {"learned": np.ones((1, arms, 3, modes - 1)), "loss": np.ones((1, arms, 3))}
    data = so_far(experiment, [Run(config, 0)], observed, np.array([0.0, 1.0, 2.0]))
    assert data["learned"].sizes["mode"] == modes
    assert data["learned"].isel(mode=-1).isnull().all() and data["learned"].isel(mode=0).notnull().any()


def test_inside_a_callers_jit_a_run_is_refused_in_a_sentence():
    with pytest.raises(FestinaError, match="toy/decay cannot run inside `jit`, `vmap` or `grad`"):
        jax.jit(lambda factor: factor * fs.run(Toy())["level"].values.sum())(2.0)


FORKED = """
import os, sys
sys.path[:0] = [{tests!r}]
import conftest, warnings
import festina as fs
from festina.errors import FestinaError
from toy import Toy
warnings.simplefilter("ignore")
first = os.getpid()
fs.run(Toy())
if os.fork() == 0:
    try:
        fs.run(Toy(), speed=2.0)
    except FestinaError as error:
        told = f"forked from process {{first}} after JAX had started" in str(error) and "spawn" in str(error)
        os._exit(7 if told else 1)
    os._exit(2)
sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
"""


@pytest.mark.full
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no forking here")
def test_forked_after_jax_has_started_a_process_says_so_and_does_not_hang():
    script = FORKED.format(tests=str(Path(__file__).parent.parent))
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 7
