"""What `linear/regimes` measures for its claims: networks at the end of learning, on their plateau, and leaving it."""

from math import log
from typing import Any

import festina as fs
from festina import claims
from festina._lazy import np, xr
from festina.experiments._needs import needs
from festina.experiments.linear._regimes_networks import sizes

LARGE = 10.0  # an imbalance is large from this multiple of the strongest mode, and of the initial map, on
LEARNED = 0.01  # share of the initial loss below which a network has learned
RUNS = 10


def large_arms(result: Any, delayed: bool) -> list[tuple[str, float]]:
    """Architectures and large imbalances for which learning should be delayed rich, or should be lazy."""
    least = LARGE * max(result.config.strongest, result.config.scale)
    arms = [
        (name, imbalance)
        for name, (inputs, outputs) in sizes(result.config).items()
        for imbalance in result.config.imbalance
        if abs(imbalance) >= least and ((outputs - inputs) * imbalance > 0) == delayed
    ]
    if not arms:
        raise claims.NotApplicable("needs an imbalance of the right sign, at least ten times the task and the start")
    return arms


def simulated(result: Any) -> Any:
    """The result, if it is of the networks and tasks that were simulated elsewhere, and of as many runs."""
    config, there = result.config, type(result.config)()
    names = ("wide", "narrow", "square", "weakest", "strongest", "scale")
    if any(getattr(config, name) != getattr(there, name) for name in names):
        raise claims.NotApplicable("needs the networks and tasks of the default, which the separate simulation had")
    if result.data.sizes["run"] < RUNS:
        raise claims.Undecided(f"needs --seeds {RUNS}")
    return result


def arm_of(variable: Any, arm: tuple[str, float]) -> Any:
    """One variable of one network: runs × times."""
    architecture, imbalance = arm
    if imbalance not in variable["imbalance"]:
        raise claims.NotApplicable(f"needs λ = {imbalance:g} among the imbalances")
    return variable.sel(architecture=architecture, imbalance=imbalance).transpose("run", "time").values


def _labelled(arms: list[tuple[str, float]], values: list[Any]) -> Any:
    """Values of arms × runs, with the names of both."""
    names = [f"{architecture}, λ = {imbalance:g}" for architecture, imbalance in arms]
    return xr.DataArray(np.stack(values), dims=("network", "run"), coords={"network": names})


def at_end(result: Any, name: str, arms: list[tuple[str, float]]) -> Any:
    _require_learned(result, arms)
    return _labelled(arms, [arm_of(result[name], arm)[:, -1] for arm in arms])


def _require_learned(result: Any, arms: list[tuple[str, float]]) -> None:
    """Whether the networks have learned their tasks, and from when on, by theory, they should have."""
    for arm in arms:
        loss = arm_of(result["loss"], arm)
        if np.any(loss[:, -1] > LEARNED * loss[:, 0]):
            name = f"{arm[0]} at λ = {arm[1]:g}"
            raise claims.Undecided(
                f"{name} has not learned yet: {needs(result.config, 'until', _duration(result.config, arm))}"
            )


def _duration(config: Any, arm: tuple[str, float]) -> float:
    """How long learning takes, generously: until e^(−5) is left of what the slowest mode has to turn or to grow."""
    inputs, outputs = sizes(config)[arm[0]]
    slowest, imbalance = config.weakest, arm[1]
    if (outputs - inputs) * imbalance > 0:
        return 5.0 / _turning(slowest, imbalance)
    waiting = log(max(10.0 * slowest / config.scale, 1.0))  # a tenth of the scale is what a mode may begin with
    return (waiting + 5.0) / (2.0 * float(np.hypot(slowest, imbalance / 2.0)))


def _turning(strength: float, imbalance: float) -> float:
    """√(s² + λ²/4) − |λ|/2, without a difference of near numbers."""
    return strength**2 / (float(np.hypot(strength, imbalance / 2.0)) + abs(imbalance) / 2.0)


def _delayed_arms(result: Any, time: Any) -> list[tuple[str, float]]:
    """The delayed rich networks, if each is seen until a time of its own."""
    arms = large_arms(result, delayed=True)
    needed = max(time(arm[1]) for arm in arms)
    if result.config.until < needed:
        raise claims.Undecided(needs(result.config, "until", needed))
    return arms


def _plateau(result: Any, arm: tuple[str, float]) -> Any:
    return arm_of(result.theory["rotation"], arm)[:, :1]


def fast_times(result: Any) -> Any:
    """|λ|t when all but a tenth of the way to the plateau is done."""
    arms, times = _delayed_arms(result, lambda imbalance: 2.0 / abs(imbalance)), []
    for arm in arms:
        loss, plateau = arm_of(result["loss"], arm), _plateau(result, arm)
        done = (loss[:, :1] - loss) / (loss[:, :1] - plateau)
        times.append(abs(arm[1]) * fs.measures.crossing_time(result["time"].values, done, 0.9))
    return _labelled(arms, times)


def plateau_errors(result: Any) -> Any:
    arms, errors = _delayed_arms(result, lambda imbalance: 4.0 / abs(imbalance)), []
    for arm in arms:
        time, loss = result["time"].values, arm_of(result["loss"], arm)
        then = np.asarray([np.interp(4.0 / abs(arm[1]), time, curve) for curve in loss])
        errors.append(np.abs(then / _plateau(result, arm)[:, 0] - 1.0))
    return _labelled(arms, errors)


def leaving_times(result: Any, name: str) -> Any:
    """When the simulated loss, or that of the rotation, has fallen to half of the plateau: delayed arms × runs."""
    curves = result.theory[name] if name == "rotation" else result[name]
    arms = _delayed_arms(result, lambda imbalance: 2.0 / _turning(result.config.weakest, imbalance))
    return _labelled(arms, [
        fs.measures.crossing_time(result["time"].values, -arm_of(curves, arm) / _plateau(result, arm), -0.5)
        for arm in arms
    ])  # fmt: skip


def lazy_similarities(result: Any) -> tuple[Any, Any]:
    """Of the small layer's representation with the task's at the end, and the change of the large layer's."""
    arms, small, large = large_arms(result, delayed=False), [], []
    _require_learned(result, arms)
    for arm in arms:
        layers = ("first_similarity", "second_similarity")
        less, more = (arm_of(result[name], arm) for name in (layers if arm[1] > 0 else layers[::-1]))
        small.append(less[:, -1])
        large.append(np.abs(more[:, -1] - more[:, 0]))
    return _labelled(arms, small), _labelled(arms, large)
