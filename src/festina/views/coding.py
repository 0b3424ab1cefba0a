"""What to look at in wide Bayesian networks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from festina._lazy import np, xr
from festina.views import _neurons as neurons
from festina.views._entries import first_of, panel_of, some
from festina.views.vocabulary import Bars, Curves, Heat, Mark, Quantity

MELTS = "Raise the temperature and the code melts."
ANALOG = f"A cloud: every neuron carries its own mixture of classes, Gaussian as theory has it (rings). {MELTS}"
REDUNDANT = f"Islands: many neurons share a code, at the places that theory has. {MELTS}"
SPARSE = f"All but a few neurons stay at zero; the outliers stand where theory has them. {MELTS}"
CODES = "A code is the set of classes for which a neuron is on."
ANY = f"Neurons that share a code share a place: a cloud, islands, or a few outliers. {MELTS}"


def _wide(experiment: str, note: str) -> tuple[Any, ...]:
    return (
        neurons.readouts("Readouts of all neurons, and where theory has them", note, experiment),
        neurons.raster("Activity of neurons in each class", note="Rows stand in the order of their code."),
        neurons.kernels("Kernel between classes"),
    )


COLD = ("equilibrium", "cooled", "planted")
REDUNDANT_VIEWS = (
    neurons.readouts(
        "Readouts of all neurons, and where theory has them", REDUNDANT, "coding/redundant", phase="equilibrium"
    ),
    neurons.raster(
        "Codes of three chains",
        ("phase",),
        "Chains that cool down freeze with shares of their own; planted ones have those of theory.",
        phase=COLD,
    ),
    neurons.kernels("Kernel between classes", ("phase",), phase=COLD),
)


DIGITS = (
    neurons.raster("One task, three codes", ("nonlinearity",), "Rows stand in the order of their code."),
    neurons.kernels("Kernel between digits", ("nonlinearity",)),
    neurons.kernels(
        "Features of images that were never seen", ("nonlinearity",), variable="test_class_kernel", note="At the end."
    ),
)
DESCENT = (
    neurons.raster(
        "Codes by nonlinearity and by how networks are trained",
        ("nonlinearity", "training"),
        "Noise, plain descent and momentum keep the code of a nonlinearity; Adam need not.",
    ),
    Curves("How the loss falls", "loss", by=("training",), y="log"),
    neurons.kernels("Kernel between classes", ("nonlinearity", "training")),
)


def sharpness(data: xr.Dataset, config: Any) -> xr.DataArray:
    """η² of every layer: the share of the variance of activity over examples that lies between classes."""
    counts = np.asarray(config.counts, float)
    share = xr.DataArray(counts / counts.sum(), dims="class")
    between = neurons.class_signal(data[["between"]].rename(between="class_kernel"), config)
    return between / (between + (data["excess"] * share).sum("class", skipna=False))


DEEPER = (
    neurons.layered("Classes are sharper in every layer", ("nonlinearity", "layer"), "Of the deepest networks."),
    neurons.raster("Activity of the last layer", ("nonlinearity", "depth")),
    Curves(
        "Sharpness of every layer",
        Quantity("between", "sharpness η²", of=sharpness),
        by=("nonlinearity", "depth"),
        along="layer",
        note="The share of the variance over examples that lies between classes, at the end.",
    ),
)


def _of_examples(data: xr.Dataset, config: Any) -> xr.DataArray:
    """Kernels of the last layer, each over its largest."""
    kernel = data["kernels"].isel(layer=-1, drop=True)
    return kernel / kernel.max(["example", "other"]).clip(min=1e-30)


DEPTH = (
    neurons.layered(
        "The second layer has the classes sharper than the first",
        ("network", "layer"),
        network=("linear", "sigmoidal cold", "rectified"),
    ),
    neurons.raster("Activity of the second layer", ("network",)),
    Heat(
        "Kernels between examples, and theory",
        Quantity("kernels", "kernel", of=_of_examples),
        rows="example",
        columns="other",
        panels=("network",),
        note="Of the second layer, at the end.",
    ),
)


def _by_examples(array: xr.DataArray, config: Any, networks: tuple[str, ...]) -> xr.DataArray:
    """Arms of `coding/scaling` along the number of examples, of some networks."""
    own = some(panel_of(array, config, "coding/scaling", "sampled"), network=networks)
    counts = sorted(config.counts)
    return own.rename(counts="examples").assign_coords(examples=[sum(each) for each in counts]).sortby("examples")


def _signal(data: xr.Dataset, config: Any) -> xr.DataArray:
    """V of each arm; classes have the same shares in all of them, but for rounding."""
    return neurons.class_signal(data, config.model_copy(update={"counts": max(config.counts)}))


def _sharp_last(data: xr.Dataset, config: Any) -> xr.DataArray:
    """η² of the last layer of each arm; classes have the same shares in all arms, but for rounding."""
    values = sharpness(data, config.model_copy(update={"counts": max(config.counts)}))
    every = [values.isel(layer=layer, drop=True) for layer in range(values.sizes["layer"])]
    return reduce(lambda lower, upper: upper.fillna(lower), every)


def _sharp(title: str, networks: tuple[str, ...], note: str = "") -> Curves:
    def of(data: xr.Dataset, config: Any) -> xr.DataArray:
        return _by_examples(_sharp_last(data, config), config, networks)

    quantity = Quantity("between", "sharpness η² of the last layer", of=of)
    return Curves(title, quantity, by=("network", "exponent"), along="examples", x="log", note=note)


SHALLOW, DEEP = ("linear", "sigmoidal"), ("deep-linear", "deep-sigmoidal")
SCALING = (
    Curves(
        "Classes in the kernel, by the number of examples",
        Quantity(
            "class_kernel",
            "class variance V of the kernel",
            of=lambda data, config: _by_examples(_signal(data[["class_kernel"]], config), config, SHALLOW),
        ),
        by=("network", "exponent"),
        along="examples",
        x="log",
        note="Only with a prior that falls as 1/P (exponent 1) are many examples coded as few are.",
    ),
    _sharp("Sharpness of one layer, and theory", SHALLOW, "The share of variance that lies between classes."),
    _sharp("Sharpness of the second of two layers", DEEP),
)


def _outliers(panel: str, name: str) -> Quantity:
    """How many neurons have a readout |a| > 8√s, in networks of one panel."""

    def of(data: xr.Dataset, config: Any) -> xr.DataArray:
        import festina as fs

        arms: Any = fs.lab.find("coding/outliers").arms_at(config)
        variance = xr.DataArray([float(arm.model.readout_variance) for arm in arms], dims="arm")
        readout = data["readout"]
        known = readout.notnull().any(["neuron", "output"])
        large = (readout.fillna(0.0) ** 2).sum("output") > 64 * variance
        own = panel_of(large.sum("neuron").where(known), config, "coding/outliers", panel)
        return own.sel(counts="/".join(map(str, config.counts[0])), drop=True) if "counts" in own.dims else own

    return Quantity("readout", name, of=of)


STRONGEST = 24  # neurons of a ranking


def _ranked(data: xr.Dataset, config: Any) -> xr.DataArray:
    """Lengths of the longest readouts over √N, of the first task at each width; in theory those of one outlier each."""
    if "readout" not in data:
        return _predicted_ranks(config)
    own = panel_of(data["readout"], config, "coding/outliers", "own")
    own = own.sel(counts="/".join(map(str, config.counts[0])), drop=True)
    length = (own**2).sum("output", skipna=True, min_count=1) ** 0.5 / own["width"] ** 0.5
    ordered = -np.sort(-np.nan_to_num(length.transpose(..., "neuron").values, nan=0.0), axis=-1)[..., :STRONGEST]
    ranked = length.transpose(..., "neuron").isel(neuron=slice(ordered.shape[-1])).copy(data=ordered)
    return ranked.rename(neuron="rank").assign_coords(rank=np.arange(1, ordered.shape[-1] + 1))


def _predicted_ranks(config: Any) -> xr.DataArray:
    found = {}
    for width in sorted(config.width):
        theory = neurons.theory_of(neurons.network_of("coding/outliers", config, width=width, counts=config.counts[0]))
        lengths = [] if theory is None else np.sort(np.linalg.norm(theory.outliers, axis=1))[::-1]
        found[width] = np.concatenate([lengths, np.zeros(STRONGEST)])[:STRONGEST]
    coords = {"width": list(found), "rank": np.arange(1, STRONGEST + 1)}
    return xr.DataArray(list(found.values()), coords, ("width", "rank"))


OUTLIERS = (
    Curves(
        "Outliers appear as networks cool, and merge",
        _outliers("own", "number of outliers"),
        by=("width",),
        marks=lambda config: (Mark("one for each class", y=float(len(config.counts[0]))),),
        note="Neurons with readouts beyond eight standard deviations of the prior; of the first task.",
    ),
    Curves(
        "How long readouts are, by rank",
        Quantity("class_kernel", "|a|/√N", of=_ranked),
        by=("width",),
        along="rank",
        note="Few neurons stand out, all others stay as they were.",
    ),
    Curves("Cooling that dwells where codes condense", _outliers("dwelling", "number of outliers"), by=("dwelling",)),
)


def _evidence(variable: str) -> Quantity:
    """The answer for the first class along growing evidence for it: of draws, whose mean theory has, or their mean."""

    def of(data: xr.Dataset, config: Any) -> xr.DataArray | None:
        from festina.models.wide_bayesian import LEVELS, MOST_EVIDENCE

        name = "test" if variable == "test" and "test" in data else "mean"
        if name not in data:
            return None
        answers = data[name].isel(input=slice(LEVELS), output=0, drop=True).rename(input="evidence")
        return answers.assign_coords(evidence=np.linspace(0.0, MOST_EVIDENCE, LEVELS))

    return Quantity("", "answer for class A", of=of)


PREDICTOR = (
    Curves(
        "Answers of single draws along growing evidence",
        _evidence("test"),
        by=("nonlinearity",),
        along="evidence",
        note="Linear answers follow the evidence, sigmoidal ones saturate, rectified ones grow beyond it.",
    ),
    Curves("Mean answers, and what theory has of them", _evidence("mean"), by=("nonlinearity",), along="evidence"),
    neurons.raster("Codes behind the answers", ("nonlinearity",)),
)


def _variance(data: xr.Dataset, config: Any) -> xr.DataArray | None:
    if "square" not in data:
        return None
    return (data["square"] - data["mean"] ** 2).mean(["input", "output"], skipna=False)


def _test_answer(data: xr.Dataset, config: Any) -> xr.DataArray | None:
    """Answers to the last test input, of every draw; theory has their mean."""
    if "test" not in data and "mean" not in data:
        return None
    answer = (data["test"] if "test" in data else data["mean"]).isel(input=-1, output=-1, drop=True)
    answer = first_of(answer, "depth").isel(run=slice(1))
    return answer if "time" in answer.dims else answer.expand_dims(time=data["time"])


REGIME = (
    Curves(
        "Answers of draw after draw to one test input",
        Quantity("", "answer", of=_test_answer),
        by=("regime", "nonlinearity"),
        note="Those of lazy networks vary by far more.",
    ),
    Bars(
        "Features make answers sure, and less so in deep networks",
        Quantity("mean", "variance of answers", of=_variance),
        along="depth",
        by=("nonlinearity", "regime"),
    ),
    neurons.kernels("Kernel between classes", ("regime", "nonlinearity")),
)


def _strays(data: xr.Dataset, config: Any) -> xr.DataArray | None:
    """|κ − κ_wide|/|κ_wide| of each draw after warming up, rms over draws: against the widest network's mean."""
    kernel = data["class_kernel"].where(data["kept"] > 0) if "kept" in data else None
    if kernel is None or not bool((data["kept"] > 0).any()):
        return None
    widest = kernel.isel(width=-1, drop=True).mean(["run", "time"])
    pair = ["class", "other_class"]
    off = ((kernel - widest) ** 2).sum(pair, skipna=False) / (widest**2).sum(pair)
    return off.mean("time") ** 0.5


def _half(config: Any) -> Sequence[Mark]:
    return (Mark("5 %", y=0.05),)


def _shares(data: xr.Dataset, config: Any) -> xr.DataArray:
    """Shares of codes by their names, of sigmoidal neurons."""
    import festina as fs

    shares = some(data["shares"], nonlinearity="sigmoidal")
    classes = int(np.log2(shares.sizes["code"]))
    return shares.assign_coords(code=[fs.measures.code_name(code, classes) for code in range(2**classes)])


SHARES = Quantity("shares", "share of neurons", of=_shares)
WIDTH = (
    Bars("Neurons with each code, and theory", SHARES, along="code", by=("width",), note=CODES),
    Curves(
        "Single networks stray less, the wider they are",
        Quantity("class_kernel", "relative deviation of the kernel, rms over draws", of=_strays),
        by=("nonlinearity",),
        along="width",
        x="log",
        y="log",
        marks=_half,
        note="From the mean over draws of the widest network.",
    ),
    neurons.kernels("Kernel between classes", ("nonlinearity", "width")),
)


def _of_rectified(data: xr.Dataset, config: Any) -> xr.DataArray:
    return some(data["outliers"], chain="rectified")


TEMPERATURE = (
    neurons.raster(
        "Codes form as temperature falls, and melt as it rises", ("chain",), "Move through time, down the ladder or up."
    ),
    Curves(
        "The part of the kernel that tells classes apart",
        Quantity("class_kernel", "class variance V of the kernel", of=neurons.class_signal),
        by=("chain",),
    ),
    Curves(
        "Temperature and outliers",
        Quantity("outliers", of=lambda data, config: some(data["outliers"], chain="rectified")),
    ),
)
LADDER = (
    neurons.raster("Codes form as temperature falls", note="Move through time, down the ladder."),
    TEMPERATURE[1],
    Curves("Temperature", "heat", y="log"),
)

FINITE = (
    Bars("Neurons with each code, and theory", SHARES, along="code", note=CODES),
    neurons.kernels("Kernel between classes"),
)
REGIME_MODEL = (
    Curves("Answers of draw after draw to one test input", Quantity("", "answer", of=_test_answer)),
    neurons.kernels("Kernel between classes"),
)
SCALED_MODEL = (
    neurons.raster("Activity of neurons in each class"),
    neurons.layered("Kernels of all layers", ("layer",)),
)
IMAGES_MODEL = (
    neurons.raster("Activity of neurons for each digit"),
    neurons.kernels("Kernel between digits"),
    neurons.kernels("Features of images that were never seen", variable="test_class_kernel", note="At the end."),
)

VIEWS = {
    "model/wide-bayesian": _wide("model/wide-bayesian", ANY),
    "model/wide-descent": _wide("model/wide-descent", ANY),
    "model/deep-bayesian": SCALED_MODEL,
    "model/prior-scaling": SCALED_MODEL,
    "model/finite-width": FINITE,
    "model/learning-regime": REGIME_MODEL,
    "model/temperature-ladder": LADDER,
    "model/wide-images": IMAGES_MODEL,
    "coding/analog": _wide("coding/analog", ANALOG),
    "coding/sparse": _wide("coding/sparse", SPARSE),
    "coding/redundant": REDUNDANT_VIEWS,
    "coding/digits": DIGITS,
    "coding/ten_digits": DIGITS,
    "coding/descent": DESCENT,
    "coding/deeper": DEEPER,
    "coding/depth": DEPTH,
    "coding/scaling": SCALING,
    "coding/outliers": OUTLIERS,
    "coding/predictor": PREDICTOR,
    "coding/regime": REGIME,
    "coding/width": WIDTH,
    "coding/temperature": TEMPERATURE,
}
TEMPERATURE_FIRST = ("temperature",)
HEADLINES = {
    "model/wide-bayesian": ("temperature", "nonlinearity", "width"),
    "model/wide-descent": ("temperature", "nonlinearity", "noise", "optimiser"),
    "model/deep-bayesian": ("temperature", "nonlinearity", "layers"),
    "model/prior-scaling": ("exponent", "temperature", "layers"),
    "model/finite-width": ("width", "temperature", "nonlinearity"),
    "model/learning-regime": ("laziness", "temperature", "layers"),
    "model/temperature-ladder": ("nonlinearity", "stay", "heated"),
    "model/wide-images": ("temperature", "nonlinearity", "digits"),
    "coding/analog": ("temperature", "width"),
    "coding/sparse": ("temperature", "width"),
    "coding/redundant": ("temperature", "cold"),
    "coding/digits": ("temperature", "digits"),
    "coding/ten_digits": TEMPERATURE_FIRST,
    "coding/descent": ("temperature", "step", "rate"),
    "coding/deeper": ("temperature", "depth"),
    "coding/depth": ("temperature", "cold"),
    "coding/scaling": ("temperature", "exponent"),
    "coding/outliers": ("temperature", "width", "dwelling"),
    "coding/predictor": ("temperature", "noise"),
    "coding/regime": ("temperature", "depth"),
    "coding/width": ("width", "temperature"),
    "coding/temperature": ("stay", "ladder"),
}
DWELLS = {"origin": ["prior", "common"]}
MATTERS = {
    "model/wide-bayesian": {
        "cooling": DWELLS,
        "slowness": DWELLS,
        "slow_from": DWELLS,
        "slow_to": DWELLS,
    },
    "model/wide-descent": {"step": {"optimiser": ["descent"]}, "noise": {"optimiser": ["descent"]}},
}


def _onsets(model: Any) -> list[float]:
    """Temperatures at which outliers condense, in theory, in rectified networks of one hidden layer."""
    return model.onsets() if model.nonlinearity == "rectified" and model.layers == 1 else []


CRITICAL = {"model/wide-bayesian": {"temperature": _onsets}}
