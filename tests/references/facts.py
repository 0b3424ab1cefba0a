"""Numbers that others printed: where they stand, and how closely festina has to meet them.

The table of the page "Checked against" is made from these entries, and the tests beside this file replay them through
festina's public functions: the agreement that the page states is the one that is tested.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Fact:
    """What was printed, where, and the largest difference that is allowed."""

    what: str
    where: str
    allowed: float
    meaning: str

    def row(self) -> str:
        """One row of the page's table."""
        return f"| {self.what} | {self.where} | {self.allowed:g} ({self.meaning}) |"


SMALL_START = Fact(
    "Loss of a deep linear network 8-14-8 over 1000 steps of gradient descent, weights of standard deviation 10⁻⁴",
    "Nico31415/ExactLearningDynamics, `figure-3-lambda.ipynb`",
    1e-9,
    "relative, at every step printed: rounding, which the saddle amplifies",
)
LARGE_START = Fact(
    "The same network from weights of standard deviation .42, down to a loss of 10⁻¹¹",
    "Nico31415/ExactLearningDynamics, `figure-3-lambda.ipynb`",
    1e-9,
    "relative, at every step printed",
)
SADDLES = Fact(
    "Losses at the five successive saddles of linear attention that learns in context",
    "yedizhang/linattn-icl, printed by `loss_at_saddle(4)`",
    1e-8,
    "absolute, the last digit printed",
)
DWELLING = Fact(
    "Losses at which gradient flow of linear attention dwells, against those saddles",
    "yedizhang/linattn-icl, printed by `loss_at_saddle(4)`",
    1e-6,
    "absolute, from weights of size 10⁻³",
)
GRADIENTS = Fact(
    "Gradient of the squared error of a rectified network with biases",
    "PyTorch, `torch.autograd`",
    1e-14,
    "relative, float64",
)
KERNELS = Fact(
    "Tangent kernel of a linear network on twenty inputs",
    "PyTorch, `torch.func.jacrev`",
    1e-14,
    "relative, float64",
)

FACTS = (SMALL_START, LARGE_START, SADDLES, DWELLING, GRADIENTS, KERNELS)
