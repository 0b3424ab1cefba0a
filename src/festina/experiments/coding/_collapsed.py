"""Which networks of an experiment are drawn neuron by neuron: those that Hamiltonian Monte Carlo leaves frozen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from festina.arms import Further

EQUILIBRIUM: dict[str, Any] = {"method": "collapsed"}
"""The default of experiments: with `--method hmc` all of their networks are drawn by Hamiltonian Monte Carlo."""


def is_sigmoidal(arm: Mapping[str, Any]) -> bool:
    """Whether an arm along `nonlinearity` can be drawn so, if it has one layer."""
    return arm["nonlinearity"] == "sigmoidal"


def where(able: Callable[[Mapping[str, Any]], bool]) -> Further:
    """For `Arms(also=...)`: arms that are able to are drawn by the experiment's method, from the prior; others by HMC.

    Neurons that are drawn as a whole forget where they came from, and need no start from theory.
    """

    def settings(config: Any, arm: Mapping[str, Any]) -> dict[str, Any]:
        if config.method == "collapsed" and able(arm):
            return {"origin": "prior"}
        return {"method": "hmc"}

    return settings
