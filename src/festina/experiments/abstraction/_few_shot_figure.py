"""The figure of `abstraction/few_shot`."""

from typing import Any

import festina as fs
from festina._lazy import np, plt
from festina.experiments.abstraction._common import ARMS, block_edges
from festina.experiments.abstraction._panels import LOOKS, draw_arms, shade_blocks, task_color
from festina.experiments.abstraction.few_shot import LAST, TASKS, after_switches

DASHES: tuple[Any, ...] = ("-", (0, (4, 1.2)))
SAMPLES = 12  # after a switch


def draw(result: Any) -> Any:
    """Loss, gates and alignment over time; then loss and gates by the number of samples since a switch."""
    with fs.lab.style.style():
        figure, axes = plt.subplots(2, 3, figsize=(7.2, 4.3))
        draw_arms(axes[0, 0], result, "loss", lw=0.9)
        axes[0, 0].set(ylabel="loss on the task shown", ylim=(0, 0.75))
        axes[0, 0].legend(loc="upper right", ncols=2, columnspacing=0.8)
        _draw_gates(axes[0, 1], result)
        draw_arms(axes[0, 2], result, "total_alignment", lw=1.1)
        axes[0, 2].set(ylabel="total alignment", ylim=(0, 1.05))
        for axis in axes[0]:
            shade_blocks(axis, block_edges(result.config), range(TASKS))
            axis.set(xlabel="time t", xlim=(0, result.config.until))
        _draw_loss_by_sample(axes[1, 0], result)
        _draw_gates_by_sample(axes[1, 1], result)
        _draw_alignments(axes[1, 2], result)
        fs.lab.style.letter(*axes.ravel())
    return figure


def _draw_gates(axis: Any, result: Any) -> None:
    gates = result["sorted_gates"].sel(arm="flexible").transpose("run", "student", "time").values
    for student in range(TASKS):
        look = {"color": task_color(student), "ls": DASHES[student], "lw": 1.0}
        fs.lab.style.draw_band(axis, result["time"].values, gates[:, student], label=f"$c^{{{student + 1}}}$", **look)
    axis.set(ylabel="gates (flexible)", ylim=(None, 1.4), yticks=[0, 0.5, 1])
    axis.legend(loc="upper right", ncols=2)


def _draw_loss_by_sample(axis: Any, result: Any) -> None:
    loss = after_switches(result, "loss", SAMPLES)
    sample = np.arange(loss.shape[-1])
    for number, arm in enumerate(ARMS):
        late = loss[:, number, -LAST:].mean(axis=1)
        fs.lab.style.draw_band(
            axis, sample, late, marker="o", ms=2.8, lw=1.1, label=f"{arm}, last {LAST} blocks", **LOOKS[arm]
        )
    early = loss[:, 0, 1 : 1 + LAST].mean(axis=1)
    look = {"color": fs.lab.style.SKY, "ls": (0, (1, 1)), "marker": "s", "ms": 2.2, "lw": 1.0}
    fs.lab.style.draw_band(axis, sample, early, label="flexible, first switches", **look)
    axis.set(xlabel="samples since the switch", ylabel="loss on the task shown", ylim=(0, 0.75))
    axis.legend(loc="upper right", fontsize=6.5)


def _draw_gates_by_sample(axis: Any, result: Any) -> None:
    """The gates of the flexible network's student of the new task and of the old one, after late switches."""
    gates = after_switches(result, "sorted_gates", SAMPLES)[:, 0]
    blocks = np.arange(gates.shape[2])[-LAST:]
    sample = np.arange(gates.shape[-1])
    for shift, name in enumerate(("of the new task", "of the old task")):
        chosen = np.stack([gates[:, (block + shift) % TASKS, block] for block in blocks], axis=1).mean(axis=1)
        look = {"color": (fs.lab.style.GREEN, fs.lab.style.PURPLE)[shift], "ls": DASHES[shift]}
        fs.lab.style.draw_band(axis, sample, chosen, marker="os"[shift], ms=2.8, lw=1.1, label=f"gate {name}", **look)
    axis.set(xlabel="samples since the switch", ylabel="gates (flexible)", ylim=(-0.1, 1.55), yticks=[0, 0.5, 1])
    axis.legend(loc="upper right")


def _draw_alignments(axis: Any, result: Any) -> None:
    """How many runs end with what total alignment."""
    final = result["total_alignment"].isel(time=-1).transpose("arm", "run").values
    edges = np.linspace(min(0.0, float(final.min())), 1.0, 41)
    for values, arm in zip(final, ARMS, strict=True):
        look = LOOKS[arm]
        axis.hist(values, edges, histtype="stepfilled", color=look["color"], alpha=0.25)
        axis.hist(values, edges, histtype="step", color=look["color"], ls=look["ls"], lw=1.0, label=arm)
    axis.set(xlabel="total alignment at the end", ylabel="runs")
    axis.legend(loc="upper left")
