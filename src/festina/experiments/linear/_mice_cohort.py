"""What `linear/mice` measures on a cohort: windows, slopes, biases, distances to saddles, growth, forecasts."""

import math
from typing import Any

import festina as fs
from festina._lazy import np, xr
from festina.claims import NotApplicable, Undecided

EARLY = (4, 8)
LINEAR = (8, 12)
LATE = 5
"""Sessions of the early window, those in which growth out of the {const} saddle is measured, length of the late one."""

COHORT = 10
MICE = 30
CHANCE_OF_SLOPE, CHANCE_OF_BIAS = (2.0 * (1.0 - r**2) / MICE**0.5 for r in (0.69, -0.53))
"""Two standard errors of the published correlations r over mice."""


def mean_field(config: Any, crosstalk: Any, tutor_speed: Any) -> Any:
    return fs.theory.saddles.mean_field(
        crosstalk=crosstalk,
        tutor_speed=tutor_speed,
        blank=config.blank,
        inverse_temperature=config.inverse_temperature,
    )


def late(result: Any) -> tuple[int, int]:
    """The first and the last session of the late window."""
    return result.config.sessions - LATE + 1, result.config.sessions


def trained(result: Any) -> Any:
    """The result, if its animals have learned for about as long as the published ones: η times all trials."""
    config, published = result.config, type(result.config)()
    pace = config.learning_rate * config.trials / (published.learning_rate * published.trials)
    if pace * config.sessions < 0.75 * published.sessions:
        fives = math.ceil(config.trials * published.sessions / (5 * pace * config.sessions) - 1e-9)
        raise Undecided(f"too little training: needs --trials {5 * fives}, or a larger --learning-rate")
    return result


def at_saddle(result: Any) -> Any:
    """The result, if sessions 8 to 12 are those in which animals without bias are at {const}."""
    config, published = result.config, type(result.config)()
    pace = config.learning_rate * config.trials / (published.learning_rate * published.trials)
    if config.initial_spread > 0 or not 0.75 < pace < 1.33:
        raise NotApplicable("needs animals born alike, which learn as much in a session as those of the default")
    return result


def accuracy(result: Any, session: int) -> Any:
    """The share of right choices among the trials of a session with a grating, by animal."""
    shares = result["accuracy"].sel(model="tutor-executor").isel(time=session)
    if shares.isnull().any():
        raise Undecided("a session had no grating: needs more --trials")
    return shares


def rights(result: Any, model: str, *, theory: bool = False) -> Any:
    """P(right) of one model: animals × sessions × stimuli."""
    data = result.theory if theory else result.data
    return data["right"].sel(model=model).transpose("run", "time", "stimulus").values


def early_bias(result: Any, model: str) -> Any:
    return fs.measures.behaviour.bias(fs.measures.behaviour.window(rights(result, model), *EARLY))


def late_bias(result: Any, model: str) -> Any:
    return fs.measures.behaviour.bias(fs.measures.behaviour.window(rights(result, model), *late(result)))


def asymmetry(result: Any, model: str, *, theory: bool = False) -> Any:
    """The late right − left slope of each animal."""
    right = fs.measures.behaviour.window(rights(result, model, theory=theory), *late(result))
    return fs.measures.behaviour.slope_difference(right)


def across_cohort(one: Any, other: Any) -> float:
    """Pearson's r across animals, of which there have to be some."""
    if len(one) < COHORT:
        raise NotApplicable(f"needs a cohort of at least {COHORT} animals")
    return fs.measures.behaviour.across_animals(one, other)


def diversity(result: Any, model: str, *, theory: bool = False) -> float:
    """Standard deviation of the late slope difference across animals."""
    values = asymmetry(trained(result), model, theory=theory)
    if len(values) < COHORT:
        raise NotApplicable(f"needs a cohort of at least {COHORT} animals")
    return float(np.std(values))


def bias_to_slope(result: Any, model: str) -> float:
    return across_cohort(early_bias(trained(result), model), asymmetry(result, model))


def bias_to_bias(result: Any, model: str) -> float:
    return across_cohort(early_bias(trained(result), model), late_bias(result, model))


def landmark(result: Any, *opened: str) -> Any:
    """The saddle with the named pathways open: products of its weights."""
    config = result.config
    return fs.theory.saddles.saddle(opened, blank=config.blank, inverse_temperature=config.inverse_temperature)


def landmark_slopes(result: Any, *opened: str) -> Any:
    """Where a saddle lies in the plane of left and right slope."""
    values = fs.networks.tutor.SEEN @ landmark(result, *opened).T
    right = 1.0 / (1.0 + np.exp(-result.config.inverse_temperature * (values[:, 1] - values[:, 0])))
    return fs.measures.behaviour.slopes(right)


def linear_rate(result: Any) -> float:
    """The rate at which stimulus pathways grow out of {const}, by linearisation of the partial errors' rule."""
    rates, _ = fs.theory.saddles.growth(mean_field(result.config, 0.0, 1.0), landmark(result, "const"))
    return float(rates[0])


def linear_rates(result: Any) -> Any:
    """Growth of const and of a stimulus from {}, of a stimulus from {const}, of left from {right, const}.

    Partial errors for the first three, the total error for the last, where partial ones have no rest point.
    """
    rates = fs.theory.saddles.growth
    partial, total = (mean_field(result.config, crosstalk, 1.0) for crosstalk in (0.0, 1.0))
    nothing, one_sided = rates(partial, landmark(result))[0], rates(total, landmark(result, "right", "const"))[0]
    return np.array([nothing[2], nothing[0], linear_rate(result), one_sided[0]])


def measured_growth(result: Any, *, theory: bool = False) -> Any:
    """d ln(amplitude)/dt in sessions 8 to 12, mean of both stimulus pathways, by animal; t = η · trials."""
    data = result.theory if theory else result.data
    _, coefficients = fs.theory.saddles.growth(mean_field(result.config, 0.0, 1.0), landmark(result, "const"))
    ends = data.sel(model="tutor-executor").isel(time=list(LINEAR)).transpose("run", "time", "choice", "pathway", ...)
    amplitudes = fs.theory.saddles.amplitudes(coefficients, ends["tutor"].values, ends["executor"].values)[..., :2]
    elapsed = (LINEAR[1] - LINEAR[0]) * result.config.trials * result.config.learning_rate
    return xr.DataArray(np.mean(np.diff(np.log(amplitudes), axis=1)[:, 0], axis=-1) / elapsed, dims="animal")


def closest(result: Any, model: str) -> Any:
    """How near each animal comes to one of the two one-sided saddles, in the plane of left and right slope."""
    places = np.stack([landmark_slopes(result, side, "const") for side in ("left", "right")])
    return fs.measures.behaviour.nearest(fs.measures.behaviour.slopes(rights(result, model)), places)


def forecast(result: Any, model: str) -> dict[str, Any]:
    """Expected updates from each animal's weights after the early window: `right`, and the late `asymmetry`."""
    config, crosstalk = result.config, 1.0 if model == "total error" else 0.0
    start = result.data.sel(model=model).isel(time=EARLY[1])
    animals = np.ones(start.sizes["run"])
    right = fs.theory.saddles.expected_course(
        mean_field(config, crosstalk * animals, animals),
        start["tutor"].transpose("run", "pathway").values,
        start["executor"].transpose("run", "choice", "pathway").values,
        config.learning_rate * animals,
        sessions=config.sessions - EARLY[1],
        trials=config.trials,
        stride=5,
    )["right"]
    last = right.shape[1] - 1
    final = fs.measures.behaviour.window(right, last - LATE + 1, last)
    return {"right": right, "asymmetry": fs.measures.behaviour.slope_difference(final)}
