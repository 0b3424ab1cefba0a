"""What is measured of `race/routing`: its conditions, how fast networks are, and how races end."""

from typing import Any

import festina as fs
from festina import claims
from festina._lazy import np, xr
from festina.experiments.race._routing_networks import mode_strengths
from festina.experiments.race._settled import longer

SMALL = 1e-3  # product of the layers up to which a start of the race is called small
DENSE = 100  # recordings between which curves may be taken for straight lines
OVER = 1e-7  # share of a mode that may be left to learn when a race is over


def separate(config: Any) -> Any:
    """Theory of a network for one pair, for each M."""
    timescales = np.asarray(config.domains, float)[:, None] ** 2
    return fs.theory.chain(3, mode_strengths()[None, :], config.initial, timescale=timescales)


def conditions(config: Any) -> list[tuple[int, int]]:
    """(M, K) of all networks whose speed is measured."""
    return [(domains, trained) for domains in config.domains for trained in config.trained if trained <= domains]


def racing(config: Any) -> list[int]:
    """K of all networks whose pathways race."""
    return [trained for trained in config.trained if trained <= config.race_domains]


def balanced_errors(result: Any) -> Any:
    """The largest |simulation − closed form| of each condition from balanced starts."""
    strengths = mode_strengths()
    simulated = result["strength"].isel(run=0).sel(start="balanced").transpose("condition", "time", "mode").values
    exact = [
        fs.theory.routing.balanced(strengths, result.config.initial, domains, trained)(result["time"].values)["product"]
        for domains, trained in conditions(result.config)
    ]
    return xr.DataArray(np.abs(simulated - np.stack(exact)).max(axis=(1, 2)), dims="condition")


def speed_ups(result: Any) -> Any:
    """Half-time of a network per pair over that of the balanced shared network: (condition, mode)."""
    half = 0.5 * mode_strengths()
    time = result["time"].values

    def half_times(values: Any) -> Any:
        return fs.measures.crossing_time(time, values / half[:, None], 1.0)

    shared = result["strength"].isel(run=0).sel(start="balanced").transpose("condition", "mode", "time").values
    alone = half_times(result["separate_strength"].isel(run=0).transpose("domains", "mode", "time").values)
    rows = [result.config.domains.index(domains) for domains, _ in conditions(result.config)]
    together = half_times(shared)
    ratios = alone[rows] / together
    if np.any(together < time[1]) or len(time) <= DENSE:
        shorter = f" and an --until below {result.config.until:g}" if np.any(together < time[1]) else ""
        raise claims.Undecided(f"recordings are too few for half-times; needs --records {DENSE}{shorter}")
    if not np.all(np.isfinite(ratios)):
        halves = np.tile(half, len(result.config.domains))
        alone = separate(result.config)
        enough = longer(result, lambda time: alone(time)["product"], lambda *seen: seen[-1] > halves)
        raise claims.Undecided(f"a network per pair has not learned half of every mode at the end; {enough}")
    return ratios


def predicted_speed_ups(result: Any) -> Any:
    return np.array([fs.theory.routing.speed_up(*condition) for condition in conditions(result.config)])


def race_shares(result: Any) -> Any:
    """What the conserved quantity says of the shared pathway's final share: (K, start, mode)."""
    domains, strengths = result.config.race_domains, mode_strengths()
    return np.array(
        [
            [[fs.theory.routing.race_outcome(s, start, start, domains, trained)[0] / s for s in strengths]
             for start in result.config.race_initial]
            for trained in racing(result.config)
        ]
    )  # fmt: skip


def race_errors(result: Any) -> Any:
    """The largest |simulation − theory| of the shared pathway's final share."""
    final = _final_shares(result).isel(run=0).transpose("racing", "race_initial", "mode").values
    return np.abs(final - race_shares(result)).max()


def small_start_shares(result: Any) -> Any:
    """Final shares of the shared pathway from the smallest start."""
    smallest = min(result.config.race_initial)
    if smallest > SMALL:
        raise claims.NotApplicable(f"needs a race from a start of {SMALL:g} or smaller")
    if result.config.race_domains < 2:
        raise claims.NotApplicable("needs two race domains or more: with one, nothing is shared")
    return _final_shares(result).sel(race_initial=smallest).isel(run=0).rename(racing="race")


def _final_shares(result: Any) -> Any:
    final = result.data.isel(time=-1)
    if float(abs(final["racing_total"] - 1.0).max()) > OVER:
        enough = longer(result, _slowest_race(result), lambda *seen: seen[-1] > 1.0 - OVER)
        raise claims.Undecided(f"the race of shared and private pathways is not over at the end; {enough}")
    return final["racing_share"]


def _slowest_race(result: Any) -> Any:
    """What private pathways would have learned alone, as shares of s: less than they have beside a shared one.

    With the loss averaged over M·K trained pairs, each of them sees a pair M·K times as slowly as if it were all.
    """
    strengths, trained = mode_strengths(), np.asarray(racing(result.config), float)[:, None]
    alone = fs.theory.chain(
        3, strengths[None, :], min(result.config.race_initial), timescale=result.config.race_domains * trained
    )
    return lambda time: alone(time)["product"] / strengths
