"""How many outliers rectified networks have, which neurons they are, and what both depend on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import festina as fs
from festina import claims, models
from festina._lazy import np, xr
from festina.claims import Undecided
from festina.experiment import Arms, Equation, Experiment, Panels, Preset, Result, named, over, use
from festina.experiments._needs import require_case
from festina.experiments.coding._codes import outliers_of, served_by
from festina.experiments.coding._comparison import class_kernel_difference, place_of, sampling_checks, theory_of
from festina.experiments.coding._dwelling import (
    by_slowness,
    draw_courses,
    draw_schedules,
    draw_stages,
    least_less_most,
    plainly_cooled,
)
from festina.experiments.coding._panels import draw_sizes
from festina.figures.panels import Page, bands, groups, looks_of, marks_of
from festina.sources import VAN_MEEGEN_2024
from festina.style import BLUE, THEORY, VERMILLION

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FEW_RUNS = (
    "our budget, which is few runs with few outliers; after a quench the first weights may have a say; see the "
    "experiment's description"
)
LATE = 0.25  # the last part of all recordings, over which the end is averaged
STRONGEST = 8  # neurons shown of the first run
COUNTS = {"counted": {"color": BLUE, "marker": "o"}, "effective": {"color": VERMILLION, "marker": "^"}}
RECTIFIED: dict[str, Any] = {"nonlinearity": "rectified", "layers": 1, "tests": 0, "noise": 0.0}


def first_task(config: Any) -> tuple[int, ...]:
    """That of all widths."""
    return config.counts[0]


def middle(config: Any) -> int:
    """The width of all tasks."""
    return sorted(config.width)[len(config.width) // 2]


def between(config: Any) -> int:
    """The width of networks that dwell: of no others, which would be computed with them, and differ in the last bit."""
    return max(10, 2 * max(config.width) // 3)


class Outliers(Experiment):
    """Rectified networks need one outlier per class but often have more; which neurons they are is left to chance.

    Theory fixes the directions in which neurons of a rectified network condense, and Σ_i |ā_i|² over the outliers of
    each direction, but not into how many neurons the sum is split: that is flat to leading order in N. How many there
    are, and which, is an open question of the source, which says only that neurons keep their part. Here networks of
    several widths and tasks are cooled from T = 1 and then held at a low temperature. An *outlier* has a readout |a| >
    8√s, s = 1/P being the prior's variance, and serves the class it is most active in. Their *effective* number in a
    class is (Σq)²/Σq², q = |ā|².

    Cooling may *dwell*: T then falls `slowness` times more slowly from .85 to .45, where codes condense, and the faster
    elsewhere, so that it takes as many draws. While outliers are small they can still give way to each other. Our
    prediction, written before the first run: the more cooling dwells the fewer outliers there are when it ends, and in
    the end one is left for each code. Found at N = 200: fewer are there at once (3.9 per code at most without dwelling,
    2.3 with it), but of the 200 draws of cooling too few are then left below the onsets. When cooling ends there are
    2.4 at slowness 1, 1.9 at 4 and 2.25 at 16 (± .3 over four runs: the difference is in the noise), and in the end
    1.2, 1.3 and 1.3. More draws do what dwelling alone does not: four chains that cool within 1600 draws end with 1.17
    per code at slowness 1, and with 1.08, three of them with exactly one, at 16.

    In two arms all runs start from the same weights, to see if these decide who becomes an outlier: one is annealed,
    the other, *quenched*, begins at the final temperature. Sizes are N ≤ 300 and P ≤ 40, less than in the source, since
    steps of the sampler shrink as (NP)^{−½}; samples are four runs of each arm.

    Found at the full budget: every code has its outliers, and kernels agree with theory to 1 %, however many there
    are. After 600 draws there are 1.0 per code at N = 75, 1.3 at 150 and 2.1 at 300, down from several times as many:
    they merge, but the more slowly the wider the network. Equal classes have as many as 20/10/10 (1.3), 28/6/6 more
    (2.1). Of six pairs of annealed runs from one start one has outliers in common, and four of the quenched ones (.05
    and .22 of all outliers), which suggests that the first weights have a say then; with four runs it is no more than
    a hint.
    """

    name = "coding/outliers"
    sources = (VAN_MEEGEN_2024,)
    arms = Panels(
        own=Arms(
            use(models.WideBayesian, origin="prior", **RECTIFIED),
            width=(75, 150, 300),
            counts=((20, 10, 10), (13, 13, 13), (28, 6, 6), (20, 20)),
            only=lambda config, arm: arm["counts"] == first_task(config) or arm["width"] == middle(config),
        ),
        common=Arms(
            use(models.WideBayesian, origin="common", width=middle, counts=first_task, **RECTIFIED),
            cooling_down=named(annealed={}, quenched={"hottest": lambda config: config.temperature}),
        ),
        dwelling=Arms(
            use(models.WideBayesian, origin="prior", width=between, counts=first_task, **RECTIFIED),
            dwelling=over("slowness", 1.0, 4.0, 16.0),
        ),
    )
    base = {"cooling": 4 / 7, "warm_up": 350, "draws": 450, "records": 80}
    seeds = 4
    quick = {"seeds": 2, "width": (50, 100), "counts": ((20, 10, 10), (12, 12)), "warm_up": 70, "draws": 90}
    quick |= {"records": 16, "dwelling": (1.0, 16.0)}

    equations = (
        Equation(
            r"\bar a_i = s \sum_c n_c\, t_c\, (t_c \cdot \bar a_i)_+, "
            r"\qquad n_{\text{eff}} = \frac{\bigl(\sum_i q_i\bigr)^2}{\sum_i q_i^2}, \quad q_i = |\bar a_i|^2",
            "Theory fixes the directions of outliers and the sum of their q, but not into how many neurons it is "
            "split.",
        ),
    )
    presets = (
        Preset("widths and tasks", "Every class has its outliers, which merge slowly while the temperature is held."),
        Preset("warm", "At T = 0.3 outliers are fewer, and smaller in sum.", {"temperature": 0.3}),
    )

    @claims.paper(VAN_MEEGEN_2024.at("permutation symmetry breaking"), claims.above(0.8))
    def identity_kept(self, result: Result) -> xr.DataArray:
        """Permutation symmetry is broken: which neurons are outliers stays as it is (share of those at the end that
        were outliers half-way through holding; .8 is our threshold).
        """
        return own(result, kept(condensed(result))).mean()

    @claims.theory(claims.near(0.0, 0.1))
    def directions(self, result: Result) -> xr.DataArray:
        """Every code of our theory has outliers in the end, and no other code has any (mean difference in the number of
        codes).
        """
        end = late(result)
        served = served_by(standing_out(result, end), end).any("neuron").sum("class").mean("time")
        return plainly_cooled(result, abs(served - codes(result))).mean("arm")

    @claims.theory(claims.below(0.05), budget="full")
    def kernel(self, result: Result) -> xr.DataArray:
        """The kernel between classes of rectified networks is that of our theory, however many outliers there are
        (relative difference).
        """
        return plainly_cooled(result, kernel_difference(result)).rename(arm="network")

    @claims.theory(claims.below(0.1))
    def sum(self, result: Result) -> xr.DataArray:
        """Outliers of a class together have the Σ|ā|² of our theory (relative difference, mean over classes and
        networks).
        """
        return plainly_cooled(result, sum_difference(condensed(result))).mean("arm")

    @claims.reference(
        "our own earlier long chains",
        claims.near(1.0, 0.2),
        loosely=claims.between(1.0, 3.0),
        reason="our budget: outliers of wide networks merge slowly; see the experiment's description",
    )
    def one_each(self, result: Result) -> xr.DataArray:
        """One outlier is left for each code of rectified networks (mean number after annealing and holding)."""
        return own(result, by_code(condensed(result))).rename(arm="network")

    @claims.theory(claims.above(0.0), reason="our budget: outliers merge slowly; see the experiment's description")
    def fewer(self, result: Result) -> xr.DataArray:
        """Outliers become fewer at constant temperature, since theory lets them merge (number when cooling ends less
        that at the end, mean of all).
        """
        number = own(result, standing_out(condensed(result), result.data).sum("neuron"))
        return (number.sel(time=slice(cooled_at(result), None)).isel(time=0) - number.isel(time=-1)).mean()

    @claims.theory(
        claims.near(0.0, 0.5),
        budget="full",
        reason="our budget: outliers merge the more slowly the wider a network is; see the experiment's description",
    )
    def width(self, result: Result) -> xr.DataArray:
        """The number of outliers does not grow with the width of a network (number per code at the largest width less
        that at the smallest).
        """
        number, arms = by_code(condensed(result)).mean("run"), list(by_width(result).values())
        require_case(len(arms) > 1, "--width with two values or more")
        return number.isel(arm=arms[-1]) - number.isel(arm=arms[0])

    @claims.theory(claims.near(0.0, 0.1), budget="full", reason=FEW_RUNS)
    def identity_annealed(self, result: Result) -> xr.DataArray:
        """Which neurons become outliers is left to chance by annealing, since neurons are alike: runs from one start
        have few of them in common (share, over pairs of runs).
        """
        return in_common(condensed(result), cooling_down="annealed")

    @claims.theory(claims.near(0.0, 0.1), budget="full", reason=FEW_RUNS)
    def identity_quenched(self, result: Result) -> xr.DataArray:
        """Which neurons become outliers is left to chance without annealing: runs from one start have few of them in
        common (share, over pairs of runs).
        """
        return in_common(condensed(result), cooling_down="quenched")

    @claims.theory(claims.above(0.0), budget="full")
    def dwelling(self, result: Result) -> xr.DataArray:
        """Outliers are fewer where cooling dwells at the onsets of codes, in as many draws (number per code when
        cooling ends, at slowness 1 less that at the largest).
        """
        return least_less_most(per_code(result, when_cooled(result))).mean("run")

    @claims.reference(
        "our own earlier chain, which dwelt for 150 draws on each of 11 temperatures",
        claims.near(1.0, 0.2),
        loosely=claims.between(1.0, 3.0),
        budget="full",
        reason="our budget: these chains have 200 draws to cool down, and the earlier one had 1650",
    )
    def dwelling_one_each(self, result: Result) -> xr.DataArray:
        """One outlier is left for each code where cooling dwells at the onsets of codes (mean number in the end, at the
        largest slowness).
        """
        return by_slowness(result, by_code(condensed(result))).isel(slowness=-1)

    checks = sampling_checks()

    def figure(self, result: Result) -> Figure:
        """Outliers over time; sizes of one run; outliers per code by width and task; kernels; identity; dwelling."""
        at = middle(result.config)
        tasks = {"/".join(map(str, each)): place_of(result, width=at, counts=each) for each in result.config.counts}
        with Page(3, 3, height=6.9) as page:
            _draw_time(page[0], result)
            _draw_sizes(page[1], result)
            _draw_counts(page[2], result, by_width(result))
            _draw_counts(page[3], result, tasks)
            page[3].tick_params(axis="x", labelsize=5.5)
            page[2].set_xlabel("neurons N")
            page[3].set_xlabel(f"examples of each class (N = {at})")
            _draw_kernel(page[4], result)
            _draw_identity(page[5], result)
            draw_schedules(page[6], result)
            draw_courses(page[7], per_code(result, result.data))
            _shade_cooling(page[7], result)
            cooled, last = per_code(result, when_cooled(result)), by_slowness(result, by_code(result))
            draw_stages(page[8], cooled, last)
        return page.figure


def by_width(result: Result) -> dict[int, int]:
    """The number of the arm of the first task at each width, from narrow to wide."""
    task = first_task(result.config)
    return {width: place_of(result, width=width, counts=task) for width in sorted(result.config.width)}


def named_arms(values: xr.DataArray, arms: Mapping[Any, int]) -> xr.DataArray:
    """Some of the arms, with names."""
    return values.isel(arm=list(arms.values())).assign_coords(arm=list(arms))


def own(result: Result, values: xr.DataArray) -> xr.DataArray:
    """Of the arms whose runs have starts of their own, all of them cooled."""
    return values.isel(arm=np.flatnonzero(result["panel"].values == "own"))


def of_arms(result: Result, number: Callable[[Any], Any], *dims: str) -> xr.DataArray:
    """A number of every arm's network, or an array with further dimensions."""
    return xr.DataArray([number(arm.model) for arm in result.arms], dims=("arm", *dims))


def name_of(network: Any) -> str:
    return f"{'/'.join(map(str, network.counts))}, N = {network.width}"


def cooled_at(result: Result) -> int:
    """The draw at which networks have their final temperature."""
    return round(result.config.cooling * result.config.warm_up)


def when_cooled(result: Result) -> xr.Dataset:
    """The first recording at the final temperature."""
    return result.data.sel(time=slice(cooled_at(result), None)).isel(time=0)


def per_code(result: Result, data: xr.Dataset) -> xr.DataArray:
    """Outliers per code in some recordings of the arms that dwell: (run, …, slowness)."""
    number = standing_out(condensed(result), data).sum("neuron") / np.maximum(codes(result), 1)
    return by_slowness(result, number)


def late(result: Result) -> xr.Dataset:
    """The last recordings."""
    return result.data.isel(time=slice(-max(1, int(LATE * result.data.sizes["time"])), None))


def standing_out(result: Result, data: xr.Dataset) -> xr.DataArray:
    """Which neurons are outliers: (run, time, arm, neuron)."""
    return outliers_of(data, of_arms(result, lambda network: network.readout_variance))


def energies(result: Result, data: xr.Dataset) -> xr.DataArray:
    """q = |a|²/N of outliers by the class they serve; 0 of all other neurons."""
    square = (data["readout"] ** 2).sum("output") / of_arms(result, lambda network: network.width)
    return square * served_by(standing_out(result, data), data)


def codes(result: Result) -> xr.DataArray:
    """Codes of the theory, of each arm."""
    return of_arms(result, lambda network: len(theory_of(network).outliers))


def condensed(result: Result) -> Result:
    """The result itself, unless theory has no outliers in one of its networks."""
    for arm, number in zip(result.arms, codes(result).values, strict=True):
        require_case(number, f"a lower --temperature: in theory there are no outliers with {name_of(arm.model)}")
    return result


def by_code(result: Result) -> xr.DataArray:
    """Outliers per code in the end: (run, arm)."""
    return standing_out(result, late(result)).sum("neuron").mean("time") / np.maximum(codes(result), 1)


def effective_by_code(result: Result) -> xr.DataArray:
    """(Σq)²/Σq² of the outliers of each class in the end, mean over classes that have any: (run, arm)."""
    share = energies(result, late(result))
    number = xr.apply_ufunc(fs.measures.effective_number, share.where(share > 0), input_core_dims=[["neuron"]])
    return number.mean(("time", "class")).fillna(0.0)


def sum_difference(result: Result) -> xr.DataArray:
    """|Σ|ā|² − theory|/theory of the outliers of each class, mean over classes: (run, arm)."""
    ours = energies(result, late(result)).sum("neuron").mean("time")
    expected = of_arms(result, lambda network: predicted_energies(network, ours.sizes["class"]), "class")
    return abs(ours / expected.where(expected > 0) - 1.0).mean("class")


def predicted_energies(network: Any, classes: int) -> np.ndarray:
    """Σ|ā|² over the outliers of the theory that serve each class; 0 for classes that a network does not have."""
    theory = theory_of(network)
    return np.bincount(theory.codes.activities.argmax(axis=1), np.sum(theory.outliers**2, axis=1), classes)


def kernel_difference(result: Result) -> xr.DataArray:
    """‖κ − κ_theory‖/‖κ_theory‖ of the mean over late recordings: (run, arm)."""
    ours, theirs = late(result)["class_kernel"].mean("time"), result.solved["class_kernel"][:, -1]
    return class_kernel_difference(ours, theirs)


def kept(result: Result) -> xr.DataArray:
    """The share of the last outliers that were outliers half-way through holding: (run, arm)."""
    half = (cooled_at(result) + result.config.warm_up + result.config.draws) / 2
    held = standing_out(result, result.data.sel(time=slice(half, None)))
    before, last = held.isel(time=0), held.isel(time=-1)
    return (before & last).sum("neuron") / np.maximum(last.sum("neuron"), 1)


def in_common(result: Result, **labels: Any) -> xr.DataArray:
    """|A ∩ B| over the mean size of the sets A, B of outliers of two runs at the end, for all pairs of runs."""
    ends = standing_out(result, result.data.isel(time=-1)).isel(arm=place_of(result, **labels))
    if ends.sizes["run"] < 2:
        raise Undecided("needs --seeds 2 or more")
    return xr.DataArray(fs.measures.overlaps(ends.transpose("run", "neuron").values), dims="pair")


def _shade_cooling(axis: Axes, result: Result) -> None:
    axis.axvspan(0, cooled_at(result), color="0.92", lw=0, zorder=0)
    look = {"rotation": 90, "va": "top", "color": "0.4", "fontsize": 7}
    axis.annotate("cooling", (0, 1), (3, -3), "axes fraction", "offset points", **look)
    axis.set(xlabel="draws", xlim=(0, result["time"].values[-1]))


def _draw_time(axis: Axes, result: Result) -> None:
    """The number of outliers of the first task, at each width."""
    number = standing_out(result, result.data).sum("neuron")
    bands(axis, named_arms(number, by_width(result)), "arm", label=lambda width: f"N = {width}", lw=1.0)
    axis.axhline(int(codes(result)[0]), label="codes of the theory", **THEORY)
    _shade_cooling(axis, result)
    axis.set(ylabel="outliers", ylim=(0, 1.55 * axis.get_ylim()[1]))
    axis.legend(loc="upper right", fontsize=7)


def _draw_sizes(axis: Axes, result: Result) -> None:
    """|a|/√N of the strongest neurons of one run at the largest width, by the class they serve."""
    arm, classes = by_width(result)[max(result.config.width)], range(len(first_task(result.config)))
    one = result.data[["readout", "activity"]].isel({"run": 0, "arm": arm, "class": classes, "output": classes})
    theory = np.linalg.norm(theory_of(result.arms[arm].model).outliers, axis=1)
    looks = [look | {"lw": 0.9} for look in looks_of(classes).values()]
    draw_sizes(axis, "time", one, np.unique(np.round(theory, 6)), looks, STRONGEST)
    _shade_cooling(axis, result)


def _draw_counts(axis: Axes, result: Result, arms: Mapping[Any, int]) -> None:
    """Outliers per code of some arms, as they are counted and as effective numbers: of every run, and their mean."""
    numbers = xr.Dataset({"counted": by_code(result), "effective": effective_by_code(result)}).to_dataarray("number")
    shown = named_arms(numbers, arms)
    groups(axis, shown, "arm", "number", looks=COUNTS, step=0.24, runs=True, ms=4.5, mfc="none")
    axis.axhline(1, **THEORY)
    axis.set(ylabel="outliers per code", ylim=(0, 1.35 * max(float(shown.sel(number="counted").max()), 1.5)))
    axis.set_xlim(-0.6, len(arms) - 0.4)
    axis.legend(loc="upper left", ncols=2, columnspacing=0.8, handletextpad=0.2)


def _draw_kernel(axis: Axes, result: Result) -> None:
    """The kernel does not know how many outliers there are."""
    count, difference = own(result, by_code(result)), own(result, kernel_difference(result))
    for number, look in marks_of(range(count.sizes["arm"])).items():
        label = name_of(result.arms[number].model)
        axis.plot(count.isel(arm=number), difference.isel(arm=number), ls="none", label=label, **look)
    axis.set(xlabel="outliers per code", ylabel="relative difference\nof kernel from theory")
    axis.set_ylim(0, 2.2 * float(difference.max()))
    axis.legend(loc="upper right", fontsize=6, handletextpad=0.1, labelspacing=0.25)


def _draw_identity(axis: Axes, result: Result) -> None:
    """The share of outliers that pairs of runs have in common, and what chance would give."""
    alone = {"width": middle(result.config), "counts": first_task(result.config)}
    shown = {"own start,\nannealed": alone} | {
        f"common,\n{kind}": {"cooling_down": kind} for kind in ("annealed", "quenched")
    }
    for at, (labels, look) in enumerate(zip(shown.values(), marks_of(shown, ms=4).values(), strict=True)):
        if result.data.sizes["run"] > 1:
            shares = in_common(result, **labels)
            axis.plot(at + np.linspace(-0.2, 0.2, len(shares) + 2)[1:-1], shares, ls="none", **look)
    ends = standing_out(result, result.data.isel(time=-1)).isel(arm=place_of(result, **alone))
    axis.axhline(float(ends.sum("neuron").mean()) / alone["width"], label="by chance", **THEORY)
    axis.set_xticks(range(len(shown)), list(shown), fontsize=6.5)
    axis.set(ylabel="outliers in common,\neach pair of runs", ylim=(-0.05, 1.05), xlim=(-0.5, 2.5))
    axis.legend(loc="upper left")
