"""Steps that adapt while a chain warms up."""

import numpy as np
import pytest

from festina.learning.adaptation import Adaptation


def test_dual_averaging_is_that_of_hoffman_and_gelman():
    """γ = .05, t₀ = 10, κ = .75 and μ = log 10ε₀, as published; the first step is the first average."""
    adaptation, target, accepted = Adaptation.start(0.2), 0.8, (0.1, 0.95, 0.6, 1.0)
    shortfall, averaged = 0.0, np.log(0.2)
    for count, acceptance in enumerate(accepted, start=1):
        adaptation = adaptation.after(acceptance, target)
        shortfall = (1 - 1 / (count + 10)) * shortfall + (target - acceptance) / (count + 10)
        step = np.log(2.0) - np.sqrt(count) / 0.05 * shortfall
        averaged = count**-0.75 * step + (1 - count**-0.75) * averaged
        assert float(adaptation.log_step) == pytest.approx(step)
        assert float(adaptation.log_averaged) == pytest.approx(averaged)
