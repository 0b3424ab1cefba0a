"""World, network, way of learning and theory as one parameterised system each; every number of it is a field.

A module for every model, imported when it is first asked for; `names` knows them all without importing JAX.
"""

from festina._lazy import attributes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from festina.models.bottleneck import Bottleneck
    from festina.models.chain import Chain
    from festina.models.gated_contexts import GatedContexts
    from festina.models.gated_margin import GatedMargin
    from festina.models.linear_stack import LinearStack
    from festina.models.margin import Margin
    from festina.models.rectified_contexts import RectifiedContexts
    from festina.models.reduced_abstraction import ReducedAbstraction
    from festina.models.reversal import Reversal
    from festina.models.semantic import Semantic
    from festina.models.similar_tasks import SimilarTasks
    from festina.models.single_output import SingleOutput
    from festina.models.task_abstraction import TaskAbstraction
    from festina.models.task_sequence import TaskSequence
    from festina.models.tutor_executor import TutorExecutor
    from festina.models.two_layer import TwoLayer
    from festina.models.views import Views
    from festina.models.wide_bayesian import WideBayesian

MODELS = {
    "Bottleneck": "festina.models.bottleneck",
    "Chain": "festina.models.chain",
    "GatedContexts": "festina.models.gated_contexts",
    "GatedMargin": "festina.models.gated_margin",
    "LinearStack": "festina.models.linear_stack",
    "Margin": "festina.models.margin",
    "RectifiedContexts": "festina.models.rectified_contexts",
    "ReducedAbstraction": "festina.models.reduced_abstraction",
    "Reversal": "festina.models.reversal",
    "Semantic": "festina.models.semantic",
    "SimilarTasks": "festina.models.similar_tasks",
    "SingleOutput": "festina.models.single_output",
    "TaskAbstraction": "festina.models.task_abstraction",
    "TaskSequence": "festina.models.task_sequence",
    "TutorExecutor": "festina.models.tutor_executor",
    "TwoLayer": "festina.models.two_layer",
    "Views": "festina.models.views",
    "WideBayesian": "festina.models.wide_bayesian",
}
"""Every model, with the module it is in."""

__getattr__ = attributes("festina.models", MODELS)

__all__ = [
    "Bottleneck",
    "Chain",
    "GatedContexts",
    "GatedMargin",
    "LinearStack",
    "Margin",
    "RectifiedContexts",
    "ReducedAbstraction",
    "Reversal",
    "Semantic",
    "SimilarTasks",
    "SingleOutput",
    "TaskAbstraction",
    "TaskSequence",
    "TutorExecutor",
    "TwoLayer",
    "Views",
    "WideBayesian",
]
