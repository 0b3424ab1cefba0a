"""What to look at where a network goes from saddle to saddle, from task to task, and from depth to depth."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, log, pi, sin
from typing import Any

from festina._lazy import np, xr
from festina.views._parts import at, largest, least
from festina.views.vocabulary import Curves, Mark, Plane, Quantity, Surface

FROM, TO = -0.3, 1.3  # shares of a mode that are in the picture


def _strengths(config: Any) -> np.ndarray:
    """Singular values of a task, falling evenly in their logarithm."""
    return np.geomspace(config.strongest, config.weakest, min(config.inputs, config.outputs))


def _levels(config: Any) -> Sequence[Mark]:
    """The losses L_k = ½ Σ_{j>k} s_j² of the saddles, in units of the first."""
    losses = np.cumsum(_strengths(config)[::-1] ** 2)[::-1]
    return [Mark(f"saddle of rank {rank}", y=float(loss / losses[0])) for rank, loss in enumerate(losses)]


def _relative_loss(data: xr.Dataset, config: Any) -> xr.DataArray:
    return data["loss"] / (0.5 * np.sum(_strengths(config) ** 2))


def _indices(config: Any) -> Sequence[Mark]:
    """(m − k)(H − k) ways down from the saddle of rank k."""
    modes = len(_strengths(config))
    return [Mark(f"rank {k}", y=float((modes - k) * (config.hidden - k))) for k in range(modes)]


def _mode(number: int) -> Quantity:
    """The share learned of one of the first two modes, where it is in the picture; the first if there is no second."""

    def of(data: xr.Dataset, config: Any) -> xr.DataArray:
        share = data["learned"].isel(mode=min(number, data.sizes["mode"] - 1), drop=True)
        return share.where((share >= FROM) & (share <= TO))

    return Quantity("learned", f"share learned of mode {number + 1}", of=of)


def _mode_surface(config: Any) -> Surface | None:
    """½s₁²(1 − m₁)² + ½s₂²(1 − m₂)²: what the first two modes have part in the loss."""
    first, second, *_ = [*_strengths(config), 0.0]
    side = np.linspace(FROM, TO, 31)
    values = 0.5 * first**2 * (1 - side[None]) ** 2 + 0.5 * second**2 * (1 - side[:, None]) ** 2
    return Surface(side, side, values, "loss of both modes") if second else None


def _mode_marks(config: Any) -> Sequence[Mark]:
    saddles = (Mark("rank 0", 0.0, 0.0, "saddle"), Mark("rank 1", 1.0, 0.0, "saddle"))
    return (*saddles, Mark("both learned", 1.0, 1.0, "minimum"))


def _saddle_views(by: tuple[str, ...]) -> tuple[Any, ...]:
    return (
        Curves(
            "Plateaus are saddles",
            Quantity("loss", "loss / ½|S|²", of=_relative_loss),
            by=by,
            y="log",
            low=1e-3,
            marks=_levels,
            note="A deep network from small weights rests at each saddle in turn; a shallow one has none.",
        ),
        Plane(
            "From saddle to saddle",
            _mode(0),
            _mode(1),
            by=by,
            surface=_mode_surface,
            marks=_mode_marks,
            equal=True,
            note="Small weights learn one mode at a time, near the saddles; large ones learn both, or start outside.",
        ),
        Curves(
            "Directions of descent",
            "index",
            by=by,
            marks=_indices,
            note="Negative directions of the Hessian where the network is: fewer with every saddle that is passed.",
        ),
    )


def _task_strengths(config: Any) -> np.ndarray:
    return np.linspace(config.strongest, config.weakest, config.modes)


def _towards(axis: int) -> Quantity:
    """The part of the map along S₁, or along the new inputs of S₂, as a share of |s|²; from the least imbalance."""

    def of(data: xr.Dataset, config: Any) -> xr.DataArray:
        strengths, modes = _task_strengths(config), config.modes
        part = at(data["map"], "imbalance", least).isel(input=slice(axis * modes, (axis + 1) * modes))
        pattern = np.diag(strengths) / np.sum(strengths**2)
        return xr.dot(
            part, xr.DataArray(pattern, {"input": part["input"]}, ("output", "input")), dim=["output", "input"]
        )

    return Quantity("map", ("part of the map along task 1", "part along the new inputs of task 2")[axis], of=of)


def _tasks(config: Any) -> dict[str, tuple[float, float]]:
    angle = config.angle * pi / 180.0
    return {"task 1": (1.0, 0.0), "task 2": (cos(angle), sin(angle))}


def _task_marks(config: Any) -> Sequence[Mark]:
    ends = _tasks(config)
    middle = [sum(values) / 2 for values in zip(*ends.values(), strict=True)]
    goals = [Mark(name, *place, shape="minimum") for name, place in ends.items()]
    return [*goals, Mark("both, interleaved", *middle, shape="target"), Mark("start", 0.0, 0.0, "saddle")]


def _task_surface(config: Any) -> Surface:
    """The mean loss over both tasks, in units of |s|²."""
    ends = np.array(list(_tasks(config).values()))
    low, high = np.minimum(ends.min(axis=0), 0.0) - 0.25, np.maximum(ends.max(axis=0), 0.0) + 0.25
    x, y = (np.linspace(low[axis], high[axis], 33) for axis in (0, 1))
    away = (x[None, :, None] - ends[:, 0]) ** 2 + (y[:, None, None] - ends[:, 1]) ** 2
    return Surface(x, y, 0.25 * away.sum(axis=-1), "mean loss of both tasks")


def _mean_share(data: xr.Dataset, config: Any) -> xr.DataArray:
    return at(data["share"], "imbalance", least).mean("task")


def _plane_of_tasks(by: tuple[str, ...]) -> Plane:
    return Plane(
        "From task to task",
        _towards(0),
        _towards(1),
        by=by,
        surface=_task_surface,
        marks=_task_marks,
        equal=True,
        note="What is shown last is learned, and what came before forgotten; interleaving ends half-way.",
    )


CONTINUAL = (
    _plane_of_tasks(("schedule",)),
    Curves(
        "Blocks cost, interleaving is best",
        Quantity("share", "mean loss of both tasks / ½|S₁ − S₂|²", of=_mean_share),
        by=("schedule",),
        marks=lambda config: (Mark("blocked", y=0.5), Mark("interleaved", y=0.25)),
        note="Mean over both tasks, at the smallest imbalance.",
    ),
    Curves(
        "One end, different trajectories",
        Quantity("share", "loss on task 1 / ½|S₁ − S₂|²", where={"schedule": "blocked", "task": 1}),
        by=("imbalance",),
        marks=lambda config: (Mark("switch of the task", x=config.until / 2), Mark("all forgotten", y=1.0)),
        note="The first task is forgotten to the same degree from every imbalance of the layers.",
    ),
)

SEQUENCE = (
    _plane_of_tasks(()),
    Curves(
        "Each block teaches one task and takes the other",
        "share",
        by=("task",),
        marks=lambda config: (Mark("all forgotten", y=1.0),),
    ),
)

TRAINED = 0.01  # of the loss at zero weights: a network below it is trained


def _trained(config: Any) -> Sequence[Mark]:
    return (Mark("trained", y=TRAINED),)


def _training_time(data: xr.Dataset, config: Any) -> xr.DataArray:
    """When the loss has fallen to 1 %, with the pretraining of all layers where it is known; NaN if it has not."""
    from festina.measures import crossings

    found = crossings(-xr.ufuncs.log(data["loss"] + 1e-300), -log(TRAINED)).sortby("depth")
    if "pretraining" not in data or data["pretraining"].isnull().all():
        return found
    return found + data["pretraining"].fillna(0.0).sum("layer")


def _rectangular(data: xr.Dataset, config: Any) -> xr.DataArray:
    times = _training_time(data, config)
    return times.isel(start=np.flatnonzero(times["start"].values != "square"))


def _orthogonal_and_gaussian(data: xr.Dataset, config: Any) -> xr.DataArray:
    return data["loss"].sel(start=["orthogonal", "gaussian"]).sortby("depth")


def _square(data: xr.Dataset, config: Any) -> xr.DataArray:
    """Of the deepest square networks."""
    return at(data["loss"].sel(start="square", drop=True), "depth", largest)


DEPTH = (
    Curves(
        "Training time over depth",
        Quantity("loss", "training time (τ)", of=_rectangular),
        by=("start",),
        along="depth",
        x="log",
        y="log",
        note="Exponential in depth from small weights, linear with pretraining, constant from orthogonal ones.",
    ),
    Curves(
        "Loss of deeper and deeper networks",
        Quantity("loss", of=_orthogonal_and_gaussian),
        by=("start", "depth"),
        x="log",
        y="log",
        low=1e-4,
        marks=_trained,
        note="Orthogonal weights learn at any depth alike; small Gaussian ones wait longer with every layer.",
    ),
    Curves(
        "Square networks: half of them never learn",
        Quantity("loss", of=_square),
        x="log",
        marks=lambda config: (Mark("saddle", y=1.0 / config.outputs),),
        note="A determinant of the wrong sign cannot be changed by balanced layers: such a run ends at a saddle.",
    ),
)

STACK = (
    Curves("The loss of a deep stack", "loss", x="log", y="log", low=1e-4, marks=_trained),
    Curves(
        "Determinant of the map, relative to the task",
        "determinant",
        x="log",
        marks=lambda config: (Mark("task", y=1.0), Mark("saddle", y=0.0)),
        note="It goes to 1, but cannot pass zero where layers are balanced and square.",
    ),
)

VIEWS = {
    "linear/saddles": _saddle_views(("network",)),
    "linear/continual": CONTINUAL,
    "linear/depth": DEPTH,
    "model/saddle-to-saddle": _saddle_views(()),
    "model/task-sequence": SEQUENCE,
    "model/linear-stack": STACK,
}
HEADLINES = {
    "linear/saddles": ("scale", "strongest"),
    "linear/continual": ("angle", "blocks", "imbalance"),
    "linear/depth": ("gain", "depth"),
    "model/saddle-to-saddle": ("scale", "depth"),
    "model/task-sequence": ("angle", "blocks", "mixture"),
    "model/linear-stack": ("depth", "initial", "gain"),
}
MATTERS = {"model/linear-stack": {"level": {"initial": ["pretrained"]}}}
