"""Every exact solution against an independent integration, over parameters drawn at random."""

from types import ModuleType

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import festina as fs
from theory import attacks_on_linear, attacks_on_races, attacks_on_steps
from theory.attacks import ATTACKS, Attack

# Each example costs less than a tenth of a second, and compiling little.
QUICK = (
    "`chain`, depth 1",
    "`chain`, depth 2",
    "`chain`, depth 3",
    "`chain`, infinite depth",
    "`imbalanced`",
    "`modes`, two decoupled layers",
    "`views.co_occurring_end`",
    "`margin.race`",
    "`margin.xor`",
    "`routing.reduction`",
    "`routing.time_to_reach`",
    "`routing.race_outcome`",
    "`closure`",
    "`rectified.always_on`",
)
SEEDS = st.integers(0, 2**32 - 1)
COSTLY = ("`reduction` of exclusive-or",)  # compiled anew for every start


@pytest.fixture(autouse=True, scope="module")
def quick_compilation():
    """Most of this file's time is XLA compiling small programs; unoptimised, they compute the same."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


def check(attack: Attack, seed: int) -> None:
    assert attack.error(np.random.default_rng(seed)) <= attack.allowed  # and not NaN


@pytest.mark.parametrize("attack", [it for it in ATTACKS if it.solution in QUICK], ids=lambda it: it.solution)
@settings(max_examples=5, deadline=None, derandomize=True)
@given(seed=SEEDS)
def test_solutions_that_cost_little_withstand_a_few_attacks(attack, seed):
    check(attack, seed)


@pytest.mark.full
@pytest.mark.parametrize("attack", [it for it in ATTACKS if it.solution not in COSTLY], ids=lambda it: it.solution)
@settings(max_examples=60, deadline=None, derandomize=True)
@given(seed=SEEDS)
def test_every_solution_withstands_many_attacks(attack, seed):
    check(attack, seed)


@pytest.mark.full
@pytest.mark.parametrize("attack", [it for it in ATTACKS if it.solution in COSTLY], ids=lambda it: it.solution)
@settings(max_examples=5, deadline=None, derandomize=True)
@given(seed=SEEDS)
def test_solutions_that_cost_much_withstand_a_few_attacks(attack, seed):
    check(attack, seed)


def test_every_solution_has_one_name():
    names = [it.solution for it in ATTACKS]
    assert len(set(names)) == len(names) and {*QUICK, *COSTLY} <= set(names)


class OffByAMillionth:
    """festina, with every number that a function of its theory returns a millionth too large."""

    worlds, networks = fs.worlds, fs.networks

    def __init__(self, module: ModuleType | None = None):
        self.module = module

    def __getattr__(self, name: str):
        found = getattr(self.module, name) if self.module else fs.theory
        return OffByAMillionth(found) if isinstance(found, ModuleType) else lambda *given, **named: off(
            found(*given, **named)
        )  # fmt: skip


def off(result):
    if isinstance(result, fs.theory.saddles.MeanField):  # the argument of another function, not an answer
        return result
    if callable(result):
        return lambda *given: off(result(*given))
    if isinstance(result, dict):
        return {name: off(values) for name, values in result.items()}
    return np.asarray(result) * (1 + 1e-6)


@pytest.mark.full
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda it: it.solution)
def test_a_solution_that_is_off_by_a_millionth_does_not_withstand(attack, monkeypatch):
    for module in (attacks_on_linear, attacks_on_races, attacks_on_steps):
        monkeypatch.setattr(module, "fs", OffByAMillionth())
    assert max(attack.error(np.random.default_rng(seed)) for seed in range(2)) > 10 * attack.allowed
