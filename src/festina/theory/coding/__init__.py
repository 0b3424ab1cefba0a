"""How classes are represented in wide Bayesian networks: mean-field theory of analog, redundant and sparse codes.

All equations were derived independently from the model of A. van Meegen and H. Sompolinsky (2024) and checked against
posterior sampling; see each module. Everything here is plain arrays in float64, and answers come as a `Prediction`.
"""

from festina.theory.coding.analog import Analog, analog, analog_at_zero
from festina.theory.coding.analog import onset_temperatures as analog_onsets
from festina.theory.coding.deep_analog import deep_analog
from festina.theory.coding.dual import Neurons, Task, class_task
from festina.theory.coding.general import Implied, expectation_propagation, implied
from festina.theory.coding.lazy import Lazy, kernels, lazy
from festina.theory.coding.neuron_laws import neuron_law
from festina.theory.coding.planted import Even, planted
from festina.theory.coding.prediction import Codes, Prediction, Predictor
from festina.theory.coding.redundant import ManyExamples, Redundant, frozen, many_examples, redundant
from festina.theory.coding.sparse import Sparse, sparse
from festina.theory.coding.sparse import onset_temperatures as sparse_onsets
from festina.theory.coding.two_layers import Blocks, TwoLayers, blocks, second_layer, two_layers
from festina.theory.coding.units import LINEAR, RECTIFIED, SIGMOIDAL, UNITS, Unit

__all__ = [
    "LINEAR",
    "RECTIFIED",
    "SIGMOIDAL",
    "UNITS",
    "Analog",
    "Blocks",
    "Codes",
    "Even",
    "Implied",
    "Lazy",
    "ManyExamples",
    "Neurons",
    "Prediction",
    "Predictor",
    "Redundant",
    "Sparse",
    "Task",
    "TwoLayers",
    "Unit",
    "analog",
    "analog_at_zero",
    "analog_onsets",
    "blocks",
    "class_task",
    "deep_analog",
    "expectation_propagation",
    "frozen",
    "implied",
    "kernels",
    "lazy",
    "many_examples",
    "neuron_law",
    "planted",
    "redundant",
    "second_layer",
    "sparse",
    "sparse_onsets",
    "two_layers",
]
