"""The figure of `linear/regimes`."""

from typing import Any

import festina as fs
from festina._lazy import jax, np, plt
from festina.experiments.linear._regimes_measures import arm_of
from festina.experiments.linear._regimes_networks import ARCHITECTURES, compare_grams, draw_arms, grams_of, sizes
from festina.lab.style import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILLION

NEGATIVE, POSITIVE = (BLUE, SKY, PURPLE), (VERMILLION, ORANGE, GREEN)
SOLID, DASHED = "-", (0, (3, 1.8))
SHAPES = {
    "funnel": (BLUE, SOLID, "v"),
    "square": (BLACK, (0, (1.2, 1)), "s"),
    "anti-funnel": (VERMILLION, DASHED, "^"),
}
POINTS: dict[str, Any] = {"ms": 4.3, "mfc": "white", "mew": 0.9, "lw": 0.8}
AROUND: dict[str, Any] = {"color": BLACK, "linestyle": (0, (1, 1.4)), "linewidth": 0.9}


def draw(result: Any) -> Any:
    """Loss and kernel over time in each architecture; below, what is left of them at the end, over λ."""
    with fs.lab.style.style():
        figure, axes = plt.subplots(3, 3, figsize=(7.2, 6.5), height_ratios=(1, 1, 1.1))
        looks = _looks(result.config.imbalance)
        for column, architecture in enumerate(ARCHITECTURES):
            _draw_loss(axes[0, column], result, architecture, looks)
            _draw_distance(axes[1, column], result, architecture, looks)
        for row in axes[:2]:
            _share_scale(row)
        ends = _ends(result)
        _draw_end(axes[2, 0], result, ends, "distance", "final kernel distance")
        _draw_end(axes[2, 1], result, ends, "movement", "final kernel movement")
        axes[2, 1].set_yscale("log")
        _draw_similarity(axes[2, 2], result, ends)
        _add_legend(figure, looks)
        fs.lab.style.letter(*axes.ravel())
    return figure


def _looks(imbalances: Any) -> dict[float, tuple[str, Any]]:
    """Colour and line of each imbalance: cold and solid below zero, warm and dashed above, black at zero."""
    looks: dict[float, tuple[str, Any]] = {}
    for imbalance in sorted(set(imbalances)):
        rank = sorted({abs(x) for x in imbalances if x * imbalance > 0}, reverse=True)
        colors, line = (NEGATIVE, SOLID) if imbalance < 0 else (POSITIVE, DASHED)
        looks[imbalance] = (colors[rank.index(abs(imbalance)) % 3], line) if imbalance else (BLACK, SOLID)
    return looks


def _draw_loss(axis: Any, result: Any, architecture: str, looks: Any) -> None:
    """The first run, with the loss that the rotation leaves over it where there is one."""
    time = result["time"].values[1:]
    for imbalance, (color, line) in looks.items():
        arm = architecture, imbalance
        axis.plot(time, arm_of(result["loss"], arm)[0, 1:], color=color, ls=line, lw=1.6)
        axis.plot(time, arm_of(result.theory["rotation"], arm)[0, 1:], **AROUND)
    inputs, outputs = sizes(result.config)[architecture]
    axis.set(xscale="log", ylim=(0, None))
    axis.set_title(f"{architecture} {inputs}–{min(inputs, outputs)}–{outputs}".capitalize())
    axis.set_xticks([1e-3, 1e-2, 0.1, 1, 10, 100])
    if architecture == ARCHITECTURES[0]:
        axis.set_ylabel("loss ½|S − W₂W₁|²")


def _draw_distance(axis: Any, result: Any, architecture: str, looks: Any) -> None:
    """Simulation as wide lines, the exact solution as dots on it."""
    time = result["time"].values[1:]
    some = slice(None, None, max(1, len(time) // 14))
    for imbalance, (color, line) in looks.items():
        arm = architecture, imbalance
        axis.plot(time, arm_of(result["distance"], arm)[0, 1:], color=color, ls=line, lw=1.6)
        exact = arm_of(result.theory["distance"], arm)[0, 1:]
        axis.plot(time[some], exact[some], "o", color=color, ms=2.6, mfc="white", mew=0.7)
    axis.set(xscale="log", xlabel="time t / τ")
    axis.set_xticks([1e-3, 1e-2, 0.1, 1, 10, 100])
    if architecture == ARCHITECTURES[0]:
        axis.set_ylabel("kernel distance")


def _share_scale(axes: Any) -> None:
    low, high = min(axis.get_ylim()[0] for axis in axes), max(axis.get_ylim()[1] for axis in axes)
    for axis in axes:
        axis.set_ylim(low, high)


def _ends(result: Any) -> dict[str, Any]:
    """What theory says of t → ∞ on a fine grid of λ: architecture → name → (runs, λ).

    W₁ᵀW₁ → V (√(4s² + λ²) − λ)/2 Vᵀ and W₂W₂ᵀ → U (√(4s² + λ²) + λ)/2 Uᵀ.
    """
    most = max(2.0, 1.6 * max(abs(x) for x in result.config.imbalance))
    half = np.concatenate([np.linspace(0.0, 1.0, 16)[:-1], np.geomspace(1.0, most, 30)])
    grid = np.concatenate([-half[:0:-1], half])
    config = result.config.model_copy(update={"imbalance": tuple(grid)})
    start, compare = jax.jit(draw_arms, static_argnums=0), jax.jit(compare_grams)
    found = {name: [] for name in ARCHITECTURES}
    with fs.double():
        for seed in result["seed"].values:
            for name, (task, network) in start(config, jax.random.key(int(seed))).items():
                left, strength, right = np.linalg.svd(np.asarray(task), full_matrices=False)
                size = np.hypot(2 * strength, grid[:, None])
                first = np.einsum("ki,lk,kj->lij", right, (size - grid[:, None]) / 2, right)
                second = np.einsum("ik,lk,jk->lij", left, (size + grid[:, None]) / 2, left)
                found[name].append(compare(task, grams_of(network), (first, second)))
    joined = {name: {key: np.stack([run[key] for run in runs]) for key in runs[0]} for name, runs in found.items()}
    return {"grid": grid, **joined}


def _draw_end(axis: Any, result: Any, ends: Any, name: str, label: str) -> None:
    """Theory as lines, simulated runs as their mean and s.d."""
    for architecture, (color, line, marker) in SHAPES.items():
        axis.plot(ends["grid"], ends[architecture][name].mean(axis=0), color=color, ls=line, lw=1.2)
        last = result[name].isel(time=-1).sel(architecture=architecture)
        mean, spread = last.mean("run").values, last.std("run").values
        axis.errorbar(last["imbalance"], mean, spread, fmt=marker, color=color, label=architecture, **POINTS)
    _imbalance_scale(axis, result)
    axis.set_ylabel(label)
    if name == "distance":
        axis.set_ylim(None, 1.3 * axis.get_ylim()[1])
        axis.legend(loc="upper center", fontsize=6.5, ncols=3, columnspacing=0.6, handletextpad=0.0, handlelength=1.2)


def _draw_similarity(axis: Any, result: Any, ends: Any) -> None:
    """Both layers of the funnel: similarity of their representations with the task's, at the end."""
    for name, label, (color, line, marker) in (
        ("first_similarity", "W₁ᵀW₁ with SᵀS", (GREEN, SOLID, "o")),
        ("second_similarity", "W₂W₂ᵀ with SSᵀ", (PURPLE, DASHED, "D")),
    ):
        axis.plot(ends["grid"], ends["funnel"][name].mean(axis=0), color=color, ls=line, lw=1.2)
        both = result[name].sel(architecture="funnel")
        last = both.isel(time=-1)
        mean, spread = last.mean("run"), last.std("run")
        axis.errorbar(last["imbalance"], mean, spread, fmt=marker, color=color, label=label, **POINTS)
        axis.plot(last["imbalance"], both.isel(time=0).mean("run"), marker, color="0.7", ms=3)
    axis.plot([], [], "o", color="0.7", ms=3, label="at the start")
    _imbalance_scale(axis, result)
    axis.set(ylim=(-0.05, 1.05), ylabel="similarity to task")
    axis.set_title("Layers of the funnel", fontsize=8)
    axis.legend(loc="lower center", fontsize=6.5, handlelength=1.2, labelspacing=0.2)


def _imbalance_scale(axis: Any, result: Any) -> None:
    axis.set_xscale("symlog", linthresh=1.0, linscale=0.6)
    largest = max(abs(x) for x in result.config.imbalance)
    ticks = [x for x in (-100, -10, -1, 0, 1, 10, 100) if abs(x) <= max(1.6 * largest, 1.0)]
    axis.set_xticks(ticks, [f"{x:g}".replace("-", "−") for x in ticks])
    axis.set_xlabel("imbalance λ")


def _add_legend(figure: Any, looks: Any) -> None:
    from matplotlib.lines import Line2D

    lines = [Line2D([], [], color=color, ls=line, lw=1.6) for color, line in looks.values()]
    labels = [f"λ = {x:g}".replace("-", "−") for x in looks]
    lines += [Line2D([], [], **AROUND), Line2D([], [], color="0.3", marker="o", ls="", ms=2.6, mfc="white")]
    labels += ["plateau and rotation", "exact solution"]
    figure.legend(lines, labels, loc="outside upper center", ncols=len(lines), fontsize=7, columnspacing=1.1)
