"""One task after another: what a linear network forgets, on which path, and what interleaving would have saved."""

from math import log
from typing import Any

import festina as fs
from festina import claims
from festina._lazy import jax, jnp, np, xr
from festina.experiment import Equation, Experiment, ExperimentConfig, Preset, Variable, continuous, structural
from festina.experiments._needs import needs
from festina.ranges import Start, Strength
from festina.sources import BRAUN_2022, DOMINE_2025

SCHEDULES = ("blocked", "alternating", "interleaved")
SIGNS = (-1, 0, 1)


class Continual(Experiment):
    """What is forgotten in the end depends on the tasks alone, the way there on the balance of the layers.

    Two tasks ask for the same n outputs from other inputs: with S₁ = U s Vᵀ, the second rotates the input modes by an
    angle θ into new directions, S₂ = U s (V cos θ + V⊥ sin θ)ᵀ. Inputs are white, τ Ẇ₁ = W₂ᵀ(S − W₂W₁),
    τ Ẇ₂ = (S − W₂W₁)W₁ᵀ, and W₂ᵀW₂ − W₁W₁ᵀ = λI is conserved whatever is shown, so that the exact solution restarts at
    every switch (`festina.theory.sequence`). Networks with −λ, 0 and +λ meet three schedules of equal length in which
    both tasks are shown equally long: blocked (S₁, then S₂), alternating blocks, and interleaved, where the statistics
    are those of the mixture, Σyx = (S₁ + S₂)/2.

    The loss on task k is L_k = ½|S_k − W₂W₁|². Forgetting is F(t) = L₁(t) − L₁(T₁) after the switch at T₁, and ends at
    ½|S₁ − S₂|² = |s|²(1 − cos θ) for every λ. The tasks share their inputs without a cue and so conflict: no map solves
    both. With Δ = S₁ − S₂, blocking ends with the mean loss |Δ|²/4 over the two tasks, interleaving with |Δ|²/8, the
    least possible; alternation lies between them, ever nearer to interleaving as its blocks get shorter. These three
    values, and the end of forgetting, follow from the sources' dynamics and are derived here. With λ < 0 (the larger
    weights next to the wider layer) the rhythm into which long alternating blocks settle depends on what came before:
    learning the mixture first gives a gentler one than starting with blocks. Shown here is the second.
    """

    name = "linear/continual"
    sources = (BRAUN_2022, DOMINE_2025)
    variables = {
        "map": Variable("map W₂W₁", ("schedule", "sign", "output", "input")),
        "loss": Variable("loss ½|S − W₂W₁|² on each task", ("schedule", "sign", "task")),
        "forgetting": Variable("forgetting of task 1, as a share of ½|S₁ − S₂|²", ("sign",)),
        "conflict": Variable("½|S₁ − S₂|²"),
    }
    seeds = 3
    quick = {"records": 240, "seeds": 2}

    class Config(ExperimentConfig):
        modes: int = structural(4, ge=1, le=64, help="modes n of a task; 2n inputs, n hidden units, n outputs")
        blocks: int = structural(12, ge=2, le=200, multiple_of=2, help="blocks of the alternating schedule, even")
        block_length: float = continuous(2.5, ge=1e-6, le=1e3, unit="τ", help="length of an alternating block")
        imbalance: Strength = continuous(2.0, help="imbalance |λ|: networks with −λ, 0 and +λ are compared")
        angle: float = continuous(90.0, ge=0.1, le=179.9, unit="°", help="angle θ between the tasks")
        strongest: Strength = continuous(2.0, help="largest singular value of a task")
        weakest: Strength = continuous(1.0, help="smallest singular value of a task")
        scale: Start = continuous(0.05, scale="log", help="singular values of the initial map")
        records: int = structural(480, ge=24, le=100_000, help="recordings after the first, evenly spaced in time")

    def coordinates(self, config: Any) -> dict[str, Any]:
        return {"schedule": list(SCHEDULES), "sign": list(SIGNS), "task": [1, 2]}

    def simulate(self, config: Any, key: Any) -> Any:
        tasks, weights = tasks_and_weights(config, key)
        shown = shown_tasks(config, tasks)  # stage, schedule, output, input

        def rate(weights: Any, stage: Any) -> Any:
            first, second = weights
            error = shown[stage][:, None] - second @ first
            return _transposed(second) @ error, error @ _transposed(first)

        def observe(state: Any) -> dict[str, Any]:
            first, second = state.parameters
            return _observed(tasks, second @ first) | {"conflict": _conflict(tasks)}

        start = tuple(jnp.broadcast_to(layer[None], (len(SCHEDULES), *layer.shape)) for layer in weights)
        times = config.block_length * config.blocks * jnp.linspace(0.0, 1.0, config.records + 1)
        return fs.learning.flow_process(rate, start, times, observe, switches(config))

    def theory(self, config: Any, key: Any) -> Any:
        from festina.theory.sequence import sequence

        tasks, (first, second) = _drawn(config, key)
        shown, changes = np.asarray(shown_tasks(config, tasks)), np.asarray(switches(config))
        solutions = [
            [sequence(*weights, shown[:, k], changes) for weights in zip(first, second, strict=True)]
            for k in range(len(SCHEDULES))
        ]

        def curves(time: Any) -> dict[str, Any]:
            maps = [np.stack([solution(time)["map"] for solution in row], axis=1) for row in solutions]
            return _observed(tasks, np.stack(maps, axis=1))

        return curves

    def measure(self, data: Any) -> dict[str, Any]:
        clock = data["clock"] if "clock" in data else data["time"]
        switch = clock.isel(time=-1) / 2
        loss = data["loss"].sel(schedule="blocked", task=1)
        learned = loss.isel(time=abs(clock - switch).argmin("time"))
        share = ((loss - learned) / data["conflict"]).where(clock >= switch - 1e-9)
        forgetting = share.drop_vars(["schedule", "task"]).transpose("run", "time", "sign")
        return {"forgetting": forgetting.assign_attrs(long_name=self.variables["forgetting"].label)}

    equations = (
        Equation(
            r"\tau \dot W_1 = W_2^\top (S - W_2 W_1), \qquad \tau \dot W_2 = (S - W_2 W_1)\, W_1^\top",
            "Both layers descend the loss of the task S that is shown; W₂ᵀW₂ − W₁W₁ᵀ = λI is kept from task to task.",
        ),
        Equation(
            r"F(\infty) = \tfrac12 |S_1 - S_2|^2 = |s|^2\, (1 - \cos\theta)",
            "What is forgotten of the first task in the end depends on the tasks alone, and not on the balance λ.",
        ),
        Equation(
            r"\bar L_{\text{blocked}} = \tfrac14 |S_1 - S_2|^2, "
            r"\qquad \bar L_{\text{interleaved}} = \tfrac18 |S_1 - S_2|^2",
            "In the mean over both tasks interleaving ends with half the loss of blocking, the least that is possible.",
        ),
    )
    presets = (
        Preset(
            "orthogonal tasks", "The second task overwrites the first; networks with other λ get there in other ways."
        ),
        Preset("similar tasks", "At 30° an eighth as much is forgotten as between orthogonal tasks.", {"angle": 30.0}),
        Preset(
            "opposed tasks", "At 150° nearly twice as much is forgotten as between orthogonal tasks.", {"angle": 150.0}
        ),
        Preset(
            "short blocks",
            "In the same time, ten times shorter blocks make alternation nearly as good as interleaving.",
            {"block_length": 0.25, "blocks": 120},
        ),
    )

    @claims.theory(claims.below(1e-8), source=BRAUN_2022)
    def exact(self, result: Any) -> Any:
        """Restarted at every switch, the exact solution is the simulated course of every schedule and every λ."""
        return result.errors("map")

    @claims.theory(claims.below(0.01))
    def forgetting_end(self, result: Any) -> Any:
        """Forgetting of the first task ends at ½|S₁ − S₂|² for every λ (largest relative deviation)."""
        _require_learned(result)
        return abs(result["forgetting"].isel(time=-1) - 1.0).max("sign")

    @claims.theory(claims.above(0.1))
    def forgetting_path(self, result: Any) -> Any:
        """The course of forgetting depends on λ: at some time two networks differ by more than a tenth of what is
        forgotten in the end.
        """
        if result.config.imbalance < result.config.weakest:
            raise claims.NotApplicable("needs an imbalance of at least the weakest mode")
        _require_learned(result)
        return _path_spread(result["forgetting"])

    @claims.theory(claims.near(0.25, 0.0025))
    def interleaved(self, result: Any) -> Any:
        """Interleaving ends with the mean loss |S₁ − S₂|²/8 over both tasks, the least possible (as a share of
        ½|S₁ − S₂|²).
        """
        config, needed = result.config, duration(result.config, _mixture(result.config))
        if config.block_length * config.blocks < needed:
            raise claims.Undecided(
                f"too short for the mixture: {needs(config, 'block_length', needed / config.blocks)}"
            )
        return final_loss(result, "interleaved").mean("sign")

    @claims.theory(claims.near(0.5, 0.005))
    def blocked(self, result: Any) -> Any:
        """Blocking ends with the mean loss |S₁ − S₂|²/4 over both tasks, twice that of interleaving (as a share of
        ½|S₁ − S₂|²).
        """
        _require_learned(result)
        return final_loss(result, "blocked").mean("sign")

    @claims.theory(claims.below(0.01), budget="full")
    def short_blocks(self, result: Any) -> Any:
        """Alternating blocks of τ/20 are as good as interleaving: the exact mean loss over both tasks is
        |S₁ − S₂|²/8 up to 1 % of it.
        """
        if duration(result.config, _mixture(result.config)) > 600 * 0.05:
            raise claims.NotApplicable("needs tasks that are learned within 30 τ")
        losses = loss_of_block_lengths(result, np.array([0.05]), seed=0)[0]
        return xr.DataArray(abs(4 * losses - 1), dims="sign", coords={"sign": list(SIGNS)})

    def figure(self, result: Any) -> Any:
        from festina.experiments.linear._continual_figure import draw

        return draw(result)


def tasks_and_weights(config: Any, key: Any) -> tuple[Any, Any]:
    """S₁ and S₂, stacked, and (W₁, W₂) at the start with −λ, 0 and +λ, stacked.

    The initial weights are rotated at random, so that the modes of the tasks may lie along the axes.
    """
    modes, angle = config.modes, config.angle * np.pi / 180.0
    strengths = config.weakest + (config.strongest - config.weakest) * jnp.linspace(1.0, 0.0, modes)
    alone, none = jnp.diag(strengths), jnp.zeros((modes, modes))
    tasks = [
        jnp.concatenate(pair, axis=1) for pair in ((alone, none), (alone * jnp.cos(angle), alone * jnp.sin(angle)))
    ]
    balanced, sizes = fs.networks.DeepLinear.balanced, (2 * modes, modes, modes)
    imbalances = config.imbalance * jnp.asarray(SIGNS, dtype=float)
    weights = jax.vmap(lambda imbalance: balanced(key, sizes, imbalance, config.scale).weights)(imbalances)
    return jnp.stack(tasks), weights


def _drawn(config: Any, key: Any) -> tuple[Any, Any]:
    """The same as NumPy arrays, of a configuration with plain numbers."""
    return jax.tree.map(np.asarray, jax.jit(tasks_and_weights, static_argnums=0)(config, key))


def switches(config: Any) -> Any:
    """The end of every alternating block but the last; the blocked schedule changes at the middle one."""
    return config.block_length * jnp.arange(1.0, config.blocks)


def shown_tasks(config: Any, tasks: Any) -> Any:
    """What each schedule shows between switches: (stages, schedules, outputs, inputs)."""
    stage = np.arange(config.blocks)
    mixture = jnp.broadcast_to(tasks.mean(axis=0)[None], (config.blocks, *tasks.shape[1:]))
    return jnp.stack([tasks[(stage >= config.blocks // 2).astype(int)], tasks[stage % 2], mixture], axis=1)


def _observed(tasks: Any, mapping: Any) -> dict[str, Any]:
    """The map and the loss on each task, for maps with any leading axes."""
    error = tasks.reshape((1,) * (mapping.ndim - 2) + tasks.shape) - mapping[..., None, :, :]
    return {"map": mapping, "loss": 0.5 * (error**2).sum(axis=(-2, -1))}


def _conflict(tasks: Any) -> Any:
    return 0.5 * ((tasks[0] - tasks[1]) ** 2).sum()


def _transposed(matrices: Any) -> Any:
    return jnp.swapaxes(matrices, -1, -2)


def final_loss(result: Any, schedule: str) -> Any:
    """The mean loss over both tasks at the end, as a share of ½|S₁ − S₂|²; dimensions run, sign."""
    return (result["loss"].sel(schedule=schedule).mean("task") / result["conflict"]).isel(time=-1)


def _path_spread(forgetting: Any) -> Any:
    return (forgetting.max("sign") - forgetting.min("sign")).max("time")


def duration(config: Any, share: float = 1.0) -> float:
    """How long a share of a task takes from anywhere, generously.

    The slowest networks are those with λ < 0, which turn at the rate √(s² + λ²/4) − |λ|/2; from balanced weights a
    mode grows at the rate 2s. Nearly opposed tasks have little in common to begin with, sin θ.
    """
    angle, weakest, half = config.angle * np.pi / 180.0, config.weakest * share, config.imbalance / 2
    turning = weakest**2 / (float(np.hypot(weakest, half)) + half)
    growing = (log(max(10.0 * weakest / config.scale, 1.0)) + 5.0) / (2.0 * weakest)
    waiting = -log(np.sin(angle)) / config.weakest if angle > np.pi / 2 else 0.0
    return max(5.0 / turning, growing) + waiting


def _mixture(config: Any) -> float:
    """Strength of the mixture of both tasks, as a share of theirs."""
    return float(np.cos(config.angle * np.pi / 360.0))


def _require_learned(result: Any) -> None:
    """Whether the blocked networks have learned each task, but for 1 %, when its half of the time is over."""
    loss = result["loss"].sel(schedule="blocked") / result["conflict"]
    ends = loss.sizes["time"] // 2, loss.sizes["time"] - 1
    if max(float(loss.sel(task=task).isel(time=end).max()) for task, end in zip((1, 2), ends, strict=True)) > 0.01:
        needed = 2.0 * duration(result.config) / result.config.blocks
        raise claims.Undecided(f"a task is not learned yet: {needs(result.config, 'block_length', needed)}")


def loss_of_block_lengths(result: Any, lengths: Any, seed: int, blocks: int = 600) -> Any:
    """Exact mean loss over both tasks after many blocks of one length, as a share of ½|S₁ − S₂|²; (length, sign)."""
    from festina.precision import double
    from festina.theory.sequence import sequence

    with double():
        tasks, networks = _drawn(result.config, jax.random.key(seed))
    shown, switch = tasks[np.arange(blocks) % 2], np.arange(1.0, blocks)

    def end(length: float, first: Any, second: Any) -> Any:
        mapping = sequence(first, second, shown, length * switch)(length * blocks)["map"]
        return _observed(tasks, mapping)["loss"].mean() / _conflict(tasks)

    weights = list(zip(*networks, strict=True))
    return np.array([[end(length, *pair) for pair in weights] for length in lengths])
