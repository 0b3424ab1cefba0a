"""What models of routing between domains share: the world, its modes, and the maps of shared and private pathways."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field, ValidationInfo, field_validator

import festina as fs
from festina._lazy import jnp
from festina.config import continuous, structural
from festina.model import Model

if TYPE_CHECKING:
    from festina.models._types import Array, Float, Modes, RoutingWorld

    Layers = tuple[Array, Array, Array]

Count = Annotated[int, Field(ge=1, le=50)]
Size = Annotated[float, Field(ge=0.0, le=10.0)]
PositiveSize = Annotated[float, Field(ge=0.1, le=10.0)]
MODES = 4  # of the answers


class RoutingModel(Model):
    """M input and M output domains with the same four items in each; every input is trained on K outputs.

    An item has one answer in all domains: its column of a small hierarchy Y of features (`festina.worlds.routing`).
    """

    domains: Count = structural(4, help="domains M on either side")
    trained: Count = structural(2, help="trained outputs K of each input")
    common: Size = continuous(6.0, help="size of the feature that all items share")
    group: Size = continuous(4.0, help="size of a feature that half of the items share")
    single: PositiveSize = continuous(3.0, help="size of a feature of one item, and so the weakest mode strength s")

    @field_validator("trained")
    @classmethod
    def _at_most_all(cls, trained: int, info: ValidationInfo) -> int:
        if trained > info.data.get("domains", trained):
            raise ValueError(f"not exceed the {info.data['domains']} domains")
        return trained

    def coordinates(self) -> dict[str, list[int]]:
        return {"mode": list(range(1, MODES + 1))}

    @property
    def modes(self) -> Modes:
        """U, s and V of the answers."""
        return fs.worlds.routing.hierarchy_modes(self.common, self.group, self.single)

    def world(self, average: str) -> RoutingWorld:
        """Trained pairs, with the loss averaged over `all pairs` or over `trained pairs`."""
        known = {one.name: one for one in (fs.worlds.ALL_PAIRS, fs.worlds.TRAINED_PAIRS)}
        answers = fs.worlds.routing.hierarchy(self.common, self.group, self.single)
        return fs.worlds.Routing.of(self.domains, self.trained, answers=answers, normalisation=known[average])

    def strengths_of(self, maps: Float[Array, "outputs inputs features items"]) -> Float[Array, " modes"]:
        """u_kᵀ W_oi v_k, averaged over trained pairs."""
        trained, modes = jnp.asarray(fs.worlds.routing.trained_pairs(self.domains, self.trained)), self.modes
        mean = jnp.einsum("oi,oifx->fx", trained, maps) / jnp.sum(trained)
        return jnp.einsum("fk,fx,xk->k", jnp.asarray(modes.left), mean, jnp.asarray(modes.right))


def shared_maps(weights: Layers) -> Float[Array, "outputs inputs features items"]:
    """W_oi = W3_o W2 W1_i of every pair."""
    first, second, third = weights
    return jnp.einsum("ofh,ihx->oifx", third, jnp.einsum("hk,ikx->ihx", second, first))


def private_maps(weights: Layers) -> Float[Array, "outputs inputs features items"]:
    """W3_oi W2_oi W1_oi: the map of each pair's own network."""
    first, second, third = weights
    return third @ (second @ first)
