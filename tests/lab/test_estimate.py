"""How long a sweep is said to take."""

from dataclasses import fields

import pytest

from festina.lab.sweeps.estimate import Estimate, estimate
from festina.lab.sweeps.sweep import planned


@pytest.mark.parametrize(
    ("compiles", "batches", "processes", "seconds"),
    [
        (1, 1, 1, 10.0),  # the first batch
        (1, 4, 1, 8.0 + 4 * 2.0),  # compiled once
        (3, 4, 2, 2 * 8.0 + 2 * 2.0),  # two processes compile two programs at most each
        (1, 3, 8, 8.0 + 2.0),  # no more processes than batches; each compiles
        (2, 5, 4, 8.0 + 2 * 2.0),
    ],
)
def test_the_whole_sweep_takes_as_long_as_its_first_batch_lets_expect(compiles, batches, processes, seconds):
    made = Estimate(
        points=1, runs=1, compiles=compiles, batches=batches, largest_batch=1, memory=1, disk=1, first_seconds=10.0,
        warm_seconds=2.0, processes=processes,
    )  # fmt: skip
    assert made.seconds == seconds


def test_a_warm_first_batch_costs_no_time_less_than_none():
    numbers = dict.fromkeys((each.name for each in fields(Estimate)), 1)
    assert Estimate(**(numbers | {"warm_seconds": 2})).seconds == 2.0


def test_it_counts_what_is_planned():
    plan = planned("linear/chain", {"strength": [1.0, 2.0, 3.0], "depth": ["1", "2"]}, seeds=2, tile=4, records=10)
    found = estimate(plan, 3)
    assert (found.points, found.runs, found.compiles, found.batches, found.largest_batch) == (6, 12, 2, 4, 4)
    assert found.processes == 3 and 2**20 < found.memory < 2**40 and found.first_seconds > 0
    assert found.disk % 3 == 0 and found.disk > 12 * 6 * 8  # of 12 runs, thrice what the first batch of four has
