"""The figure of `coding/sparse`."""

from typing import Any

import festina as fs
from festina._lazy import np, plt
from festina.experiments.coding._common import readout_variance
from festina.experiments.coding._panels import class_color, draw_kernels, draw_raster, draw_readouts, draw_trace
from festina.experiments.coding._sampled import outliers
from festina.experiments.coding.sparse import number_of_outliers, predicted_readouts, prediction

STRONGEST = 30  # neurons whose activity is shown


def draw(result: Any) -> Any:
    """Readouts with the predicted outliers, sizes of all neurons, activity of the strongest; kernels; traces."""
    config = result.config
    last = result.data.isel(run=0, time=-1)
    readouts = last["readout"].transpose("neuron", "output").values
    activity = last["activity"].transpose("neuron", "class").values
    with fs.lab.style.style():
        figure = plt.figure(figsize=(fs.lab.style.TWO_COLUMNS, 4.3))
        parts: Any = figure.subfigures(2, 1, height_ratios=(1.15, 1.0))
        axes = parts[0].subplot_mosaic("abc") | parts[1].subplot_mosaic("defg")
        large = outliers(readouts, readout_variance(config))
        draw_readouts(axes["a"], readouts[~large], np.zeros((~large).sum()), color="0.5")
        draw_readouts(axes["a"], readouts[large], np.argmax(activity[large], axis=1), ms=4.5)
        _draw_predicted(axes["a"], predicted_readouts(config))
        _draw_ranks(axes["b"], result)
        strongest = np.argsort(-np.linalg.norm(readouts, axis=1))[:STRONGEST]
        draw_raster(axes["c"], activity, strongest, cmap="Greys", vmin=0.0)
        axes["c"].set_ylabel("neuron, by size of readout")
        kernels = {"samples": result["kernel"].isel(run=0).values, "theory": prediction(config).kernels[-1]}
        draw_kernels([axes["d"], axes["e"]], kernels, config.counts)
        draw_trace(axes["f"], result)
        axes["f"].legend(loc="center right", bbox_to_anchor=(1.0, 0.42), ncols=2, columnspacing=0.8, handlelength=1.2)
        _draw_number(axes["g"], result)
        axes["e"].set_ylabel("")
        fs.lab.style.letter(*axes.values())
    return figure


def _draw_predicted(axis: Any, predicted: Any) -> None:
    axis.plot(predicted[:, 0], predicted[:, 1], "k+", ms=10, mew=0.8, label="theory")
    low, high = axis.get_ylim()
    axis.set_ylim(low, high + 0.3 * (high - low))
    axis.legend(loc="upper right")


def _draw_number(axis: Any, result: Any) -> None:
    """How many outliers each chain has, as it is drawn."""
    time, numbers = result["time"].values, number_of_outliers(result)
    axis.axvspan(0, result.config.warm_up, color="0.93", lw=0, zorder=0)
    for run, number in enumerate(numbers):
        axis.plot(time, number, color=class_color(run), ls=("-", (0, (2, 0.8)))[run % 2], lw=0.9)
    axis.axhline(len(prediction(result.config).outliers), label="one a class", **fs.lab.style.THEORY)
    axis.set(xlabel="draw", ylabel="number of outliers", xlim=(0, time[-1]), ylim=(0, 1.15 * max(4, numbers.max())))
    axis.legend(loc="upper right")


def _draw_ranks(axis: Any, result: Any) -> None:
    """|a| of all neurons at the end of each chain, in order of size."""
    readouts = result["readout"].isel(time=-1).transpose("run", "neuron", "output").values
    sizes = -np.sort(-np.linalg.norm(readouts, axis=-1), axis=1)
    rank = np.arange(1, sizes.shape[1] + 1)
    for run, size in enumerate(sizes):
        axis.loglog(rank, size, "os^Dv"[run % 5], ms=2.5, mew=0, color=class_color(run), label=f"chain {run + 1}")
    predicted = -np.sort(-np.linalg.norm(predicted_readouts(result.config), axis=1))
    axis.loglog(rank[: len(predicted)], predicted, "k+", ms=10, mew=0.8, label="theory")
    axis.set(xlabel="neuron, by size of readout", ylabel="size of readout |a|")
    axis.legend(loc="upper right")
