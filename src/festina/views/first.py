"""What to try first: for every experiment one move of one field, and what is seen of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from festina.experiment import Experiment


@dataclass(frozen=True)
class Move:
    """A field, the value to give it at the quick budget, and what happens then.

    Example:
        >>> from festina.views.first import Move
        >>> Move("gate_timescale", 1.3, "nothing specialises.").sentence
        'Set gate timescale to 1.3: nothing specialises.'
    """

    field: str
    value: Any
    then: str

    @property
    def sentence(self) -> str:
        """The move in one sentence, which names the field as its control does."""
        value = (
            self.value.replace(",", ", ") if isinstance(self.value, str) else f"{self.value:.4g}".replace("e-0", "e-")
        )
        return f"Set {self.field.replace('_', ' ')} to {value}: {self.then}"


MOVES = {
    "linear/chain": Move("initial", 0.5, "away from the saddle no chain waits, however deep."),
    "linear/depth": Move("gain", 0.5, "each further layer nearly doubles the training time of small weights."),
    "linear/semantics": Move("structure", "ring", "slow waves round the ring are learned before fast ones."),
    "linear/saddles": Move("scale", 1e-6, "smaller weights rest longer, and closer to each saddle."),
    "linear/transition": Move("scale", 0.05, "little is left of the wait of balanced layers."),
    "linear/regimes": Move("scale", 0.01, "λ = 0 waits longer; lazy networks are not affected."),
    "linear/alignment": Move("strength", 3.0, "kernels align, and losses fall, about three times as early."),
    "linear/reversal": Move("strongest", 4.0, "every wait, ln(1/λ)/2s, is half as long."),
    "linear/continual": Move("angle", 30.0, "of similar tasks an eighth as much is forgotten."),
    "linear/mice": Move("inverse_temperature", 3.0, "animals that choose more at random learn less, and differ less."),
    "race/xor": Move("initial", 1e-5, "gated networks that start a hundred times smaller learn 6.5 τ later."),
    "race/margin": Move("separation", "0.7,0.75,0.8,0.85,0.9", "close to the crossing neither kind wins outright."),
    "race/speeds": Move("initial", 1e-4, "all pathways wait longer, the deep ones most."),
    "race/context": Move("cue", "0,0.5,1,2", "the weaker the cue, the longer a rectified network stays at L = ¼."),
    "race/tasks": Move("initial", "0.1,0.3,1", "from large weights pathways learn side by side, and there is no edge."),
    "race/views": Move("spread", 0.05, "from nearly equal starts the winner is less clear."),
    "race/routing": Move("initial", 1.0, "from a large start there is hardly a wait."),
    "race/systematic": Move("trained", "2,3", "with a third trained output a small start answers pairs it never saw."),
    "rectified/selectivity": Move("deviation", 8e-4, "the plateau is short, and sharing units brings little speed."),
    "rectified/race": Move("deviation", 1e-3, "all is learned sooner, and the same paths win."),
    "rectified/contexts": Move("deviation", 8e-4, "units keep more of the contexts that they had at the start."),
    "rectified/structures": Move("deviation", 8e-4, "modes have no time to wait for each other."),
    "rectified/frozen": Move("deviation", 8e-4, "there is no plateau any more on which all units are on."),
    "rectified/depth": Move("deviation", 0.05, "from larger weights the first layer is less linear."),
    "abstraction/specialization": Move("gate_timescale", 1.3, "with gates as slow as weights nothing specialises."),
    "abstraction/mechanism": Move("adapting_timescale", 10.0, "slow weights lose next to nothing in a switch."),
    "abstraction/regimes": Move("weight_timescale", 0.3, "slower students hardly specialise anywhere in this time."),
    "abstraction/blocks": Move("gate_timescale", 1.3, "with gates as slow as weights no length of blocks specialises."),
    "abstraction/interleaved": Move("gate_timescale", 0.01, "faster gates specialise in shorter blocks."),
    "abstraction/reduction": Move("scale", 0.001, "from smaller weights the reduced model is right to a per cent."),
    "abstraction/dimension": Move(
        "nonnegativity", 1.0, "if negative gates cost more, fast gates specialise at rank 15 as well."
    ),
    "abstraction/starts": Move("until", 14.0, "in twice the time small starts catch up."),
    "abstraction/similarity": Move("normalization", 0.05, "with a tenth of the bound little specialises at ρ = ½."),
    "abstraction/mixtures": Move("gate_timescale", 0.003, "students hardly turn, and stay where they happen to be."),
    "abstraction/capacity": Move("block_length", 0.25, "two paths do not reach the bound any more if tasks are three."),
    "abstraction/redundancy": Move("column_cost", 0.6, "at three times the cost some paths in use fade as well."),
    "abstraction/regularizer": Move("nonnegativity", 1.0, "no start is left among the negative gates."),
    "abstraction/composition": Move("gate_timescale", 0.2, "with gates as slow as students new tasks take long."),
    "abstraction/few_shot": Move("gate_timescale", 0.1, "with gates three times slower students do not specialise."),
    "abstraction/practice": Move("gate_timescale", 0.07, "with gates as slow as students practice brings nothing."),
    "abstraction/connected": Move("strength", 0.0, "without bounds both networks are forgetful."),
    "abstraction/connected_map": Move(
        "weight_timescale", 0.4, "a slow first layer hardly specialises anywhere in this time."
    ),
    "abstraction/images": Move("gate_timescale", 0.5, "gates a hundred times slower no longer switch."),
    "abstraction/clothes": Move("gate_timescale", 0.5, "gates a hundred times slower no longer switch."),
    "coding/analog": Move("temperature", 1.0, "little is learned, and the cloud of readouts shrinks to a third."),
    "coding/redundant": Move("temperature", 1.0, "the islands melt into one cloud."),
    "coding/sparse": Move("temperature", 1.0, "no neuron stands out any more."),
    "coding/temperature": Move("stay", 128, "cooled four times more slowly, codes freeze a little later."),
    "coding/predictor": Move("temperature", 1.0, "answers shrink, for hardly anything is learned."),
    "coding/outliers": Move("temperature", 1.0, "no neuron stands out any more."),
    "coding/depth": Move("cold", 1.0, "sigmoidal networks that are not cold lose their code."),
    "coding/deeper": Move("temperature", 1.0, "of these networks only that of three linear layers keeps the classes."),
    "coding/width": Move("width", "25,100,400", "a network four times as wide deviates half as much."),
    "coding/scaling": Move("temperature", 0.03, "one layer learns the classes where the exponent is 2, too."),
    "coding/regime": Move("width", 25, "with half as many neurons features make answers about half as sure."),
    "coding/descent": Move("rate", 0.001, "at a third of its rate Adam comes less far."),
    "coding/digits": Move("digits", "0,1,4", "digits that look different are coded in the same three ways."),
    "coding/ten_digits": Move("temperature", 1.0, "codes fade, the sigmoidal one most."),
}


def move_of(experiment: Experiment) -> Move | None:
    """What to try first; models by themselves have no such move, for every one of their fields can be turned."""
    return MOVES.get(experiment.name)
