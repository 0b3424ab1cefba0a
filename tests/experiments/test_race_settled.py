"""When a run was too short, and which one would have been long enough."""

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import xarray as xr
from scipy.optimize import brentq

from festina import claims
from festina.claims import Claim, NotApplicable, Undecided
from festina.errors import ArgumentError
from festina.experiments.race._settled import at_the_end, longer, require_settled
from festina.experiments.race.margin import Margin

RATES = np.array([0.5, 2.0])


def losses(time):
    return np.exp(-RATES * np.asarray(time)[:, None])


class Run(SimpleNamespace):
    def __getitem__(self, name):
        return self.data[name]


def decay(until) -> Any:
    """Two networks whose losses decay exponentially."""
    time = np.linspace(0.0, until, 101)
    loss = xr.DataArray(losses(time)[None], dims=("run", "time", "rate"), coords={"time": time, "rate": RATES})
    return Run(
        data={"loss": loss, "time": loss["time"]}, theory=None, config=Margin().configure(until=until), experiment=None
    )


def needed(until):
    with pytest.raises(Undecided) as error:
        require_settled(decay(until), curve=losses)
    return str(error.value)


@pytest.mark.parametrize("until", [0.5, 3.0, 10.0])
def test_the_time_that_is_named_is_the_one_that_is_enough(until):
    enough = brentq(lambda t: np.exp(-0.9 * 0.5 * t) - np.exp(-0.5 * t) - 1e-3, 5.0, 60.0)
    said = float(re.findall(r"needs --until (\S+)", needed(until))[0])
    assert enough <= said < 1.2 * enough
    require_settled(decay(said), curve=losses)


def test_what_still_learns_is_named():
    assert needed(0.5).startswith("networks with rate 0.5, and 1 more, still learn at t = 0.5; ")
    assert needed(3.0).startswith("networks with rate 0.5, and 1 more, still learn at t = 3; ")
    assert needed(8.0).startswith("networks with rate 0.5 still learn at t = 8; ")
    require_settled(decay(8.0), curve=losses, rate=2.0)


def test_without_theory_or_beyond_the_longest_run():
    assert longer(decay(3.0), None, None) == "needs more than --until 3"
    slow = longer(decay(3.0), lambda time: np.exp(-1e-4 * time), lambda first, before, last: last < 0.5)
    assert slow == "needs more than the longest run, --until 1000"


def test_what_does_not_apply_is_said_before_what_is_too_short():
    def inapplicable(experiment, result):
        raise NotApplicable("needs a cue")

    with pytest.raises(NotApplicable, match="needs a cue"):
        at_the_end(inapplicable)(None, decay(0.5))


def test_all_that_is_lacking_is_named():
    """A small sample and a short run."""

    def too_few(experiment, result):
        raise Undecided("needs --seeds 2")

    with pytest.raises(
        Undecided, match=r"^needs --seeds 2; networks with rate 0.5, and 1 more, still learn at t = 0.5"
    ):
        at_the_end(too_few)(None, decay(0.5))
    with pytest.raises(Undecided, match=r"^needs --seeds 2$"):
        at_the_end(too_few)(None, decay(60.0))


@pytest.mark.parametrize("until", [0.5, 60.0])
@pytest.mark.parametrize("error", [ZeroDivisionError, KeyError, ArgumentError])
def test_a_claim_that_is_broken_does_not_ask_for_a_longer_run(error, until):
    """Whether the run has settled or not."""

    def wrong(experiment, result):
        raise error("of its own")

    with pytest.raises(error, match="of its own"):
        at_the_end(wrong)(None, decay(until))
    run = decay(until)
    claim = Claim("wrong", "theory", "ours", "It is wrong.", at_the_end(wrong), claims.below(1.0))
    assert claim.judge(run, "full").outcome == "broken"
