"""Which fully connected networks specialise: maps over block length, speed of the second layer, and its bounds."""

from typing import Any, Literal

import festina as fs
from festina import claims
from festina._lazy import jax, jnp, np, xr
from festina.experiment import Equation, Experiment, Preset, continuous, structural
from festina.experiments.abstraction._common import process, side
from festina.experiments.abstraction._connected_rows import (
    AXES,
    ORDER,
    TASKS,
    VARIABLES,
    ConnectedConfig,
    initial,
    matched_rows,
    observe_rows,
    row_cosines,
    total_alignment,
)
from festina.experiments.abstraction._equations import CONNECTED
from festina.ranges import Coefficient, Duration, Share, Timescale
from festina.sources import SANDBRINK_2024

SOURCE = 20.0  # how long the source trains every cell
LONG = 0.5  # of the longest block: blocks from this share on are long
FAST = 3.0  # a second layer is fast if the timescale of the first is at least so many times its own


class ConnectedMap(Experiment):
    """A fully connected network specialises only with long blocks, a fast second layer, and bounds on it.

    The network and the sorting of `abstraction/connected` in every cell of two maps: block length τ_B × timescale τ₂ of
    the second layer (at one strength s of the bounds), and τ_B × s (at one τ₂). The total time is the same in all
    cells, so that short blocks come with many switches. The bounds are s·(10/11 Σ max(0, −C) + 5/11 (‖C‖₂ − 1)²), and
    what is mapped is the total alignment of the sorted first layer with all rows of the teachers at the end.

    Scales are those of the `mean` convention (unit teachers, loss averaged over outputs), with which the paper's maps
    were evidently made. All cells of a run share teachers, initial weights and inputs. The paper prints colours, not
    numbers: claims are about their order. In the shortest blocks nothing specialises, so that the speed of the second
    layer matters little there; and bounds can be too strong.
    """

    name = "abstraction/connected_map"
    sources = (SANDBRINK_2024,)
    time_unit = "t"
    variables = VARIABLES
    seeds = 10
    quick = {
        "seeds": 2,
        "block_shares": (1.0, 0.5, 0.125),
        "second_timescales": (0.0075, 0.01, 0.02),
        "strengths": (0.0, 0.25),
    }

    class Config(ConnectedConfig):
        block_shares: tuple[Share, ...] = structural(
            (1.0, 0.75, 0.5, 0.25, 0.125), min_length=1, help="block lengths of both maps, as shares of the longest"
        )
        second_timescales: tuple[Timescale, ...] = structural(
            (0.0075, 0.01, 0.0125, 0.015, 0.02), min_length=1, unit="t", help="timescales τ₂ of the first map"
        )
        strengths: tuple[Coefficient, ...] = structural(
            (0.0, 0.2, 0.25, 0.3, 0.35), min_length=1, help="strengths s of the bounds in the second map"
        )
        strength: Coefficient = continuous(0.25, help="strength s of the bounds in the first map")
        block_length: Duration = continuous(0.8, unit="t", help="the longest block τ_B")
        weight_timescale: Timescale = continuous(0.04, scale="log", unit="t", help="timescale τ₁ of the first layer")
        gate_timescale: Timescale = continuous(0.01, scale="log", unit="t", help="timescale τ₂ in the second map")
        nonnegativity: Coefficient = continuous(10 / 11, help="coefficient of Σ max(0, −C), for a strength of 1")
        normalization: Coefficient = continuous(5 / 11, help="coefficient of (‖C‖₂ − 1)², for a strength of 1")
        until: Duration = structural(20.0, unit="t", help="when to stop")
        records: int = structural(40, ge=1, le=1_000_000, help="recordings, evenly spaced; must divide the steps")
        convention: Literal["sum", "mean"] = structural(
            "mean", help="`sum`: loss summed over outputs, rows of norm 1/√d_in; `mean`: averaged, unit rows"
        )

    def coordinates(self, config: Any) -> dict[str, Any]:
        return {
            "block_share": list(config.block_shares),
            "second_timescale": list(config.second_timescales),
            "strength": list(config.strengths),
        }

    def simulate(self, config: Any, key: Any) -> Any:
        tasks, network, for_data = initial(config, key)

        def cell(share: Any, timescale: Any, strength: Any) -> Any:
            bounds = fs.networks.Regularizer(
                strength * config.nonnegativity, strength * config.normalization, order=ORDER
            )
            rule = fs.learning.JointDescent(jnp.asarray(config.weight_timescale), timescale, bounds)
            length = share * config.block_length
            return side.Arm(rule, fs.worlds.Blocks.of(range(TASKS), length, config.step_size))

        return process(config, for_data, network, jax.vmap(cell)(*cells(config)), tasks, observe_rows)

    def measure(self, data: Any) -> dict[str, Any]:
        total = total_alignment(data, matched_rows(row_cosines(data)))
        lengths, timescales = data.sizes["block_share"], data.sizes["second_timescale"]
        first, second = np.split(total[:, :, -1], [lengths * timescales], axis=1)
        return {
            "total_alignment": xr.DataArray(total, dims=AXES),
            "timescale_map": xr.DataArray(
                first.reshape(-1, lengths, timescales), dims=("run", "block_share", "second_timescale")
            ),
            "strength_map": xr.DataArray(
                second.reshape(len(second), lengths, -1), dims=("run", "block_share", "strength")
            ),
        }

    equations = (
        CONNECTED,
        Equation(
            r"L = L_{\text{task}} + s \Bigl[\lambda_1 \sum_{ij} \max(0, -C_{ij}) "
            r"+ \lambda_2\, \bigl(\|C\|_2 - 1\bigr)^2\Bigr]",
            "The strength s of the bounds on the second layer is one axis of the maps, its timescale and the block "
            "length others.",
        ),
    )
    presets = (
        Preset(
            "Figure A.7", "Rows agree with teachers where blocks are long, the second layer is fast and it is bounded."
        ),
        Preset(
            "weak bounds",
            "With a fifth of the bounds the first map shows less specialisation everywhere.",
            {"strength": 0.05},
        ),
    )

    @claims.paper(SANDBRINK_2024.at("app. A.4.1, fig. A.7"), claims.above(0.7))
    def specialised(self, result: Any) -> Any:
        """With long blocks, a fast second layer and bounds on it, rows agree with those of the teachers (total
        alignment in each such cell, mean of runs; our threshold).
        """
        return _fast(result, long=True)

    @claims.paper(SANDBRINK_2024.at("app. A.4.1, fig. A.7"), claims.below(0.5))
    def bounds_needed(self, result: Any) -> Any:
        """Without bounds rows do not agree with those of the teachers, however long the blocks are (total alignment,
        mean of runs; our threshold).
        """
        return _mean_map(result, "strength_map", strength=0.0)

    @claims.paper(SANDBRINK_2024.at("app. A.4.1, fig. A.7"), claims.above(0.1), loosely=claims.above(0.0))
    def long_blocks_needed(self, result: Any) -> Any:
        """Long blocks specialise more than short ones, for every fast second layer (total alignment in the longest less
        that in the shortest; our threshold).
        """
        return _gain(_fast(result), "block_share")

    @claims.paper(SANDBRINK_2024.at("app. A.4.1, fig. A.7"), claims.above(0.1), loosely=claims.above(0.0))
    def fast_second_layer_needed(self, result: Any) -> Any:
        """A fast second layer specialises more than a slow one, for blocks of every length (total alignment with the
        fastest less that with the slowest; our threshold).
        """
        return -_gain(_mean_map(result, "timescale_map"), "second_timescale")

    def figure(self, result: Any) -> Any:
        from festina.experiments.abstraction._connected_map_figure import draw

        return draw(result)


def cells(config: Any) -> Any:
    """Share of the longest block, timescale of the second layer and strength of the bounds in each cell."""
    shares = jnp.asarray(config.block_shares)

    def pairs(values: tuple[float, ...]) -> tuple[Any, Any]:
        return jnp.repeat(shares, len(values)), jnp.tile(jnp.asarray(values), len(shares))

    first, timescales = pairs(config.second_timescales)
    second, strengths = pairs(config.strengths)
    return (
        jnp.concatenate([first, second]),
        jnp.concatenate([timescales, jnp.full(second.shape, config.gate_timescale)]),
        jnp.concatenate([jnp.full(first.shape, config.strength), strengths]),
    )


def _mean_map(result: Any, name: str, **place: float) -> Any:
    mean = result[name].mean("run")
    if result.config.until < SOURCE - 1e-9:
        raise claims.Undecided(f"total alignment at the end of training needs --until {SOURCE:g}")
    for dim, value in place.items():
        if value not in mean[dim]:
            raise claims.NotApplicable(f"needs {dim} {value:g} among its values")
    return mean.sel(place)


def _fast(result: Any, long: bool = False) -> Any:
    """The cells of the first map with a fast second layer, and (if asked for) with long blocks only."""
    mean = _mean_map(result, "timescale_map")
    fast = mean["second_timescale"] * FAST <= result.config.weight_timescale * (1 + 1e-9)
    if not fast.any():
        raise claims.NotApplicable("needs a fast second layer")
    rows = mean["block_share"] >= (LONG if long else 0.0)
    if not rows.any():
        raise claims.NotApplicable(f"needs blocks of at least {LONG:g} of the longest")
    return mean.isel(second_timescale=fast.values, block_share=rows.values)


def _gain(mean: Any, dim: str) -> Any:
    """What is gained from the smallest to the largest value along a dimension."""
    if len(set(mean[dim].values)) < 2:
        raise claims.NotApplicable(f"needs two values of {dim}")
    ordered = mean.sortby(dim)
    return ordered.isel({dim: -1}, drop=True) - ordered.isel({dim: 0}, drop=True)
