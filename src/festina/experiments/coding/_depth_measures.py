"""What `coding/depth` reads off the layers of its networks, and what theory says of them."""

from functools import lru_cache
from typing import Any

import festina as fs
from festina._lazy import np
from festina.claims import NotApplicable, Undecided
from festina.experiments.coding._common import readout_variance, world
from festina.experiments.coding._comparison import share_called
from festina.experiments.coding._sampled import class_variance

LAYERS = (1, 2)
COLD = "sigmoidal cold"
SCRATCH = ("sigmoidal warm", "sigmoidal mild")
ARMS = ("linear", *SCRATCH, COLD, "rectified")
COLDEST = {"linear": "linear", "sigmoidal": COLD, "rectified": "rectified"}  # arms in which codes are clear
EQUILIBRIUM = ("linear", *SCRATCH)  # arms that are compared with theory in equilibrium
SOLVED = 1e-3  # the mismatch below which equations count as solved
LADDER = (1.0, 0.7, 0.6, 0.5, 0.45, 0.4, 0.35)


def temperature(config: Any, arm: str) -> float:
    """The temperature of an arm."""
    fields = ("temperature", "warm", "mild", "cold", "temperature")
    return float(getattr(config, fields[ARMS.index(arm)]))


def layer_blocks(kernels: Any, config: Any) -> list[Any]:
    """Kernels (runs, examples, examples) as `fs.theory.coding.Blocks`, one for each run."""
    labels = world(config).labels
    return [fs.theory.coding.blocks(kernel, labels) for kernel in kernels]


def measured(result: Any, arm: str, layer: int) -> list[Any]:
    """The mean kernel of a layer over draws, as blocks, run by run."""
    kernels = result["kernel"].sel(arm=arm, layer=layer).transpose("run", "example", "other").values
    return layer_blocks(kernels, result.config)


def sharpness_of(blocks: Any, counts: Any) -> float:
    """η² = V/(V + Σ_c p_c D_c), the share of variance between classes."""
    variance = float(class_variance(blocks.between, counts))
    return variance / (variance + float(np.asarray(counts) @ blocks.excess) / sum(counts))


def sharpness(result: Any, arm: str) -> Any:
    """η² of each layer: (run, layer)."""
    counts = result.config.counts
    return np.array([[sharpness_of(each, counts) for each in measured(result, arm, layer)] for layer in LAYERS]).T


def layers_alike(result: Any, arm: str) -> Any:
    """The cosine between the kernels of both layers between classes, weighted by class and centred, by run."""
    portions = np.asarray(result.config.counts) / sum(result.config.counts)
    centring = np.eye(len(portions)) - portions[None]
    weighted = np.sqrt(portions)[:, None] * centring

    def told(blocks: Any) -> Any:
        return weighted @ blocks.between @ weighted.T

    pairs = zip(*(measured(result, arm, layer) for layer in LAYERS), strict=True)
    return np.array([_cosine(told(one), told(other)) for one, other in pairs])


def _cosine(one: Any, other: Any) -> float:
    return float(np.sum(one * other) / (np.linalg.norm(one) * np.linalg.norm(other)))


def analysed(result: Any, arm: str, layer: int, run: int) -> Any:
    """What the analyser makes of a layer at the end of a chain, with its readout if it is the last."""
    hidden = result["hidden"].isel(run=run).sel(arm=arm, layer=layer).transpose("example", "neuron").values
    last = result["readout"].isel(run=run, time=-1).sel(arm=arm).transpose("output", "neuron").values
    readout = last if layer == LAYERS[-1] else None
    return fs.measures.coding(hidden, world(result.config).labels, readout, resamples=0, shuffles=0)


def scheme_share(result: Any, arm: str, layer: int, scheme: str) -> float:
    """The share of runs in which the analyser gives a layer this scheme."""
    runs = range(result.data.sizes["run"])
    return share_called([analysed(result, arm, layer, run).scheme for run in runs], scheme)


def predicted_kernels(config: Any) -> Any:
    """Kernels of both layers, where there is a theory from scratch that is solved: (arm, layer, example, other)."""
    examples = sum(config.counts)
    kernels = np.full((len(ARMS), len(LAYERS), examples, examples), np.nan)
    kernels[ARMS.index("linear")] = linear(config).kernels
    for arm in SCRATCH:
        found = solved(config).get(temperature(config, arm))
        if found is not None:
            kernels[ARMS.index(arm)] = found.kernels
    return kernels


def linear(config: Any) -> Any:
    """The closed form of two linear layers as T → 0."""
    data = world(config)
    neurons = config.width if config.width > len(data.labels) else np.inf
    variance = readout_variance(config, len(LAYERS))
    targets = np.asarray(data.targets)
    return fs.theory.coding.analog_at_zero(np.eye(len(targets)), targets, variance, len(LAYERS), neurons)


def solutions(config: Any) -> dict[float, Any]:
    """Both sigmoidal layers from scratch, at falling temperatures, by temperature; read their `mismatch`."""
    own = {temperature(config, arm) for arm in SCRATCH}
    course = {each for each in LADDER if each >= config.lowest} | {each for each in own if each >= config.lowest}
    return _solved(config.counts, readout_variance(config, len(LAYERS)), tuple(sorted(course, reverse=True)))


def solved(config: Any) -> dict[float, Any]:
    """Those of them whose equations are solved."""
    return {heat: each for heat, each in solutions(config).items() if each.diagnostics["mismatch"] < SOLVED}


def lowest_asked_for(config: Any) -> float:
    """The lowest temperature at which a solution was tried."""
    return min(solutions(config))


def lowest_solved(config: Any) -> float:
    """The lowest temperature at which the equations are solved."""
    return min(solved(config), default=np.inf)


@lru_cache
def _solved(counts: tuple[int, ...], variance: float, temperatures: tuple[float, ...]) -> dict[float, Any]:
    targets = fs.worlds.orthogonal_classes(counts).class_targets
    found = fs.theory.coding.two_layers(counts, targets, temperatures, variance)
    return dict(zip(temperatures, found, strict=True))


def is_checked(config: Any, arm: str) -> bool:
    """Whether the second layer of an arm is to be compared with theory on top of the measured first."""
    return temperature(config, arm) >= config.lowest_given


def given_first(result: Any, arm: str) -> list[Any]:
    """The second layer that theory puts on the measured first one, as blocks, run by run."""
    if not is_checked(result.config, arm):
        raise NotApplicable(f"needs --lowest-given {temperature(result.config, arm):g}")
    labels = world(result.config).labels
    settings = result.config.counts, temperature(result.config, arm), readout_variance(result.config, len(LAYERS))
    first = measured(result, arm, LAYERS[0])
    found = [
        _second(*settings, tuple(map(tuple, each.between.tolist())), tuple(each.excess.tolist())) for each in first
    ]
    return [fs.theory.coding.blocks(each.kernels[-1], labels) for each in found]


@lru_cache
def _second(
    counts: tuple[int, ...],
    heat: float,
    variance: float,
    between: tuple[tuple[float, ...], ...],
    excess: tuple[float, ...],
) -> Any:
    targets = fs.worlds.orthogonal_classes(counts).class_targets
    first = fs.theory.coding.Blocks(np.array(between), np.array(excess))
    return fs.theory.coding.second_layer(counts, targets, heat, variance, first)


def given_first_difference(result: Any, arm: str) -> Any:
    """‖K_2 − K_2,theory‖/‖K_2,theory‖, class by class, of each run."""
    return _distances(measured(result, arm, LAYERS[-1]), given_first(result, arm), result.config)


def kernel_difference(result: Any, arm: str, layer: int) -> Any:
    """‖K − K_theory‖/‖K_theory‖, class by class, of each run."""
    theirs = result.theory["kernel"].sel(arm=arm, layer=layer).transpose("run", "example", "other").values
    if not np.all(np.isfinite(theirs)):
        heat = temperature(result.config, arm)
        if heat < result.config.lowest:
            raise NotApplicable(f"needs --lowest {heat:g}, down to which theory is then solved")
        raise Undecided(f"needs a solution of the equations at T = {heat:g}, which our solver does not find")
    return _distances(measured(result, arm, layer), layer_blocks(theirs, result.config), result.config)


def _distances(ours: list[Any], theirs: list[Any], config: Any) -> Any:
    counts = np.asarray(config.counts, float)
    return np.array([one.distance(other, counts) for one, other in zip(ours, theirs, strict=True)])
