"""Which networks of an experiment are drawn neuron by neuron: those that Hamiltonian Monte Carlo leaves frozen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from festina.arms import Further

EQUILIBRIUM: dict[str, Any] = {"method": "collapsed"}
"""The default of experiments: with `--method hmc` all of their networks are drawn by Hamiltonian Monte Carlo."""
FROM_PRIOR: dict[str, Any] = {"origin": "prior"}
"""Where chains start that need no start from theory."""


def is_sigmoidal(arm: Mapping[str, Any]) -> bool:
    """Whether an arm along `nonlinearity` can be drawn so, if it has one layer."""
    return arm["nonlinearity"] == "sigmoidal"


def where(able: Callable[[Mapping[str, Any]], bool], start: Mapping[str, Any] = FROM_PRIOR) -> Further:
    """For `Arms(also=...)`: arms that are able to are drawn by the experiment's method, others by HMC.

    Neurons that are drawn as a whole forget where they came from, and need no start from theory.

    Args:
        able: whether an arm can be drawn neuron by neuron.
        start: fields that say where these arms start.
    """

    def settings(config: Any, arm: Mapping[str, Any]) -> dict[str, Any]:
        if config.method == "collapsed" and able(arm):
            return dict(start)
        return {"method": "hmc"}

    return settings
