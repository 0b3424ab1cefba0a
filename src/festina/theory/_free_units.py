"""Rectified units that grow freely at exclusive-or with a margin, followed exactly from switch to switch.

While a network is small, each of its units moves on its own, ẇ = a m and ȧ = w·m with m = Σ_{i on} y_i x_i/P. Between
two switches of its active set the motion is linear: only p = w·m/|m| changes, and

    p + a = (p₀ + a₀) e^{|m|t},    p − a = (p₀ − a₀) e^{−|m|t}.

As long as a keeps its sign, p moves one way, and with it the drive w·x_i of every example. So the next event is the
nearest of five places along p: four where a drive is zero, and one where a is. A unit with no event ahead has arrived.

A drive that is pushed back to zero from both sides stays there: the unit *slides*, with the part of m that is
orthogonal to x_i. This takes a wrong output weight, a y_i < 0, and S_i = Σ_{k on} y_i y_k x_i·x_k < 0, the rest of the
active set without i. When a then changes its sign, zero pushes the drive away on either side, and gradient flow does
not say to which. Descent in small steps is then by chance on one of them, mostly on that where it has been for most of
the slide, which is the one taken here. Few units are concerned: the other choice changes π₀ by some thousandths, and ρ₀
by one or two hundredths (by more only below Δ = .1, where descent hardly ever chooses otherwise).

Source: derived here.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from jaxtyping import Bool, Float

from festina.worlds.logic import margin

ROUNDING = 1e-12
MOST_EVENTS = 100  # seven are enough for the margins tried, from .01 to 1.5


@dataclass(frozen=True)
class _Units:
    """Units on their way."""

    incoming: Float[np.ndarray, "units 3"]
    outgoing: Float[np.ndarray, " units"]
    heading: Float[np.ndarray, " units"]  # the sign of `outgoing`, and where that is zero, the one it is about to have
    on: Bool[np.ndarray, "units 4"]
    sliding: Bool[np.ndarray, "units 4"]
    time: Float[np.ndarray, " units"]

    def only(self, chosen: Bool[np.ndarray, " units"]) -> _Units:
        return _Units(*(getattr(self, field.name)[chosen] for field in fields(self)))


def free_growth(separation: float, start: Float[np.ndarray, "units 4"]) -> Float[np.ndarray, " sizes"]:
    """Σ ((a+p)/2)² e^{−2|m|t} over units that arrive at time t with 0, 1, …, 4 active examples.

    A unit that has arrived has the strength ((a+p)/2)² in the growing part of its motion; the sum is what this would
    have been at t = 0, had it grown at the same rate from the beginning.

    Args:
        separation: Δ > 0.
        start: w (three numbers) and a of each unit.

    Example:
        >>> import numpy as np
        >>> from festina.theory.margin import free_growth
        >>> free_growth(0.5, np.array([[1.0, 1.0, 0.0, 1.0]])).round(3)  # on for one example, and stays so
        array([0.   , 1.361, 0.   , 0.   , 0.   ])
    """
    world = margin(separation)
    inputs, answers = world.inputs, world.targets[:, 0]
    on = start[:, :3] @ inputs.T > 0
    still = np.zeros(len(start))
    units = _Units(start[:, :3], start[:, 3], np.sign(start[:, 3]), on, np.zeros_like(on), still)
    found = np.zeros(len(inputs) + 1)
    for _ in range(MOST_EVENTS):
        push, rate, along = _motion(units, inputs, answers)
        event, distance = _next_event(units, push, along, inputs)
        arrived = np.isinf(distance)
        strength = ((units.outgoing + along) / 2.0) ** 2 * np.exp(-2.0 * rate * units.time)
        found += np.bincount(units.on[arrived].sum(axis=1), strength[arrived], len(found))
        moving = ~arrived
        if not moving.any():
            return found
        parts = (part[moving] for part in (push, rate, along, event, distance))
        units = _switched(_moved(units.only(moving), *parts), event[moving], inputs, answers)
    raise RuntimeError(f"units have not arrived after {MOST_EVENTS} events at the margin {separation:g}")


def _motion(units: _Units, inputs: np.ndarray, answers: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """m/|m|, |m| and p."""
    push = (units.on * answers) @ inputs / len(answers)
    push = push - (units.sliding * (push @ inputs.T)) @ inputs / np.sum(inputs[0] ** 2)
    rate = np.linalg.norm(push, axis=1)
    push = push / np.where(rate > 0, rate, 1.0)[:, None]
    return push, rate, np.sum(units.incoming * push, axis=1)


def _next_event(
    units: _Units, push: np.ndarray, along: np.ndarray, inputs: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Which event comes first, and how far along p: the number of an example, or the last where a is zero."""
    drive = units.incoming @ inputs.T
    drive = np.where(units.on, np.maximum(drive, 0.0), np.minimum(drive, 0.0))  # rounding at the last event
    speed = units.heading[:, None] * (push @ inputs.T)
    nears = np.where(units.on, speed < -ROUNDING, speed > ROUNDING) & ~units.sliding
    crossing = np.where(nears, -drive / np.where(nears, speed, 1.0), np.inf)
    least = np.sqrt(np.maximum(along**2 - units.outgoing**2, 0.0))  # |p| where a is zero
    turns = (units.outgoing * along < 0) & (least > 0)
    turning = np.where(turns, np.abs(along) - least, np.inf)
    distance = np.concatenate([crossing, turning[:, None]], axis=1)
    return distance.argmin(axis=1), distance.min(axis=1)


def _moved(
    units: _Units, push: np.ndarray, rate: np.ndarray, along: np.ndarray, event: np.ndarray, distance: np.ndarray
) -> _Units:
    """Units at their next event."""
    turned = event == units.on.shape[1]
    there = along + units.heading * distance
    square = units.outgoing**2 + (there - along) * (there + along)
    outgoing = np.where(turned, 0.0, units.heading * np.sqrt(np.maximum(square, 0.0)))
    grows = units.heading * along >= 0
    sign = np.where(grows, 1.0, -1.0)  # of the part of the motion in which nothing cancels
    ratio = (there + sign * outgoing) / (along + sign * units.outgoing)
    return _Units(
        units.incoming + (units.heading * distance)[:, None] * push,
        outgoing,
        np.where(turned, np.sign(there), units.heading),
        units.on,
        units.sliding,
        units.time + sign * np.log(ratio) / rate,
    )


def _switched(units: _Units, event: np.ndarray, inputs: np.ndarray, answers: np.ndarray) -> _Units:
    """The active set after an event: an example is crossed, or slides; a slide goes on, or ends on one of its sides."""
    agreement = answers[:, None] * (inputs @ inputs.T) * answers
    wrong = units.heading[:, None] * answers < 0
    hit = event[:, None] == np.arange(len(answers))
    begins = hit & wrong & ((units.on & ~hit) @ agreement < -ROUNDING)
    on = (units.on ^ hit) & ~begins
    sliding = units.sliding | begins
    rest = on @ agreement
    stays = sliding & wrong & (rest < -ROUNDING)
    mostly_on = rest < -0.5 * np.sum(inputs[0] ** 2)  # a slide is on for the share −S_i/|x_i|² of its time
    ends_on = sliding & ~wrong & mostly_on
    return _Units(units.incoming, units.outgoing, units.heading, on | ends_on, stays, units.time)
