"""What to look at in networks that learn which task is on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from festina._lazy import np, xr
from festina.views import _gated as gated
from festina.views import _maps as maps
from festina.views import _reduced as reduced
from festina.views._entries import some
from festina.views.vocabulary import Curves, Heat, Mark, Plane, Quantity

PLANE = "A student at a teacher knows its task; students in between follow the current task."
SWITCH = "A letter says which task is shown from there on; nothing announces it."

COURSES = (
    gated.students("Students in the plane of their teachers", ("path",), PLANE),
    gated.gates("Gates come to choose among students", ("path",), SWITCH),
    gated.loss("Relearning becomes switching", (), SWITCH),
)
BY_ARM = (
    gated.students("Students in the plane of their teachers", ("arm", "path"), PLANE),
    gated.gates("Gates come to choose among students", ("arm", "path"), SWITCH),
    gated.loss("Relearning becomes switching", ("arm",), SWITCH),
)
FEW_SHOT = (
    Curves(
        "Samples that a switch takes",
        gated.early_and_late("loss", 8, 6),
        by=("arm", "stage"),
        along="step",
        note="Loss after the first switch, and after the last six so far.",
    ),
    gated.students("Students in the plane of their teachers", ("arm", "path"), PLANE),
    gated.gates("Gates come to choose among students", ("arm", "path"), SWITCH),
)
PRACTICE = (
    Curves(
        "Every switch is easier than the one before, or harder",
        gated.each_switch("loss", 10, 4),
        by=("arm", "stage"),
        along="step",
        note="Loss in the first steps after each of the first switches, and after the last one so far.",
    ),
    gated.gates("Gates come to choose among students", ("arm", "path"), SWITCH),
    gated.students("Students in the plane of their teachers", ("arm", "path"), PLANE),
)


def specialisation(data: xr.Dataset, config: Any) -> xr.DataArray:
    """½|a₁₁ − a₂₁ − a₁₂ + a₂₂|, a being cosines of teachers and students: nought if both students do the same."""
    cosine = data["alignment"]
    a, b, c, d = (cosine.isel(teacher=m, path=p, drop=True) for m in (0, 1) for p in (0, 1))
    return 0.5 * abs(a - b - c + d)


def _with_bound(data: xr.Dataset, config: Any) -> xr.DataArray:
    """Specialisation of each arm, and 1 − ρ, which is all that there can be."""
    own = specialisation(data, config)
    bound = (own.isel(arm=0, drop=True) * 0 + 1 - own["similarity"]).expand_dims(arm=["1 − ρ, the most"])
    return xr.concat([own, bound], "arm")


SIMILARITY = (
    Curves(
        "Similar tasks are not told apart",
        Quantity("alignment", "specialisation", of=_with_bound),
        by=("arm",),
        along="similarity",
        note="Difference of what the two students know, against the cosine ρ of the two teachers.",
    ),
    Curves(
        "Specialisation grows, if at all",
        Quantity(
            "alignment", "specialisation", of=lambda data, config: some(specialisation(data, config), arm="flexible")
        ),
        by=("similarity",),
    ),
    gated.gates("Gates of both arms, of the least similar tasks", ("arm", "path"), similarity=0.0),
)


BY_RANK = Quantity("components", "total alignment", of=gated.total_alignment)
DIMENSION = (
    Curves("Many modes make gates fast", BY_RANK, by=("condition", "rank")),
    Curves(
        "Alignment by the rank of tasks",
        BY_RANK,
        by=("condition",),
        along="rank",
    ),
    gated.gates("Gates, at equal timescales", ("rank",), condition="equal timescales"),
)


def _triangle(along: Sequence[float], label: str) -> Quantity:
    """A coordinate of students in the plane of the triangle of three teachers."""

    def of(data: xr.Dataset, config: Any) -> xr.DataArray:
        share = data["components"].isel(teacher=slice(3)) / gated.teacher_norm(config)
        place = xr.dot(share, xr.DataArray(np.asarray(along), dims="teacher"), dim="teacher")
        return gated.student_names(some(place, setting="task-unit"))

    return Quantity("components", label, of=of)


CORNERS = np.array([[-(0.5**0.5), -(6**-0.5)], [0.5**0.5, -(6**-0.5)], [0.0, 2 * 6**-0.5]])
"""Teachers A, B and C in the plane of their triangle."""


def _corners(config: Any) -> Sequence[Mark]:
    middles = [(CORNERS[k] + CORNERS[(k + 1) % 3]) / 2 for k in range(3)]
    own = [Mark(f"teacher {'ABC'[k]}", float(x), float(y), "target") for k, (x, y) in enumerate(CORNERS)]
    return (*own, *(Mark(("AB", "BC", "CA")[k], float(x), float(y), "point") for k, (x, y) in enumerate(middles)))


def _in_triangle(title: str, by: tuple[str, ...], note: str) -> Plane:
    x, y = (_triangle(CORNERS[:, k].tolist(), f"direction {k + 1} in the teachers' triangle") for k in (0, 1))
    return Plane(title, x, y, by=by, marks=_corners, equal=True, note=note)


MIXTURES = (
    _in_triangle(
        "Students turn about the middle of the teachers' triangle",
        ("arm", "path"),
        "Tasks are the midpoints of its sides: any triangle that holds them is a solution; students keep turning.",
    ),
    gated.gates("Two gates are half open in every task", ("arm", "path")),
    gated.loss("Loss on the task shown", ("arm",)),
)


def _novel(config: Any) -> Sequence[Mark]:
    return (Mark("new tasks begin", x=float(config.training_blocks * config.block_length)),)


def _of_setting(variable: str) -> Quantity:
    return Quantity(variable, of=lambda data, config: some(data[variable], setting="task-unit"))


COMPOSITION = (
    Curves(
        "New combinations of known tasks are solved almost at once",
        _of_setting("loss"),
        by=("arm",),
        marks=_novel,
        note="Single teachers first, then pairs of them.",
    ),
    _in_triangle("Students in the triangle of their teachers", ("arm", "path"), PLANE),
    Curves(
        "Gates combine what students know",
        Quantity(
            "gates",
            "gate c",
            of=lambda data, config: gated.student_names(some(data["gates"], setting="task-unit", arm=("flexible",))),
        ),
        by=("path",),
        marks=_novel,
    ),
)

KEPT_COST = 0.01  # of gates in what is kept, in units of the teachers' norm


def kept(data: xr.Dataset, config: Any) -> xr.DataArray:
    """The share that gates alone could still make of all teachers, in the mean over these; of the first runs."""
    import festina as fs

    few = gated.thinned(data[["components", "overlaps"]], 24).isel(run=slice(2))
    shares = xr.apply_ufunc(
        lambda components, overlaps: fs.measures.kept_shares(
            components, overlaps, KEPT_COST * gated.teacher_norm(config) ** 2
        ),
        *(few["components"], few["overlaps"]),
        input_core_dims=[["teacher", "path"], ["path", "other"]],
        output_core_dims=[["teacher"]],
    )
    known = few["components"].notnull().any(["teacher", "path"])
    return shares.mean("teacher").where(known)


CAPACITY = (
    Heat(
        "How much of M tasks P paths keep",
        Quantity("overlaps", "share kept", of=lambda data, config: kept(data, config).mean("run")),
        rows="tasks",
        columns="paths",
        panels=("arm",),
        low=0.0,
        high=1.0,
        note="The bound is P/M, or all.",
    ),
    Curves(
        "Share kept over time, of the most tasks",
        Quantity(
            "overlaps", "share kept", of=lambda data, config: some(kept(data, config).isel(tasks=-1), arm="flexible")
        ),
        by=("paths",),
        marks=lambda config: tuple(
            Mark(f"P = {paths}", y=paths / max(config.tasks)) for paths in config.paths if paths <= max(config.tasks)
        ),
    ),
    Curves("Loss on the task shown", "loss", by=("arm", "paths")),
)


def _use(data: xr.Dataset, config: Any) -> xr.DataArray:
    """|c| |W|/|W*| of every path, the strongest first at each moment."""
    use = (abs(data["gates"]) * data["norms"] / gated.teacher_norm(config)).transpose(..., "path")
    ranked = use.copy(data=-np.sort(-use.values, axis=-1))
    return ranked.assign_coords(path=[f"rank {k + 1}" for k in range(ranked.sizes["path"])])


USE = Quantity("norms", "use |c| |W| / |W*|", of=_use)
RANKED = "Paths by their rank: at each moment the one that is used most comes first."
REDUNDANCY = (
    Curves("A cost of weights silences paths that are not needed", USE, by=("arm", "path"), note=RANKED),
    Curves(
        "Norms of the paths",
        Quantity("norms", "|W| / |W*|", of=lambda data, config: data["norms"] / gated.teacher_norm(config)),
        by=("arm",),
    ),
    gated.loss("Loss on the task shown", ("arm",)),
)
REDUNDANT = (
    Curves("How much each path is used", USE, by=("path",), note=RANKED),
    gated.gates("Gates", ("path",), SWITCH),
    gated.loss("Loss on the task shown", ()),
)


def _students_alone(title: str, panels: tuple[str, ...]) -> Heat:
    quantity = Quantity(
        "alone", "accuracy of a student alone", of=lambda data, config: gated.student_names(data["alone"])
    )
    return Heat(title, quantity, rows="task", columns="path", panels=panels, low=0.0, high=1.0)


IMAGES = (
    Curves("Accuracy through switches of the labelling", "accuracy", by=("arm",), marks=gated.beginnings),
    gated.gates("Gates come to choose among students", ("arm", "path"), SWITCH),
    _students_alone("What each student knows of each task", ("arm",)),
)
CLOTHES = (
    Curves("Accuracy through switches of the labelling", "accuracy", by=("labelling", "arm"), marks=gated.beginnings),
    gated.gates("Gates of the flexible network", ("labelling", "path"), SWITCH, arm="flexible"),
    _students_alone("What each student knows of each task", ("labelling", "arm")),
)
IMAGE_MODEL = (
    Curves("Accuracy through switches of the labelling", "accuracy", marks=gated.beginnings),
    gated.gates("Gates come to choose among students", ("path",), SWITCH),
    _students_alone("What each student knows of each task", ()),
)

VIEWS = {
    "model/task-abstraction": COURSES,
    "model/redundant-paths": REDUNDANT,
    "model/composition": COURSES,
    "model/interleaved-abstraction": COURSES,
    "model/projected-abstraction": COURSES,
    "model/image-abstraction": IMAGE_MODEL,
    "model/connected-abstraction": maps.connected(()),
    "model/reduced-abstraction": reduced.MODEL,
    "model/bounded-gates": reduced.GATES,
    "abstraction/specialization": BY_ARM,
    "abstraction/few_shot": FEW_SHOT,
    "abstraction/practice": PRACTICE,
    "abstraction/similarity": SIMILARITY,
    "abstraction/dimension": DIMENSION,
    "abstraction/mixtures": MIXTURES,
    "abstraction/composition": COMPOSITION,
    "abstraction/capacity": CAPACITY,
    "abstraction/redundancy": REDUNDANCY,
    "abstraction/images": IMAGES,
    "abstraction/clothes": CLOTHES,
    "abstraction/connected": maps.connected(("arm",)),
    "abstraction/connected_map": maps.CONNECTED_MAP,
    "abstraction/regimes": maps.REGIMES,
    "abstraction/starts": maps.STARTS,
    "abstraction/interleaved": maps.INTERLEAVED,
    "abstraction/blocks": reduced.BLOCKS,
    "abstraction/mechanism": reduced.MECHANISM,
    "abstraction/reduction": reduced.REDUCTION,
    "abstraction/regularizer": reduced.REGULARIZER,
}
SPEED = ("gate_timescale", "strength", "block_length")
HEADLINES = {
    "model/task-abstraction": SPEED,
    "model/redundant-paths": ("paths", "gate_timescale", "column_cost"),
    "model/composition": SPEED,
    "model/interleaved-abstraction": ("switching", "gate_timescale", "strength"),
    "model/projected-abstraction": ("gate_timescale", "scale"),
    "model/image-abstraction": ("gate_timescale", "strength"),
    "model/connected-abstraction": SPEED,
    "model/reduced-abstraction": ("gate_timescale", "block_length", "begin"),
    "model/bounded-gates": ("first", "second", "nonnegativity"),
    "abstraction/specialization": SPEED,
    "abstraction/few_shot": ("gate_timescale", "order"),
    "abstraction/practice": ("gate_timescale", "strength"),
    "abstraction/similarity": ("similarity", "normalization"),
    "abstraction/dimension": ("gate_timescale", "nonnegativity", "rank"),
    "abstraction/mixtures": ("gate_timescale", "block_length"),
    "abstraction/composition": ("gate_timescale", "training_blocks"),
    "abstraction/capacity": ("paths", "tasks", "block_length"),
    "abstraction/redundancy": ("column_cost", "square_cost"),
    "abstraction/images": ("gate_timescale", "strength"),
    "abstraction/clothes": ("gate_timescale", "strength"),
    "abstraction/connected": SPEED,
    "abstraction/connected_map": SPEED,
    "abstraction/regimes": SPEED,
    "abstraction/starts": ("scale", "initial_gate"),
    "abstraction/interleaved": ("gate_timescale", "switching"),
    "abstraction/blocks": ("block_length", "gate_timescale"),
    "abstraction/mechanism": ("adapting_gate_timescale", "adapting_timescale"),
    "abstraction/reduction": ("scale", "gate_timescale"),
    "abstraction/regularizer": ("nonnegativity", "normalization"),
}
BATCHES = {"data": ["sampled", "wishart"]}
TWINS = {"begin": ["twins"]}
MATTERS = {
    **{
        f"model/{name}": {"batch": BATCHES}
        for name in ("task-abstraction", "redundant-paths", "composition", "interleaved-abstraction")
    },
    "model/connected-abstraction": {"batch": BATCHES},
    "model/projected-abstraction": {"batch": BATCHES, "angle": {"begin": ["mirrored"]}},
    "model/reduced-abstraction": {
        "scale": {"begin": ["random"]},
        "difference": TWINS,
        "along_first": TWINS,
        "along_second": TWINS,
        "along_gate": TWINS,
    },
}
