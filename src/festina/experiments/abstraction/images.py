"""Two ways to label the same images, in alternation: gates on the features of a convolutional network switch."""

from typing import Any, Literal

import festina as fs
from festina import claims
from festina._lazy import jax, np, xr
from festina.experiment import Equation, Experiment, Preset, Variable, continuous, structural
from festina.experiments._labelled import labelled
from festina.experiments.abstraction._common import (
    ARMS,
    BlockConfig,
    arms,
    at_ends,
    block_edges,
    by_block,
    clock,
    keys,
    need_blocks,
    rule,
)
from festina.experiments.abstraction._equations import BOUNDS
from festina.experiments.abstraction._images_sets import PAIRS, at_hand
from festina.ranges import Coefficient, Duration, Start, Timescale
from festina.sources import SANDBRINK_2024

LAST = 4  # blocks at the end over which the settled state is averaged
SHARE = 0.95  # of the accuracy before a switch: when it is back, the network has recovered
Names = Literal["digits", "mnist", "fashion_upper_lower", "fashion_warm_cold"]


class Images(Experiment):
    """On images, too, fast and bounded gates learn to switch between two labellings that slow ones learn anew.

    A convolutional network learns to name images. Its last hidden layer h, from then on fixed, feeds two students,
    y = Σ_p c^p W^p h, which learn by joint descent on the cross-entropy of softmax(y) while the names of the images
    alternate between the usual ones and a permutation of them. The gates of the *flexible* arm are fast and bounded;
    those of the *forgetful* arm are as slow as its weights, and free.

    The paper shows MNIST, whose second task puts even digits before odd ones (label ⌊y/2⌋ + 5(y mod 2)), and
    Fashion-MNIST with two orders of clothes. Such a list names the classes in order: the label of a class is its place
    in the list, as in the published code. Read so, the order upper–lower and the permutation of the digits are the
    same. The default here are the 8×8 digits that come with scikit-learn, which are always at hand and stand in, with
    a warning, for images that were asked for and are not there (`festina data fetch` gets them).

    Claims about MNIST are thus put to the test on digits of another set unless `images=mnist`; the thresholds in them
    are ours, since the paper gives none. Both orders of clothes come to be switched to equally fast. Gates separate
    less for warm–cold, where half of all labels stay (selectivity .6, against .86 for upper–lower): that claim holds
    only qualitatively there.

    Where text and published code differ, this follows the code: a softmax, where the text has the sigmoid once more;
    initial weights a hundred times smaller than in the other simulations; maxima that overlap; one network's features
    for all seeds. Like the text, and unlike the code, which goes on for 3000 steps, training of that network ends where
    it is right about 90 % of the time (after 1000 steps ours has 98 % of MNIST right, and all else is as before).
    Batches are drawn with replacement, not in epochs.
    """

    name = "abstraction/images"
    sources = (SANDBRINK_2024,)
    time_unit = "t"
    variables = {
        "accuracy": Variable("accuracy on the test images of the task shown", ("arm",)),
        "gates": Variable("gates c", ("arm", "path")),
        "alone": Variable("accuracy of each student alone in each task", ("arm", "task", "path")),
        "pretrained": Variable("accuracy of the network that gives the features"),
    }
    seeds = 10
    quick = {"seeds": 3, "until": 6.0, "records": 600}

    class Config(BlockConfig):
        images: Names = structural("digits", help="images to name, and (for clothes) the order of the second task")
        instead_of: Literal["nothing", Names] = structural(
            "nothing", help="set by festina itself: images that were asked for and are not there"
        )
        weight_timescale: Timescale = continuous(10.0, scale="log", unit="t", help="timescale τ_w of the students")
        gate_timescale: Timescale = continuous(0.005, scale="log", unit="t", help="timescale τ_c of flexible gates")
        nonnegativity: Coefficient = continuous(0.5, help="coefficient of Σ max(0, −c)")
        normalization: Coefficient = continuous(0.25, help="coefficient of (‖c‖ − 1)²; L1 for digits, L2 for clothes")
        until: Duration = structural(10.0, unit="t", help="when to stop")
        scale: Start = continuous(1e-4, scale="log", help="s.d. of initial weights, times √(number of features)")
        batch: int = structural(100, ge=1, le=10_000, help="images seen in one step")
        pretraining: int = structural(
            0, ge=0, le=100_000, help="steps of AdamW, 512 images each, that shape the features; 0: up to about 90 %"
        )
        pretraining_seed: int = structural(0, ge=0, le=2**31, help="seed of the features, which all runs share")

    def configure(self, budget: Any = "full", **fields: Any) -> Any:
        return at_hand(super().configure(budget, **fields))

    def coordinates(self, config: Any) -> dict[str, Any]:
        return {"arm": list(ARMS), "task": ["usual", PAIRS[config.images].order]}

    def simulate(self, config: Any, key: Any) -> Any:
        from festina.experiments.abstraction._images_process import Lessons, entropy_process

        pair = PAIRS[config.images]
        shown = fs.worlds.load_images(pair.images)
        steps = config.pretraining or pair.pretraining
        lessons = Lessons.of(shown, pair.codes, jax.random.key(config.pretraining_seed), steps)
        _, for_weights, for_data = keys(key)
        outputs, inputs = len(pair.classes), lessons.features.shape[1]
        network = fs.networks.PathGated.init(for_weights, 2, outputs, inputs, config.scale)
        flexible = rule(config, pair.norm)
        both = arms(config, (0, 1), flexible, flexible.forgetful(config.weight_timescale))
        return entropy_process(network, both, lessons, for_data, config.batch, **clock(config))

    def measure(self, data: Any) -> dict[str, Any]:
        """Gates and students in the order of the tasks they are best at: one matching for each run and arm."""
        alone = data["alone"].transpose("run", "arm", "time", "task", "path").values
        order = fs.measures.matched_paths(alone.mean(axis=2))
        gates = data["gates"].transpose("run", "arm", "time", "path").values
        return {
            "sorted_gates": xr.DataArray(
                fs.measures.take_paths(gates, order, -1), dims=("run", "arm", "time", "student")
            ),
            "sorted_alone": xr.DataArray(
                fs.measures.take_paths(alone, order, -1), dims=("run", "arm", "time", "task", "student")
            ),
        }

    equations = (
        Equation(
            r"y = \sum_p c^p\, W^p h, "
            r"\qquad L_{\text{task}} = -\bigl\langle \ln \operatorname{softmax}(y)_{\text{label}} \bigr\rangle",
            "Students read the features h of a trained network and name images under the labelling that is on.",
        ),
        BOUNDS,
    )
    presets = (
        Preset(
            "digits", "The flexible network comes to switch between two labellings; the forgetful one learns each anew."
        ),
        Preset("slow gates", "Gates a hundred times slower no longer switch.", {"gate_timescale": 0.5}),
    )

    @claims.paper(SANDBRINK_2024.at("section 8"), claims.near(0.9, 0.03), budget="full")
    def pretrained(self, result: Any) -> Any:
        """The network that gives the features names about 90 % of the test images of MNIST rightly (our tolerance)."""
        return pretrained(result, "mnist")

    @claims.paper(SANDBRINK_2024.at("section 8, fig. 7C"), claims.below(0.05), loosely=claims.below(0.2))
    def recovers(self, result: Any) -> Any:
        """After late switches the flexible network is quickly back at its accuracy (time to 95 % of it, in blocks; our
        threshold).
        """
        return late(result, recovery_times(result))[:, 0] / result.config.block_length

    @claims.paper(SANDBRINK_2024.at("section 8, fig. 7C"), claims.above(2.0))
    def accelerating(self, result: Any) -> Any:
        """The flexible network comes to switch (time to recover after the first switch over that after late ones; our
        threshold).
        """
        return first_over_late(result)

    @claims.paper(SANDBRINK_2024.at("section 8, fig. 7C"), claims.above(5.0), loosely=claims.above(2.0))
    def relearns(self, result: Any) -> Any:
        """The forgetful network has to relearn the task (time to recover after late switches, over that of the flexible
        one; our threshold).
        """
        return forgetful_over_flexible(result)

    @claims.paper(SANDBRINK_2024.at("section 8"), claims.near(0.0, 0.03), budget="full")
    def original_accuracy(self, result: Any) -> Any:
        """At the ends of late blocks the flexible network is as accurate as the one that gives the features
        (difference; our tolerance).
        """
        return late(result, by_block(result, "accuracy"))[:, 0] - pretrained(result)

    @claims.paper(SANDBRINK_2024.at("section 8, fig. 7D"), claims.above(0.8), loosely=claims.above(0.5))
    def selective(self, result: Any) -> Any:
        """Flexible gates are selective for a task, (a − b)/(|a| + |b|) of their activity in the two (our threshold)."""
        return selectivity(result)[:, 0]

    @claims.theory(claims.below(0.2))
    def unselective(self, result: Any) -> Any:
        """Forgetful gates are not selective for a task, (a − b)/(|a| + |b|) of their activity in the two (our
        threshold).
        """
        return selectivity(result)[:, 1]

    @claims.theory(claims.near(0.0, 0.1), source=SANDBRINK_2024.at("app. A.9.1, fig. A.15"))
    def shared_structure(self, result: Any) -> Any:
        """At a switch the network names as many clothes rightly as have kept their labels (accuracy then over before,
        less the share of labels kept).
        """
        return kept_accuracy(result)

    def figure(self, result: Any) -> Any:
        from festina.experiments.abstraction._images_figure import draw

        return draw(result)


def pretrained(result: Any, needed: str = "") -> Any:
    """The accuracy of the network that gives the features, by run."""
    if needed and result.config.images != needed:
        raise claims.NotApplicable(f"needs the images of {PAIRS[needed].title}")
    return result["pretrained"].isel(time=0)


def recovery_times(result: Any) -> Any:
    """How long into each block but the first the accuracy is back at `SHARE` of what it was before the switch.

    Dimensions (run, arm, block); a whole block if it never is.
    """
    edges = block_edges(result.config)
    time, accuracy = result["time"].values, result["accuracy"].transpose("run", "arm", "time").values
    before = by_block(result, "accuracy")
    found = np.full((*before.shape[:2], len(edges) - 2), float(result.config.block_length))
    for block in range(1, len(edges) - 1):
        inside = (time >= edges[block] - 1e-9) & (time < edges[block + 1] - 1e-9)
        back = accuracy[..., inside] >= SHARE * before[..., block - 1, None]
        first = time[inside][back.argmax(axis=-1)] - edges[block]
        found[..., block - 1] = np.where(back.any(axis=-1), first, found[..., block - 1])
    return found


def late(result: Any, values: Any) -> Any:
    """The mean over the last blocks (or switches), which must not be all there are, with dimensions (run, arm)."""
    need_blocks(result, LAST + 2, "adaptation after late switches")
    return labelled(values[..., -LAST:].mean(axis=-1), "run", "arm")


def first_over_late(result: Any) -> Any:
    """The flexible network's time to recover after the first switch, over that after late ones, by run."""
    times = recovery_times(result)
    settled = late(result, times)[:, 0]
    return times[:, 0, 0] / settled


def forgetful_over_flexible(result: Any) -> Any:
    """How many times as long as the flexible network the forgetful one takes to recover at last, by run."""
    times = late(result, recovery_times(result))
    return times[:, 1] / times[:, 0]


def selectivity(result: Any) -> Any:
    """Mean selectivity of the gates, by their activity at the ends of the last blocks, with dimensions (run, arm)."""
    ends = at_ends(result, result["sorted_gates"].transpose("run", "arm", "student", "time").values)
    need_blocks(result, LAST + 2, "the settled state")
    task = np.arange(ends.shape[-1])[-LAST:] % 2
    activity = np.stack([ends[..., -LAST:][..., task == number].mean(axis=-1) for number in (0, 1)], axis=-2)
    return labelled(fs.measures.selectivity(activity).mean(axis=-1), "run", "arm")


def kept_accuracy(result: Any) -> Any:
    """Accuracy of the flexible network at late switches over that before, less the share of labels that are kept."""
    pair = PAIRS[result.config.images]
    if pair.images != "fashion":
        raise claims.NotApplicable("needs the images of Fashion-MNIST")
    edges = block_edges(result.config)
    accuracy = result["accuracy"].transpose("run", "arm", "time").values[:, 0]
    at_switch = accuracy[:, np.searchsorted(result["time"].values, edges[1:-1] - 1e-9)]
    before = by_block(result, "accuracy")[:, 0, :-1]
    need_blocks(result, LAST + 2, "accuracy at late switches")
    return labelled((at_switch / before)[..., -LAST:].mean(axis=-1) - pair.kept, "run")
