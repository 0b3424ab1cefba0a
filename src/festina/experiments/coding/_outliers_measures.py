"""The networks of `coding/outliers`, and what is read off them."""

from functools import lru_cache
from typing import Any, NamedTuple

import festina as fs
from festina._lazy import np, xr
from festina.claims import NotApplicable, Undecided
from festina.experiments.coding._common import between_classes, membership
from festina.experiments.coding._sampled import OUTSIDE

ANNEALED, QUENCHED = "common start, annealed", "common start, quenched"
LATE = 0.25  # the last part of all recordings, over which the end is averaged


class Arm(NamedTuple):
    """One network: its name, classes, width, where its temperature begins, and whether all runs share its start."""

    name: str
    counts: tuple[int, ...]
    width: int
    hottest: float
    common: bool

    @property
    def variance(self) -> float:
        """s = 1/P."""
        return 1.0 / sum(self.counts)


def arms(config: Any) -> tuple[Arm, ...]:
    """The first task at all widths, the others at the middle one, and two arms with a common start."""
    first, middle = config.tasks[0], config.widths[len(config.widths) // 2]
    networks = [(first, width) for width in config.widths] + [(task, middle) for task in config.tasks[1:]]
    plain = [
        Arm(f"{'/'.join(map(str, counts))}, N = {width}", counts, width, config.hottest, False)
        for counts, width in networks
    ]
    common = [
        Arm(name, first, middle, hottest, True)
        for name, hottest in ((ANNEALED, config.hottest), (QUENCHED, config.temperature))
    ]
    return (*plain, *common)


def most_classes(config: Any) -> int:
    return max(map(len, config.tasks))


def padded(values: Any, shape: tuple[int, ...]) -> Any:
    return np.pad(values, [(0, full - have) for full, have in zip(shape, np.shape(values), strict=True)])


@lru_cache
def prediction(counts: tuple[int, ...], temperature: float) -> Any:
    """The theory of one task."""
    targets = fs.worlds.orthogonal_classes(counts).class_targets
    return fs.theory.coding.sparse(counts, targets, temperature, 1.0 / sum(counts))


def theory_kernel(config: Any, arm: Arm) -> Any:
    """κ of the theory."""
    labels = membership(fs.worlds.orthogonal_classes(arm.counts))
    return between_classes(prediction(arm.counts, config.temperature).kernels[0], labels)


def annealed(result: Any) -> Any:
    """Arms with a start of their own, all of them cooled."""
    return np.array([not arm.common for arm in arms(result.config)])


def late(result: Any) -> Any:
    """The last recordings."""
    count = result.data.sizes["time"]
    return result.data.isel(time=slice(count - max(1, int(LATE * count)), None))


def standing_out(data: Any, config: Any) -> Any:
    """Which neurons are outliers: (run, time, arm, neuron)."""
    bound = np.array([OUTSIDE * np.sqrt(arm.variance / arm.width) for arm in arms(config)])
    return data["size"].transpose("run", "time", "arm", "neuron").values > bound[None, None, :, None]


def serving(data: Any, config: Any) -> Any:
    """Outliers by the class they serve: (run, time, arm, neuron, class)."""
    best = data["serves"].transpose("run", "time", "arm", "neuron").values.astype(int)
    return standing_out(data, config)[..., None] & np.eye(most_classes(config), dtype=bool)[best]


def number(result: Any) -> Any:
    """Outliers at every time: (run, time, arm)."""
    return standing_out(result.data, result.config).sum(axis=-1)


def codes(config: Any) -> Any:
    """Codes of the theory, of each arm."""
    return np.array([len(prediction(arm.counts, config.temperature).outliers) for arm in arms(config)])


def condensed(result: Any) -> Any:
    """The result itself, unless theory has no outliers in one of its networks."""
    for arm, number in zip(arms(result.config), codes(result.config), strict=True):
        if number == 0:
            raise NotApplicable(f"needs a lower --temperature: in theory there are no outliers with {arm.name}")
    return result


def code_mismatch(result: Any) -> Any:
    """Classes that outliers serve against codes of the theory, as a mean of absolute differences, by run."""
    served = serving(late(result), result.config).any(axis=3).sum(axis=-1).mean(axis=1)
    return np.abs(served - codes(result.config)[None]).mean(axis=1)


def by_code(result: Any) -> Any:
    """Outliers per code in the end: (run, arm)."""
    return standing_out(late(result), result.config).sum(axis=-1).mean(axis=1) / codes(result.config)[None]


def effective_by_code(result: Any) -> Any:
    """(Σq)²/Σq² of the outliers of each class in the end, q = |ā|², mean over classes that have any: (run, arm)."""
    last = late(result)
    share = last["size"].transpose("run", "time", "arm", "neuron").values[..., None] ** 2
    share = share * serving(last, result.config)
    total, squares = share.sum(axis=3), (share**2).sum(axis=3)
    number = np.where(squares > 0, total**2 / np.maximum(squares, 1e-300), 0.0)
    return number.sum(axis=(1, -1)) / np.maximum((squares > 0).sum(axis=(1, -1)), 1)


def sum_difference(result: Any) -> Any:
    """|Σ|ā|² − theory|/theory of the outliers of each class, mean over classes: (run, arm)."""
    last, config = late(result), result.config
    sizes = last["size"].transpose("run", "time", "arm", "neuron").values[..., None] ** 2
    sums = (sizes * serving(last, config)).sum(axis=3).mean(axis=1)
    gaps = []
    for each, arm in enumerate(arms(config)):
        theory = prediction(arm.counts, config.temperature)
        theirs = np.zeros(len(arm.counts))
        np.add.at(theirs, theory.codes.activities.argmax(axis=1), np.sum(theory.outliers**2, axis=1))
        ours = sums[:, each, : len(theirs)][:, theirs > 0]
        gaps.append(np.abs(ours / theirs[theirs > 0][None] - 1.0).mean(axis=1))
    return np.stack(gaps, axis=1)


def kernel_difference(result: Any) -> Any:
    """‖κ − κ_theory‖/‖κ_theory‖ of the mean over late recordings: (run, arm)."""
    dims = ("run", "time", "arm", "class", "other_class")
    ours = late(result)["class_kernel"].transpose(*dims).values.mean(axis=1)
    theirs = result.theory["class_kernel"].transpose(*dims).values[:, -1]
    gaps = np.linalg.norm(ours - theirs, axis=(2, 3)) / np.linalg.norm(theirs, axis=(2, 3))
    return xr.DataArray(gaps, dims=("run", "network"))


def merged(result: Any) -> Any:
    """Outliers when cooling ends, less those of the end: (run, arm)."""
    start = int(np.searchsorted(result["time"].values, result.config.anneal))
    return number(result)[:, start] - number(result)[:, -1]


def kept(result: Any) -> Any:
    """The share of the last outliers that were outliers half-way through holding: (run, arm)."""
    half = int(np.searchsorted(result["time"].values, result.config.anneal + result.config.hold / 2))
    out = standing_out(result.data, result.config)
    return (out[:, half] & out[:, -1]).sum(axis=-1) / np.maximum(out[:, -1].sum(axis=-1), 1)


def width_effect(result: Any) -> float:
    """Outliers per code at the largest width less those at the smallest, mean of runs."""
    per_code = by_code(result).mean(axis=0)
    return float(per_code[len(result.config.widths) - 1] - per_code[0])


def in_common(result: Any, name: str) -> Any:
    """|A ∩ B| over the mean size of the sets of outliers A, B of two runs at the end, for all pairs of runs."""
    which = [arm.name for arm in arms(result.config)].index(name)
    ends = standing_out(result.data, result.config)[:, -1, which]
    pairs = [(one, other) for k, one in enumerate(ends) for other in ends[k + 1 :]]
    if not pairs:
        raise Undecided("needs --seeds 2 or more")
    shares = [2.0 * (one & other).sum() / max((one.sum() + other.sum()), 1) for one, other in pairs]
    return xr.DataArray(shares, dims=("pair",))
