"""Two orders of clothes: whether gates come to switch as fast if tasks share half of their labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import festina as fs
from festina import claims, models
from festina._lazy import xr
from festina.experiment import Arms, Budget, Experiment, ExperimentConfig, Preset, Result, named, structural
from festina.experiments._at_hand import is_there, there_or_told
from festina.experiments.abstraction import _common as common
from festina.experiments.abstraction import _panels as panels
from festina.experiments.abstraction.images import LAST, WINDOW, late, recovery_times
from festina.figures.panels import Page
from festina.models._in_blocks import forgetful
from festina.sources import SANDBRINK_2024
from festina.style import BLUE, VERMILLION, draw_band

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PLACE = SANDBRINK_2024.at("app. A.9.1, fig. A.15")
WARM, UPPER = "warm-cold", "upper-lower"
STAND_INS = {"fashion_upper_lower": "digits", "fashion_warm_cold": "digits_half_kept"}
LATER = (
    "the stand-in: where half of the digits keep their labels gates separate some switches later, see the description"
)
FAST = 0.2  # of a block: recovery within it counts as a switch by gates
COLORS = {UPPER: BLUE, WARM: VERMILLION}


def _images(wanted: str) -> Any:
    """The images of an arm: clothes in one order, or digits with the same permutation of labels."""
    return lambda config: {"images": STAND_INS[wanted] if config.shown == "digits" else wanted}


class Clothes(Experiment):
    """Whether gates come to switch as fast between two orders of clothes if half of all labels are the same in both.

    Clothes have their usual labels in one task. In the other they are sorted from *upper* to *lower* body, whereby a
    fifth of all labels stay, or from *warm* to *cold* weather, whereby half of them stay. Both with the flexible and
    the forgetful network of `abstraction/images`, and the bounds of the paper's table (‖c‖₂).

    Fashion-MNIST is used wherever it is available (`festina data fetch fashion`, or a package of the operating system).
    Elsewhere digits stand in, with the same two permutations of their labels. What the paper says does not apply to
    these, and they have claims of their own. The paper gives no numbers: thresholds are ours.

    Digits are not quite as clothes are said to be: where half of them keep their labels the gates separate four
    switches later (four seeds), and after ten blocks recovery still takes .05 of a block longer.
    """

    name = "abstraction/clothes"
    sources = (SANDBRINK_2024,)
    arms = Arms(
        models.ImageAbstraction,
        labelling=named(upper_lower=_images("fashion_upper_lower"), warm_cold=_images("fashion_warm_cold")),
        arm=named(flexible={}, forgetful=forgetful),
    )
    base = {"order": 2}
    seeds = 10
    quick = {"seeds": 2, "until": 6.0, "records": 300}
    presets = (
        Preset(
            "two orders",
            "Less is lost at a switch if half of all labels stay, and gates come to switch in either case.",
        ),
    )

    class Config(ExperimentConfig):
        shown: Literal["clothes", "digits"] = structural(
            "digits", help="`clothes`, the default where they are at hand, or the `digits` that stand in for them"
        )

    def configure(self, budget: Budget = "full", **fields: Any) -> Any:
        default = {"shown": "clothes" if is_there("fashion_warm_cold") else "digits"}
        config: Any = super().configure(budget, **default | fields)
        known = config.shown == "digits" or there_or_told("fashion_warm_cold")
        return config if known else config.model_copy(update={"shown": "digits"})

    @claims.paper(PLACE, claims.below(0.05), loosely=claims.below(0.2), budget="full")
    def adapts(self, result: Result) -> xr.DataArray:
        """With both orders of clothes the flexible network is quickly back at its accuracy after late switches (time to
        95 % of it, in blocks; our threshold).
        """
        return recovery(of_clothes(result))

    @claims.theory(claims.below(0.05), loosely=claims.below(0.2), reason=LATER, budget="full")
    def digits_adapt(self, result: Result) -> xr.DataArray:
        """With both permutations of digits the flexible network is quickly back at its accuracy after late switches
        (time to 95 % of it, in blocks; our threshold).
        """
        return recovery(of_digits(result))

    @claims.paper(PLACE, claims.near(0.0, 0.02), budget="full")
    def equally_fast(self, result: Result) -> xr.DataArray:
        """Both orders of clothes come to be switched to equally fast (difference of times to recover after late
        switches, in blocks; our tolerance).
        """
        return difference(recovery(of_clothes(result)))

    @claims.theory(claims.near(0.0, 0.02), reason=LATER, budget="full")
    def digits_equally_fast(self, result: Result) -> xr.DataArray:
        """Both permutations of digits come to be switched to equally fast (difference of times to recover after late
        switches, in blocks; our tolerance).
        """
        return difference(recovery(of_digits(result)))

    @claims.paper(PLACE, claims.near(0.0, 1.0), budget="full")
    def emerge_alike(self, result: Result) -> xr.DataArray:
        """Task switching emerges at a similar speed for both orders of clothes (difference of the numbers of switches
        before recovery takes less than a fifth of a block; our tolerance).
        """
        return difference(onset(of_clothes(result)))

    @claims.theory(claims.near(0.0, 1.0), reason=LATER, budget="full")
    def digits_emerge_alike(self, result: Result) -> xr.DataArray:
        """Task switching emerges at a similar speed for both permutations of digits (difference of the numbers of
        switches before recovery takes less than a fifth of a block; our tolerance).
        """
        return difference(onset(of_digits(result)))

    @claims.paper(PLACE, claims.above(0.2))
    def higher_baseline(self, result: Result) -> xr.DataArray:
        """Baseline performance is higher where tasks share structure, for warm–cold (accuracy just after late switches,
        less that for upper–lower; our threshold).
        """
        return difference(baseline(of_clothes(result)))

    @claims.theory(claims.above(0.2))
    def digits_higher_baseline(self, result: Result) -> xr.DataArray:
        """Digits of which half keep their labels have the higher accuracy just after late switches (less that of digits
        of which a fifth do; our threshold).
        """
        return difference(baseline(of_digits(result)))

    @claims.theory(claims.near(0.0, 0.1))
    def kept_labels(self, result: Result) -> xr.DataArray:
        """Just after a late switch as many images are named rightly as have kept their labels (accuracy then over that
        before, less the share of labels kept; our tolerance).
        """
        before = common.ends_of_blocks(result, "accuracy").isel(block=slice(None, -1)).sel(arm="flexible")
        kept = xr.DataArray(
            [fs.worlds.labellings.PAIRS[images].kept for images in STAND_INS], {"labelling": [UPPER, WARM]}
        )
        return late(result, _at_switches(result) / before.values) - kept

    def figure(self, result: Result) -> Figure:
        """Accuracy and gates with either order, and what happens after switches."""
        with Page(2, 3, height=4.5) as page:
            for column, order in enumerate((UPPER, WARM)):
                one = result["accuracy"].sel(labelling=order)
                for arm, look in panels.LOOKS.items():
                    draw_band(page[column], one["time"].values, one.sel(arm=arm).values, label=arm, lw=0.9, **look)
                page[column].set(ylabel="accuracy (test images)", ylim=(0, 1.35), yticks=[0, 0.5, 1], title=order)
                page[column].legend(loc="upper right", ncols=2, fontsize=6.5)
                panels.draw_gates(page[3 + column], result, labelling=order)
                page[3 + column].set(ylim=(None, 1.35 * page[3 + column].get_ylim()[1]))
                page[3 + column].legend(loc="upper right", ncols=2, fontsize=6.5)
                for axis in (page[column], page[3 + column]):
                    axis.set(xlabel="time t", xlim=(0, result.config.until))
            _draw_recovery(page[2], result)
            _draw_switches(page[5], result)
            seen = fs.worlds.labellings.PAIRS[
                "fashion_warm_cold" if result.config.shown == "clothes" else "digits"
            ].title
            page.figure.suptitle(f"{seen}, labels permuted as in fig. A.15", fontsize=9)
        return page.figure


def of_clothes(result: Result) -> Result:
    """The result, if it is of clothes."""
    if result.config.shown != "clothes":
        raise claims.NotApplicable("needs the images of Fashion-MNIST: `festina data fetch fashion`")
    return result


def of_digits(result: Result) -> Result:
    """The result, if it is of digits."""
    if result.config.shown != "digits":
        raise claims.NotApplicable("needs the digits of scikit-learn: --shown digits")
    return result


def recovery(result: Result) -> xr.DataArray:
    """How long the flexible network takes to recover after late switches, in blocks, by run and order."""
    return late(result, recovery_times(result)).sel(arm="flexible") / result.config.block_length


def onset(result: Result) -> xr.DataArray:
    """How many switches the flexible network needs before it recovers within `FAST` of a block, by run and order."""
    common.need_blocks(result, LAST + 2, "adaptation after late switches")
    times = recovery_times(result).sel(arm="flexible")
    fast = times <= FAST * result.config.block_length
    return xr.where(fast.any("block"), fast.argmax("block"), fast.sizes["block"])


def baseline(result: Result) -> xr.DataArray:
    """The flexible network's accuracy just after late switches, by run and order."""
    return late(result, _at_switches(result))


def difference(values: xr.DataArray) -> xr.DataArray:
    """Of the order that shares structure from the other, mean of runs."""
    return (values.sel(labelling=WARM, drop=True) - values.sel(labelling=UPPER, drop=True)).mean("run")


def _at_switches(result: Result) -> xr.DataArray:
    """Accuracy of the flexible network at the beginning of every block but the first."""
    begins = common.first_recordings(result, "accuracy", 1).isel(sample=0, block=slice(1, None))
    return begins.sel(arm="flexible")


def _draw_recovery(axis: Axes, result: Result) -> None:
    """Steps to recover after each switch, by order and network."""
    steps = recovery_times(result) / result.config.step_size
    for order, color in COLORS.items():
        for arm, look in panels.LOOKS.items():
            one = steps.sel(labelling=order, arm=arm).transpose("run", "block")
            own = {"color": color, "marker": panels.MARKS[arm], "ms": 3, "label": f"{order}, {arm}"}
            draw_band(axis, one["block"].values + 1, one.values, **look | own)
    axis.set(xlabel="block", ylabel="steps to recover", yscale="log", ylim=(None, 30 * axis.get_ylim()[1]))
    axis.legend(loc="upper right", fontsize=6)


def _draw_switches(axis: Axes, result: Result) -> None:
    """Accuracy of the flexible network after late switches, by order."""
    steps = result["time"].values / result.config.step_size
    window = WINDOW * result.config.block_length / result.config.step_size
    since = steps[steps <= window + 1e-6]
    courses = common.first_recordings(result, "accuracy", len(since)).sel(arm="flexible")
    for order, color in COLORS.items():
        one = courses.sel(labelling=order).transpose("block", "run", "sample")[-LAST:].mean("block")
        draw_band(axis, since, one.values, color=color, label=order)
    axis.set(xlabel="steps after a late switch", ylabel="accuracy (flexible)", ylim=(0, 1.05), xlim=(0, window))
    axis.legend(loc="lower right", fontsize=6.5)
