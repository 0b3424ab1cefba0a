"""The figure of `coding/redundant`."""

from typing import Any

import festina as fs
from festina._lazy import np, plt
from festina.experiments.coding._panels import (
    class_color,
    draw_kernels,
    draw_raster,
    draw_readouts,
    draw_trace,
)
from festina.experiments.coding._redundant_measures import (
    ON,
    code_shares,
    frozen_prediction,
    predicted_shares,
    predicted_weights,
    predictions,
)
from festina.experiments.coding._sampled import code_numbers


def draw(result: Any) -> Any:
    """Readouts and activity of a planted network, shares of the codes; kernels of all phases; traces."""
    with fs.lab.style.style():
        figure = plt.figure(figsize=(fs.lab.style.TWO_COLUMNS, 6.6))
        parts: Any = figure.subfigures(2, 1, height_ratios=(2.2, 1.0))
        axes = parts[0].subplot_mosaic("abc;def") | parts[1].subplot_mosaic("ghij")
        last = result.data.sel(phase="planted").isel(run=0, time=-1)
        activity = last["activity"].transpose("neuron", "class").values
        codes = code_numbers(activity > ON)
        _draw_branches(axes["a"], result, last["readout"].transpose("neuron", "output").values, codes)
        draw_raster(axes["b"], activity, np.argsort(codes, kind="stable"), vmin=0.0, vmax=1.0, cmap="Greys")
        _draw_shares(axes["c"], result, "planted")
        _draw_shares(axes["d"], result, "equilibrium")
        draw_trace(axes["e"], result, phase="equilibrium")
        draw_trace(axes["f"], result, phase="cooled")
        for name, phase in (("e", "equilibrium"), ("f", "cooled")):
            _mark_phase(axes[name], result, phase)
        axes["e"].legend(loc="center right", bbox_to_anchor=(1.0, 0.62), ncols=2, columnspacing=1.0)
        axes["f"].plot([], [], label="theory, equilibrium", **fs.lab.style.THEORY)
        axes["f"].set_ylim(0, 1.2 * axes["f"].get_ylim()[1])
        axes["f"].legend(handles=axes["f"].lines[-1:], loc="upper right")
        draw_kernels([axes[name] for name in "ghij"], _kernels(result), result.config.counts)
        for name in "hij":
            axes[name].set_ylabel("")
        fs.lab.style.letter(*axes.values())
    return figure


def _draw_branches(axis: Any, result: Any, readouts: Any, codes: Any) -> None:
    draw_readouts(axis, readouts, codes)
    branches = predictions(result.config)["planted"].codes.readouts
    axis.plot(branches[:, 0], branches[:, 1], "k+", ms=7, mew=1.0, label="theory")
    low, high = axis.get_ylim()
    axis.set_ylim(low, high + 0.3 * (high - low))
    axis.legend(loc="upper right")
    _mark_phase(axis, result, "planted")


def _mark_phase(axis: Any, result: Any, phase: str) -> None:
    heat = result.config.temperature if phase == "equilibrium" else result.config.cold
    axis.set_title(f"{phase}, T = {heat:g}", fontsize=8)


def code_names(classes: int) -> list[str]:
    """The classes each code is on for, as 1, 12 or –, in the order of `code_numbers`."""
    members = [[c + 1 for c in range(classes) if number >> c & 1] for number in range(2**classes)]
    return ["".join(map(str, one)) or "–" for one in members]


def _draw_shares(axis: Any, result: Any, phase: str) -> None:
    """Shares of the codes in planted and cooled chains, or in equilibrium; mean over chains and its standard error."""
    config = result.config
    shown = ("planted", "cooled") if phase == "planted" else ("equilibrium",)
    names = code_names(len(config.counts))
    place = np.arange(len(names))
    for number, each in enumerate(shown):
        shares = code_shares(result, each)
        error = shares.std(axis=0, ddof=1) / np.sqrt(len(shares)) if len(shares) > 1 else None
        look = {"color": class_color(number), "hatch": (None, "////")[number], "edgecolor": "white", "label": each}
        shift = (number - 0.5 * (len(shown) - 1)) * 0.4
        axis.bar(place + shift, shares.mean(axis=0), 0.8 / len(shown), yerr=error, error_kw={"lw": 0.7}, **look)
    theirs = predicted_weights(config) if phase == "planted" else predicted_shares(config, phase)
    axis.plot(place, theirs, "_", color="black", ms=11, mew=1.2, label="theory")
    axis.set(xlabel="on for classes", ylabel="share of neurons", xticks=place)
    axis.set_xticklabels(names, fontsize=6.5)
    axis.set_ylim(0, 1.3 * axis.get_ylim()[1])
    axis.legend(loc="upper right")
    axis.set_title(f"T = {config.cold if phase == 'planted' else config.temperature:g}", fontsize=8)


def _kernels(result: Any) -> dict[str, Any]:
    """Of planted and cooled chains, and what theory says of each."""
    ours = result["kernel"].isel(run=0)
    return {
        "planted": ours.sel(phase="planted").values,
        "theory, equilibrium": predictions(result.config)["planted"].kernels[-1],
        "cooled": ours.sel(phase="cooled").values,
        "theory, its shares": frozen_prediction(result, 0).kernels[-1],
    }
