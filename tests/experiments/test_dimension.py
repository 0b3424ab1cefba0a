"""abstraction/dimension: its claims, and one rank in full size by hand."""

import warnings
from dataclasses import replace

import jax
import matplotlib.pyplot as plt
import numpy as np
import pytest

import festina as fs
from festina.claims import NotApplicable, Undecided
from festina.errors import ArgumentError
from festina.experiments.abstraction.dimension import Dimension, closed_form, gate_speed, over_closed_form, power
from shared import quick

pytestmark = pytest.mark.full

RANKS = (1, 4, 15)


@pytest.fixture(scope="module")
def result():
    return quick("abstraction/dimension", seeds=2, ranks=RANKS)


def test_quick_claims_hold(result):
    assert all(verdict.holds for verdict in result.verdicts), result


def test_the_closure_of_all_ranks_is_the_full_network(result):
    """Blocks 1 and 2 of one seed with all 2 × 900 weights: no rank may see another's teachers."""
    full = fs.run(
        "abstraction/dimension", budget="quick", seeds=1, ranks=RANKS[1:], data="population", until=2.0, records=4
    )
    for name in ("loss", "gates", "norms", "speeds"):
        small = result[name].isel(run=0).sel(rank=list(RANKS[1:]), time=full["time"], method="nearest")
        np.testing.assert_allclose(small.transpose(*full[name].isel(run=0).dims), full[name].isel(run=0), rtol=1e-6)


def test_gate_speed_is_the_sum_over_modes_of_a_specialised_network(result):
    """√2 r/τ_c from ⟨W* − W, W^p⟩ = ∓r, for two teachers of rank r made by hand."""
    left, right = np.linalg.qr(np.random.default_rng(0).normal(size=(2, 30, 15)))[0]
    old, new = (left[:, half] @ right[:, half].T for half in (slice(0, 4), slice(4, 8)))
    pull = [float(np.sum((new - old) * path)) for path in (old, new)]
    np.testing.assert_allclose(np.linalg.norm(pull) / 0.1, closed_form(result.config, 4), rtol=1e-12)
    assert fs.theory.abstraction.gate_drive(new, old) == pytest.approx(pull[0])


def test_powers_of_the_rank(result):
    values = 3.0 * np.asarray(RANKS) ** np.array([[2.0], [-0.5]])
    np.testing.assert_allclose(power(result, values), [2.0, -0.5], rtol=1e-12)


def test_late_switches_are_those_of_blocks_of_whole_steps(result):
    """Blocks of 1.0004 have 1000 steps of .001."""
    config = result.config.model_copy(update={"block_length": 1.0004})
    np.testing.assert_array_equal(gate_speed(replace(result, config=config)), gate_speed(result))


def test_a_switch_between_recordings_is_seen_after_it(result):
    """With blocks of .909, the 18th to 21st switch fall between recordings .02 apart."""
    config = result.config.model_copy(update={"block_length": 0.909})
    speeds = result["speeds"].sel(condition="fast gates", of="gates").transpose("run", "rank", "time").values
    at = np.ceil(0.909 * np.arange(18, 22) / 0.02).astype(int)
    np.testing.assert_allclose(gate_speed(replace(result, config=config)), speeds[..., at].mean(axis=-1))


def test_ranks_must_rise():
    with pytest.raises(ArgumentError, match=r"Argument `ranks` must rise, but is \(15, 4, 1\)\."):
        Dimension().configure(ranks=(15, 4, 1))


def test_the_closure_is_compressed_once(monkeypatch):
    monkeypatch.setattr(fs.learning, "compressed_by_row", None)
    made = Dimension().simulate(Dimension().configure("quick", ranks=(1, 2)), jax.random.key(0))
    assert made.initial.parameters.students[0].shape == (2, 3, 1, 4)


def test_what_cannot_be_judged_says_so(result):
    with pytest.raises(Undecided, match="needs 20 blocks: --until 20"):
        gate_speed(replace(result, config=result.config.model_copy(update={"until": 3.0})))
    with pytest.raises(NotApplicable, match="complete"):
        over_closed_form(replace(result, data=result.data.assign(total_alignment=0 * result["total_alignment"])))


def test_the_figure_draws_without_a_warning(result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = result.figure()
        figure.canvas.draw()
    assert len(figure.axes) == 6 and all(axis.get_xlabel() and axis.get_ylabel() for axis in figure.axes)
    plt.close(figure)
