"""What `coding/temperature` reads off its chains, and what theory has beside it."""

from functools import lru_cache
from typing import Any

import festina as fs
from festina._lazy import jax, jnp, np, xr
from festina.claims import NotApplicable, Undecided
from festina.experiments.coding._common import membership, readout_variance
from festina.experiments.coding._sampled import code_numbers, outliers

RECORDS = 8  # at each temperature; the second half of them counts
EQUILIBRIUM = 0.2  # above it neurons of our earlier chains changed their code
TOLERATED = 0.05  # relative difference of kernels up to which a chain counts as in equilibrium
RESOLVED = 0.1  # of temperature, within which an onset is to be found
DRAWN = 20_000  # neurons drawn from the theory, to count their codes as those of samples are counted


def predictions(config: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The theory of sigmoidal and of rectified networks on each rung."""
    solved = [_predictions(config.counts, config.amplitude, each) for each in config.ladder]
    return tuple(each[0] for each in solved), tuple(each[1] for each in solved)


@lru_cache(maxsize=256)
def _predictions(counts: tuple[int, ...], amplitude: float, temperature: float) -> tuple[Any, Any]:
    task = fs.worlds.orthogonal_classes(counts)
    settings = counts, task.class_targets, temperature, fs.networks.bayesian.readout_variance(amplitude, sum(counts), 1)
    return fs.theory.coding.redundant(*settings), fs.theory.coding.sparse(*settings)


@lru_cache
def sparse_onsets(counts: tuple[int, ...], amplitude: float) -> list[float]:
    """Temperatures at which rectified outliers condense in theory."""
    targets = fs.worlds.orthogonal_classes(counts).class_targets
    return fs.theory.coding.sparse_onsets(
        counts, targets, fs.networks.bayesian.readout_variance(amplitude, sum(counts), 1)
    )


@lru_cache(maxsize=256)
def drawn_shares(counts: tuple[int, ...], amplitude: float, temperature: float) -> Any:
    """The share of neurons on for each set of classes, among neurons drawn from the theory."""
    with fs.double():
        prediction = _predictions(counts, amplitude, temperature)[0]
        _, preactivations = prediction.draw_neurons(jax.random.key(0), DRAWN)
        activity = np.asarray(fs.networks.SIGMOIDAL(jnp.asarray(preactivations)))
    labels = membership(fs.worlds.orthogonal_classes(counts))
    on = activity @ labels / labels.sum(axis=0)[None] > 0.5
    return np.bincount(code_numbers(on), minlength=2 ** len(counts)) / DRAWN


def rung(config: Any, time: Any) -> Any:
    """Which rung a time belongs to, counted in the order of climbing."""
    return np.clip((time - 1) // config.stay, 0, len(config.ladder) - 1).astype(int)


def by_rung(variable: Any) -> Any:
    """A recorded variable as (run, arm, rung, recording, …), rungs from hot to cold for every arm."""
    values = variable.transpose("run", "arm", "time", ...).values[:, :, 1:]
    values = values.reshape(*values.shape[:2], -1, RECORDS, *values.shape[3:])
    return np.concatenate([values[:, :1], values[:, 1:2, ::-1], values[:, 2:]], axis=1)


def rung_sample_size(kernel: Any) -> Any:
    """The effective sample size of late recordings on each rung, all runs together, of the entry worst off."""
    late = by_rung(kernel)[:, :, :, RECORDS // 2 :]
    if not np.all(np.isfinite(late)):  # a chain failed
        return np.full(late.shape[1:3], np.nan)
    return fs.measures.effective_sample_size(np.moveaxis(late, 3, 1)).min(axis=(-1, -2))


def persistence(codes: Any) -> Any:
    """1 − d/(1 − Σ_γ P_γ²) from code numbers (…, recording, neuron); d compares the middle recording with the last."""
    changed = (codes[..., RECORDS // 2 - 1, :] != codes[..., -1, :]).mean(axis=-1)
    late = codes[..., RECORDS // 2 :, :]
    shares = np.stack([(late == each).mean(axis=(-1, -2)) for each in range(codes.max() + 1)], axis=-1)
    by_chance = 1.0 - np.sum(shares**2, axis=-1)
    return 1.0 - changed / np.maximum(by_chance, 1.0 / codes.shape[-1])


def code_shares(result: Any) -> Any:
    """The share of sigmoidal neurons in each code, cooled and heated: (run, arm, rung, code)."""
    codes = code_numbers(by_rung(result["activity"])[:, :2, :, RECORDS // 2 :] > 0.5)
    return np.stack([(codes == each).mean(axis=(-1, -2)) for each in range(2 ** len(result.config.counts))], axis=-1)


def theory_kernels(result: Any) -> Any:
    """κ of the theory: (arm, rung, class, other class)."""
    return by_rung(result.theory["class_kernel"])[0, :, :, -1]


def kernel_differences(result: Any) -> Any:
    """‖κ − κ_theory‖/‖κ_theory‖ of each run, arm and rung."""
    ours, theirs = result["rung_kernel"].transpose("run", "arm", "rung", ...).values, theory_kernels(result)
    gaps = np.linalg.norm(ours - theirs[None], axis=(-1, -2)) / np.linalg.norm(theirs, axis=(-1, -2))[None]
    return xr.DataArray(gaps, dims=("run", "arm", "rung"))


def chosen(result: Any, lowest: float, highest: float) -> Any:
    """Rungs within a range of temperatures."""
    ladder = np.asarray(result.config.ladder)
    found = np.flatnonzero((ladder >= lowest) & (ladder <= highest))
    if len(found) == 0:
        raise NotApplicable(f"needs temperatures between {lowest:.3g} and {highest:.3g}")
    return found


def warm_sample_size(result: Any) -> Any:
    """The effective sample size per chain at T ≥ .2, mean of rungs, of each arm."""
    warm = chosen(result, EQUILIBRIUM, 1.0)
    return result["rung_sample_size"].isel(rung=warm).mean("rung") / result.data.sizes["run"]


def warm_difference(result: Any) -> Any:
    """Mean relative difference at T ≥ .2, of each run and of cooled and heated chains."""
    return kernel_differences(result)[:, :2, chosen(result, EQUILIBRIUM, 1.0)].mean("rung")


def sparse_difference(result: Any) -> Any:
    """Mean relative difference of rectified networks at T ≤ .5."""
    return kernel_differences(result)[:, 2, chosen(result, 0.0, 0.5)].mean("rung")


def share_difference(result: Any) -> Any:
    """The largest difference of code shares from those of neurons drawn from the theory, at T ≥ .2."""
    config, rungs = result.config, chosen(result, EQUILIBRIUM, 1.0)
    theirs = np.stack([drawn_shares(config.counts, config.amplitude, config.ladder[each]) for each in rungs])
    return np.abs(code_shares(result)[:, :, rungs].mean(axis=(0, 1)) - theirs).max()


def as_in_reference(config: Any) -> None:
    """Refuse tasks and priors other than those for which temperatures were found before."""
    if [4 * count / sum(config.counts) for count in config.counts] != [2, 1, 1] or config.amplitude != 1.0:
        raise NotApplicable("needs three classes as 2:1:1, and an amplitude of 1")


def theory_onset(config: Any, classes: int) -> float:
    """The temperature at which so many outliers are there in theory."""
    onsets = sparse_onsets(config.counts, config.amplitude)
    if len(onsets) < classes:
        raise NotApplicable(f"needs a task with {classes} outliers in theory")
    return onsets[classes - 1]


def first_codes(config: Any) -> float:
    """The highest temperature of the ladder at which theory has more than one code."""
    several = [len(each.codes.weights) > 1 for each in predictions(config)[0]]
    if not any(several):
        raise NotApplicable("needs a ladder that goes to lower temperatures, at which theory has codes")
    return config.ladder[several.index(True)]


def at_coldest(result: Any, values: Any) -> Any:
    """Values on the last rung; there must be one at T ≤ .1."""
    chosen(result, 0.0, 0.1)
    return values.transpose("run", "arm", "rung").isel(rung=-1)


def freezing_temperature(result: Any) -> Any:
    """Where the persistence of codes passes ½ for good on the way down, between rungs, of each cooled chain."""
    ladder = np.asarray(result.config.ladder)
    course = result["persistence"].transpose("run", "sigmoidal_arm", "rung").values[:, 0]
    if np.any(course[:, -1] < 0.5):
        raise Undecided(f"needs a ladder that goes below {ladder[-1]:g}, where codes still change")
    if np.any(course[:, 0] >= 0.5):
        raise Undecided(f"needs a ladder that begins above {ladder[0]:g}, where codes are frozen already")
    found = []
    for each in course:
        last = int(np.flatnonzero(each < 0.5)[-1])
        way = (0.5 - each[last]) / (each[last + 1] - each[last])
        found.append(ladder[last] * (ladder[last + 1] / ladder[last]) ** way)
    return np.array(found)


def tracking_temperature(result: Any) -> Any:
    """The lowest temperature down to which a cooled chain stays within 5 % of the theory's kernel, of each run."""
    off = kernel_differences(result).values[:, 0] > TOLERATED
    if not np.all(off.any(axis=1)) or np.any(off[:, 0]):
        raise Undecided("needs a ladder from a temperature of equilibrium down to one at which networks are frozen")
    return np.asarray(result.config.ladder)[off.argmax(axis=1) - 1]


def outlier_sets(result: Any) -> Any:
    """Which neurons of the rectified network stand out: (run, rung, recording, neuron), late recordings."""
    readouts = by_rung(result["readout"])[:, 2, :, RECORDS // 2 :]
    return outliers(readouts, readout_variance(result.config))


def served_classes(result: Any) -> Any:
    """In how many classes some outlier is most active, mean over late recordings: (run, rung)."""
    activity = by_rung(result["activity"])[:, 2, :, RECORDS // 2 :]
    best = np.eye(activity.shape[-1])[activity.argmax(axis=-1)] * outlier_sets(result)[..., None]
    return best.max(axis=-2).sum(axis=-1).mean(axis=-1)


def onset(result: Any, classes: int) -> Any:
    """The highest temperature at which outliers serve so many classes, mean of runs."""
    served = served_classes(result) > classes - 0.5
    if not np.all(served.any(axis=1)):
        raise Undecided(
            f"needs a ladder that goes below {result.config.ladder[-1]:g}, or more neurons: too few stand out"
        )
    return np.asarray(result.config.ladder)[served.argmax(axis=1)].mean()


def onset_difference(result: Any, classes: int) -> float:
    """The onset of outliers that serve so many classes, less that of the theory; the ladder must resolve it."""
    theirs = theory_onset(result.config, classes)
    chosen(result, theirs - RESOLVED, theirs)
    return onset(result, classes) - theirs
