"""The conformance suite: what every model and every experiment must be, festina's own and other people's.

    from festina.testing import check_experiment, check_model

    def test_my_model():
        check_model(MyModel)

    def test_my_experiment():
        check_experiment(MyExperiment)

Each check raises `Nonconforming`, an AssertionError, with one sentence for everything that is not as it should be.
"""

from festina.testing.experiment import check_experiment
from festina.testing.findings import Nonconforming
from festina.testing.model import check_model

__all__ = ["Nonconforming", "check_experiment", "check_model"]
