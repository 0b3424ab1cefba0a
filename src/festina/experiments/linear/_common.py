"""What several experiments with linear networks measure and ask of their arms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from festina import claims
from festina._lazy import xr
from festina.experiment import Arm, Result
from festina.experiments._needs import require_case

if TYPE_CHECKING:
    from festina.models import TwoLayer


def two_layer(arm: Arm) -> TwoLayer:
    return cast("TwoLayer", arm.model)


def model_of(result: Result, **labels: Any) -> Any:
    """The model of the first arm with these labels."""
    return next(arm.model for arm in result.arms if labels.items() <= arm.labels.items())


def as_simulated(result: Result, what: str, *names: str) -> Result:
    """The result, if some fields, or all, have their defaults, as a separate simulation had; other seeds will do."""
    config, default = result.config, type(result.config)()
    alike = all(getattr(config, name) == getattr(default, name) for name in names or type(config).model_fields)
    require_case(alike, f"{what}, which the separate simulation had")
    return result


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


def printed(text: str) -> str:
    """Correlations in a text as they are printed: r = −.53."""
    return text.replace("0.", ".").replace("= -", "= −")
