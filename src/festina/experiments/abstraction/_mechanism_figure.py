"""The figure of `abstraction/mechanism`."""

from typing import Any

import festina as fs
from festina._lazy import np, plt
from festina.experiments.abstraction._panels import task_color
from festina.experiments.abstraction.mechanism import ADAPTED, adapting, asymmetry, error_of

LINES: tuple[Any, ...] = ("-", (0, (6, 1)), (0, (3, 1)), (0, (4, 1, 1, 1)), (0, (1, 0.8)))


def draw(result: Any) -> Any:
    """Students in the plane of their teachers; an adaptation, and what eq. 10 says of it; what makes it fast."""
    from matplotlib.lines import Line2D

    with fs.figures.style.style():
        figure, axes = plt.subplots(3, 3, figsize=(7.2, 6.9))
        for axis, course in zip(axes[0, :2], ("flexible", "forgetful"), strict=True):
            _draw_plane(axis, result, course)
        _draw_gate_gradient(axes[0, 2])
        looks = _looks(result.config.gate_timescales)
        _draw_curve(axes[1, 0], result, looks)
        _draw_over_time(axes[1, 1], result, looks, adapting(result, "overall"), r"specialisation $\bar{w}$")
        _draw_over_time(axes[1, 2], result, looks, adapting(result, "shared"), r"co-specialisation $\bar{\bar{w}}$")
        _draw_loss(axes[2, 0], result, looks)
        _draw_assumptions(axes[2, 1], result, looks)
        _draw_kernel(figure, axes[2, 2])
        lines = [Line2D([], [], **look) for look in looks]
        names = [f"$τ_c$ = {speed:g}" for speed in result.config.gate_timescales]
        figure.legend(lines, names, loc="outside lower center", ncols=min(6, len(lines)))
        fs.figures.style.letter(*axes.ravel())
    return figure


def _looks(timescales: Any) -> list[dict[str, Any]]:
    """Colour and line of each gate timescale, dark for fast gates."""
    shades = plt.get_cmap("viridis")(np.linspace(0.0, 0.85, len(timescales)))
    return [{"color": shade, "ls": LINES[k % len(LINES)]} for k, shade in enumerate(shades)]


def _draw_plane(axis: Any, result: Any, course: str) -> None:
    """Both students of the first run from one end of a block to the other; the dots are as large as their gates."""
    chosen = result.data.isel(run=0).sel(course=course)
    blocks = int(result.config.until / result.config.block_length + 1e-9)
    time = result["time"].values / result.config.block_length
    during = np.flatnonzero((time >= blocks - 1 - 1e-9) & (time <= blocks + 1e-9))
    weights = chosen["learning_weights"].transpose("time", "path", "teacher").values
    gates = np.abs(chosen["learning_gates"].transpose("time", "path").values)
    some = during[:: max(1, len(during) // 25)]
    for path, marker in enumerate("os"):
        color = task_color(path)
        axis.plot(*weights[: during[0] + 1, path].T, color=color, lw=0.5, alpha=0.35)
        axis.plot(*weights[during, path].T, color=color, lw=1.6)
        axis.scatter(
            *weights[some, path].T, s=26 * gates[some, path], color=color, marker=marker, lw=0, alpha=0.45, zorder=3
        )
        axis.plot(*weights[during[-1], path], marker, color=color, mec="k", mew=0.6, ms=4.5, zorder=4)
        axis.plot([], [], marker, color=color, ms=4, label=f"student {path + 1}")
    for teacher, (x, y) in enumerate(((1, 0), (0, 1))):
        axis.plot(x, y, "*", color="k", ms=5, clip_on=False, zorder=5)
        axis.annotate("AB"[teacher], (x, y), xytext=(5, 3), textcoords="offset points", fontsize=7)
    axis.set(xlim=(-0.08, 1.12), ylim=(-0.08, 1.12), xticks=[0, 0.5, 1], yticks=[0, 0.5, 1], aspect="equal")
    axis.set(xlabel="along teacher A", ylabel="along teacher B", title=f"{course}, block {blocks}")
    if course == "flexible":
        axis.legend(loc="upper right", fontsize=6.5)


def _draw_gate_gradient(axis: Any) -> None:
    """w·ε for the error after a switch from A to B, by the direction of w."""
    angle = np.linspace(0, 90, 91)
    unit = np.stack([np.cos(np.radians(angle)), np.sin(np.radians(angle))], axis=-1)
    for size, line in ((1.0, "-"), (0.5, (0, (4, 1.2))), (0.1, (0, (1, 1)))):
        axis.plot(angle, size * unit @ np.array([-1.0, 1.0]), color="k", ls=line, label=f"|w| = {size:g}")
    axis.axhline(0, color="0.75", lw=0.7, zorder=0)
    axis.set(xticks=[0, 45, 90], xticklabels=["A (0°)", "45°", "B (90°)"], xlabel="direction of the student")
    axis.set(ylabel=r"gate drive $w\cdot\varepsilon$", title="switch from A to B", yticks=[-1, 0, 1])
    axis.legend(loc="upper left", fontsize=6.5)


def _draw_curve(axis: Any, result: Any, looks: Any) -> None:
    """Simulations in the plane of separation and specialisation, on the curves of eq. 10."""
    separation, overall = adapting(result, "separation")[0], adapting(result, "overall")[0]
    fine = np.linspace(-1, 1, 201)
    for k, (speed, look) in enumerate(zip(result.config.gate_timescales, looks, strict=True)):
        axis.plot(separation[:, k], overall[:, k], color=look["color"], lw=3.2, alpha=0.75, solid_capstyle="round")
        said = fs.theory.abstraction.protected(fine, speed, result.config.adapting_timescale)
        axis.plot(fine, said, **fs.figures.style.THEORY)
    axis.plot([], [], color="0.4", lw=3.2, alpha=0.75, label="simulation")
    axis.plot([], [], **fs.figures.style.THEORY, label="eq. 10")
    axis.set(xlabel=r"separation of gates $\bar{c}$", ylabel=r"specialisation $\bar{w}$", xlim=(1.05, -1.05))
    axis.set(title="adaptation", ylim=(None, 1.14))
    axis.legend(loc="upper center", fontsize=6.5, ncols=2)


def _draw_over_time(axis: Any, result: Any, looks: Any, values: Any, label: str) -> None:
    time = result["time"].values[: values.shape[1]]
    for k, look in enumerate(looks):
        axis.plot(time, values[0, :, k], lw=1.2, **look)
    axis.set(xlabel="time after the switch", ylabel=label, xlim=(0, time[-1]))


def _draw_loss(axis: Any, result: Any, looks: Any) -> None:
    _draw_over_time(axis, result, looks, adapting(result, "loss"), "loss on task B")
    axis.axhline(ADAPTED, color="0.5", lw=0.8)
    axis.axvline(1.0, color="0.5", lw=0.8, ls=(0, (1, 1)))
    axis.set(yscale="log", ylim=(1e-8, 2))
    axis.text(0.98, ADAPTED * 1.3, "adapted", transform=axis.get_yaxis_transform(), ha="right", fontsize=7)
    axis.text(1.1, 0.5, "τ$_B$ of the tables", fontsize=6.5, color="0.3")


def _draw_assumptions(axis: Any, result: Any, looks: Any) -> None:
    """What the derivation of eq. 10 takes to be zero."""
    time = result["time"].values
    errors, teachers = error_of(result)[0].sum(axis=-1), asymmetry(result)[0]
    for k, look in enumerate(looks):
        axis.plot(time[: len(errors)], errors[:, k], lw=1.0, **look)
        axis.plot(time[: len(teachers)], teachers[:, k], lw=2.2, alpha=0.5, **look)
    axis.plot([], [], color="0.3", lw=1.0, label=r"$\varepsilon_1+\varepsilon_2$")
    axis.plot([], [], color="0.3", lw=2.2, alpha=0.5, label=r"$\bar{w}_1-\bar{w}_2$")
    axis.set(xlabel="time after the switch", ylabel="asymmetry", xlim=(0, time[len(errors) - 1]))
    axis.legend(loc="lower right", fontsize=7)


def _draw_kernel(figure: Any, axis: Any) -> None:
    """−dL/dt just after a switch for symmetric students and gates whose sum is 1, both timescales 1."""
    grid = np.linspace(0, 1, 81)
    separation, specialised = np.meshgrid(grid, grid)
    gates = 0.5 * np.stack([1 + separation, 1 - separation], axis=-1)
    near, far = 0.5 * (1 + specialised), 0.5 * (1 - specialised)
    weights = np.stack([np.stack([near, far], axis=-1), np.stack([far, near], axis=-1)], axis=-2)
    error = np.broadcast_to(np.array([-1.0, 1.0]), (*separation.shape, 2))
    unit = fs.theory.abstraction.Scales(1.0, 1.0, 1.0)
    total = sum(np.asarray(part) for part in fs.theory.abstraction.adaptation_speeds(weights, gates, error, unit))
    image = axis.pcolormesh(grid, grid, total, shading="gouraud", rasterized=True)
    lines = axis.contour(grid, grid, total, levels=[1.5, 2, 2.5, 3, 3.5], colors="white", linewidths=0.7)
    axis.clabel(lines, fontsize=6, fmt="%g")
    bar = figure.colorbar(image, ax=axis, ticks=[1, 2, 3, 4], pad=0.03)
    bar.set_label("−dL/dt (kernel)", fontsize=7.5)
    axis.set(xlabel=r"separation of gates $\bar{c}$", ylabel=r"specialisation $\bar{w}$")
    axis.set(xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])
