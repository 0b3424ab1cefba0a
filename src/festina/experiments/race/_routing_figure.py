"""The figure of `race/routing`."""

from typing import Any

import festina as fs
from festina._lazy import np, plt
from festina.claims import Undecided
from festina.experiments.race._routing_measures import conditions, predicted_speed_ups, racing, speed_ups
from festina.experiments.race._routing_networks import mode_strengths

LINES: tuple[Any, ...] = ("-", (0, (5, 1.2)), (0, (4, 1, 1, 1)), (0, (1.5, 1)), (0, (8, 2)))
MARKERS = ("o", "s", "^", "D", "v")
OPEN: dict[str, Any] = {"ls": "none", "ms": 3, "mfc": "white", "mew": 0.8}


def draw(result: Any) -> Any:
    """What is trained; how the loss and its modes go; how much sharing gains; a race and what decides it."""
    with fs.figures.style.style():
        figure, axes = plt.subplots(2, 3, figsize=(7.2, 4.4))
        _draw_pairs(axes[0, 0], result.config)
        _draw_loss(axes[0, 1], result)
        _draw_modes(axes[0, 2], result)
        _draw_speed_up(axes[1, 0], result)
        _draw_race(axes[1, 1], result)
        _draw_outcome(axes[1, 2], result)
        fs.figures.style.letter(*axes.ravel())
    return figure


def _look(number: int) -> dict[str, Any]:
    return {"color": fs.figures.style.PALETTE[number % 7], "ls": LINES[number % len(LINES)]}


def _dots(number: int) -> dict[str, Any]:
    return OPEN | {"color": fs.figures.style.PALETTE[number % 7], "marker": MARKERS[number % len(MARKERS)]}


def _largest(config: Any) -> list[tuple[int, int, int]]:
    """(number of the condition, M, K) for the largest M."""
    most = max(domains for domains, _ in conditions(config))
    return [(n, *condition) for n, condition in enumerate(conditions(config)) if condition[0] == most]


def _draw_pairs(axis: Any, config: Any) -> None:
    """Which pairs are trained, from the fewest to the most: the darker, the fewer it takes."""
    chosen = _largest(config)
    total = sum(fs.worlds.routing.trained_pairs(domains, trained) for _, domains, trained in chosen)
    axis.imshow(total, cmap="Blues", vmin=0, vmax=1.25 * len(chosen), origin="lower")
    domains = chosen[0][1]
    for _, _, trained in chosen:
        offset = trained // 2 if trained < domains else domains - 1
        if trained // 2 < domains:
            axis.text(0, min(offset, domains - 1), f"{trained}", ha="center", va="center", fontsize=7)
    ticks = np.arange(domains)
    axis.set(xticks=ticks, yticks=ticks, xticklabels=ticks + 1, yticklabels=ticks + 1)
    axis.set(xlabel="input domain", ylabel="output domain", title="Trained from K = … on")


def _draw_loss(axis: Any, result: Any) -> None:
    time = result["time"].values
    chosen = _largest(result.config)
    for number, (condition, _, trained) in enumerate(chosen):
        simulated, exact = (
            data["loss"].isel(run=0, condition=condition).sel(start="equal").values
            for data in (result.data, result.theory)
        )
        axis.plot(time[1:], exact[1:] / exact[0], label=f"K = {trained}", **_look(number))
        axis.plot(time[1::10], simulated[1::10] / exact[0], **_dots(number))
    axis.set(xscale="log", xlim=(time[1], time[-1]), xlabel="time t / τ", ylabel="loss L / L(0)")
    axis.set_title(f"M = {chosen[0][1]}")
    axis.legend(loc="upper right", handlelength=2.2)


def _draw_modes(axis: Any, result: Any) -> None:
    """Equal starts, and the network of one pair, in the largest world with the second smallest K."""
    time, strengths = result["time"].values, mode_strengths()
    chosen = _largest(result.config)
    condition, domains, trained = chosen[min(1, len(chosen) - 1)]
    for number in range(3):
        here = {"run": 0, "condition": condition, "mode": number}
        simulated, exact = (
            data["strength"].isel(here).sel(start="equal").values for data in (result.data, result.theory)
        )
        label = f"s = {strengths[number]:.3g}"
        axis.plot(time[1:], exact[1:] / strengths[number], label=label, **_look(number))
        axis.plot(time[1::10], simulated[1::10] / strengths[number], **_dots(number))
        alone = result["separate_strength"].isel(run=0, mode=number).sel(domains=domains).values
        axis.plot(time[1:], alone[1:] / strengths[number], color=fs.figures.style.PALETTE[number], lw=0.8, alpha=0.5)
    axis.plot([], [], color="0.5", lw=0.8, label="per pair")
    axis.set(xscale="log", xlim=(time[1], time[-1]), xlabel="time t / τ", ylabel="mode learned $b_1b_2b_3/s$")
    axis.set(title=f"M = {domains}, K = {trained}", ylim=(-0.03, 1.05))
    axis.legend(loc="upper left", fontsize=6.5, handlelength=2.0)


def _draw_speed_up(axis: Any, result: Any) -> None:
    predicted = predicted_speed_ups(result)
    try:
        measured = speed_ups(result)
    except Undecided:  # too short a run, or too few recordings; the prediction is shown all the same
        measured = np.full((len(predicted), 1), np.nan)
    ends = np.array([0.8 * predicted.min(), 1.25 * predicted.max()])
    axis.plot(ends, ends, **fs.figures.style.THEORY, label="$K M^{1/3}$")
    where = [domains for domains, _ in conditions(result.config)]
    for number, domains in enumerate(dict.fromkeys(where)):
        rows = np.flatnonzero(np.asarray(where) == domains)
        axis.plot(predicted[rows], measured[rows].mean(axis=1), label=f"M = {domains}", **(_dots(number) | {"ms": 4}))
    axis.set(xscale="log", yscale="log", xlabel="predicted speed-up $K M^{1/3}$", ylabel="half-time ratio")
    axis.set_title("One per pair over shared")
    axis.legend(loc="upper left")


def _draw_race(axis: Any, result: Any) -> None:
    """The weakest mode of the network with the second smallest K: both pathways, from each end of the starts."""
    time, config = result["time"].values, result.config
    trained = racing(config)[min(1, len(racing(config)) - 1)]
    ends = sorted({min(config.race_initial), max(config.race_initial)})
    for number, initial in enumerate(ends):
        here = result.data.isel(run=0, mode=-1).sel(racing=trained, race_initial=initial)
        shared, total = here["racing_share"].values, here["racing_total"].values
        color = fs.figures.style.PALETTE[number]
        axis.plot(time[1:], shared[1:], color=color, ls="-", label=f"shared, from {initial:g}")
        axis.plot(time[1:], (total - shared)[1:], color=color, ls=(0, (2, 1)), label=f"private, from {initial:g}")
    axis.set(xscale="log", xlim=(time[1], time[-1]), xlabel="time t / τ", ylabel="share of s = 3")
    axis.set(ylim=(-0.03, 1.6), yticks=[0, 0.5, 1], title=f"Race, M = {config.race_domains}, K = {trained}")
    axis.legend(loc="upper left", fontsize=6.5, handlelength=2.0)


def _draw_outcome(axis: Any, result: Any) -> None:
    config, strength = result.config, mode_strengths()[-1]
    starts = np.geomspace(0.5 * min(config.race_initial), 1.4, 60)
    final = result["racing_share"].isel(run=0, time=-1, mode=-1)
    for number, trained in enumerate(racing(config)):
        ends = [
            fs.theory.routing.race_outcome(strength, start, start, config.race_domains, trained)[0] for start in starts
        ]
        axis.plot(starts, np.array(ends) / strength, label=f"K = {trained}", **_look(number))
        axis.plot(config.race_initial, final.sel(racing=trained).values, **(_dots(number) | {"ms": 4}))
    axis.set(xscale="log", xlabel="product at the start", ylabel="final share of the shared", ylim=(0.4, 1.02))
    axis.set_title(f"Outcome, M = {config.race_domains}")
    axis.legend(loc="lower left", handlelength=2.2)
