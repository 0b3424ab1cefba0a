"""What `linear/semantics` measures for its claims: errors, half-times, stages and illusions."""

from typing import Any

import festina as fs
from festina import claims
from festina._lazy import np
from festina.experiments._needs import needs
from festina.experiments.linear._semantics_world import build_world, owned_features


def errors(result: Any, network: str) -> Any:
    """Largest |simulation − theory| of the shares and of the loss relative to its start, for each run."""
    gaps = [abs(result[name] - result.theory[name]).sel(network=network) for name in ("learned", "loss")]
    start = result["loss"].sel(network=network).isel(time=0)
    return np.maximum(gaps[0].max(["time", "level"], skipna=False), (gaps[1] / start).max("time", skipna=False))


def _curves(result: Any, network: str) -> Any:
    return result["learned"].sel(network=network).transpose("run", "level", "time")


def _learned_to(result: Any, network: str, share: float) -> Any:
    """What a network has learned of each level, if by the end it is at least a share."""
    curves = _curves(result, network)
    if bool((curves.isel(time=-1) < share).any()):
        slowest = float(np.max(_predicted_times(result, network, share)))
        raise claims.Undecided(f"the network `{network}` is still learning: {needs(result.config, 'until', slowest)}")
    return curves


def _timed(curves: Any, times: Any) -> Any:
    return curves.isel(time=0, drop=True).copy(data=times)


def half_times(result: Any, network: str) -> Any:
    """When each run (rows) has learned half of each level (columns)."""
    return fs.measures.crossing_time(result["time"].values, _curves(result, network).values, 0.5)


def all_half_times(result: Any, network: str) -> Any:
    """The same, labelled, if every level is learned to a half."""
    return _timed(_learned_to(result, network, 0.5), half_times(result, network))


def predicted_half_times(result: Any, network: str = "deep") -> Any:
    """t½ = τ/(2s) ln(s/(λa₀) − 1), with a₀ what grows of the initial weights, as runs × levels."""
    return _predicted_times(result, network, 0.5)


def _predicted_times(result: Any, network: str, share: float) -> Any:
    """When theory has a share of each level learned, as runs × levels."""
    start = result["growing"].sel(network=network).isel(time=0).transpose("run", "level").values
    world = build_world(result.config)
    if network == "shallow":
        return np.log((1.0 - start) / (1.0 - share)) / world.input_variance
    odds = np.log(1.0 / start - 1.0) + np.log(share / (1.0 - share))
    return odds / (2.0 * np.asarray(world.strengths))


def require_small(result: Any) -> Any:
    """The result, if random weights begin with next to nothing of any level."""
    if float(result["growing"].sel(network="deep").isel(time=0).max()) > 0.01:
        raise claims.NotApplicable("needs small initial weights, a smaller --scale")
    return result


def require_fine(result: Any) -> Any:
    """The result, if recordings are near enough to each other for the half-time of an exponential, to 0.1 %."""
    config, most = result.config, 0.1 * shallow_half_time(result)
    if config.until / config.records > most:
        raise claims.Undecided(f"recordings are too far apart: {needs(config, 'records', config.until / most)}")
    return result


def shallow_half_time(result: Any) -> float:
    return np.log(2.0) / build_world(result.config).input_variance


def stages(result: Any, network: str) -> Any:
    curves = _learned_to(result, network, 0.9)
    if bool((curves.isel(time=0) >= 0.1).any()):
        raise claims.NotApplicable("needs a smaller --scale: a tenth is there from the beginning")
    return _timed(curves, fs.measures.stage_index(result["time"].values, curves.values, np.ones(curves.shape[:-1])))


def rise(result: Any, learner: str) -> Any:
    """How far |illusion| climbs above its start, for each run and radius."""
    size = abs(result["illusion"].sel(learner=learner))
    return size.max("time") - size.isel(time=0)


def rise_and_fall(result: Any, learner: str) -> Any:
    """How far the illusion climbs above both its start and its end."""
    illusion = result["illusion"].sel(learner=learner)
    if bool((illusion.isel(time=-1) > 0.1 * illusion.max("time")).any()):
        raise claims.Undecided(f"not unlearned yet: {needs(result.config, 'until', _owned_duration(result.config))}")
    return illusion.max("time") - np.maximum(illusion.isel(time=0), illusion.isel(time=-1))


def _owned_duration(config: Any) -> float:
    """How long a deep network takes for the weakest mode of the owned features, up to e^(−5), from a₀ = scale²."""
    owned, _ = owned_features(config)
    cross = np.linalg.svd(np.asarray(owned.moments.cross), compute_uv=False)
    weakest, variance = float(np.min(cross[cross > 1e-9 * cross[0]])), 1.0 / len(owned.inputs)
    return (np.log(max(weakest / (variance * config.scale**2), 1.0)) + 5.0) / (2.0 * weakest)
