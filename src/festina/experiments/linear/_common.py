"""What several experiments with linear networks measure and ask of their arms."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from festina import claims
from festina._lazy import xr
from festina.experiment import Arm, Result

if TYPE_CHECKING:
    from festina.models import TwoLayer


def two_layer(arm: Arm) -> TwoLayer:
    return cast("TwoLayer", arm.model)


def with_imbalance(result: Result, imbalance: float) -> list[Arm]:
    """The arms with one λ, if there are any."""
    if imbalance not in result.config.imbalance:
        raise claims.NotApplicable(f"needs λ = {imbalance:g} among the imbalances")
    return [arm for arm in result.arms if arm.labels["imbalance"] == imbalance]


def of_arms(variable: xr.DataArray, arms: list[Arm]) -> xr.DataArray:
    """A variable of some arms, along the dimension `network`."""
    labels = {dim: [arm.labels[dim] for arm in arms] for dim in arms[0].labels}
    return variable.sel({dim: xr.DataArray(values, dims="network") for dim, values in labels.items()})


def signed(number: float) -> str:
    """A number as it is printed, with a minus that is as wide as a plus."""
    return f"{number:g}".replace("-", "−")
