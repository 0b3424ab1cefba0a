"""Routing between domains: every input domain is to be translated into every output domain, a few pairs are trained.

M input and M output domains each hold the same few items. An item of an input domain is named by an indicator, and the
answer in any output domain is the item's features, which form a small hierarchy. For each input domain K of the M
output domains are trained; what a learner does with the other pairs is systematic generalization.

Source: Saxe, Sodhani & Lewallen 2022, "The neural race reduction"; Saxe's lecture ("multilingual translation").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from festina.errors import require
from festina.precision import is_traced
from festina.worlds.world import as_array, check_finite

if TYPE_CHECKING:
    from festina.worlds.gated import GatedDataset

ALL, HALVES, SINGLES = np.array([[1.0] * 4]), np.array([[1.0, 1, 0, 0], [0, 0, 1, 1]]), np.eye(4)


def hierarchy(common: Any = 6.0, group: Any = 4.0, single: Any = 3.0) -> Float[Any, "7 4"]:
    """Seven features of four items: one of all, two of half of them each, four of single items.

    Args:
        common: size of the feature that all items have.
        group: of those that half of them have.
        single: of those that single items have.

    Returns:
        Y, features by items.

    Example:
        >>> fs.worlds.routing.hierarchy()[:4].tolist()
        [[6.0, 6.0, 6.0, 6.0], [4.0, 4.0, 0.0, 0.0], [0.0, 0.0, 4.0, 4.0], [3.0, 0.0, 0.0, 0.0]]
    """
    stack = jnp if is_traced((common, group, single)) else np
    return stack.concatenate([common * ALL, group * HALVES, single * SINGLES])


HIERARCHY = hierarchy()
"""The hierarchy with the usual sizes; s = 13.601, 6.403, 3, 3."""

_MODES_OF_ITEMS = np.linalg.svd(HIERARCHY, full_matrices=False)[2].T


class Modes(NamedTuple):
    """Y = U diag(s) Vᵀ, strongest mode first.

    Attributes:
        left: U, one mode a column.
        strengths: s.
        right: V, one mode a column.

    Example:
        >>> modes = fs.worlds.routing.hierarchy_modes()
        >>> made = modes.left @ np.diag(modes.strengths) @ modes.right.T
        >>> bool(np.allclose(made, fs.worlds.routing.hierarchy()))
        True
    """

    left: Float[Any, "features modes"]
    strengths: Float[Any, " modes"]
    right: Float[np.ndarray, "items modes"]


def hierarchy_modes(common: Any = 6.0, group: Any = 4.0, single: Any = 3.0) -> Modes:
    """The modes of a `hierarchy`, which may be traced: V is that of all sizes, for the items' features are nested.

    s² = 4 common² + 2 group² + single² for what all items share, 2 group² + single² for what tells the halves apart,
    and single² twice for what tells the items of a half apart.

    Args:
        common: size of the feature that all items have.
        group: of those that half of them have.
        single: of those that single items have.

    Example:
        >>> fs.worlds.routing.hierarchy_modes().strengths.round(3).tolist()
        [13.601, 6.403, 3.0, 3.0]
    """
    stack = jnp if is_traced((common, group, single)) else np
    weak = single**2
    middle = 2.0 * group**2 + weak
    strengths = stack.sqrt(stack.stack([4.0 * common**2 + middle, middle, weak, weak]))
    return Modes(hierarchy(common, group, single) @ _MODES_OF_ITEMS / strengths[None], strengths, _MODES_OF_ITEMS)


@dataclass(frozen=True)
class Normalisation:
    """The weight of a trained pair in the loss, M^domain_power · K^trained_power; it sets the unit of time.

    Args:
        name: to call it by.
        domain_power: of the number of domains M.
        trained_power: of the number of trained outputs K.

    Example:
        >>> round(1 / fs.worlds.ALL_PAIRS.weight(7, 3)), round(1 / fs.worlds.TRAINED_PAIRS.weight(7, 3))
        (49, 21)
    """

    name: str
    domain_power: int
    trained_power: int

    def weight(self, domains: int, trained: int) -> float:
        return float(domains) ** self.domain_power * float(trained) ** self.trained_power


ALL_PAIRS = Normalisation("all pairs", -2, 0)
"""L = M⁻² Σ ½|·|² over trained pairs: a pair counts the same however many others are trained."""

TRAINED_PAIRS = Normalisation("trained pairs", -1, -1)
"""L = (KM)⁻¹ Σ ½|·|², the mean over trained pairs: the speed of learning no longer depends on K."""


class Routing(eqx.Module):
    """Trained pairs of domains with the same answers in each; its loss is L = weight · Σ_trained ½|Y − W_oi|².

    |·|² sums over features and items, so that the input-output correlation of a pair is Y itself.

    Args:
        answers: Y, features by items.
        trained: 1 for pairs (output, input) that are trained, 0 for others.
        weight: of one trained pair.

    Example:
        >>> world = fs.worlds.Routing.of(domains=3, trained=2)
        >>> world.trained.astype(int).tolist(), world.strengths.round(3).tolist()
        ([[1, 0, 1], [1, 1, 0], [0, 1, 1]], [13.601, 6.403, 3.0, 3.0])
        >>> float(world.untrained_error(np.zeros((3, 3, 7, 4))))  # of a learner that answers zero
        1.0
    """

    answers: Float[Any, "features items"] = eqx.field(converter=as_array)
    trained: Float[Any, "outputs inputs"] = eqx.field(converter=as_array)
    weight: Any

    def __check_init__(self) -> None:
        check_finite("answers", self.answers)
        require(np.ndim(self.answers) == 2, "answers", "be features by items", np.shape(self.answers))
        require(np.ndim(self.trained) == 2, "trained", "be outputs by inputs", np.shape(self.trained))

    @classmethod
    def of(
        cls, domains: int = 7, trained: int = 3, *, answers: Any = HIERARCHY, normalisation: Normalisation = ALL_PAIRS
    ) -> Routing:
        """M domains on either side, each input trained on the K outputs that `trained_pairs` chooses.

        Args:
            domains: M.
            trained: K.
            answers: features by items.
            normalisation: `ALL_PAIRS` (default) or `TRAINED_PAIRS`; see there.
        """
        return cls(answers, trained_pairs(domains, trained), normalisation.weight(domains, trained))

    @property
    def domains(self) -> int:
        return self.trained.shape[-1]

    @property
    def strengths(self) -> Float[Any, " modes"]:
        """Singular values of Y, strongest first."""
        return np.linalg.svd(np.asarray(self.answers), compute_uv=False)

    def errors(self, maps: Float[Any, "outputs inputs features items"]) -> Float[Array, "outputs inputs"]:
        """½|Y − W_oi|² of every pair, trained or not."""
        return 0.5 * jnp.sum((jnp.asarray(self.answers)[None, None] - maps) ** 2, axis=(-2, -1))

    def loss(self, maps: Float[Any, "outputs inputs features items"]) -> Float[Array, ""]:
        """weight · Σ ½|Y − W_oi|² over trained pairs."""
        return self.weight * jnp.sum(self.trained * self.errors(maps))

    def untrained_error(self, maps: Float[Any, "outputs inputs features items"]) -> Float[Array, ""]:
        """The mean of ½|Y − W_oi|² over pairs never trained, in units of ½|Y|²: 1 for a learner that answers zero.

        There must be such pairs; where `trained` is traced, and so cannot be looked at, it is NaN if there are none.
        """
        others = 1.0 - self.trained
        if not is_traced(self.trained):
            require(bool(np.any(np.asarray(others) > 0)), "trained", "leave out a pair", np.shape(self.trained))
        return jnp.sum(others * self.errors(maps)) / jnp.sum(others) / (0.5 * jnp.sum(self.answers**2))

    @property
    def gated(self) -> GatedDataset:
        """The same world for a gated network with input nodes x1 … xM and output nodes y1 … yM.

        One sample for each item of each trained pair opens the gates of its two domains. Inputs and answers are both
        stretched by √(weight · samples), which turns a mean over samples into the loss above.
        """
        from festina.worlds.gated import GatedDataset

        answers, trained = np.asarray(self.answers), np.asarray(self.trained)
        items = answers.shape[1]
        output, input_ = (np.repeat(side, items) for side in np.nonzero(trained))
        item = np.tile(np.arange(items), len(output) // items)
        stretch = np.sqrt(float(self.weight) * len(item))
        inputs, targets, gates = {}, {}, {}
        for domain in range(self.domains):
            on, asked = ((side == domain).astype(float) for side in (input_, output))
            name, answer = f"x{domain + 1}", f"y{domain + 1}"
            inputs[name] = stretch * on[:, None] * np.eye(items)[item]
            targets[answer] = stretch * asked[:, None] * answers.T[item]
            gates |= {name: on, answer: asked}
        return GatedDataset(inputs=inputs, targets=targets, gates=gates)


def trained_pairs(domains: int, trained: int) -> Float[np.ndarray, "outputs inputs"]:
    """The K output domains nearest to each input domain: (o − i) mod M in −⌊(K−1)/2⌋ … ⌊K/2⌋.

    Args:
        domains: M.
        trained: K, from 1 to M.

    Returns:
        1 for pairs (output, input) that are trained, 0 for others.

    Example:
        >>> fs.worlds.routing.trained_pairs(4, 2).astype(int).tolist()
        [[1, 0, 0, 1], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]
    """
    require(domains >= 1, "domains", "be at least 1", domains)
    require(1 <= trained <= domains, "trained", f"lie between 1 and the {domains} domains", trained)
    distance = (np.arange(domains)[:, None] - np.arange(domains)[None, :]) % domains
    near = np.arange(-((trained - 1) // 2), trained // 2 + 1) % domains
    return np.isin(distance, near).astype(float)
