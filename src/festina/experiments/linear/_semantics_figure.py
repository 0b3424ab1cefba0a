"""The figure of `linear/semantics`."""

from typing import Any

import festina as fs
from festina._lazy import np, plt
from festina.experiments.linear._semantics_measures import half_times, predicted_half_times, shallow_half_time
from festina.experiments.linear._semantics_world import build_world, steps_apart
from festina.measures.embedding import planar_paths


def draw(result: Any) -> Any:
    """Course of learning, layout of the items, their similarity, half-times, illusions."""
    with fs.lab.style.style():
        figure = plt.figure(figsize=(7.2, 4.5))
        rows = figure.add_gridspec(2, 1, height_ratios=(1.35, 1))
        top = rows[0].subgridspec(1, 2, width_ratios=(1.3, 1))
        bottom = rows[1].subgridspec(1, 3, width_ratios=(1.75, 1, 1.15))
        course, paths = (figure.add_subplot(place) for place in top)
        panel = bottom[0].subgridspec(2, 3, height_ratios=(14, 1))
        matrices, bar = [figure.add_subplot(panel[0, k]) for k in range(3)], figure.add_subplot(panel[1, :])
        halves, illusions = (figure.add_subplot(place) for place in (bottom[1], bottom[2]))
        _draw_course(course, result)
        _draw_paths(paths, result)
        _draw_similarity(matrices, bar, result)
        _draw_half_times(halves, result)
        _draw_illusions(illusions, result)
        fs.lab.style.letter(course, paths, matrices[0], halves, illusions)
    return figure


def _color(number: int) -> str:
    return fs.lab.style.PALETTE[number % len(fs.lab.style.PALETTE)]


def _draw_course(axis: Any, result: Any) -> None:
    """Levels of the first run, deep and shallow, with the closed forms over them."""
    names, time = build_world(result.config).level_names, result["time"].values
    first, exact = result["learned"].isel(run=0), result.theory["learned"].isel(run=0)
    axis.plot(time, first.sel(network="shallow"), color="0.7", lw=2.4)
    for level, name in enumerate(names):
        known = name if len(names) <= 5 or level in (0, len(names) - 1) else None
        axis.plot(time, first.sel(network="deep").isel(level=level), color=_color(level), lw=2.4, label=known)
    for network in ("deep", "shallow"):
        axis.plot(time, exact.sel(network=network), **fs.lab.style.THEORY)
    axis.plot([], [], color="0.7", lw=2.4, label="shallow, all levels")
    axis.plot([], [], **fs.lab.style.THEORY, label="theory")
    last = min(2.2 * half_times(result, "deep")[0].max(), time[-1])
    axis.set(xlim=(0, last), ylim=(-0.02, 1.04), xlabel="time t / τ", ylabel="share of level learned")
    axis.set_title("Broad distinctions first, each in a stage")
    axis.legend(loc="lower right", fontsize=7)


def _draw_paths(axis: Any, result: Any) -> None:
    """Hidden representations in the plane, from the common start to one place for each item."""
    apart = steps_apart(result.config)
    hue, shape = (np.unique(apart <= max(apart.max() - up, 0), axis=0, return_inverse=True)[1].ravel() for up in (1, 2))
    shown = result["similarity"].isel(run=0).sel(time=slice(0, 1.6 * half_times(result, "deep")[0].max()))
    places = planar_paths(shown.values)
    for item, path in enumerate(places.transpose(1, 0, 2)):
        axis.plot(*path.T, color=_color(hue[item]), lw=1.0)
        axis.plot(*path[-1], "oD^svh"[shape[item] % 6], color=_color(hue[item]), ms=5, mec="white", mew=0.7, zorder=3)
    axis.plot(0, 0, "+", color="black", ms=7, mew=1.2, zorder=4)
    axis.annotate("t = 0", (0, 0), xytext=(0, 14), textcoords="offset points", fontsize=7, ha="center")
    axis.set(aspect="equal", xlabel="hidden representation, axis 1 (a.u.)", ylabel="axis 2 (a.u.)")
    axis.set_title("One cloud splits again and again")


def _draw_similarity(axes: Any, bar: Any, result: Any) -> None:
    """Inner products of the hidden representations, at three moments between the stages."""
    halves = np.sort(half_times(result, "deep")[0])
    moments = np.array([halves[0], *(halves[:-1] + halves[1:]) / 2, 1.6 * halves[-1]])
    chosen = np.linspace(min(2, len(moments) - 3), len(moments) - 1, 3).round().astype(int)
    shown = result["similarity"].isel(run=0).sel(time=moments[chosen], method="nearest")
    limits = {"vmin": min(float(shown.min()), 0.0), "vmax": float(shown.max())}
    for axis, frame in zip(axes, shown, strict=True):
        image = axis.imshow(frame.values, cmap="viridis", **limits)
        axis.set(xticks=[], yticks=[], anchor="N", xlabel=f"t = {float(frame['time']):.0f} τ")
        axis.spines[:].set_visible(False)
    axes[0].set_ylabel("items")
    axes[1].set_title("Similarity of items")
    bar.figure.colorbar(image, cax=bar, orientation="horizontal", label="inner product of representations")


def _draw_half_times(axis: Any, result: Any) -> None:
    """Measured against predicted half-times, for every run and level."""
    for network, marker in (("deep", "o"), ("deep from a tenth", "s")):
        predicted, measured = predicted_half_times(result, network), half_times(result, network)
        for level in range(measured.shape[1]):
            axis.plot(predicted[:, level], measured[:, level], marker, color=_color(level), ms=4, mfc="none", mew=0.9)
        axis.plot([], [], marker, color="0.3", ms=4, mfc="none", label=network.replace("from a tenth", "(init ÷ 10)"))
    shallow = half_times(result, "shallow")
    axis.plot(np.full_like(shallow, shallow_half_time(result)), shallow, "x", color="0.45", ms=5)
    axis.plot([], [], "x", color="0.45", ms=5, label="shallow")
    most = 1.1 * predicted_half_times(result, "deep from a tenth").max()
    axis.plot([0, most], [0, most], color="0.7", lw=0.8, zorder=0)
    axis.set(xlim=(0, most), ylim=(0, most), xlabel="predicted t½ / τ", ylabel="measured t½ / τ", title="Half-times")
    axis.locator_params(nbins=4)
    axis.legend(loc="upper left", fontsize=6.5, handletextpad=0.1)


def _draw_illusions(axis: Any, result: Any) -> None:
    """Features seen where they are not, by how many items rightly own them."""
    time, first, exact = (result["time"], result["illusion"].isel(run=0), result.theory["illusion"].isel(run=0))
    owners = (steps_apart(result.config)[..., None] <= np.arange(first.sizes["radius"])).sum(axis=1).max(axis=0)
    finest = result["learned"].sizes["level"] - 1  # whose learning ends the illusion of single items
    nested = result.config.structure in ("tree", "partition")
    axis.plot(time, first.sel(learner="shallow"), color="0.7", lw=2.4)
    for radius in range(len(owners))[::-1]:
        label = f"{owners[radius]} item" + "s" * int(owners[radius] > 1) if nested else f"radius {radius}"
        axis.plot(time, first.sel(learner="deep").isel(radius=radius), color=_color(finest - radius), lw=2, label=label)
    axis.plot(time, exact.sel(learner="deep"), **fs.lab.style.THEORY)
    axis.plot([], [], color="0.7", lw=2.4, label="shallow")
    axis.set(ylim=(None, 1.25 * float(first.max())))
    axis.set(xlim=(0, time[-1]), xlabel="time t / τ", ylabel="response (truth: 0)")
    axis.set_title("Illusory correlations")
    axis.legend(loc="best", fontsize=6.5, title="owned by", title_fontsize=6.5)
