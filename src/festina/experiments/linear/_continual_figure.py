"""The figure of `linear/continual`."""

from typing import Any

import festina as fs
from festina._lazy import np, plt
from festina.experiments.linear.continual import SCHEDULES, SIGNS, final_loss, loss_of_block_lengths

DASHES = {-1: (0, (5, 1.2)), 0: "-", 1: (0, (1.2, 1))}
LENGTHS = tuple(0.05 * 400.0 ** (k / 24) for k in range(25))  # of alternating blocks, 0.05 to 20 τ
LEARNERS = {"blocked": (0, (5, 1.2)), "alternating": "-", "interleaved": (0, (1.2, 1))}


def draw(result: Any) -> Any:
    """Both losses, forgetting, the three schedules, and the price of long blocks."""
    with fs.figures.style.style():
        figure, axes = plt.subplots(2, 2, figsize=(7.2, 4.6), width_ratios=(1.25, 1))
        (losses, forgetting), (schedules, lengths) = axes
        _draw_losses(losses, result)
        _draw_forgetting(forgetting, result)
        _draw_schedules(schedules, result)
        _draw_lengths(lengths, result)
        fs.figures.style.letter(*axes.flat)
    return figure


def _color(sign: int) -> str:
    return {-1: fs.figures.style.VERMILLION, 0: fs.figures.style.BLACK, 1: fs.figures.style.BLUE}[sign]


def _name(result: Any, sign: int) -> str:
    return f"λ = {sign * result.config.imbalance:+.3g}".replace("+0", "0").replace("-", "−")


def _shares(data: Any, conflict: Any) -> Any:
    return (data["loss"] / conflict).isel(run=0)


def _draw_losses(axis: Any, result: Any) -> None:
    """Blocked: the loss on either task, simulated as lines, exact as dots."""
    conflict = result["conflict"]
    time, loss = result["time"].values, _shares(result.data, conflict).sel(schedule="blocked")
    exact = _shares(result.theory, conflict).sel(schedule="blocked")
    for sign in SIGNS:
        for task in (1, 2):
            course = {"color": _color(sign), "alpha": 1.0 if task == 1 else 0.45, "lw": 1.5 if task == 1 else 1.1}
            axis.plot(time, loss.sel(sign=sign, task=task), ls=DASHES[sign], **course)
        shown = slice(max(1, len(time) // 40), None, max(1, len(time) // 20))
        axis.plot(
            time[shown], exact.sel(sign=sign, task=1)[shown], "o", color=_color(sign), ms=2.8, mfc="white", mew=0.8
        )
        axis.plot([], [], color=_color(sign), ls=DASHES[sign], label=_name(result, sign))
    axis.plot([], [], "o", color="0.3", ms=2.8, mfc="white", mew=0.8, label="exact")
    switch, top = time[-1] / 2, 1.15 * float(loss.max())
    axis.axvline(switch, color="0.6", lw=0.7)
    for place, task in ((switch / 2, 1), (1.5 * switch, 2)):
        axis.text(place, top, f"task {task} shown", ha="center", va="bottom", fontsize=7.5, color="0.3")
    axis.text(0.99 * time[-1], 1.04, "task 1", ha="right", fontsize=7)
    axis.text(0.99 * time[-1], 0.05, "task 2 (pale)", ha="right", fontsize=7)
    axis.set(xlim=(0, time[-1]), ylim=(-0.03, top), xlabel="time t / τ", ylabel="loss / ½|S₁ − S₂|²")
    axis.legend(loc="center left", bbox_to_anchor=(0.24, 0.55), labelspacing=0.35)


def _draw_forgetting(axis: Any, result: Any) -> None:
    """After the switch: every run, simulated and exact."""
    time = result["time"].values
    after = time >= time[-1] / 2 - 1e-9
    since, forgetting = time[after] - time[after][0], result["forgetting"].values[:, after]
    for number, sign in enumerate(SIGNS):
        for run in forgetting[:, :, number]:
            axis.plot(since, run, color=_color(sign), ls=DASHES[sign], lw=1.2)
        axis.plot([], [], color=_color(sign), ls=DASHES[sign], label=_name(result, sign))
    axis.axhline(1.0, color="0.6", lw=0.7, ls=":")
    axis.text(0.98 * since[-1], 1.03, "½|S₁ − S₂|², for every λ", ha="right", va="bottom", fontsize=7, color="0.3")
    axis.set(xlim=(0, since[-1]), ylim=(-0.03, 1.18), xlabel="time since the switch (t − T₁) / τ")
    axis.set(ylabel="forgetting F / ½|S₁ − S₂|²", title="One end, different ways")
    axis.legend(loc="lower right")


def _draw_schedules(axis: Any, result: Any) -> None:
    """λ = 0: the mean loss over both tasks."""
    time = result["time"].values
    mean = _shares(result.data, result["conflict"]).sel(sign=0).mean("task")
    colors = (fs.figures.style.PURPLE, fs.figures.style.GREEN, fs.figures.style.ORANGE)
    for schedule, color in zip(SCHEDULES, colors, strict=True):
        axis.plot(time, mean.sel(schedule=schedule), color=color, ls=LEARNERS[schedule], label=schedule)
    for share, name in ((0.25, "¼"), (0.5, "½")):
        axis.axhline(share, color="0.6", lw=0.7, ls=":", zorder=0)
        axis.annotate(name, (1, share), xycoords=("axes fraction", "data"), xytext=(3, 0), va="center",
                      textcoords="offset points", fontsize=7.5)  # fmt: skip
    axis.set(xlim=(0, time[-1]), ylim=(0, 1.12 * float(mean.max())), xlabel="time t / τ")
    axis.set(ylabel="mean loss of both tasks\n/ ½|S₁ − S₂|²", title="Three schedules, λ = 0")
    axis.legend(loc="lower center", ncols=3, bbox_to_anchor=(0.5, 0.08))


def _draw_lengths(axis: Any, result: Any) -> None:
    """The exact mean loss at the end of a block against the length of blocks, and the simulated one."""
    lengths = np.asarray(LENGTHS)
    loss = loss_of_block_lengths(result, lengths, seed=int(result["seed"].values[0]))
    simulated = final_loss(result, "alternating").isel(run=0)
    for number, sign in enumerate(SIGNS):
        axis.plot(lengths, loss[:, number], color=_color(sign), ls=DASHES[sign], label=_name(result, sign))
        axis.plot(result.config.block_length, simulated.sel(sign=sign), "s", color=_color(sign), ms=4, mfc="white")
    axis.plot([], [], "s", color="0.3", ms=4, mfc="white", label="simulated")
    for share, name in ((0.25, "interleaved"), (0.5, "blocked")):
        axis.axhline(share, color="0.6", lw=0.7, ls=":", zorder=0)
        axis.text(0.05 if share > 0.3 else 20, share + 0.004, name, fontsize=7, va="bottom", color="0.3",
                  ha="left" if share > 0.3 else "right")  # fmt: skip
    axis.set(xscale="log", ylim=(0.23, 0.53), xlabel="length of alternating blocks / τ")
    axis.set(ylabel="mean loss at the end\n/ ½|S₁ − S₂|²", title="Long blocks cost")
    axis.set_xticks([0.1, 1, 10], ["0.1", "1", "10"])
    axis.legend(loc="upper left", bbox_to_anchor=(0.0, 0.9), labelspacing=0.35)
