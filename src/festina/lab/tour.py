"""The tour: one experiment from each body of work, and a network of one's own, in half a minute."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html import escape
from inspect import getsource
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from festina.errors import Interrupted, one_line
from festina.lab.reproduce import Entry, load, reproduce

if TYPE_CHECKING:
    from festina.lab.report import Section
    from festina.measures.compare import Comparison

TITLE = "A tour of festina"
OWN = "your own network"


@dataclass(frozen=True)
class Stop:
    """An experiment worth seeing first: what it shows in a few words, and the fields that keep it short."""

    name: str
    shows: str
    fields: Mapping[str, Any] = field(default_factory=dict)


STOPS = (
    Stop(
        "linear/chain",
        "Depth makes learning wait, and then jump.",
        {"depth": (1, 2, math.inf)},
    ),
    Stop(
        "race/margin",
        "Nonlinear pathways win, unless the margin is wide.",
    ),
    Stop(
        "abstraction/specialization",
        "Fast, bounded gates turn relearning into switching.",
        {"seeds": 2},
    ),
    Stop(
        "coding/sparse",
        "Very few of many neurons do all the work.",
        {"seeds": 1},
    ),
)


def shows() -> dict[str, str]:
    """What each experiment of the tour shows, by its name."""
    return {stop.name: stop.shows for stop in STOPS}


@dataclass(frozen=True)
class OwnNetwork:
    """A network that no paper is about, beside its theory, or why there is nothing to see."""

    comparison: Comparison | None = None
    error: str = ""
    seconds: float = 0.0

    @property
    def shows(self) -> str:
        """What came out, in a few words."""
        if self.comparison is None:
            return "Ten lines of Python, with theory beside them."
        largest = float(abs(self.comparison.run["map"]).max())
        return f"Ten lines of Python; theory within {self.comparison.errors['map'] / largest:.1%} of it."


def visit(
    *, store: Path, fresh: bool, begin: Callable[[str], None], tell: Callable[[Entry], None]
) -> tuple[list[Entry], OwnNetwork]:
    """Run all stops at the `quick` budget, unless the store holds them; one that fails does not stop the others.

    Args:
        store: a folder of results.
        fresh: compute even what the store holds.
        begin: called with the name of each stop before its work.
        tell: called with each experiment as soon as it is done.
    """
    entries = [load(stop.name, stop.fields) for stop in STOPS]
    done = reproduce(
        entries, store=store, budget="quick", fresh=fresh, begin=lambda entry: begin(entry.name), tell=tell
    )
    begin(OWN)
    return done, own_network()


def own_network() -> OwnNetwork:
    """Learn, solve and compare; never from the store, for it is the reader's own Python that is shown."""
    from festina.lab.own_network import learn_tree

    began = monotonic()
    try:
        return OwnNetwork(learn_tree(), seconds=monotonic() - began)
    except Interrupted:
        raise
    except Exception as error:  # as in the experiments: the report says it
        return OwnNetwork(error=one_line(error))


def section(own: OwnNetwork) -> Section:
    """The network of one's own in the report: its picture, and the Python that made it."""
    from festina.lab import own_network
    from festina.lab.report import Section, picture

    if own.comparison is None:
        shown = f'<p class="trouble"><strong>Failed.</strong> {escape(own.error)}</p>'
    else:
        shown = picture("png", _drawn(own.comparison), "Simulation and theory of a network that learns a tree.")
    code = f"<h4>The Python</h4><pre>{escape(getsource(own_network))}</pre>"
    return Section(OWN, f"A tree of concepts, learned by two linear layers. {own.shows}", shown + code)


def _drawn(comparison: Comparison) -> bytes:
    from festina._lazy import plt
    from festina.lab.pictures import encoded
    from festina.style import style

    with style():
        figure = comparison.plot(most=12)
        try:
            return encoded(figure, "png")
        finally:
            plt.close(figure)
