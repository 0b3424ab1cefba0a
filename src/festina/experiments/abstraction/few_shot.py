"""One sample at a time: how few of them it takes to notice that the task has changed."""

from typing import Any, Literal

import festina as fs
from festina import claims
from festina.experiment import Experiment, Preset, continuous, structural
from festina.experiments._fields import Duration, StepSize
from festina.experiments.abstraction._after_switches import after_samples
from festina.experiments.abstraction._common import (
    ARMS,
    SEPARATE,
    VARIABLES,
    AbstractionConfig,
    Data,
    arms,
    final_alignment,
    keys,
    need_blocks,
    observe,
    process,
    rule,
    sort_by_teacher,
)
from festina.experiments.abstraction._equations import BOUNDS, JOINT_DESCENT
from festina.sources import SANDBRINK_2024

TASKS = 2
BLOCKS = 20  # after which students can be expected to have specialised
LAST = 4  # blocks at the end over which late adaptation is averaged


class FewShot(Experiment):
    """Even if every step sees one sample only, a network with specialised students changes its task within two of them.

    The two tasks, the network and both arms of `abstraction/specialization`, with coarse time: B = 1 input in a step,
    33 steps in a block. A single input says little about a whole map, so that both learning and loss are noisy; curves
    are means of 100 runs. `loss` is expected over all inputs, not that on the sample.

    Once students have specialised, one sample suffices to move the gates most of the way: the loss falls from .47 (the
    wrong student alone would have .50) to about .16 after one sample and .09 after two. The forgetful network,
    which changes slowly and with every sample, has hardly moved by then.

    The table of the paper (τ_w = 1, τ_c = .01, dt = .02, ‖c‖₂, 6 blocks) cannot be what made its figure: with a step
    of 2 τ_c some runs diverge, and six blocks are too few to specialise. Timescales and step here are those of the
    published code, τ_w = 1.3 and τ_c = dt = .03, and there are 20 blocks. The norm is ‖c‖₁, because with it the loss
    is that of the reference values, which the paper does not print (a separate simulation with the published code's
    settings); with ‖c‖₂ (`order=2`) the network specialises as well, but one and two samples leave a loss of .19 and
    .12. The number of blocks and the norm were chosen by this comparison: that the numbers agree is partly due to it.

    In a few runs one student becomes the negative of its teacher, behind a negative gate: noise can take a gate across
    zero, where its bound is soft. It counts as misaligned, which keeps the mean alignment at .94. With ‖c‖₂ this was
    not seen.
    """

    name = "abstraction/few_shot"
    sources = (SANDBRINK_2024,)
    time_unit = "t"
    variables = VARIABLES
    seeds = 100
    quick = {"seeds": 100}  # compiling takes longer than all of them

    class Config(AbstractionConfig):
        order: Literal[1, 2] = structural(1, help="order of the norm of the gates: ‖c‖₁ or ‖c‖₂")
        block_length: Duration = continuous(0.99, unit="t", help="how long one task is shown, τ_B")
        step_size: StepSize = structural(0.03, unit="t", help="length dt of a step, in which one batch is seen")
        until: Duration = structural(19.8, unit="t", help="when to stop")
        records: int = structural(660, ge=1, le=1_000_000, help="recordings, evenly spaced; must divide the steps")
        batch: int = structural(1, ge=1, le=1_000_000, help="inputs B seen in one step (sampled and wishart)")
        data: Data = structural(
            "sampled",
            help="what a step sees: a `sampled` batch, its law (`wishart`), all inputs (`population`, `closure`)",
        )

    def coordinates(self, config: Any) -> dict[str, Any]:
        return {"arm": list(ARMS)}

    def simulate(self, config: Any, key: Any) -> Any:
        for_teachers, for_weights, for_data = keys(key)
        convention = fs.worlds.convention(config.convention)
        tasks = fs.worlds.Tasks.orthogonal(for_teachers, TASKS, config.outputs, config.inputs, convention)
        network = fs.networks.PathGated.init(for_weights, TASKS, config.outputs, config.inputs, config.scale)
        flexible = rule(config, config.order)
        both = arms(config, range(TASKS), flexible, flexible.forgetful(config.weight_timescale))
        return process(config, for_data, network, both, tasks, observe)

    def measure(self, data: Any) -> dict[str, Any]:
        return sort_by_teacher(data)

    equations = (JOINT_DESCENT, BOUNDS)
    presets = (
        Preset(
            "Figure A.16",
            "After a late switch one sample moves the flexible network most of the way, and a second one further.",
        ),
        Preset("Euclidean norm", "With the norm ‖c‖₂ a switch takes a little longer.", {"order": 2}),
        Preset("slow gates", "With gates three times slower students do not specialise.", {"gate_timescale": 0.1}),
    )

    @claims.paper(SANDBRINK_2024.at("app. A.10"), claims.above(0.0))
    def preserved(self, result: Any) -> Any:
        """Fast and bounded gates still specialise students if every step sees a single sample (mean total alignment at
        the end, flexible less forgetful).
        """
        return (settled_alignment(result, "flexible") - settled_alignment(result, "forgetful")).mean()

    @claims.reference(SEPARATE, claims.near(0.95, 0.03), loosely=claims.above(0.8))
    def specialised(self, result: Any) -> Any:
        """From single samples students come to agree with one teacher each in the flexible network (mean total
        alignment at the end).
        """
        return settled_alignment(result, "flexible").mean()

    @claims.reference(SEPARATE, claims.near(0.68, 0.03))
    def unspecialised(self, result: Any) -> Any:
        """From single samples students of the forgetful network come to share the teachers (mean total alignment at the
        end).
        """
        return settled_alignment(result, "forgetful").mean()

    @claims.reference(SEPARATE, claims.near(0.50, 0.05))
    def switch(self, result: Any) -> Any:
        """A late switch finds the flexible network fully set on the other task (mean loss before the first sample)."""
        return settled_loss(result)[0, 0]

    @claims.reference(SEPARATE, claims.near(0.155, 0.03))
    def one_sample(self, result: Any) -> Any:
        """One sample after a late switch the flexible network has found most of the way to the new task (mean loss)."""
        return settled_loss(result)[0, 1]

    @claims.reference(SEPARATE, claims.near(0.085, 0.02))
    def two_samples(self, result: Any) -> Any:
        """A second sample after a late switch brings the flexible network further (mean loss after two)."""
        return settled_loss(result)[0, 2]

    @claims.theory(claims.between(0.9, 1.0))
    def forgetful_waits(self, result: Any) -> Any:
        """Two samples tell the forgetful network next to nothing (mean loss after them, as a share of that before; our
        thresholds).
        """
        return settled_loss(result)[1, 2] / settled_loss(result)[1, 0]

    def figure(self, result: Any) -> Any:
        from festina.experiments.abstraction._few_shot_figure import draw

        return draw(result)


def after_switches(result: Any, name: str, samples: int) -> Any:
    """A variable after 0, 1, 2, … samples of each block, while it lasts: (run, arm, …, block, sample)."""
    steps = round(result.config.block_length / result.config.step_size)
    return after_samples(result, name, min(samples, steps - 1))


def late_loss(result: Any, samples: int = 2) -> Any:
    """The loss after 0, 1, 2, … samples, averaged over runs and late blocks: (arm, sample)."""
    loss = after_switches(result, "loss", samples)
    need_blocks(result, LAST + 1, "adaptation in late blocks")
    if loss.shape[3] <= samples:
        raise claims.NotApplicable(f"needs blocks of more than {samples} steps")
    return loss[:, :, -LAST:].mean(axis=(0, 2))


def settled_loss(result: Any) -> Any:
    """The same, for single samples, once students have had the time to specialise."""
    _need_samples(result)
    return late_loss(result)


def settled_alignment(result: Any, arm: str) -> Any:
    """The total alignment of one arm at the end, for single samples and runs that are long enough, by run."""
    _need_samples(result)
    return final_alignment(result, arm)


def _need_samples(result: Any) -> None:
    if result.config.batch != 1 or result.config.data != "sampled":
        raise claims.NotApplicable("needs one sample in a step, --batch 1 --data sampled")
    need_blocks(result, BLOCKS, "the settled state")
