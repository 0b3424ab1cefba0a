"""Longer blocks specialise faster: what simulations say, and what linear stability says of it."""

from dataclasses import replace
from functools import cache
from math import isclose
from typing import Any

from pydantic import ValidationInfo, field_validator

import festina as fs
from festina import claims
from festina._lazy import jax, jnp, np, xr
from festina.experiment import Equation, Experiment, Preset, continuous, structural
from festina.experiments._labelled import labelled
from festina.experiments.abstraction._common import keys, rule, side
from festina.experiments.abstraction._equations import REDUCED
from festina.experiments.abstraction._reduced import ReducedConfig, paths, process, variables
from festina.experiments.abstraction._rising import rising
from festina.ranges import Coefficient, Duration
from festina.sources import SANDBRINK_2024

TWINS = ("twins, A", "twins, B", "twins, gate")  # which of their three coordinates differ
STARTS = ("random", "orbit", *TWINS)
TINY = 1e-6  # a difference of twins that stays small while its growth is measured
NOTABLE = 0.01  # rates from here on are compared as ratios
PRINTED = 2.0  # eq. 21 over what its own expansion gives
EARLY = "likely the scope of the source: its argument is of early learning and short blocks, see the description"
EQUAL_GATES = "likely the source: it takes gates to be equal whenever a block begins, see the experiment's description"
TRANSIENT = "it is the transient of the first blocks that specialises networks, see the experiment's description"
AT = 24.0  # when block lengths are compared: whole rounds of all default lengths


class BlockLength(Experiment):
    """In the same time few long blocks specialise more than many short ones, as long as no block is too long.

    The reduced model learns two tasks in alternation, for several block lengths τ_B, with constants that stand for the
    network of the paper's first simulation (τ_w = 1.3, τ_c = .06, bounds 2/11 and 10/11). Three starts:

    - `random`: small random weights, as everywhere else;
    - `orbit`: both paths know half of both tasks, about where unspecialised networks end up, and differ by as much as
      random weights do;
    - `twins`: three pairs of paths on the orbit that differ a tiny bit in one coordinate, to measure its growth.

    From random weights longer blocks specialise faster up to about 1.5 τ_w; in still longer ones both students learn
    the first task so well that specialisation comes later and remains imperfect.

    Linear stability on the periodic orbit of an unspecialised network gives the exact rate at which a small difference
    between paths grows (`festina.theory.abstraction.specialization_growth`). It is nought for short blocks and rises
    steeply with τ_B, and twins follow it. It is *not* what specialises networks from random weights: at τ_B = 1 it
    would take thousands of blocks, and a network that starts near the orbit stays there. Whether a network with such
    blocks specialises is decided by the transient of its first blocks, before the orbit is reached.

    The paper's second-order estimate (eq. 21: a gain of 2τ_B²|ε|²/τ_wτ_c per round, half of it by its own steps) takes
    the gates to be equal again whenever a block begins. They are not: as the error changes its sign, the gates'
    difference is undone and with it the gain, so that short blocks on the orbit gain nothing. The effective potential
    of fig. A.9 is a cartoon of that estimate; shown here is the force that is measured, the mean change of |w̄| over a
    round.
    """

    name = "abstraction/blocks"
    sources = (SANDBRINK_2024,)
    time_unit = "t"
    variables = variables("start", "block_length")
    seeds = 10
    quick = {"seeds": 2, "step_size": 0.002, "steps_per_record": 25}

    class Config(ReducedConfig):
        nonnegativity: Coefficient = continuous(2 / 11, help="coefficient of Σ max(0, −c)")
        normalization: Coefficient = continuous(10 / 11, help="coefficient of (‖c‖₁ − 1)²")
        block_lengths: tuple[Duration, ...] = structural(
            (0.25, 0.5, 1.0, 2.0, 3.0, 4.0),
            min_length=1,
            unit="t",
            help="block lengths τ_B, rising; rounds of two end at recordings",
        )
        difference: float = continuous(
            1e-9, ge=1e-12, le=1, scale="log", help="how much the weights or gates of twins differ at the start"
        )
        until: Duration = structural(48.0, unit="t", help="when to stop")
        steps_per_record: int = structural(50, ge=1, le=100_000, help="steps between recordings; must divide all steps")

        _rising = field_validator("block_lengths")(rising)

        @field_validator("block_lengths")
        @classmethod
        def _recorded(cls, lengths: tuple[float, ...], info: ValidationInfo) -> tuple[float, ...]:
            step, every = info.data.get("step_size", 1.0), info.data.get("steps_per_record", 1)
            for steps in (length / step for length in lengths):
                if not isclose(steps, round(steps)) or 2 * round(steps) % every:
                    raise ValueError(f"make rounds of two blocks end at recordings, which are {every * step:g} apart")
            return lengths

    def coordinates(self, config: Any) -> dict[str, Any]:
        return {"start": list(STARTS), "block_length": list(config.block_lengths)}

    def simulate(self, config: Any, key: Any) -> Any:
        _, for_weights, for_data = keys(key)
        drawn = jax.random.normal(for_weights, (2, 2))
        halves, gates = jnp.full((2, 2), 0.5), jnp.full(2, 0.5)
        tiny = config.difference * jnp.eye(3)
        starts = [paths(weights, gates) for weights in (config.scale * drawn, halves + config.scale * drawn)]
        starts += [paths(halves.at[0].add(one[:2]), gates.at[0].add(one[2])) for one in tiny]
        blocks = [fs.worlds.Blocks.of((0, 1), length, config.step_size) for length in config.block_lengths]
        arms = side.stacked(*(side.Arm(rule(config), one) for _ in starts for one in blocks))
        networks = [start for start in starts for _ in blocks]
        learning = process(config, for_data, networks[0], arms, networks)

        def watch(state: Any) -> dict[str, Any]:
            seen = learning.observe(state)
            return {name: values.reshape(len(starts), -1, *values.shape[1:]) for name, values in seen.items()}

        return replace(learning, observe=watch)

    def measure(self, data: Any) -> dict[str, Any]:
        axes = ("run", "start", "block_length", "time")
        weights = data["weights"].transpose(*axes, "path", "teacher").values
        gates = data["gates"].transpose(*axes, "path").values
        overall = fs.theory.abstraction.specialization(weights, gates).overall
        components, norms = np.swapaxes(weights, -1, -2), np.sqrt((weights**2).sum(axis=-1))
        apart = np.concatenate([weights[..., 0, :] - weights[..., 1, :], gates[..., :1] - gates[..., 1:]], axis=-1)
        return {
            "specialization": xr.DataArray(np.abs(overall), dims=axes),
            "total_alignment": xr.DataArray(fs.measures.total_alignment(components, norms), dims=axes),
            "difference": xr.DataArray(apart, dims=(*axes, "coordinate")),
        }

    equations = (
        REDUCED,
        Equation(
            r"\tau_w\, \dot d = \bar c\, \varepsilon(t), \qquad \tau_c\, \dot{\bar c} = d \cdot \varepsilon(t)",
            "Small differences d of weights and c̄ of gates feed each other, driven by the error ε of the "
            "unspecialised network.",
        ),
    )
    presets = (
        Preset("short and long blocks", "From random weights longer blocks specialise faster, up to about 1.5 τ_w."),
        Preset(
            "slow gates", "With gates as slow as the weights nothing specialises in this time.", {"gate_timescale": 1.3}
        ),
    )

    @claims.paper(SANDBRINK_2024.at("section 6, app. A.6"), claims.above(0.0))
    def longer_is_faster(self, result: Any) -> Any:
        """Of blocks up to τ_w longer ones have specialised more in equal time (steps of total alignment at t = 24)."""
        return steps_of_alignment(result, result.config.weight_timescale)

    @claims.paper(SANDBRINK_2024.at("app. A.6"), claims.above(0.0), reason=EARLY)
    def without_limit(self, result: Any) -> Any:
        """Of blocks of any length longer ones have specialised more in equal time (steps of total alignment at t = 24,
        up to the longest).
        """
        return steps_of_alignment(result, np.inf)

    @claims.theory(claims.below(0.02))
    def exact_rate(self, result: Any) -> Any:
        """A tiny difference grows at the rate that linear stability gives (relative error of rates above .01)."""
        return labelled(rate_errors(result), "block_length")

    @claims.paper(SANDBRINK_2024.at("fig. A.9C"), claims.below(1e-3))
    def undone(self, result: Any) -> Any:
        """Short blocks (up to .5) prefer no specialisation on the orbit (|growth rate| of a tiny difference; our
        threshold).
        """
        return labelled(short_rates(result), "block_length")

    @claims.paper(SANDBRINK_2024.at("eq. 21"), claims.near(1.0, 0.2), reason=EQUAL_GATES)
    def second_order(self, result: Any) -> Any:
        """On the orbit a round of the shortest blocks gains 2τ_B²|ε|²/τ_wτ_c, as printed (measured gain over that; our
        tolerance).
        """
        return gain_ratio(result) / PRINTED

    @claims.theory(claims.near(1.0, 0.2), reason=TRANSIENT)
    def linear_onset(self, result: Any) -> Any:
        """Networks that begin on the orbit specialise as those from random weights do (ratio of |w̄| at τ_B = 1 and
        t = 24; our tolerance).
        """
        return orbit_over_random(result)

    def figure(self, result: Any) -> Any:
        from festina.experiments.abstraction._blocks_figure import draw

        return draw(result)


def at_rounds(result: Any, name: str, place: int) -> tuple[Any, Any]:
    """Times at which rounds of one block length begin, and a variable then: (run, start, round, …)."""
    config, time = result.config, result["time"].values
    steps = 2 * round(config.block_lengths[place] / config.step_size)
    at = slice(None, None, steps // config.steps_per_record)
    return time[at], result[name].isel(block_length=place).transpose("run", "start", "time", ...).values[:, :, at]


def growth_rates(result: Any) -> Any:
    """The measured rate at which small differences grow once half the time is over, for each block length.

    Three pairs of twins differ in independent directions, so that their differences before and after some rounds (as
    many as fit into one of the longest) make up the propagator of any small difference; its largest eigenvalue gives
    the rate.
    """
    found, longest = [], max(result.config.block_lengths)
    for place in range(len(result.config.block_lengths)):
        edges, apart = at_rounds(result, "difference", place)
        if len(edges) < 3:
            raise claims.Undecided(f"growth over two rounds of every block length needs --until {4 * longest:g}")
        middle = (len(edges) - 1) // 2
        end = middle + int(longest / result.config.block_lengths[place] + 1e-9)
        before, after = (apart[0, -len(TWINS) :, at].T for at in (middle, end))
        growth = np.abs(np.linalg.eigvals(after @ np.linalg.inv(before))).max()
        found.append(np.log(growth) / (edges[end] - edges[middle]))
    return np.asarray(found)


def exact_growth(config: Any, length: float) -> Any:
    """Linear stability at one block length."""
    try:
        return _growth(
            config.weight_timescale, config.gate_timescale, float(length), config.normalization, config.step_size
        )
    except fs.theory.abstraction.NoOrbit as error:
        raise claims.NotApplicable(f"needs a periodic orbit for blocks of {length:g}") from error


@cache
def _growth(weight_timescale: float, gate_timescale: float, length: float, normalization: float, step: float) -> Any:
    scales = fs.theory.abstraction.Scales(weight_timescale, gate_timescale, 1.0)
    return fs.theory.abstraction.specialization_growth(scales, length, normalization, step)


def second_order_gain(config: Any, length: float) -> float:
    """What eq. 21, without its factor 2, says that a round adds to a small specialisation of 1 (on the orbit)."""
    size = np.sqrt((np.asarray(exact_growth(config, length).errors) ** 2).sum(axis=-1).mean())
    scales = fs.theory.abstraction.Scales(config.weight_timescale, config.gate_timescale, 1.0)
    return float(fs.theory.abstraction.block_gain(1.0, size, length, scales))


def exact_rates(result: Any) -> Any:
    """The rates of linear stability for all block lengths."""
    return np.asarray([float(exact_growth(result.config, length).rate) for length in result.config.block_lengths])


def tiny_rates(result: Any) -> Any:
    """`growth_rates`, of differences that stay tiny while they grow."""
    if result.config.difference > TINY:
        raise claims.NotApplicable(f"needs a tiny difference of twins, at most {TINY:g}")
    return growth_rates(result)


def rate_errors(result: Any) -> Any:
    """|measured/exact − 1| for all block lengths whose exact rate is notable."""
    exact = exact_rates(result)
    notable = exact > NOTABLE
    if not notable.any():
        raise claims.NotApplicable("needs blocks long enough for differences to grow")
    return np.abs(tiny_rates(result)[notable] / exact[notable] - 1)


def short_rates(result: Any) -> Any:
    """Absolute growth rates in blocks of up to ½."""
    short = np.asarray(result.config.block_lengths) <= 0.5
    if not short.any():
        raise claims.NotApplicable("needs blocks of at most .5")
    return np.abs(tiny_rates(result)[short])


def gain_ratio(result: Any) -> Any:
    """What a round of the shortest blocks adds to the difference of twins, over the second-order estimate."""
    place = int(np.argmin(result.config.block_lengths))
    length = result.config.block_lengths[place]
    return np.expm1(2 * length * tiny_rates(result)[place]) / second_order_gain(result.config, length)


def steps_of_alignment(result: Any, longest: float) -> Any:
    """By how much the mean total alignment from random weights grows from each block length to the next."""
    fit = np.asarray(result.config.block_lengths) <= longest
    if fit.sum() < 2:
        raise claims.NotApplicable("needs two block lengths" + (f" up to {longest:g}" if np.isfinite(longest) else ""))
    _compared(result)
    values = result["total_alignment"].sel(start="random").sel(time=AT, method="nearest")
    return labelled(np.diff(values.transpose("run", "block_length").values.mean(axis=0)[fit]), "step")


def _compared(result: Any) -> None:
    if result["time"].values[-1] < AT - 1e-9:
        raise claims.Undecided(f"what is specialised at t = {AT:g} needs --until {AT:g}")


def specialised_at(result: Any) -> Any:
    """When |w̄| first reaches ½ from random weights, (run, block_length); NaN where it does not."""
    values = result["specialization"].sel(start="random").transpose("run", "block_length", "time").values
    return fs.measures.crossing_time(result["time"].values, values, 0.5)


def orbit_over_random(result: Any) -> Any:
    """|w̄| at τ_B = 1 after 24 units of time, from the orbit over that from random weights."""
    if 1.0 not in result.config.block_lengths:
        raise claims.NotApplicable("needs blocks of 1")
    _compared(result)
    then = result["specialization"].sel(block_length=1.0).sel(time=AT, method="nearest")
    return then.sel(start="orbit", drop=True) / then.sel(start="random", drop=True)
