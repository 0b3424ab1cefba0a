"""The law of a single sigmoidal neuron in theory, for samplers that propose whole neurons."""

import numpy as np

from festina.errors import require
from festina.learning.neuron_law import NeuronLaw
from festina.networks.bayesian import SIGMOIDAL
from festina.theory.coding.dual import COARSE, neurons
from festina.theory.coding.redundant import Redundant

POINTS = 256  # of the grid of readouts that are kept, those with the largest masses
SAFE = 0.02  # share of neurons of the prior: with them no neuron of the posterior is out of reach


def neuron_law(prediction: Redundant, points: int = POINTS) -> NeuronLaw:
    """q(z) = Σ_c w_c Π_μ N(z_μ) exp(h_cμ φ(z_μ))/Z(h_cμ), h_cμ = a_c·t_μ: the mean-field law on a grid of readouts a_c.

    On a grid of 1.2 √s the sum is the integral to 1e-6. A share of .02 are neurons of the prior, which bound N/q.

    Args:
        prediction: of `redundant`, for the examples in the order of their classes.
        points: that are kept, those of largest mass.

    Returns:
        A `NeuronLaw` for `fs.learning.Redraw`; points that do not exist have no weight.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> prediction = fs.theory.coding.redundant([10, 10], np.array([[1.0], [-1.0]]), 0.1, readout_variance=0.2)
        >>> law = fs.theory.coding.neuron_law(prediction, points=40)
        >>> law.readouts.shape, round(float(law.weights.sum()), 6)
        ((41, 1), 1.0)
    """
    require(points >= 1, "points", "be at least 1", points)
    task, residual = prediction.neurons.task, prediction.neurons.residual
    state = neurons(task, residual, spacing=COARSE)
    heaviest = np.argsort(-state.probability, kind="stable")[:points]
    masses = state.probability[heaviest]
    readouts, weights = np.zeros((points + 1, len(task.basis))), np.zeros(points + 1)
    readouts[: len(heaviest)] = state.readouts[heaviest] @ task.basis.T
    weights[: len(heaviest)] = (1.0 - SAFE) * masses / masses.sum()
    weights[-1] = SAFE
    return NeuronLaw(readouts, weights, residual @ task.basis.T, tuple(task.labels.tolist()), SIGMOIDAL)
