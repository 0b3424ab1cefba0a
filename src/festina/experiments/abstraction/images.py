"""Two ways to label the same images, in alternation: gates on the features of a convolutional network switch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import festina as fs
from festina import claims, models
from festina._lazy import np, xr
from festina.experiment import Arms, Budget, Experiment, ExperimentConfig, Preset, Result, named, structural
from festina.experiments._at_hand import at_hand, is_there, what_is_seen
from festina.experiments.abstraction import _common as common
from festina.experiments.abstraction import _panels as panels
from festina.figures.panels import Page
from festina.models._in_blocks import forgetful
from festina.models.image_abstraction import Names
from festina.sources import SANDBRINK_2024
from festina.style import GREEN, draw_band

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from festina.worlds.labellings import Pair

LAST = 4  # blocks at the end over which the settled state is averaged
SHARE = 0.95  # of the accuracy before a switch: when it is back, the network has recovered
WINDOW = 0.2  # of a block after a switch, for a closer look
LEGEND: dict[str, Any] = {"loc": "upper right", "ncols": 2, "columnspacing": 0.8, "handlelength": 1.3, "fontsize": 6.3}


class Images(Experiment):
    """On images, too, fast and bounded gates learn to switch between two labellings that slow ones learn anew.

    The gates of the *flexible* arm are fast and bounded; those of the *forgetful* arm are as slow as its weights, and
    free. The paper shows MNIST, whose second task puts even digits before odd ones, and Fashion-MNIST with two orders
    of clothes (`abstraction/clothes` compares them). MNIST is used wherever it is available (`festina data fetch
    mnist`); elsewhere the 8×8 digits that come with scikit-learn stand in, with a warning if other images were asked
    for.

    What the paper says is put to the test on its own images alone, and does not apply to digits of another set; these
    have claims of their own. The thresholds are ours, since the paper gives none. Gates separate less for warm–cold
    clothes, where half of all labels stay (selectivity .6, against .86 for upper–lower): that claim holds only
    qualitatively there.
    """

    name = "abstraction/images"
    sources = (SANDBRINK_2024,)
    arms = Arms(models.ImageAbstraction, arm=named(flexible={}, forgetful=forgetful))
    seeds = 10
    quick = {"seeds": 2, "until": 6.0, "records": 300}
    presets = (
        Preset(
            "two labellings", "The flexible network comes to switch between two labellings, the other learns each anew."
        ),
        Preset("slow gates", "Gates a hundred times slower no longer switch.", {"gate_timescale": 0.5}),
    )

    class Config(ExperimentConfig):
        instead_of: Literal["nothing", Names] = structural(
            "nothing", help="set by festina itself: images that were asked for and are not there"
        )

    def configure(self, budget: Budget = "full", **fields: Any) -> Any:
        default = {"images": "mnist" if is_there("mnist") else "digits"}
        return at_hand(super().configure(budget, **default | fields))

    @claims.paper(SANDBRINK_2024.at("section 8"), claims.near(0.9, 0.03), budget="full")
    def pretrained(self, result: Result) -> xr.DataArray:
        """The network that gives the features names about 90 % of the test images of MNIST rightly (our tolerance)."""
        if result.config.images != "mnist":
            raise claims.NotApplicable("needs the images of MNIST")
        return pretrained(result)

    @claims.paper(SANDBRINK_2024.at("section 8, fig. 7C"), claims.below(0.05), loosely=claims.below(0.2))
    def recovers(self, result: Result) -> xr.DataArray:
        """After late switches the flexible network is quickly back at its accuracy (time to 95 % of it, in blocks; our
        threshold).
        """
        return recovery(published(result))

    @claims.theory(claims.below(0.05), loosely=claims.below(0.2))
    def digits_recover(self, result: Result) -> xr.DataArray:
        """On small digits the flexible network is quickly back at its accuracy after late switches (time to 95 % of it,
        in blocks; our threshold).
        """
        return recovery(stand_in(result))

    @claims.paper(SANDBRINK_2024.at("section 8, fig. 7C"), claims.above(2.0))
    def accelerating(self, result: Result) -> xr.DataArray:
        """The flexible network comes to switch (time to recover after the first switch over that after late ones; our
        threshold).
        """
        return acceleration(published(result))

    @claims.theory(claims.above(2.0))
    def digits_accelerate(self, result: Result) -> xr.DataArray:
        """On small digits the flexible network comes to switch (time to recover after the first switch over that after
        late ones; our threshold).
        """
        return acceleration(stand_in(result))

    @claims.paper(SANDBRINK_2024.at("section 8, fig. 7C"), claims.above(5.0), loosely=claims.above(2.0))
    def relearns(self, result: Result) -> xr.DataArray:
        """The forgetful network has to relearn the task (time to recover after late switches, over that of the flexible
        one; our threshold).
        """
        return relearning(published(result))

    @claims.theory(claims.above(5.0), loosely=claims.above(2.0))
    def digits_relearned(self, result: Result) -> xr.DataArray:
        """On small digits the forgetful network has to relearn the task (time to recover after late switches, over that
        of the flexible one; our threshold).
        """
        return relearning(stand_in(result))

    @claims.paper(SANDBRINK_2024.at("section 8"), claims.near(0.0, 0.03), budget="full")
    def original_accuracy(self, result: Result) -> xr.DataArray:
        """At the ends of late blocks the flexible network is as accurate as the one that gives the features
        (difference; our tolerance).
        """
        return lost_accuracy(published(result))

    @claims.theory(claims.near(0.0, 0.03), budget="full")
    def digits_accuracy(self, result: Result) -> xr.DataArray:
        """On small digits the flexible network is as accurate as the one that gives the features at the ends of late
        blocks (difference; our tolerance).
        """
        return lost_accuracy(stand_in(result))

    @claims.paper(SANDBRINK_2024.at("section 8, fig. 7D"), claims.above(0.8), loosely=claims.above(0.5))
    def selective(self, result: Result) -> xr.DataArray:
        """Flexible gates are selective for a task, (a − b)/(|a| + |b|) of their activity in the two (our threshold)."""
        return selectivity(published(result), "flexible")

    @claims.theory(claims.above(0.8), loosely=claims.above(0.5))
    def digits_selected(self, result: Result) -> xr.DataArray:
        """On small digits flexible gates are selective for a task, (a − b)/(|a| + |b|) of their activity in the two
        (our threshold).
        """
        return selectivity(stand_in(result), "flexible")

    @claims.theory(claims.below(0.2))
    def unselective(self, result: Result) -> xr.DataArray:
        """Forgetful gates are not selective for a task, (a − b)/(|a| + |b|) of their activity in the two (our
        threshold).
        """
        return selectivity(result, "forgetful")

    @claims.theory(claims.near(0.0, 0.1), source=SANDBRINK_2024.at("app. A.9.1, fig. A.15"))
    def shared_structure(self, result: Result) -> xr.DataArray:
        """At a switch the network names as many clothes rightly as have kept their labels (accuracy then over before,
        less the share of labels kept).
        """
        if pair_of(result).images != "fashion":
            raise claims.NotApplicable("needs the images of Fashion-MNIST")
        before = common.ends_of_blocks(result, "accuracy").isel(block=slice(None, -1))
        at_switch = common.first_recordings(result, "accuracy", 1).isel(sample=0, block=slice(1, None))
        return late(result, (at_switch / before.values).sel(arm="flexible")) - pair_of(result).kept

    def figure(self, result: Result) -> Figure:
        """The two tasks; accuracy, gates and students over time; what happens after a switch, early and late."""
        with Page(2, 3, height=4.5) as page:
            _draw_tasks(page[0], pair_of(result))
            panels.draw_arms(page[1], result, "accuracy", lw=0.9)
            level = float(pretrained(result).mean())
            page[1].axhline(level, color=GREEN, ls=(0, (1, 1)), lw=1.0, label="pretrained network")
            panels.draw_by_task(page[2], result["sorted_gates"], "student", "gate of")
            page[2].set(ylabel="gates", ylim=(None, 1.35 * page[2].get_ylim()[1]))
            _draw_switches(page[3], result)
            panels.draw_in_blocks(page[4], recovery_times(result) / result.config.step_size)
            spacing = result["time"].values[1] / result.config.step_size
            page[4].axhline(spacing, color="0.6", ls=(0, (1, 1)), lw=0.8, label="resolution")
            page[4].set(ylabel="steps to recover", yscale="log", ylim=(0.7 * spacing, 15 * page[4].get_ylim()[1]))
            _draw_students(page[5], result)
            for axis in (page[1], page[2], page[5]):
                panels.shade_blocks(axis, common.block_edges(result.config), (0, 1))
                axis.set(xlabel="time t", xlim=(0, result.config.until))
            for axis, of in ((page[1], "(test images)"), (page[3], "(test images)"), (page[5], "of one student")):
                axis.set(ylabel=f"accuracy {of}", ylim=(0, 1.45), yticks=[0, 0.5, 1])
            for axis in page.axes.ravel()[1:]:
                if axis.lines:  # there may be no switch, and so nothing after one
                    axis.legend(**LEGEND)
            words = f"usual labels (A) and {pair_of(result).order} (B)"
            page.figure.suptitle(f"{what_is_seen(result.config)}: {words}", fontsize=9)
        return page.figure


def pair_of(result: Result) -> Pair:
    """The two tasks of a run."""
    return fs.worlds.labellings.PAIRS[result.config.images]


def published(result: Result) -> Result:
    """The result, if its images are of a set that the source shows."""
    name = pair_of(result).images
    if name == "digits":
        raise claims.NotApplicable("needs images of the source: `festina data fetch mnist` (or fashion)")
    return result


def stand_in(result: Result) -> Result:
    """The result, if its images stand in for those of the source."""
    if pair_of(result).images != "digits":
        raise claims.NotApplicable("needs the digits of scikit-learn: --images digits")
    return result


def recovery(result: Result) -> xr.DataArray:
    """How long the flexible network takes to recover after late switches, in blocks, by run."""
    return late(result, recovery_times(result)).sel(arm="flexible") / result.config.block_length


def acceleration(result: Result) -> xr.DataArray:
    """How much longer the flexible network takes to recover after the first switch than after late ones, by run."""
    times = recovery_times(result).sel(arm="flexible")
    settled = late(result, times)
    return times.isel(block=0) / settled


def relearning(result: Result) -> xr.DataArray:
    """How much longer the forgetful network takes to recover after late switches than the flexible one, by run."""
    times = late(result, recovery_times(result))
    return times.sel(arm="forgetful") / times.sel(arm="flexible")


def lost_accuracy(result: Result) -> xr.DataArray:
    """Accuracy of the flexible network at the ends of late blocks less that of the network of its features, by run."""
    return late(result, common.ends_of_blocks(result, "accuracy")).sel(arm="flexible") - pretrained(result)


def pretrained(result: Result) -> xr.DataArray:
    """The accuracy of the network that gives the features, by run."""
    return result["pretrained"].isel(time=0).sel(arm="flexible")


def recovery_times(result: Result) -> xr.DataArray:
    """How long into each block but the first the accuracy is back at `SHARE` of that before; a block if it never is."""
    before = common.ends_of_blocks(result, "accuracy")
    values, edges = result["accuracy"].transpose(*before.dims[:-1], "time").values, common.block_edges(result.config)
    found = fs.measures.recovery_times(result["time"].values, values, edges, SHARE)
    return before.isel(block=slice(1, None)).copy(data=found).fillna(result.config.block_length)


def late(result: Result, values: xr.DataArray) -> xr.DataArray:
    """The mean over the last blocks (or switches), which must not be all there are."""
    common.need_blocks(result, LAST + 2, "adaptation after late switches")
    return values.isel(block=slice(-LAST, None)).mean("block")


def selectivity(result: Result, arm: str) -> xr.DataArray:
    """Mean selectivity of the gates of an arm, by their activity at the ends of the last blocks, by run."""
    activity = common.late_ends(result, "sorted_gates", LAST).sel(arm=arm).transpose("run", "task", "student")
    common.need_blocks(result, LAST + 2, "the settled state")
    return xr.DataArray(fs.measures.selectivity(activity.values).mean(axis=-1), dims="run")


def _draw_tasks(axis: Axes, pair: Pair) -> None:
    """Every class with its label in either task, and an image of it where there is one to be had."""
    known = fs.worlds.images.has_images(pair.images)  # which a stored result can outlive
    shown = fs.worlds.load_images(pair.images) if known else None
    for number, (name, first, second) in enumerate(zip(pair.classes, *pair.codes, strict=True)):
        look: dict[str, Any] = {"color": "0.35", "ls": "-"} if first == second else panels.task_look(1)
        axis.plot([0, 1], [first, second], lw=1.0, **look)
        axis.text(1.08, second, f"{second}   {name if name != str(number) else f'“{name}”'}", va="center", fontsize=6.5)
        if shown is not None:
            image, place = shown.images[np.argmax(shown.labels == number)], (-0.3, -0.08, number + 0.4, number - 0.4)
            axis.imshow(image, cmap="gray_r", extent=place, aspect="auto")
    axis.set(xlim=(-0.45, 2.0), ylim=(9.6, -0.6), yticks=range(10), title="labels in the two tasks")
    axis.set_xticks([0, 1], ["A", "B"])
    axis.tick_params(length=0, labelsize=6.5, top=True, labeltop=True, bottom=False, labelbottom=False)
    axis.spines[:].set_visible(False)


def _draw_switches(axis: Axes, result: Result) -> None:
    """Accuracy after the first switch and after late ones, on a stretched axis."""
    steps = result["time"].values / result.config.step_size
    window = WINDOW * result.config.block_length / result.config.step_size
    since = steps[steps <= window + 1e-6]
    courses = common.first_recordings(result, "accuracy", len(since)).transpose("arm", "block", "run", "sample")[:, 1:]
    for arm, mark in (("flexible", "."), ("forgetful", "x")) if courses.sizes["block"] else ():
        first, late = courses.sel(arm=arm)[0].values, courses.sel(arm=arm)[-LAST:].mean("block").values
        draw_band(axis, since, late, **panels.LOOKS[arm] | {"lw": 1.5, "label": f"{arm}, late"})
        thin = {"lw": 0.7, "marker": mark, "ms": 3, "markevery": 0.1, "label": f"{arm}, first"}
        draw_band(axis, since, first, **panels.LOOKS[arm] | thin)
    axis.set(xlabel="steps after a switch", xlim=(0, window))


def _draw_students(axis: Axes, result: Result) -> None:
    """How good each student of the flexible network is at each task, on its own."""
    alone = result["sorted_alone"].sel(arm="flexible").transpose("student", "task", "run", "time").values
    for student, task in np.ndindex(2, 2):
        look = panels.task_look(task) | {"ls": panels.task_look(student)["ls"], "lw": 1.0}
        draw_band(axis, result["time"].values, alone[student, task], label=f"$W^{student + 1}$ in {'AB'[task]}", **look)
