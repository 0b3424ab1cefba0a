"""Watch a network while it is trained elsewhere."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np

from festina.errors import require
from festina.watching.look import Look
from festina.watching.outside import read_probes, take_in
from festina.watching.report import Report, report_of
from festina.watching.schedule import Schedule
from festina.watching.start import Start
from festina.watching.training import examples_of


class Watch:
    """Looks at a network now and then, and keeps the numbers, not the network.

    Attributes:
        schedule: the steps at which it is worth looking, ``if step in watch.schedule: watch(step)``.
        looks: so far, the start among them.

    Example:
        >>> apply = lambda parameters, inputs: inputs @ parameters["weight"]
        >>> seen = fs.watch((apply, {"weight": np.zeros((2, 1))}), np.eye(2), np.ones((2, 1)))
        >>> seen(1, {"weight": np.ones((2, 1))}).scalars["loss"]
        0.0
    """

    def __init__(self, start: Start, schedule: Schedule, rate: float | None = None) -> None:
        self.start, self.schedule, self.rate = start, schedule, rate
        self.looks: list[Look] = [start.first()]
        self._attached: _Steps | None = None

    def __call__(self, step: int | np.integer, now: Any = None) -> Look:
        """Look at the network after so many steps.

        Args:
            step: of training, larger than all before; step 0 is the start, which has been seen.
            now: the network or its parameters as they are now, for networks that are values (JAX); a network of
                PyTorch changes in its place.
        """
        whole = isinstance(step, Integral) and not isinstance(step, bool) and int(step) >= 0
        require(whole, "step", "be a whole number from 0 on", step)
        step = int(step)
        if step == self.looks[-1].step:
            return self.looks[-1]
        require(step > self.looks[-1].step, "step", f"be later than the last one seen, {self.looks[-1].step}", step)
        must = "be the network or its parameters as they are now, since networks of JAX do not change in their place"
        require(now is not None or self.start.network.changes_in_its_place, "now", must, None)
        look = self.start.look(step, self.start.network.parameters(now))
        self.looks[-1] = replace(self.looks[-1], activations={})
        self.looks.append(look)
        return self.looks[-1]

    def attach(self, optimiser: Any) -> Watch:
        """Look by itself after steps of an optimiser of PyTorch, as the schedule has it, and at the end."""
        hook = getattr(optimiser, "register_step_post_hook", None)
        require(hook is not None, "optimiser", "be one of PyTorch's", f"of type {type(optimiser).__name__}")
        self._attached = _Steps(self)
        assert hook is not None
        hook(self._attached)
        return self

    def report(self) -> Report:
        """What was seen, and what kind of learning it was."""
        if self._attached is not None:
            self(self._attached.taken)
        return report_of(self.start, self.looks, self.rate)


class _Steps:
    """Counts the steps of an optimiser."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.taken = watch, 0

    def __call__(self, *_: Any) -> None:
        self.taken += 1
        if self.taken in self.watch.schedule:
            self.watch(self.taken)


def watch(
    model: Any,
    inputs: Any,
    targets: Any,
    *,
    layers: Any = (),
    training: tuple[Any, Any] | None = None,
    directions: int = 0,
    per_octave: int = 2,
    rate: float | None = None,
) -> Watch:
    """Watch a network of PyTorch, Equinox, Flax or your own while it is trained: is it lazy or rich?

    The network is looked at on *probes*, some inputs with their targets (a few hundred suffice), before training and
    whenever the watch is called. Every look takes the tangent kernel on the probes, the gap to the linearised twin,
    the change and balance of weights, and the modes of the data that are learned.

    Args:
        model: a `torch.nn.Module`, a module of Equinox, or a pair (apply, parameters) with ``apply(parameters,
            inputs)``; in place of ``apply`` also a module of Flax.
        inputs: probes, one a row.
        targets: (probes, outputs), or one class for each probe.
        layers: names of layers whose activations are looked at, too; for (apply, parameters) functions of parameters
            and inputs by name, with answers (probes, units) or (probes, channels, positions …).
        training: (inputs, targets) that the network is trained on, 10 000 at most. The linearised twin is then
            trained on them, and its gap to the network on the probes counts for the verdict; without them it is trained
            on the probes.
        directions: number of random directions for the tangent kernel; chosen by itself if 0: none, and the kernel
            is exact, for up to 500 probes × outputs and 256 MiB of derivatives, and 64 otherwise.
        per_octave: looks of the schedule each time the number of steps doubles.
        rate: time of the gradient flow of ½⟨|f − y|²⟩ in a step (the learning rate, if that is the loss), for the
            learning curves that theory predicts for the modes of a linear network; taken from the strongest mode unless
            given.

    Returns:
        A `Watch`; ``watch.report()`` has the verdict.

    Example:
        >>> import equinox as eqx, optax
        >>> random = np.random.default_rng(0)
        >>> inputs = random.normal(size=(40, 5)); targets = np.sin(inputs.sum(axis=1, keepdims=True))
        >>> model = eqx.nn.MLP(5, 1, 16, depth=1, key=jax.random.key(0))
        >>> seen = fs.watch(model, inputs, targets)
        >>> loss = lambda model: ((jax.vmap(model)(inputs) - targets) ** 2).mean()
        >>> for step in range(1, 33):
        ...     change = jax.tree.map(lambda gradient: -0.1 * gradient, eqx.filter_grad(loss)(model))
        ...     model = eqx.apply_updates(model, change)
        ...     if step in seen.schedule:
        ...         _ = seen(step, model)
        >>> seen.report().data["loss"].values[[0, -1]].round(1)
        array([0.3, 0.1])
    """
    require(directions == 0 or directions >= 16, "directions", "be 0 or at least 16", directions)
    require(rate is None or 0 < rate < float("inf"), "rate", "be positive and finite", rate)
    probes = read_probes(inputs)
    network, examples = take_in(model, probes, layers), examples_of(model, training)
    return Watch(Start.of(network, probes, targets, directions, training=examples), Schedule(per_octave), rate)
