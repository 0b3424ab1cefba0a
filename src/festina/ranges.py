"""What configurations share: how far numbers of one kind may go, and checks.

Both ends of every range are values that a model can be run with, however badly it learns there: the solver gets
to the end of the run, or gives it up and says why.
"""

from typing import Annotated

from pydantic import Field, ValidationInfo

Duration = Annotated[float, Field(ge=1e-6, le=1e3)]
"""When to stop, or how long something goes on."""

LogDuration = Annotated[float, Field(ge=1e-2, le=1e4)]
"""The same, where recordings are evenly spaced in log time and begin before a hundredth."""

Timescale = Annotated[float, Field(ge=1e-4, le=1e4)]
"""How slowly something learns."""

StepSize = Annotated[float, Field(ge=1e-5, le=10.0)]
"""Length of a fixed step."""

SmallStepSize = Annotated[float, Field(ge=1e-4, le=0.05)]
"""Length of a fixed step that has to be small."""

Coefficient = Annotated[float, Field(ge=0.0, le=100.0)]
"""Of a term that is added to a loss; without it, if it is zero."""

Strength = Annotated[float, Field(ge=1e-3, le=100.0)]
"""Size of what is to be learned: a correlation, a variance, a singular value."""

Imbalance = Annotated[float, Field(ge=-1e3, le=1e3)]
"""λ of layers with W₂ᵀW₂ − W₁W₁ᵀ = λI."""

Start = Annotated[float, Field(ge=1e-9, le=10.0)]
"""Size of weights, or of their product, at the start."""

Temperature = Annotated[float, Field(ge=1e-3, le=10.0)]
"""Of a posterior."""

Hottest = Annotated[float, Field(ge=1e-3, le=100.0)]
"""Of a posterior, where cooling begins."""

LearningRate = Annotated[float, Field(ge=1e-8, le=1.0)]
"""Of gradient descent, in steps."""

Amplitude = Annotated[float, Field(ge=1e-2, le=10.0)]
"""Size of readouts a priori."""

Cosine = Annotated[float, Field(ge=-1.0, le=1.0)]
"""Of two directions."""

Share = Annotated[float, Field(ge=1e-3, le=1.0)]
"""Of a whole, and not nothing."""


MOST_STEPS = 20_000_000
"""Fixed steps of one run: minutes for a small network, and hours for a large one."""


def countable(step_size: float, info: ValidationInfo) -> float:
    """A step of which there is at least one up to `until`, and not more than can be taken; for `field_validator`."""
    steps = info.data.get("until", step_size) / step_size
    if not 0.5 < steps < MOST_STEPS + 0.5:
        raise ValueError(f"leave at least one step and at most {MOST_STEPS:_} up to `until`, {info.data['until']:g}")
    return step_size
