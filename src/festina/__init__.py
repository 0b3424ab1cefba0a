"""festina: a laboratory for the theory of learning.

Describe a world, a network and a way of learning; festina simulates it, solves it exactly where mathematics can,
and tells which claims held.
"""

from festina._lazy import attributes
from festina._version import __version__

TYPE_CHECKING = False  # as type checkers know it; `typing` itself takes longer to import than all else here
if TYPE_CHECKING:
    from festina import (
        claims,
        draws,
        experiment,
        figures,
        lab,
        learning,
        measures,
        models,
        networks,
        theory,
        worlds,
    )
    from festina.experiment import Experiment, ExperimentConfig, Result
    from festina.lab.run import run
    from festina.lab.sweep import sweep
    from festina.learning.learn import descent, flow
    from festina.learning.stream import abstract
    from festina.measures.compare import compare
    from festina.model import Model
    from festina.precision import double

# Names load when first used: `import festina` is instant, and JAX is imported only by what needs it.
__getattr__ = attributes(
    "festina",
    {
        "Experiment": "festina.experiment",
        "ExperimentConfig": "festina.experiment",
        "Model": "festina.model",
        "Result": "festina.experiment",
        "abstract": "festina.learning.stream",
        "claims": "festina.claims",
        "compare": "festina.measures.compare",
        "descent": "festina.learning.learn",
        "double": "festina.precision",
        "draws": "festina.draws",
        "experiment": "festina.experiment",
        "figures": "festina.figures",
        "flow": "festina.learning.learn",
        "lab": "festina.lab",
        "learning": "festina.learning",
        "measures": "festina.measures",
        "models": "festina.models",
        "networks": "festina.networks",
        "run": "festina.lab.run",
        "sweep": "festina.lab.sweep",
        "theory": "festina.theory",
        "worlds": "festina.worlds",
    },
)

__all__ = [
    "Experiment",
    "ExperimentConfig",
    "Model",
    "Result",
    "__version__",
    "abstract",
    "claims",
    "compare",
    "descent",
    "double",
    "draws",
    "experiment",
    "figures",
    "flow",
    "lab",
    "learning",
    "measures",
    "models",
    "networks",
    "run",
    "sweep",
    "theory",
    "worlds",
]


def __dir__() -> list[str]:
    return sorted(__all__)
