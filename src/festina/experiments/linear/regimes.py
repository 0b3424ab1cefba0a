"""Lazy, rich and delayed rich learning: what the imbalance of two layers and the shape of a network decide."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import log
from typing import TYPE_CHECKING, Any

import festina as fs
from festina import claims, models
from festina._lazy import np, xr
from festina.experiment import Arm, Arms, Experiment, Preset, Result, named
from festina.experiments._needs import needs, require_case, require_enough
from festina.experiments.linear._common import as_simulated, model_of, of_arms, signed, two_layer, with_imbalance
from festina.figures.panels import DOTS, Looks, Page, curves, end_points, looks_of, share_scale
from festina.sources import BRAUN_2022, DOMINE_2025, LECTURE
from festina.style import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILLION

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from festina.models import TwoLayer

LARGE = 10.0  # an imbalance is large from this multiple of the strongest mode, and of the initial map, on
LEARNED = 0.01  # share of the initial loss below which a network has learned
TENTH = log(10.0) / 2.0  # |λ|t at which e^(−2|λ|t) is a tenth
SIMULATED = "a separate simulation of the same equations, means of ten runs"
RUNS = 10
DASHED = (0, (3, 1.8))
ROTATION: dict[str, Any] = {"color": BLACK, "ls": (0, (1, 1.4)), "lw": 0.9}
SHAPES = {"funnel": (BLUE, "-", "v"), "square": (BLACK, (0, (1.2, 1)), "s"), "anti-funnel": (VERMILLION, DASHED, "^")}
LAYERS = {
    "first_similarity": ("W₁ᵀW₁ with SᵀS", (GREEN, "-", "o")),
    "second_similarity": ("W₂W₂ᵀ with SSᵀ", (PURPLE, DASHED, "D")),
}


def _simulated(distance: float, deviation: float) -> Callable[..., Any]:
    """A distance that the separate simulation has, with a standard deviation over runs.

    By chance two means of ten runs may differ by three standard errors of their difference. Twice as much is
    qualitatively so.
    """
    chance = 3.0 * (2.0 / RUNS) ** 0.5 * deviation
    expect, loosely = (claims.near(distance, times * chance) for times in (1.0, 2.0))
    return claims.reference(SIMULATED, expect, loosely=loosely, budget="full")


class Regimes(Experiment):
    """Unequal layers learn lazily, unless the wide side of the network holds the large weights: then late, but richly.

    λ = 0 is rich. Large |λ| is lazy, except if (No − Ni)·λ > 0, where the larger of the two layers sees only a part of
    the wide side of the network. Learning within that part is fast and ends on a plateau, ½|S − S W₁⁺W₁|² in a funnel
    and ½|S − W₂W₂⁺S|² in an anti-funnel. Then the visible part, span Q₀ at the start, turns towards S as span e^(Rt) Q₀
    by Oja's rule for principal subspaces, R being the rates of the modes (`rotation` is the loss this leaves). In the
    end the kernel has turned by the distance of two random subspaces, on average 1 − Nh/max(Ni, No).

    Both measures of the kernel are needed: a square network at λ = 0 turns little, but its kernel grows manyfold. Which
    networks are rich, lazy and delayed rich is the sources' statement. The five distances that claims name are not:
    they are means of ten runs of a separate simulation of the same equations.
    """

    name = "linear/regimes"
    sources = (DOMINE_2025, BRAUN_2022, LECTURE)
    arms = Arms(
        models.TwoLayer,
        architecture=named(
            funnel={},
            square={"inputs": 5, "outputs": 5},
            anti_funnel=lambda config: {"inputs": config.outputs, "outputs": config.inputs},
        ),
        imbalance=(-50.0, -5.0, 0.0, 5.0, 50.0),
    )
    seeds = RUNS
    quick = {"seeds": 4, "records": 120, "until": 120.0, "imbalance": (-20.0, -5.0, 0.0, 5.0, 20.0)}
    presets = (
        Preset(
            "three networks",
            "Learning is rich at λ = 0, late but rich where the wide side holds large weights, and lazy at other large "
            "|λ|.",
        ),
        Preset(
            "small start",
            "The smaller the initial map, the longer λ = 0 waits; lazy networks are not affected.",
            {"scale": 0.01},
        ),
    )

    @claims.theory(claims.below(1e-8), source=LECTURE.at("Partitioned solution"))
    def exact(self, result: Result) -> np.ndarray:
        """Loss, tangent kernel and representations follow the exact solution in every network, for every λ."""
        return result.errors("loss", "distance", "movement", *LAYERS)

    @claims.paper(LECTURE.at("Architecture and learning regime"), claims.below(0.005))
    def lazy(self, result: Result) -> xr.DataArray:
        """Learning is lazy with large |λ| and (No − Ni)·λ ≤ 0: the tangent kernel keeps its direction, up to a cosine
        distance of .005 (our threshold).
        """
        return _learned(result, "distance", _large(result, delayed=False))

    @claims.paper(LECTURE.at("Architecture and learning regime"), claims.below(0.02))
    def lazy_movement(self, result: Result) -> xr.DataArray:
        """Learning is lazy with large |λ| and (No − Ni)·λ ≤ 0: the tangent kernel moves by less than 2 % of its norm
        (our threshold).
        """
        return _learned(result, "movement", _large(result, delayed=False))

    @_simulated(0.116, 0.04)
    def rich_square(self, result: Result) -> xr.DataArray:
        """With λ = 0 the tangent kernel of the square network 5-5-5 ends at a cosine distance of .116 from its
        start.
        """
        return _distance(result, "square", 0.0)

    @_simulated(0.184, 0.04)
    def rich_funnel(self, result: Result) -> xr.DataArray:
        """With λ = 0 the tangent kernel of the funnel 8-4-4 ends at a cosine distance of .184 from its start."""
        return _distance(result, "funnel", 0.0)

    @_simulated(0.176, 0.04)
    def rich_anti_funnel(self, result: Result) -> xr.DataArray:
        """With λ = 0 the tangent kernel of the anti-funnel 4-4-8 ends at a cosine distance of .176 from its start."""
        return _distance(result, "anti-funnel", 0.0)

    @_simulated(0.501, 0.08)
    def delayed_funnel(self, result: Result) -> xr.DataArray:
        """With λ = −50 the tangent kernel of the funnel 8-4-4 ends far from its start, at a cosine distance of
        .501.
        """
        return _distance(result, "funnel", -50.0)

    @_simulated(0.564, 0.08)
    def delayed_anti_funnel(self, result: Result) -> xr.DataArray:
        """With λ = 50 the tangent kernel of the anti-funnel 4-4-8 ends far from its start, at a cosine distance of
        .564.
        """
        return _distance(result, "anti-funnel", 50.0)

    @claims.paper(LECTURE.at("Delayed rich regime"), claims.above(0.2))
    def delayed_rich(self, result: Result) -> xr.DataArray:
        """Learning is rich in the end with large |λ| and (No − Ni)·λ > 0: the tangent kernel turns by a cosine
        distance of more than .2 (our threshold) in the mean over runs.
        """
        return _learned(result, "distance", _large(result, delayed=True)).mean("run")

    @claims.paper(LECTURE.at("Rich and lazy learning"), claims.above(2.0))
    def rich_movement(self, result: Result) -> xr.DataArray:
        """Learning is rich at λ = 0 from a small start: every tangent kernel moves by more than twice its first norm
        (our threshold).
        """
        config = result.config
        require_case(config.scale <= 0.1 * config.weakest, "a start of at most a tenth of the weakest mode")
        return _learned(result, "movement", with_imbalance(result, 0.0))

    @claims.theory(claims.near(TENTH, 0.1))
    def fast_phase(self, result: Result) -> xr.DataArray:
        """Delayed rich learning begins lazily and fast: what can be learned without turning is, but for a tenth, at
        |λ|t = 1.15.
        """
        loss, rotation = _delayed(result, lambda model: 2.0 / abs(model.imbalance))
        first = loss.isel(time=0)
        return fs.measures.crossings((first - loss) / (first - rotation.isel(time=0)), 0.9) * abs(loss["imbalance"])

    @claims.theory(claims.below(0.05))
    def plateau(self, result: Result) -> xr.DataArray:
        """The fast phase of delayed rich learning ends at the loss of the directions that the large layer cannot see
        (relative error at t = 4/|λ|).
        """
        loss, rotation = _delayed(result, lambda model: 4.0 / abs(model.imbalance))
        along = {"input_core_dims": [[], ["time"], ["time"]], "vectorize": True}
        then = xr.apply_ufunc(np.interp, 4.0 / abs(loss["imbalance"]), loss["time"], loss, **along)
        return abs(then / rotation.isel(time=0) - 1.0)

    @claims.theory(claims.below(0.05))
    def rotation(self, result: Result) -> xr.DataArray:
        """In the delayed rich regime the plateau is left by rotation at rate √(s² + λ²/4) − |λ|/2 (relative error of
        the time to halve it).
        """
        loss, rotation = _delayed(result, lambda model: 2.0 / model.slowest_turn)
        shares = (-curve / rotation.isel(time=0) for curve in (loss, rotation))
        simulated, predicted = (fs.measures.crossings(share, -0.5) for share in shares)
        return abs(simulated / predicted - 1.0)

    @claims.theory(claims.above(0.99))
    def small_layer(self, result: Result) -> xr.DataArray:
        """Even in a lazy network the layer with the small weights comes to represent the task (similarity of its
        representation and the task's).
        """
        return _lazy_layers(result)[0].isel(time=-1)

    @claims.theory(claims.below(0.01))
    def large_layer(self, result: Result) -> xr.DataArray:
        """In a lazy network the representation of the layer with the large weights stays as similar to the task's as
        it was (change of the similarity).
        """
        similarity = _lazy_layers(result)[1]
        return abs(similarity.isel(time=-1) - similarity.isel(time=0))

    def figure(self, result: Result) -> Figure:
        """Loss and kernel over time in each architecture; below, what is left of them at the end, over λ."""
        looks = _looks(result.config.imbalance)
        with Page(3, 3, height=6.5, height_ratios=(1, 1, 1.1)) as page:
            for architecture, axes in zip(SHAPES, page.axes[:2].T, strict=True):
                _draw_course(axes, result, architecture, looks)
            for row in page.axes[:2]:
                share_scale(row)
            _draw_ends(page.axes[2], result)
            lines = {f"λ = {signed(x)}": look for x, look in looks.items()}
            page.legend(lines | {"plateau and rotation": ROTATION, "simulation": {"color": "0.3", **DOTS}})
        return page.figure


def _large(result: Result, *, delayed: bool) -> list[Arm]:
    """Arms with large imbalances in which learning should be delayed rich, or should be lazy."""
    pairs = [(arm, two_layer(arm)) for arm in result.arms]
    large = [(arm, it) for arm, it in pairs if abs(it.imbalance) >= LARGE * max(it.strongest, it.scale)]
    arms = [arm for arm, it in large if it.is_delayed == delayed]
    require_case(arms, "an imbalance of the right sign, at least ten times the task and the start")
    return arms


def _learned(result: Result, name: str, arms: list[Arm]) -> xr.DataArray:
    """The last value of a variable in networks, if they have learned."""
    for arm in arms:
        loss, network = result["loss"].sel(arm.labels), "{architecture} at λ = {imbalance:g}".format(**arm.labels)
        learned = loss.isel(time=-1) <= LEARNED * loss.isel(time=0)
        require_enough(learned, f"{network} has not learned yet", result.config, "until", two_layer(arm).duration)
    return of_arms(result[name], arms).isel(time=-1)


def _distance(result: Result, architecture: str, imbalance: float) -> xr.DataArray:
    """The last distance, if networks and tasks are those that were simulated elsewhere, and there are as many runs."""
    names = ("inputs", "outputs", "weakest", "strongest", "initial", "scale")
    as_simulated(result, "the networks and tasks of the default", *names)
    if result.data.sizes["run"] < RUNS:
        raise claims.Undecided(f"needs --seeds {RUNS}")
    arms = [arm for arm in with_imbalance(result, imbalance) if arm.labels["architecture"] == architecture]
    return _learned(result, "distance", arms)


def _delayed(result: Result, needed: Callable[[TwoLayer], float]) -> tuple[xr.DataArray, xr.DataArray]:
    """The loss of the delayed rich networks, and that of the rotation, if each is seen for as long as it needs."""
    arms = _large(result, delayed=True)
    if result.config.until < (longest := max(needed(two_layer(arm)) for arm in arms)):
        raise claims.Undecided(needs(result.config, "until", longest))
    return of_arms(result["loss"], arms), of_arms(result.solved["rotation"], arms)


def _lazy_layers(result: Result) -> tuple[xr.DataArray, xr.DataArray]:
    """The similarity with the task of the layers with small and with large weights, in networks that learn lazily."""
    arms = _large(result, delayed=False)
    _learned(result, "loss", arms)
    first, second = (of_arms(result[name], arms) for name in LAYERS)
    return first.where(first["imbalance"] > 0, second), second.where(first["imbalance"] > 0, first)


def _looks(imbalances: tuple[float, ...]) -> Looks:
    """Colour and line of each imbalance: cold and solid below zero, warm and dashed above, black at zero."""
    ranked = sorted(imbalances, key=abs, reverse=True)
    cold = looks_of([x for x in ranked if x < 0], (BLUE, SKY, PURPLE), ("-",))
    warm = looks_of([x for x in ranked if x > 0], (VERMILLION, ORANGE, GREEN), (DASHED,))
    looks = {0.0: {"color": BLACK}} | cold | warm
    return {x: looks[x] | {"lw": 1.6} for x in sorted(imbalances)}


def _draw_course(axes: Iterable[Axes], result: Result, architecture: str, looks: Looks) -> None:
    """Loss and kernel of the first run, with the loss that the rotation leaves where there is one."""
    (loss, distance), every = axes, max(1, result["time"].size // 14)
    for axis, name, label in ((loss, "loss", "loss ½|S − W₂W₁|²"), (distance, "distance", "kernel distance")):
        curves(axis, result, name, by="imbalance", looks=looks, every=every, log=True, architecture=architecture)
        axis.set_xticks([1e-3, 1e-2, 0.1, 1, 10, 100])
        axis.set_ylabel(label if architecture == "funnel" else "")
    rotation = result.solved["rotation"].isel(run=0, time=slice(1, None)).sel(architecture=architecture)
    loss.plot(rotation["time"], rotation.transpose("time", "imbalance"), **ROTATION)
    model = model_of(result, architecture=architecture)
    title = f"{architecture} {model.inputs}–{model.modes}–{model.outputs}".capitalize()
    loss.set(ylim=(0, None), xlabel="", title=title)


def _draw_ends(axes: Iterable[Axes], result: Result) -> None:
    """Over λ: theory of t → ∞ as lines, simulated runs as their mean and s.d.; grey, the start."""
    distance, movement, layers = axes
    most = max(2.0, 1.6 * max(map(abs, result.config.imbalance)))
    grid = np.sinh(np.linspace(-1.0, 1.0, 75) * np.arcsinh(most))
    limits = {shape: model_of(result, architecture=shape).limits(grid, result["seed"].values) for shape in SHAPES}
    ends = [(distance, "distance", shape, shape, look) for shape, look in SHAPES.items()]
    ends += [(movement, "movement", shape, shape, look) for shape, look in SHAPES.items()]
    ends += [(layers, name, "funnel", label, look) for name, (label, look) in LAYERS.items()]
    for axis, name, shape, label, (color, line, marker) in ends:
        values = result[name].sel(architecture=shape)
        axis.plot(grid, limits[shape][name].mean(axis=1), color=color, ls=line, lw=1.2)
        end_points(axis, values.isel(time=-1), "imbalance", fmt=marker, color=color, label=label)
        if axis is layers:
            axis.plot(values["imbalance"], values.isel(time=0).mean("run"), marker, color="0.7", ms=3)
    layers.plot([], [], "o", color="0.7", ms=3, label="at the start")
    ticks = [x for x in (-100, -10, -1, 0, 1, 10, 100) if abs(x) <= most]
    for axis in (distance, movement, layers):
        axis.set_xscale("symlog", linthresh=1.0, linscale=0.6)
        axis.set_xticks(ticks, [signed(x) for x in ticks])
        axis.set_xlabel("imbalance λ")
    distance.set(ylabel="final kernel distance", ylim=(None, 1.3 * distance.get_ylim()[1]))
    movement.set(ylabel="final kernel movement", yscale="log")
    layers.set(ylabel="similarity to task", ylim=(-0.05, 1.05), title="Layers of the funnel")
    distance.legend(loc="upper center", fontsize=6.5, ncols=3, columnspacing=0.6, handletextpad=0.0, handlelength=1.2)
    layers.legend(loc="lower center", fontsize=6.5, handlelength=1.2, labelspacing=0.2)
