"""The figure of `linear/chain`: the curves, the curves on their own clocks, and the error surface of two layers."""

import math
from typing import Any

import festina as fs
from festina._lazy import np, plt
from festina.experiments.linear.chain import final_of

LINES = ("-", (0, (5, 1)), (0, (4, 1, 1, 1)), (0, (2, 1)))


def draw(result: Any) -> Any:
    with fs.lab.style.style():
        figure, (curves, aligned, surface) = plt.subplots(1, 3, figsize=(7.2, 2.5), width_ratios=(1.15, 1, 1))
        _draw_curves(curves, result)
        _draw_aligned(aligned, result)
        _draw_surface(surface, result)
        fs.lab.style.letter(curves, aligned, surface)
    return figure


def _label(depth: float) -> str:
    return "D = ∞" if math.isinf(depth) else f"D = {depth:g}"


def _draw_curves(axis: Any, result: Any) -> None:
    """Simulation as dots, theory as lines, on logarithmic time."""
    time = result["time"].values[1:]
    for number, depth in enumerate(result["depth"].values):
        color = fs.lab.style.PALETTE[number % len(fs.lab.style.PALETTE)]
        exact = result.theory["product"].isel(run=0).sel(depth=depth).values[1:]
        simulated = result["product"].isel(run=0).sel(depth=depth).values[1:]
        axis.plot(time, exact, color=color, ls=LINES[number % len(LINES)], label=_label(depth))
        axis.plot(time[::25], simulated[::25], "o", color=color, ms=2.6, mfc="white", mew=0.8)
    axis.axhline(final_of(result), color="0.6", lw=0.7, ls=":")
    axis.plot([], [], "o", color="0.3", ms=2.6, mfc="white", mew=0.8, label="simulation")
    axis.set(xscale="log", xlabel="time t / τ", ylabel="product of weights a", title="Exact and simulated")
    axis.legend(loc="upper left", fontsize=6.5, handlelength=1.3)


def _draw_aligned(axis: Any, result: Any) -> None:
    """Every depth on its own clock: the plateau."""
    for number, depth in enumerate(result["depth"].values):
        product = result["product"].isel(run=0).sel(depth=depth)
        half = fs.measures.crossing_time(product["time"].values, product.values, 0.5 * final_of(result))
        color = fs.lab.style.PALETTE[number % len(fs.lab.style.PALETTE)]
        axis.plot(product["time"] / half, product / final_of(result), color=color, ls=LINES[number % len(LINES)])
    axis.set(xlim=(0, 3), xlabel="time / half-time", ylabel="share learned aλ/s", title="Wait, then jump")


def _draw_surface(axis: Any, result: Any) -> None:
    """The error surface of D = 2 with its saddle, its valley of solutions, and the way down."""
    final = final_of(result)
    reach = 1.6 * math.sqrt(final)
    first, second = np.meshgrid(np.linspace(-reach, reach, 121), np.linspace(-reach, reach, 121))
    loss = 0.5 * result.config.input_variance * (first * second - final) ** 2
    axis.contourf(first, second, np.sqrt(loss), 14, cmap="Greys", alpha=0.75)
    branch = np.linspace(final / reach, reach, 200)
    for sign in (1, -1):
        axis.plot(sign * branch, sign * final / branch, color=fs.lab.style.PALETTE[0], lw=1.4)
    _draw_paths(axis, result.config, reach)
    axis.plot(0, 0, "X", color=fs.lab.style.PALETTE[1], ms=6, mec="white", mew=0.7)
    axis.text(0.07 * reach, -0.09 * reach, "saddle", va="top", fontsize=7)
    axis.text(0.97 * reach, 0.76 * reach, "minima", ha="right", va="bottom", fontsize=7)
    axis.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", title="Error surface, D = 2")
    axis.set(xlabel="weight $w_1$", ylabel="weight $w_2$")


def _draw_paths(axis: Any, config: Any, reach: float) -> None:
    world = fs.worlds.Dataset(np.full((1, 1), config.input_variance**0.5), np.full((1, 1), 1.0))
    target = config.strength / config.input_variance**0.5
    world = fs.worlds.Dataset(world.inputs, world.targets * target)
    for start in ((0.9, -0.75), (-0.2, 0.35), (0.12, 0.1), (-0.9, 0.7), (-0.12, -0.1)):
        weights = tuple(np.full((1, 1), part * reach) for part in start)
        run = fs.flow(fs.networks.DeepLinear(weights), world, until=5.0, observe=_weights)
        axis.plot(run["first"], run["second"], color=fs.lab.style.PALETTE[2], lw=1.1)
        axis.plot(run["first"][0], run["second"][0], "o", color=fs.lab.style.PALETTE[2], ms=2.5)


def _weights(network: Any, data: Any) -> dict[str, Any]:
    return {"first": network.weights[0][0, 0], "second": network.weights[1][0, 0]}
