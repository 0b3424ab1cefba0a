"""Simulation beside theory: errors, modes in theory's own basis, several seeds, and the picture."""

import jax
import numpy as np
import pytest
import xarray as xr

import festina as fs
from festina.errors import ArgumentError
from festina.measures.compare import percent
from festina.networks import DeepLinear
from festina.worlds import Teacher
from narrowing import there

WORLD = fs.worlds.tree(branching=(2, 2), features=20)  # two of its modes are of equal strength


@pytest.fixture(scope="module")
def runs():
    networks = DeepLinear.init(jax.random.key(0), (4, 64, 20), 1e-3, seeds=2)
    return fs.flow(networks, WORLD, until=20.0)


@pytest.fixture(scope="module")
def solutions(runs):
    return [fs.theory.modes(WORLD, initial=network) for network in runs.initial]


def small(factor):
    time = np.linspace(0.0, 1.0, 5)
    run = xr.Dataset({"map": ("time", 4.0 * time)}, {"time": time})
    return fs.compare(run, lambda time: {"map": factor * time})


def test_errors_are_absolute_and_relative():
    off = small(5.0)
    assert off.errors == {"map": 1.0} and off.relative_errors == {"map": 0.2}
    assert repr(off) == "Comparison(max error: map 1.00e+00 (20 %))" and off.standing == ""
    assert small(0.0).relative_errors == {"map": np.inf} and small(4.0).relative_errors == {"map": 0.0}
    assert "<td>20 %</td>" in off._repr_html_()
    assert percent(3e-4) == "3.0e-02 %" and percent(0.0) == "0 %" and percent(123.0) == "1.2e+04 %"
    assert off.plot().axes[0].get_title() == "map: off by 1.0e+00 (20 %)"


@pytest.mark.full
def test_theory_says_whether_it_is_exact(runs, solutions):
    one = fs.compare(runs.sel(seed=1), solutions[1])
    said = f"approximate, because weights are not decoupled (by {solutions[1].doubt:.2g})"
    assert one.standing == said and said in repr(one) and said in one._repr_html_()
    assert one.plot().get_suptitle() == f"Theory is {said}"
    teacher = Teacher(np.diag([2.0, 1.0]))
    network = DeepLinear.aligned(np.eye(2), np.full(2, 0.1), np.eye(2), (2,))
    exact = fs.compare(fs.flow(network, teacher, until=2.0), fs.theory.modes(teacher, initial=network))
    assert exact.doubt == 0 and "theory is exact" in repr(exact)


def test_modes_are_those_of_the_theory(runs, solutions):
    """Between modes of equal strength theory chooses: strengths of the run are along its vectors."""
    one = fs.compare(runs.sel(seed=0), solutions[0])
    strengths = there(one.strengths)
    np.testing.assert_allclose(strengths["theory"], solutions[0](runs.time)["strength"], atol=1e-12)
    mapping = runs.sel(seed=0)["map"].values
    for k in range(4):
        along = solutions[0].left[:, k] @ mapping @ solutions[0].right[:, k]
        np.testing.assert_allclose(strengths["run"].sel(mode=k + 1), along, atol=1e-12)
    assert fs.compare(runs.sel(seed=0), lambda time: {"map": mapping}).strengths is None
    axis = one.plot().axes[0]
    lines = [line for line in axis.lines if np.size(line.get_xdata()) == len(runs.time)]
    dots = [line for line in axis.lines if line.get_linestyle() == "None" and np.size(line.get_xdata())]
    assert len(lines) == len(dots) == 4 and len({line.get_color() for line in lines}) == 4
    assert [line.get_color() for line in lines] == [line.get_color() for line in dots]
    np.testing.assert_allclose(np.ravel(lines[0].get_ydata()), strengths["theory"].sel(mode=1))
    assert "2 of 4 modes" in one.plot(most=2).axes[0].get_title()


def test_every_seed_has_a_solution_of_its_own(runs, solutions):
    both = fs.compare(runs, solutions)
    alone = [fs.compare(runs.sel(seed=seed), solutions[seed]) for seed in (0, 1)]
    assert both.errors["map"] == max(each.errors["map"] for each in alone)
    assert both.doubt == max(each.doubt for each in solutions) and "2 seeds" in repr(both)
    for seed in (0, 1):
        xr.testing.assert_allclose(
            there(both.strengths).sel(seed=seed, drop=True),
            there(alone[seed].strengths).drop_vars("seed", errors="ignore"),
        )
    assert fs.compare(runs, solutions[::-1]).errors["map"] > 2 * both.errors["map"]
    assert len(both.plot().axes) == 2


def test_seeds_and_solutions_that_do_not_match_are_refused(runs, solutions):
    with pytest.raises(ArgumentError, match="be a sequence of 2 solutions, one for each seed"):
        fs.compare(runs, solutions[0])
    with pytest.raises(ArgumentError, match=r"be a sequence of 2 solutions, one for each seed, .* is '1 of them'"):
        fs.compare(runs, solutions[:1])
    with pytest.raises(ArgumentError, match="be one solution, for there is one run"):
        fs.compare(runs.sel(seed=0), solutions)
    with pytest.raises(ArgumentError, match="`most` must be at least 1"):
        fs.compare(runs, solutions).plot(most=0)
