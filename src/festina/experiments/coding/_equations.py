"""Equations that several experiments on coding schemes have in common."""

from festina.experiment import Equation

POSTERIOR = Equation(
    r"p(W, a \mid Y) \propto \exp\Bigl(-\frac{N}{2T} \sum |y - f|^2\Bigr)\, p(W, a), "
    r"\qquad f = \frac1N \sum_i a_i\, \varphi(z_i)",
    "Weights are drawn from their posterior at temperature T; the factor 1/N makes each of the N neurons learn "
    "features.",
)

NEURON = Equation(
    r"p(a, z) \propto \mathcal N(a \mid 0, s)\; \mathcal N(z \mid 0, K_0)\; e^{\,a \cdot t^\top \varphi(z)}, "
    r"\qquad t = \frac{Y - \langle f \rangle}{T}",
    "In a wide network neurons are independent, each with this law of its readout a and its inputs z; the residual t "
    "is what the answers of all of them leave.",
)
