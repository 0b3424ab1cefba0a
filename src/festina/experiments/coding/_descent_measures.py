"""What `coding/descent` reads off its networks, and what theory says of it."""

from typing import Any

import festina as fs
from festina._lazy import np
from festina.claims import NotApplicable, Undecided
from festina.experiments.coding._codes import at_own_shares
from festina.experiments.coding._common import between_classes, membership, readout_variance, world
from festina.experiments.coding._comparison import settled, share_called

RESAMPLES = 20
RESTING = 0.02  # by which the loss may still fall in the last tenth of a run
SMALLEST = 1e-9  # standard deviation: descent without noise may leave none at all


def analysed(result: Any, kind: str, training: str, run: int) -> Any:
    """What the analyser says of a network at the end."""
    last = result.data.sel(nonlinearity=kind, training=training).isel(run=run, time=-1)
    readout = last["readout"].transpose("output", "neuron").values
    activity, deviation = (last[name].transpose("class", "neuron").values for name in ("activity", "deviation"))
    labels = world(result.config).labels
    return fs.measures.coding(layer_like(activity, deviation, labels), labels, readout, resamples=RESAMPLES, shuffles=1)


def layer_like(activity: Any, deviation: Any, labels: Any) -> Any:
    """Activations with given means and standard deviations in each class, each (class, neuron): (examples, neurons).

    The analyser's numbers depend on nothing else of a layer, so that no more needs to be recorded.
    """
    signs = np.zeros(len(labels))
    for each in np.unique(labels):
        members = np.flatnonzero(labels == each)
        paired = members[: len(members) // 2 * 2]
        signs[paired] = np.where(np.arange(len(paired)) % 2, -1.0, 1.0) * np.sqrt(len(members) / len(paired))
    return activity[labels] + signs[:, None] * np.maximum(deviation, SMALLEST)[labels]


def schemes(result: Any, kind: str, training: str) -> list[str]:
    """The name of the code at the end, by run."""
    return [analysed(result, kind, training, run).scheme for run in range(result.data.sizes["run"])]


def share_named(result: Any, kind: str, training: str, scheme: str) -> float:
    """The share of runs whose code has this name."""
    return share_called(schemes(result, kind, training), scheme)


def kernel_difference(result: Any, kind: str) -> Any:
    """Of the mean kernel of noisy descent from the theory, relative, by run: √(Σ n_c n_c' Δκ²/Σ n_c n_c' κ²)."""
    theirs = result.theory["mean_class_kernel"].sel(nonlinearity=kind, training="noisy").isel(run=0, time=-1).values
    return np.array([_relative(ours, theirs, result.config.counts) for ours in _noisy_kernels(result, kind)])


def own_shares_difference(result: Any) -> Any:
    """The same for sigmoidal neurons and the theory that takes the shares of codes from the network."""
    labels = membership(world(result.config))
    late = settled(result.data).sel(nonlinearity="sigmoidal", training="noisy")
    network = fs.models.WideBayesian(counts=result.config.counts, amplitude=result.config.amplitude)
    differences = []
    for run, ours in enumerate(_noisy_kernels(result, "sigmoidal")):
        theirs = at_own_shares(late.isel(run=run), network, result.config.temperature)
        differences.append(_relative(ours, between_classes(theirs.kernels[-1], labels), result.config.counts))
    return np.array(differences)


def _noisy_kernels(result: Any, kind: str) -> Any:
    last = settled(result.data)["mean_class_kernel"].sel(nonlinearity=kind, training="noisy").isel(time=-1)
    return last.transpose("run", "class", "other_class").values


def _relative(ours: Any, theirs: Any, counts: Any) -> float:
    weight = np.sqrt(np.outer(counts, counts))
    return float(np.linalg.norm(weight * (ours - theirs)) / np.linalg.norm(weight * theirs))


def answer_difference(result: Any, kind: str) -> Any:
    """The largest difference of a mean answer of noisy descent from the theory, over classes and outputs, by run."""
    ours, theirs = (
        each["mean_answer"].sel(nonlinearity=kind, training="noisy").isel(time=-1)
        for each in (settled(result.data), result.theory)
    )
    return abs(ours - theirs).max(("class", "output")).values


def virial(result: Any, kind: str) -> Any:
    """⟨θ·∂U/∂θ⟩ a weight of noisy descent, mean over draws, by run."""
    return settled(result.data)["virial"].sel(nonlinearity=kind, training="noisy").isel(time=-1).values


def loss_over_minimum(result: Any, kind: str, training: str) -> Any:
    """The loss at the end over that at the least U, by run; it must have come to rest."""
    course = result["loss"].sel(nonlinearity=kind, training=training).transpose("run", "time").values
    before = course[:, -1 - max(1, course.shape[1] // 10)]
    falls = float(np.max(before / course[:, -1])) - 1.0
    if falls > RESTING:
        raise Undecided(f"needs more --draws: the loss still falls, by {falls:.0%} in the last tenth of the run")
    return course[:, -1] / least_loss(result.config, kind)


def least_loss(config: Any, kind: str) -> float:
    """(1/2P) Σ_k min(σ_k, T/√s)²: σ are singular values of the targets or, for rectified neurons, √n_c |y_c|.

    A linear network at the least U has balanced layers, and its U is (N/2T)|Y − F|² + (N/√s) × the sum of singular
    values of F. Activity of rectified neurons is not negative, and if targets of different classes have negative
    products, as here, each class has neurons of its own.
    """
    data = world(config)
    if kind == "linear":
        sizes = np.linalg.svd(np.asarray(data.targets), compute_uv=False)
    elif kind == "rectified":
        sizes = np.sqrt(np.asarray(config.counts)) * np.linalg.norm(data.class_targets, axis=1)
    else:
        raise NotApplicable("needs linear or rectified neurons: there is no closed form for others")
    residuals = np.minimum(sizes, config.temperature / np.sqrt(readout_variance(config)))
    return float(0.5 * np.sum(residuals**2) / sum(config.counts))
