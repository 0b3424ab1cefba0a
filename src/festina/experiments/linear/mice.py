"""Mice that learn a visual decision, each in its own way: a deep network with a tutor and an executor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import festina as fs
from festina import claims, models
from festina._lazy import np, xr
from festina.experiment import Arms, Experiment, ExperimentConfig, Preset, Result, continuous, named
from festina.experiments._needs import require_case
from festina.experiments.linear._common import as_simulated, model_of, printed
from festina.figures.panels import Page, end_points, note, path, shades
from festina.models.tutor_executor import EARLY, LATE, expected_course
from festina.sources import LECTURE, LIEBANA_2025
from festina.style import BLUE, ORANGE, PALETTE, THEORY, VERMILLION

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIMULATED = "a separate simulation of the published rule, without spread at birth"
REANALYSED = "a third party's analysis of the published behaviour of 30 mice (aeronjl/unspool, cell2025)"
SADDLES = LECTURE.at("Dynamics pass near a hierarchy of saddle points")
BY_CHANCE = "the model's scope: nothing but chance in the first sessions makes its animals differ"
BY_SPREAD = "its sign depends on the unpublished spread of the first weights; see the experiment's description"
NOT_FITTED = "the model's scope: nothing in it is fitted to this accuracy; see the experiment's description"
BIASED = "bias takes animals away from {const}, where the rate is linearised; see the experiment's description"
TOO_SHORT = "the length of training: few animals arrive there in 6400 trials; see the experiment's description"
SLOPES, FLIPS = (claims.near(r, 2.0 * (1.0 - r**2) / 30**0.5) for r in (0.69, -0.53))  # two standard errors, 30 mice
FEWEST = 10  # animals of a cohort
LINEAR = [8, 12]  # sessions between which growth out of {const} is measured
DEEP, SHALLOW = "tutor-executor", {"layers": 1, "crosstalk": 1.0}


class Mice(Experiment):
    """Deep networks that learn a decision from chance choices go individual yet systematic ways; shallow ones do not.

    Next to the published model each animal, with the same stimuli and the same luck, is a *scattered start*, with
    constant weights that begin with a spread, of which nothing is published; a *total error* network, in which both
    layers descend the gradient of (R − Q)²/2; and a *shallow* and a *slow shallow* one, with the delta rule.

    Simulated animals end with 85 % of their choices right, with nothing fitted to the 75.8 % of mice. Robust: deep
    networks (with either rule and any start) end up far more diverse than shallow ones, and the late asymmetry of an
    animal follows its early bias. Not robust: the sign of the correlation between early and late bias, which is
    negative without spread and goes to zero and beyond with it (late bias is one and the same curve of early bias,
    falling in the middle and rising at both ends, and a spread puts more animals at the ends). The one-sided saddle and
    its rate .086 are those of the total error, and our own; animals come nearer to it than shallow learners do, but do
    not reach it in 6400 trials. Stimulus pathways grow at the linearised rate .159 in the expected update and in
    animals without much bias; over all animals they grow more slowly (`growth-cohort` fails), for bias takes an animal
    away from {const} and starves the pathway of the other side.
    """

    name = "linear/mice"
    sources = (LIEBANA_2025, LECTURE)
    arms = Arms(
        models.TutorExecutor,
        network=named(
            tutor_executor={},
            scattered_start={"initial_spread": lambda config: config.scatter},
            total_error={"crosstalk": 1.0},
            shallow=SHALLOW,
            slow_shallow=SHALLOW | {"learning_rate": lambda config: config.learning_rate / config.slowdown},
        ),
    )
    seeds, quick = 200, {"seeds": 40}
    presets = (
        Preset("published model", "Animals born alike go different ways: chance decides which side is learned first."),
        Preset(
            "scattered births", "Born with unequal constant weights, animals no longer change the side of their bias.",
            {"initial_spread": 0.05},
        ),
        Preset(
            "undecided", "Animals that choose more at random learn less, and differ less from each other.",
            {"inverse_temperature": 3.0},
        ),
    )  # fmt: skip

    class Config(ExperimentConfig):
        scatter: float = continuous(0.05, ge=0, le=10, help="`initial_spread` of the scattered start")
        slowdown: float = continuous(8.0, ge=0.01, le=1e3, help="how many times slower `slow-shallow` learns")

    @claims.paper(LECTURE.at("Saddle points arise through depth"), claims.above(5.0))
    def diverse(self, result: Result) -> xr.DataArray:
        """Deep networks end up diverse, shallow ones alike: the SD of the late slope difference is more than five
        times larger (our threshold).
        """
        spread = _cohort(result)["asymmetry"].std("run")
        return spread.sel(network=DEEP) / spread.sel(network=["shallow", "slow-shallow"])

    @claims.paper(LIEBANA_2025.at("Fig. 1I"), SLOPES, loosely=claims.above(0.0), reason=BY_CHANCE)
    def systematic(self, result: Result) -> float:
        """The late right − left slope follows the early bias with the correlation r = .69 of 30 mice (give or take
        two of its standard errors).
        """
        return _after_bias(result, "asymmetry")

    @claims.reference(SIMULATED, claims.near(0.95, 0.05))
    def systematic_simulated(self, result: Result) -> float:
        """The late right − left slope of simulated animals follows their early bias with r = .95."""
        return _after_bias(as_simulated(result, "the default configuration"), "asymmetry")

    @claims.theory(claims.above(0.8))
    def systematic_total_error(self, result: Result) -> float:
        """With the total error in both layers the late right − left slope follows the early bias, r > .8: this
        correlation does not speak for partial errors.
        """
        return _after_bias(result, "asymmetry", "total-error")

    @claims.paper(LIEBANA_2025.at("Fig. 1G"), FLIPS, loosely=claims.below(0.0), reason=BY_SPREAD)
    def flip(self, result: Result) -> float:
        """The bias changes sides: early and late bias have the correlation r = −.53 of 30 mice (give or take two of
        its standard errors).
        """
        return _after_bias(result, "late_bias")

    @claims.reference(SIMULATED, claims.near(-0.67, 0.26))
    def flip_simulated(self, result: Result) -> float:
        """Early and late bias of simulated animals without spread at birth have r = −.67 (± .26, the standard
        deviation over cohorts).
        """
        return _after_bias(as_simulated(result, "the default configuration"), "late_bias")

    @claims.theory(claims.above(0.2))
    def flip_not_robust(self, result: Result) -> float:
        """A spread of the first constant weights undoes the change of sides: r of early and late bias rises by more
        than .2.
        """
        larger = result.config.scatter > result.config.initial_spread
        require_case(larger, "a larger spread in `scattered-start` than in the published model")
        return _after_bias(result, "late_bias", "scattered-start") - _after_bias(result, "late_bias")

    @claims.reference(REANALYSED, claims.near(0.517, 0.02))
    def accuracy_first(self, result: Result) -> xr.DataArray:
        """In their first session mice are right in 51.7 % of trials with a grating (± 2 %, our tolerance)."""
        return _accuracy(result, 1)

    @claims.reference(REANALYSED, claims.near(0.758, 0.05), loosely=claims.near(0.758, 0.15), reason=NOT_FITTED)
    def accuracy_last(self, result: Result) -> xr.DataArray:
        """In their last session mice are right in 75.8 % of trials with a grating (± 5 %, our tolerance)."""
        return _accuracy(_trained(result), -1)

    @claims.theory(claims.near(1.0, 0.125), reason=BIASED)
    def growth_cohort(self, result: Result) -> xr.DataArray:
        """In sessions 8–12 stimulus pathways grow at the linearised rate of the saddle {const}, on average over all
        animals (ratio).
        """
        return _growth(result, result.data)

    @claims.theory(claims.near(1.0, 0.125))
    def growth_near(self, result: Result) -> xr.DataArray:
        """In animals near the saddle {const}, of early bias within ± .1, stimulus pathways grow at its linearised
        rate in sessions 8–12 (ratio).
        """
        near = np.abs(result["early_bias"].sel(network=DEEP).values) < 0.1
        if not near.any():
            raise claims.Undecided("no animal has an early bias within ± .1: needs more --seeds")
        return _growth(result, result.data)[near]

    @claims.theory(claims.near(1.0, 0.0625))
    def growth_expected(self, result: Result) -> xr.DataArray:
        """In the expected update, which knows no chance and so no bias, stimulus pathways grow at the linearised rate
        of the saddle {const} in sessions 8–12 (ratio).
        """
        return _growth(result, result.solved)

    @claims.paper(SADDLES, claims.below(0.5), loosely=claims.below(0.75), reason=TOO_SHORT)
    def near_saddles(self, result: Result) -> float:
        """Deep learners pass near a one-sided saddle: the median of their nearest distance to one is less than half
        (our threshold) of that of shallow ones.
        """
        model = model_of(_trained(result), network=DEEP)
        places = np.stack([model.saddle_slopes(side, "const") for side in ("left", "right")])
        nearest = {it: fs.measures.behaviour.nearest(_slopes(result, it), places) for it in (DEEP, "shallow")}
        return np.median(nearest[DEEP]) / np.median(nearest["shallow"])

    @claims.theory(claims.below(0.1))
    def chance(self, result: Result) -> xr.DataArray:
        """Individuality is born of chance: from animals' first weights the expected update gives less than a tenth of
        the SD of their late slope difference.
        """
        require_case(result.config.initial_spread == 0, "animals born alike")
        expected = models.TutorExecutor.measure(result.solved)["asymmetry"].std("run")
        return (expected / _cohort(result)["asymmetry"].std("run")).sel(network=DEEP)

    @claims.theory(claims.above(0.9), loosely=claims.above(0.7))
    def fate(self, result: Result) -> float:
        """After session 8 little is left to chance: the expected update from an animal's weights foretells its late
        slope difference (r).
        """
        seen = _cohort(result)["asymmetry"].sel(network=DEEP).values
        foretold = _forecast(result)[:, -LATE:].mean(axis=1)
        return fs.measures.behaviour.across_animals(seen, fs.measures.behaviour.slope_difference(foretold))

    def figure(self, result: Result) -> Figure:
        """Courses of deep and of shallow learners, psychometric curves, saddles, and two correlations."""
        with Page(2, 3, height=4.9) as page:
            colors = shades(-0.45, 0.45, cmap="cividis")
            _draw_courses(page[0], result, DEEP, "Deep: tutor-executor", colors)
            _draw_courses(page[1], result, "slow-shallow", f"Shallow, {result.config.slowdown:g}× slower", colors)
            bar = {"cax": page[1].inset_axes((0.8, 0.55, 0.05, 0.42)), "ticks": (-0.4, 0, 0.4), "label": "early bias"}
            page.figure.colorbar(colors, **bar).ax.yaxis.set_label_position("left")
            _draw_curves(page[2], result)
            _draw_saddles(page[3], result)
            _draw_followers(page[4], result, "asymmetry", 0.69, {n: n for n in ("total-error", DEEP, "shallow")})
            page[4].set(ylim=(-1.05, 1.6), yticks=(-1, -0.5, 0, 0.5, 1), title="Systematic if deep")
            spreads = {"scattered-start": result.config.scatter, DEEP: result.config.initial_spread}
            _draw_followers(page[5], result, "late_bias", -0.53, {n: f"start spread {x:g}" for n, x in spreads.items()})
            page[5].set(ylim=(-0.52, 0.75), yticks=(-0.5, 0, 0.5), title="Change of sides: not robust")
        return page.figure


def _pace(result: Result) -> float:
    """How much is learned in a session, relative to the default: η times its trials."""
    config, published = result.config, type(result.config)()
    return config.learning_rate * config.trials / (published.learning_rate * published.trials)


def _trained(result: Result) -> Result:
    """The result, if its animals have learned for about as long as the published ones: η times all trials."""
    config, sessions, pace = result.config, type(result.config)().sessions, _pace(result)
    if pace * config.sessions < 0.75 * sessions:
        fives = int(np.ceil(config.trials * sessions / (5 * pace * config.sessions) - 1e-9))
        raise claims.Undecided(f"too little training: needs --trials {5 * fives}, or a larger --learning-rate")
    return result


def _cohort(result: Result) -> xr.Dataset:
    """Trained animals, of which there have to be some."""
    data = _trained(result).data
    require_case(data.sizes["run"] >= FEWEST, f"a cohort of at least {FEWEST} animals")
    return data


def _after_bias(result: Result, measure: str, network: str = DEEP) -> float:
    """Pearson's r of early bias and something later, across animals."""
    seen = _cohort(result).sel(network=network)
    return fs.measures.behaviour.across_animals(seen["early_bias"].values, seen[measure].values)


def _accuracy(result: Result, session: int) -> xr.DataArray:
    """The share of right choices among the trials of a session with a grating, by animal."""
    shares = result["accuracy"].sel(network=DEEP).isel(time=session)
    if shares.isnull().any():
        raise claims.Undecided("a session had no grating: needs more --trials")
    return shares


def _growth(result: Result, data: xr.Dataset) -> xr.DataArray:
    """d ln(amplitude)/dt in sessions 8 to 12 over the linearised rate, mean of both stimulus pathways, by animal.

    Those are the sessions in which animals without bias are at {const}. Time is η · trials.
    """
    alike = result.config.initial_spread == 0 and 0.75 < _pace(result) < 1.33
    require_case(alike, "animals born alike, which learn as much in a session as those of the default")
    model, ends = model_of(result, network=DEEP), data.sel(network=DEEP).isel(time=LINEAR)
    rates, coefficients = model.growth("const")
    amplitudes = fs.theory.saddles.amplitudes(coefficients, ends["tutor"].values, ends["executor"].values)[..., :2]
    elapsed = (LINEAR[1] - LINEAR[0]) * model.trials * model.learning_rate * float(rates[0])
    return xr.DataArray(np.diff(np.log(amplitudes), axis=1)[:, 0].mean(axis=-1) / elapsed, dims="animal")


def _forecast(result: Result) -> np.ndarray:
    """P(right) by expected updates from each animal's weights after the early window: animals × sessions × stimuli."""
    start, model = result.data.sel(network=DEEP).isel(time=EARLY[1]), model_of(result, network=DEEP)
    weights = start["tutor"].values, start["executor"].values
    return expected_course([model] * start.sizes["run"], *weights, model.sessions - EARLY[1])["right"]


def _slopes(result: Result, network: str) -> np.ndarray:
    """Left and right slope: animals × sessions × 2."""
    return fs.measures.behaviour.slopes(result["right"].sel(network=network).values)


def _slope_plane(axis: Axes, title: str, low: float = -0.08, high: float = 1.02) -> None:
    """The plane of the two slopes; their sum is at most 1."""
    axis.plot([0, 1], [1, 0], color="0.75", lw=0.7, ls=":")
    axis.set(xlim=(low, high), ylim=(low, high), xticks=(0, 0.5, 1), yticks=(0, 0.5, 1), aspect="equal")
    axis.set(xlabel="left slope p₀ − p$_L$", ylabel="right slope p$_R$ − p₀", title=title)


def _draw_courses(axis: Axes, result: Result, network: str, title: str, colors: Any) -> None:
    """Slopes of some animals, session by session, coloured by their early bias."""
    _slope_plane(axis, title)
    bias = result["early_bias"].sel(network=network).values
    for course, shade in list(zip(_slopes(result, network), colors.to_rgba(bias), strict=True))[:24]:
        path(axis, course, color=shade, lw=0.9, end={"marker": "o", "ms": 3.2, "mec": "black", "mew": 0.4})


def _draw_curves(axis: Axes, result: Result) -> None:
    """Mean psychometric curves of the third with the most rightward and the most leftward early bias."""
    right = result.data.sel(network=DEEP).sortby("early_bias")["right"].assign_coords(stimulus=range(3))
    third, windows = max(1, right.sizes["run"] // 3), (slice(EARLY[0], EARLY[1] + 1), slice(-LATE, None))
    sides = {"left": (slice(third), BLUE, "s"), "right": (slice(-third, None), VERMILLION, "o")}
    for side, (animals, color, marker) in sides.items():
        look = {"fmt": "", "color": color, "marker": marker, "ms": 4, "mew": 1.0, "lw": 1.4, "elinewidth": 0.7}
        early, late = (right.isel(run=animals, time=window).mean("time") for window in windows)
        end_points(axis, early, "stimulus", label=f"bias {side}, early", ls=(0, (2, 1.2)), **look)
        end_points(axis, late, "stimulus", label=f"bias {side}, late", ls="-", **look | {"mfc": color})
    axis.axhline(0.5, color="0.75", lw=0.7, ls=":", zorder=0)
    axis.set(xticks=range(3), xticklabels=("left", "none", "right"), xlim=(-0.25, 2.25), ylim=(-0.04, 1.36))
    axis.set(yticks=(0, 0.5, 1), xlabel="grating", ylabel="P(right)", title="Early bias, late curve", box_aspect=1)
    axis.legend(loc="upper right", bbox_to_anchor=(1.12, 1), fontsize=6, ncols=2, handlelength=1.4, columnspacing=0.6)


def _draw_saddles(axis: Axes, result: Result) -> None:
    """A few animals with the expected course from their weights after the early window, and the saddles."""
    _slope_plane(axis, "Courses and saddles", -0.24, 1.34)
    courses, expected = _slopes(result, DEEP), fs.measures.behaviour.slopes(_forecast(result))
    order = np.argsort(result["asymmetry"].sel(network=DEEP).values)
    for animal, color in zip(order[np.linspace(0, len(order) - 1, 5).astype(int)], PALETTE, strict=False):
        axis.plot(*courses[animal].T, color=color, lw=1.3)
        axis.plot(*expected[animal].T, **THEORY, zorder=3)
    model, total = (model_of(result, network=network) for network in (DEEP, "total-error"))
    first, sided = model.growth("const")[0][0], total.growth("right", "const")[0][0]
    for opened, text, offset, ha, va in (
        (("const",), f"{{}}, {{c}}: {first:.3f}", (5, -4), "left", "top"),
        (("right", "const"), f"{{R, c}}: {sided:.3f}", (6, 1), "left", "center"),
        (("left", "const"), f"{{L, c}}: {sided:.3f}", (2, 5), "center", "bottom"),
        (("left", "right", "const"), "all open", (5, 3), "left", "bottom"),
    ):
        place, last = tuple(model.saddle_slopes(*opened)), len(opened) == 3
        axis.plot(*place, "*" if last else "D", color="black", mfc="white", ms=8 if last else 5, mew=0.9, zorder=5)
        note(axis, printed(text), place, offset, fontsize=6.5, ha=ha, va=va, zorder=6)
    axis.plot([], [], color="0.4", lw=1.3, label="simulation")
    axis.plot([], [], **THEORY, label="expected from session 8")
    axis.plot([], [], "D", color="black", mfc="white", ms=4, mew=0.9, label="saddle {open}: growth rate")
    axis.legend(loc="upper right", fontsize=6, borderaxespad=0, labelspacing=0.3, handlelength=2.0)


def _draw_followers(axis: Axes, result: Result, measure: str, published: float, names: dict[str, str]) -> None:
    """Early bias against something later, for some networks, with r across animals."""
    looks = {"shallow": ("x", "black"), "total-error": ("^", ORANGE), "scattered-start": ("s", VERMILLION)}
    for network, name in names.items():
        marker, color = looks.get(network, ("o", BLUE))
        one, other = (result[name].sel(network=network).values for name in ("early_bias", measure))
        r = fs.measures.behaviour.across_animals(one, other)
        look = {"marker": marker, "color": color, "ms": 2.7, "mew": 0.7 if network == "shallow" else 0, "alpha": 0.75}
        axis.plot(one, other, ls="none", label=printed(name + (f", r = {r:+.2f}" if np.isfinite(r) else "")), **look)
    axis.plot([], [], ls="none", label=printed(f"mice r = {published:+.2f}"))
    axis.axhline(0, color="0.75", lw=0.7, ls=":", zorder=0)
    axis.axvline(0, ymax=0.74, color="0.75", lw=0.7, ls=":", zorder=0)
    axis.set(xlim=(-0.52, 0.52), xlabel="early bias", ylabel=result[measure].attrs["long_name"], box_aspect=1)
    axis.legend(loc="upper left", fontsize=6, borderaxespad=0.1, labelspacing=0.3, handletextpad=0.2)
