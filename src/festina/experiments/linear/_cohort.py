"""What claims and panels about cohorts of animals that learn a decision share."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import festina as fs
from festina import claims
from festina._lazy import np, xr
from festina.experiment import Result
from festina.experiments._needs import require_case
from festina.experiments.linear._common import model_of
from festina.models.tutor_executor import EARLY, LATE, expected_course

if TYPE_CHECKING:
    from festina.models import TutorExecutor
    from festina.models._types import Curves

FEWEST = 10  # animals of a cohort
LINEAR = [8, 12]  # sessions between which growth out of {const} is measured
STARTS = 200  # of a search for stationary points
DEEP, GRADED, TOTAL, SHALLOW = "tutor-executor", "graded", "total-error", "shallow"


def pace(result: Result) -> float:
    """How much is learned in a session, relative to the default: η times its trials."""
    config, published = result.config, type(result.config)()
    return config.learning_rate * config.trials / (published.learning_rate * published.trials)


def trained(result: Result) -> Result:
    """The result, if its animals have learned for about as long as the published ones: η times all trials."""
    config, sessions, speed = result.config, type(result.config)().sessions, pace(result)
    if speed * config.sessions < 0.75 * sessions:
        fives = int(np.ceil(config.trials * sessions / (5 * speed * config.sessions) - 1e-9))
        raise claims.Undecided(f"too little training: needs --trials {5 * fives}, or a larger --learning-rate")
    return result


def cohort(result: Result) -> xr.Dataset:
    """Trained animals, of which there have to be some."""
    data = trained(result).data
    require_case(data.sizes["run"] >= FEWEST, f"a cohort of at least {FEWEST} animals")
    return data


def after_bias(result: Result, measure: str, network: str = DEEP) -> float:
    """Pearson's r of early bias and something later, across animals."""
    seen = cohort(result).sel(network=network)
    return fs.measures.behaviour.across_animals(seen["early_bias"].values, seen[measure].values)


def accuracy_in(result: Result, session: int) -> xr.DataArray:
    """The share of right choices among the trials of a session with a grating, by animal."""
    shares = result["accuracy"].sel(network=DEEP).isel(time=session)
    if shares.isnull().any():
        raise claims.Undecided("a session had no grating: needs more --trials")
    return shares


def growth(result: Result, data: xr.Dataset, network: str = DEEP) -> xr.DataArray:
    """d ln(amplitude)/dt in sessions 8 to 12 over the linearised rate, mean of both stimulus pathways, by animal.

    Those are the sessions in which animals without bias are at {const}. Time is η · trials.
    """
    alike = result.config.initial_spread == 0 and 0.75 < pace(result) < 1.33
    require_case(alike, "animals with equal initial weights, which learn as much in a session as those of the default")
    model, ends = model_of(result, network=network), data.sel(network=network).isel(time=LINEAR)
    rates, coefficients = model.growth("const")
    amplitudes = fs.theory.saddles.amplitudes(coefficients, ends["tutor"].values, ends["executor"].values)[..., :2]
    elapsed = (LINEAR[1] - LINEAR[0]) * model.trials * model.learning_rate * float(rates[0])
    return xr.DataArray(np.diff(np.log(amplitudes), axis=1)[:, 0].mean(axis=-1) / elapsed, dims="animal")


def forecast(result: Result, network: str = DEEP) -> Curves:
    """Expected updates from each animal's weights after the early window: arrays of (animals, sessions, …)."""
    start, model = result.data.sel(network=network).isel(time=EARLY[1]), model_of(result, network=network)
    weights = start["tutor"].values, start["executor"].values
    return expected_course([model] * start.sizes["run"], *weights, model.sessions - EARLY[1])


def slopes_of(result: Result, network: str) -> np.ndarray:
    """Left and right slope: animals × sessions × 2."""
    return fs.measures.behaviour.slopes(result["right"].sel(network=network).values)


def shares_right(data: xr.Dataset, network: str, sessions: slice) -> xr.DataArray:
    """Psychometric curves as an experimenter has them: the share of right choices in some sessions, by contrast."""
    choices = data["choices"].sel(network=network).isel(time=sessions).sum("time")
    return (choices.sel(choice="right") / choices.sum("choice")).transpose("run", "contrast")


def weak_over_strong(result: Result, network: str) -> float:
    """What the weakest gratings do to late choices over what the strongest do: P(right) on the right minus the left."""
    require_case(len(result.config.contrasts) > 1, "gratings of two contrasts at least")
    shares = shares_right(cohort(result), network, slice(-LATE, None)).mean("run").values
    none = len(shares) // 2
    return float((shares[none + 1] - shares[none - 1]) / (shares[-1] - shares[0]))


def correct_signals(signals: xr.DataArray) -> xr.DataArray:
    """Teaching signals of correct choices, for the strongest grating on either side."""
    ends = [signals.isel(contrast=place).sel(choice=side) for place, side in ((0, "left"), (-1, "right"))]
    sides = xr.Variable("side", ["left", "right"])
    return xr.concat([end.drop_vars(("contrast", "choice")) for end in ends], sides)


def seen_signals(result: Result) -> xr.DataArray:
    """Those of the published model's animals, by session."""
    return correct_signals(result["signals"].sel(network=DEEP, drop=True))


def expected_signals(result: Result) -> xr.DataArray:
    """Those of the expected updates from each animal's weights after the early window."""
    like = result["signals"].sel(network=DEEP, drop=True).isel(time=slice(EARLY[1], None))
    like = like.transpose("run", "time", "signal", "contrast", "choice")
    return correct_signals(like.copy(data=np.asarray(forecast(result)["signals"])))


def to_const(result: Result, network: str) -> np.ndarray:
    """How near the products of an animal's weights come to those of the saddle {const}, by animal."""
    data = result.data.sel(network=network).transpose("run", "time", "choice", "pathway", ...)
    products = data["executor"].values * data["tutor"].values[:, :, None, :]
    place = model_of(result, network=network).saddle("const")
    return np.linalg.norm(products - place, axis=(-2, -1)).min(axis=1)


@lru_cache(maxsize=8)
def found_points(model: TutorExecutor) -> np.ndarray:
    """Products of the stationary points that a search finds, for an animal that chooses by chance."""
    random = np.random.default_rng(0)
    return fs.theory.stationary.found_from(model.naive_task, random, starts=STARTS, layers=model.layers)


def apart(ones: np.ndarray, others: np.ndarray) -> float:
    """The largest distance of one of these points to the nearest of those, or the other way round."""
    distances = np.linalg.norm(ones[:, None] - others[None], axis=(-2, -1))
    return float(max(distances.min(axis=0).max(), distances.min(axis=1).max()))


def miscounts(model: TutorExecutor) -> xr.DataArray:
    """How far three indices of each stationary point are from its number of closed pathways: the closed form, the
    Hessian's, and that of weights that cannot be negative and choices of the animal's own.
    """
    stationary, saddles, found = fs.theory.stationary, fs.theory.saddles, []
    for point in stationary.points(model.naive_task):
        opened = [fs.worlds.gratings.PATHWAYS[k] for k in point.opened]
        down = stationary.directions_down(model.naive_task, point.products)
        out = saddles.directions_out(model.field, model.saddle(*opened))
        found.append([abs(3 - len(opened) - index) for index in (point.index, down, out)])
    return xr.DataArray(found, dims=("point", "count"))
