"""Lazy, rich, delayed rich or mixed: what the numbers of a training say, and where they disagree.

*Lazy* means that a network stays where its first-order expansion at its start is accurate, so that the curvature along
the way that training took decides (see `festina.watching.twin`): below `LAZY` the network is its linearised twin, above
`RICH` it is not, and between them it is *mixed*. Two more numbers are compared with it. The tangent kernel of a rich
network turns. And the gap to the twin trained alike says, when half of the loss is gone, whether the twin learns the
same function (at the end all that learn the same examples agree on them). If training examples are given, the twin is
trained on them, and the gap decides with the curvature: where the two do not agree the network is mixed. Otherwise the
twin is trained on the probes, and only casts doubt. Rich networks whose kernel turns only after half of the loss is
gone are *delayed rich*. Where these numbers disagree, or a number is within two standard errors of its cut, the verdict
says so. The cuts are conventions; standard errors are those of other probes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import xarray as xr
from jaxtyping import Float

from festina.measures.alignment import at_fall, silent_share
from festina.notebook import Told
from festina.watching.share import Share

LAZY, RICH = 0.2, 0.5  # share of the change of the answers that the first-order expansion misses
KEPT, TURNED = 0.05, 0.2  # 1 − cosine between the first tangent kernel and the one farthest from it
LEARNED = 0.1  # of the first loss: networks whose loss fell by less have not been trained
HALF_WAY = "when half of the loss is gone"
NEAR = (0.2, 0.8)  # of the first loss: near enough to half of it
LATE = 0.2  # of all turning of the kernel, done while the first half of the loss falls


@dataclass(frozen=True)
class Verdict(Told):
    """What kind of learning it was.

    Attributes:
        word: "lazy", "rich", "delayed rich", "mixed" or "not trained".
        reasons: the numbers that decide, in sentences.
        doubts: where numbers disagree, or could not be had.
        layers: "lazy", "rich" or "mixed" for each layer, by its own kernel.

    Example:
        >>> print(fs.watching.Verdict("lazy", ("its kernel stayed what it was",), (), {"first": "lazy"}))
        lazy
          because its kernel stayed what it was
          layers: first lazy
    """

    word: str
    reasons: tuple[str, ...]
    doubts: tuple[str, ...]
    layers: dict[str, str]

    def __str__(self) -> str:
        lines = [self.word, *(f"  because {reason}" for reason in self.reasons)]
        lines += [f"  but {doubt}" for doubt in self.doubts]
        if self.layers:
            lines.append("  layers: " + ", ".join(f"{name} {word}" for name, word in self.layers.items()))
        return "\n".join(lines)


def judge(data: xr.Dataset) -> Verdict:
    """The verdict on a training, from the numbers of all looks."""
    loss = data["training_loss" if "training_loss" in data else "loss"].values
    layers = {
        str(name): _by_kernel(float(data["distance"].sel(layer=name).max())) for name in data["layer"].values[:-1]
    }
    fallen = 1 - loss[-1] / loss[0] if loss[0] else 0.0
    if len(loss) < 2 or not fallen >= LEARNED:
        return Verdict("not trained", (f"the loss has fallen by {max(fallen, 0.0):.0%} only",), (), layers)
    curved, turned = _last(data, "curvature"), float(data["distance"].sel(layer="all").max())
    word, parted = _word(curved), _half_way(data, loss)
    reasons = [
        f"its answers deviate from its first-order expansion at the start by {curved} of their change",
        _of_kernel(data, turned),
    ]
    doubts = list(_doubts(word, turned))
    if "training_loss" in data and np.isfinite(parted.value):
        word = word if _word(parted) == word else "mixed"
        gap = f"by {parted} of their change"
        reasons.insert(1, f"{HALF_WAY}, its answers deviate {gap} from its linearised twin, trained alike")
        doubts += _borders(curved, parted)
        if {_word(curved), _word(parted)} == {"lazy", "rich"}:
            doubts.append(
                "these two disagree; the twin also learns another function if the rule is not gradient descent"
            )
    else:
        doubts += [*_borders(curved), *_of_probes(word, parted)]
    early = float(at_fall(loss, data["distance"].sel(layer="all").values, 0.5)) / turned if turned else np.nan
    if word == "rich" and early < LATE:
        word = "delayed rich"
        reasons.append(f"only {early:.0%} of the kernel's turn was done when half of the loss was gone")
    silent = float(silent_share(loss, data["alignment"].sel(layer="all").values))
    if word in ("rich", "mixed") and silent > 0.5:
        share = "all" if silent >= 1 else f"{silent:.0%}"
        reasons.append(f"{share} of its alignment with the targets came before the loss had fallen by a tenth")
    return Verdict(word, tuple(reasons), tuple(doubts), layers)


def _of_kernel(data: xr.Dataset, turned: float) -> str:
    farthest = int(np.argmax(data["distance"].sel(layer="all").values))
    error = float(data["distance_error"][farthest])
    doubt = f" ± {error:.2g}" if error else ""
    start, end = (float(data["alignment"].sel(layer="all")[place]) for place in (0, -1))
    null, spread = float(data["shuffled_alignment"][-1]), float(data["shuffled_spread"][-1])
    return (
        f"its tangent kernel turned by up to {turned:.2g}{doubt} (1 − cosine), and its alignment with the targets went "
        f"from {start:.2g} to {end:.2g} ({null:.2g} ± {spread:.1g} with shuffled targets)"
    )


def _doubts(word: str, turned: float) -> Iterator[str]:
    """What the tangent kernel has to say against it."""
    if word == "lazy" and turned > TURNED:
        yield "the tangent kernel turned as that of a rich network does"
    if word == "rich" and turned < KEPT:
        yield "the tangent kernel kept its direction as that of a lazy network does"


def _of_probes(word: str, parted: Share) -> Iterator[str]:
    """What a twin says that was not trained on what the network was trained on."""
    if (word, _word(parted)) in (("lazy", "rich"), ("rich", "lazy")):
        yield (
            f"{HALF_WAY}, its answers deviate by {parted} of their change from its linearised twin, trained on the "
            "probes; this counts only if the network was trained on the probes, too: give `training`"
        )


def _borders(*shares: Share) -> Iterator[str]:
    """Numbers that other probes might put on the other side of a cut."""
    for share in shares:
        for cut in (LAZY, RICH):
            if abs(share.value - cut) < 2 * share.error:
                yield f"{share} is within two standard errors of the cut at {cut}: other probes may say otherwise"


def _last(data: xr.Dataset, name: str) -> Share:
    return Share(float(data[name][-1]), float(data[f"{name}_error"][-1]))


def _half_way(data: xr.Dataset, loss: Float[np.ndarray, " looks"]) -> Share:
    """The gap at the look nearest to half of the loss that the twin is trained on; NaN if that is not near."""
    place = int(np.argmin(np.abs(loss / loss[0] - 0.5)))
    near = NEAR[0] < loss[place] / loss[0] < NEAR[1]
    return Share(*(float(data[name][place]) if near else np.nan for name in ("gap", "gap_error")))


def _word(share: Share) -> str:
    """What a share speaks for by itself."""
    return "lazy" if share.value < LAZY else "rich" if share.value > RICH else "mixed"


def _by_kernel(turned: float) -> str:
    return "lazy" if turned < KEPT else "rich" if turned > TURNED else "mixed"
