"""The figure of `coding/temperature`."""

from typing import Any

import festina as fs
from festina._lazy import np, plt
from festina.experiments.coding._sampled import class_variance, code_name, mean_kernel
from festina.experiments.coding._temperature_measures import (
    by_rung,
    code_shares,
    drawn_shares,
    outlier_sets,
    predictions,
    sparse_onsets,
    theory_kernels,
)

LOOKS: tuple[dict[str, Any], ...] = (
    {"color": fs.figures.style.BLUE, "marker": "o", "label": "cooled"},
    {"color": fs.figures.style.VERMILLION, "marker": "^", "label": "heated"},
)
MARKS = ("o", "s", "^", "D", "v", "x")
TICKS = (1.0, 0.5, 0.2, 0.1, 0.05)
STRONGEST = 10  # neurons followed in the last panel
FAINTEST = 0.02  # share of a code that is worth a line of its own


def draw(result: Any) -> Any:
    """Above sigmoidal networks: kernel, codes, persistence. Below rectified ones: kernel, outliers, their sizes."""
    with fs.figures.style.style():
        figure, axes = plt.subplots(2, 3, figsize=(7.2, 4.6))
        _draw_kernels(axes[0, 0], result)
        _draw_shares(axes[0, 1], result)
        _draw_persistence(axes[0, 2], result)
        _draw_variance(axes[1, 0], result)
        _draw_outliers(axes[1, 1], result)
        _draw_sizes(axes[1, 2], result)
        for axis, kind in zip(axes[:, 0], ("sigmoidal", "rectified"), strict=True):
            axis.set_ylabel(f"{kind} neurons\n" + axis.get_ylabel())
        for axis in axes.ravel():
            _temperature_axis(axis, result.config.ladder)
        fs.figures.style.letter(*axes.ravel())
    return figure


def _temperature_axis(axis: Any, ladder: Any) -> None:
    """From hot to cold, as networks are cooled."""
    from matplotlib.ticker import NullFormatter, NullLocator

    axis.set_xscale("log")
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_minor_formatter(NullFormatter())
    shown = [tick for tick in TICKS if ladder[-1] <= tick <= ladder[0]]
    axis.set_xticks(shown, [f"{tick:g}" for tick in shown])
    axis.set(xlabel="temperature T (falling)", xlim=(ladder[0] * 1.08, ladder[-1] / 1.08))


def _dots(axis: Any, ladder: Any, values: Any, **look: Any) -> None:
    """The mean over runs, with its standard error."""
    error = values.std(axis=0, ddof=1) / len(values) ** 0.5 if len(values) > 1 else np.zeros(values.shape[1:])
    axis.errorbar(ladder, values.mean(axis=0), error, ls="none", ms=3.5, elinewidth=0.8, **look)


def _draw_kernels(axis: Any, result: Any) -> None:
    """Sigmoidal networks: V, which freezing leaves alone, and the mean over all pairs, which tells of it."""
    ladder, counts = result.config.ladder, result.config.counts
    ours, theirs = result["rung_kernel"].transpose("run", "arm", "rung", ...).values, theory_kernels(result)
    for name, part in (("V", class_variance), ("all pairs", mean_kernel)):
        expected = part(theirs, counts)[0]
        axis.plot(ladder, expected, **fs.figures.style.THEORY)
        for arm in (0, 1):
            look = LOOKS[arm] | {"label": LOOKS[arm]["label"] if part is mean_kernel else None}
            _dots(axis, ladder, part(ours[:, arm], counts), mfc="none", **look)
        axis.annotate(name, (ladder[0], expected[0]), xytext=(0, 6), textcoords="offset points", color="0.3")
    axis.plot([], [], label="equilibrium theory", **fs.figures.style.THEORY)
    axis.set(ylabel="kernel of the hidden layer", ylim=(-0.02, 0.55))
    axis.legend(loc="upper left")


def _draw_variance(axis: Any, result: Any) -> None:
    """Rectified networks: V."""
    ladder, counts = result.config.ladder, result.config.counts
    ours = class_variance(result["rung_kernel"].transpose("run", "arm", "rung", ...).values[:, 2], counts)
    theirs = class_variance(theory_kernels(result)[2], counts)
    axis.plot(ladder, theirs, label="theory", **fs.figures.style.THEORY)
    _dots(axis, ladder, ours, mfc="none", **LOOKS[0])
    _mark_onsets(axis, result)
    axis.set(ylabel="class variance of kernel V", ylim=(0, 1.35 * theirs.max()))
    axis.legend(loc="upper left")


def _draw_shares(axis: Any, result: Any) -> None:
    """Codes that differ only by which of two equal classes they name are taken together."""
    config = result.config
    ours = code_shares(result)[:, 0]
    theirs = np.stack([drawn_shares(config.counts, config.amplitude, heat) for heat in config.ladder])
    for number, (name, members) in enumerate(_lines(config.counts, theirs[-1])):
        look = {"color": fs.figures.style.PALETTE[number % 7]}
        axis.plot(config.ladder, theirs[:, members].sum(axis=1), ls=(0, (3, 2)), lw=0.9, **look)
        values = ours[..., members].sum(axis=-1)
        _dots(axis, config.ladder, values, marker=MARKS[number % 6], mfc="none", label=name, **look)
    axis.set(ylabel="share of neurons (cooled)", ylim=(0, 1.5), yticks=[0, 0.5, 1])
    axis.legend(loc="upper left", ncols=2, columnspacing=0.8, handletextpad=0.2, title="on for classes")


def _lines(counts: tuple[int, ...], shares: Any) -> list[tuple[str, list[int]]]:
    """Names and members of groups of codes, the largest first; those that hardly occur at the end as others."""
    groups: dict[tuple[int, ...], list[int]] = {}
    sizes = sorted(set(counts))
    for code in range(2 ** len(counts)):
        on = [counts[each] for each in range(len(counts)) if code >> each & 1]
        groups.setdefault(tuple(on.count(size) for size in sizes), []).append(code)
    listed = sorted(groups.values(), key=lambda members: -shares[members].sum())
    large = [members for members in listed if shares[members].sum() > FAINTEST]
    rest = [code for members in listed if shares[members].sum() <= FAINTEST for code in members]
    named = [(" or ".join(code_name(code, len(counts)) for code in members), members) for members in large]
    return named + ([("all or none", rest)] if rest else [])


def _draw_persistence(axis: Any, result: Any) -> None:
    ladder = result.config.ladder
    values = result["persistence"].transpose("run", "sigmoidal_arm", "rung").values
    for arm, line in enumerate(("-", (0, (4, 1.2)))):
        axis.plot(ladder, values[:, arm].mean(axis=0), color=LOOKS[arm]["color"], ls=line, lw=0.8)
        _dots(axis, ladder, values[:, arm], mfc="none", **LOOKS[arm])
    axis.axhline(1, color="0.7", lw=0.7)
    axis.axhline(0, color="0.7", lw=0.7)
    axis.annotate("frozen", (ladder[0], 1), xytext=(3, -3), textcoords="offset points", va="top", color="0.4")
    axis.annotate("drawn afresh", (ladder[-1], 0), xytext=(-3, 3), textcoords="offset points", ha="right", color="0.4")
    axis.set(ylabel=f"persistence of codes\n(over {result.config.stay // 2} draws)", ylim=(-0.15, 1.1))
    axis.legend(loc="center left")


def _mark_onsets(axis: Any, result: Any) -> None:
    for each in set(sparse_onsets(result.config.counts, result.config.amplitude)):
        axis.axvline(each, color="0.6", lw=0.8, ls=":")


def _draw_outliers(axis: Any, result: Any) -> None:
    config = result.config
    expected = [len(each.outliers) for each in predictions(config)[1]]
    axis.plot(config.ladder, expected, label="theory: directions", **fs.figures.style.THEORY)
    count = outlier_sets(result).sum(axis=-1).mean(axis=-1)
    _dots(axis, config.ladder, count, color=fs.figures.style.BLUE, marker="o", mfc="none", label="sampled: neurons")
    axis.set(ylabel="outliers", ylim=(-0.3, 1.6 * max(count.mean(axis=0).max(), max(expected))))
    axis.legend(loc="upper left")
    _mark_onsets(axis, result)


def _draw_sizes(axis: Any, result: Any) -> None:
    """|a_i|/√N of the neurons of one run that are largest in the end, by the class they serve."""
    config = result.config
    readouts, activity = (by_rung(result[name])[0, 2, :, -1] for name in ("readout", "activity"))
    sizes = np.linalg.norm(readouts, axis=-1) / config.width**0.5
    for neuron in np.argsort(-sizes[-1])[:STRONGEST]:
        best = int(activity[-1, neuron].argmax())
        look = {"color": fs.figures.style.PALETTE[best], "marker": MARKS[best], "ms": 2.5, "mfc": "none", "lw": 0.8}
        axis.plot(config.ladder, sizes[:, neuron], **look)
    for best in range(len(config.counts)):
        axis.plot(
            [], [], color=fs.figures.style.PALETTE[best], marker=MARKS[best], ms=3, label=f"class {chr(65 + best)}"
        )
    for number, each in enumerate(_theory_sizes(config).T):
        label = "theory, one each" if number == 0 else None
        axis.plot(config.ladder, each, label=label, **fs.figures.style.THEORY)
    axis.set(ylabel=r"size of a neuron $|a_i|/\sqrt{N}$", ylim=(0, 1.75 * sizes.max()))
    axis.legend(loc="upper left", ncols=2, columnspacing=0.8)


def _theory_sizes(config: Any) -> Any:
    """|ā| of each outlier on each rung, the largest first: (rung, outlier); not a number where there is none."""
    sizes = [np.sort(np.linalg.norm(each.outliers, axis=1))[::-1] for each in predictions(config)[1]]
    most = max(map(len, sizes))
    return np.stack([np.pad(each, (0, most - len(each)), constant_values=np.nan) for each in sizes])
