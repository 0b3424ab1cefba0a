"""What fully connected networks share: their start, and how hidden units are sorted by teachers' rows."""

from typing import Any

from pydantic import ValidationInfo, field_validator

import festina as fs
from festina._lazy import jnp, np
from festina.experiment import Variable, structural
from festina.experiments.abstraction._common import AbstractionConfig, keys
from festina.ranges import StepSize

TASKS = 2
ORDER = 2  # of the norm of the second layer: the sum of squares leaves many entries room
AXES = ("run", "arm", "time")

VARIABLES = {
    "components": Variable("length of each first-layer row along each row of the teachers", ("arm", "row", "hidden")),
    "norms": Variable("norm of each row of the first layer", ("arm", "hidden")),
}
"""What `observe_rows` records; rows are those of teacher A, then those of teacher B."""


class ConnectedConfig(AbstractionConfig):
    """The fields of both experiments."""

    hidden: int = structural(20, ge=1, le=1000, help="hidden units; at least one for each row of the two teachers")
    step_size: StepSize = structural(0.01, unit="t", help="length dt of the simultaneous Euler steps")

    @field_validator("hidden")
    @classmethod
    def _enough(cls, hidden: int, info: ValidationInfo) -> int:
        rows = TASKS * info.data.get("outputs", 0)
        if hidden < rows:
            raise ValueError(f"be at least {rows}, one for every row of the {TASKS} teachers")
        return hidden


def initial(config: Any, key: Any) -> tuple[Any, Any, Any]:
    """The tasks of a run, its network, and the key of its data."""
    for_teachers, for_weights, for_data = keys(key)
    convention = fs.worlds.convention(config.convention)
    tasks = fs.worlds.Tasks.orthogonal(for_teachers, TASKS, config.outputs, config.inputs, convention)
    network = fs.networks.FullyConnected.init(for_weights, config.hidden, config.outputs, config.inputs, config.scale)
    return tasks, network, for_data


def observe_rows(view: Any) -> dict[str, Any]:
    """Lengths of the rows of the first layer along those of the teachers, and altogether."""
    students = view.network.students
    rows = view.tasks.maps.reshape(-1, students.shape[-1])
    directions = rows / jnp.sqrt(jnp.sum(rows**2, axis=-1, keepdims=True))
    return {"components": directions @ students.T, "norms": jnp.sqrt(jnp.sum(students**2, axis=-1))}


def row_cosines(data: Any) -> Any:
    """The cosine of every teacher's row with every row of the first layer: (run, arm, time, row, hidden)."""
    components = data["components"].transpose(*AXES, "row", "hidden").values
    norms = data["norms"].transpose(*AXES, "hidden").values
    return components / norms[..., None, :]


def matched_rows(cosines: Any) -> Any:
    """The hidden unit of every teacher's row, one to one, by the cosine averaged over the second half: (run, arm, row).

    The paper sends each hidden unit to the row it resembles most, so that two units may claim one row.
    """
    return fs.measures.matched_paths(cosines[:, :, cosines.shape[2] // 2 :].mean(axis=2))


def total_alignment(data: Any, order: Any) -> Any:
    """The cosine between all rows of the teachers and all matched rows of the first layer: (run, arm, time)."""
    components = data["components"].transpose(*AXES, "row", "hidden").values
    norms = data["norms"].transpose(*AXES, "hidden").values
    everywhere = np.broadcast_to(order[:, :, None], (*norms.shape[:3], order.shape[-1]))
    return fs.measures.total_alignment(components, norms, everywhere)
