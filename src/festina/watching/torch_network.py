"""Networks of PyTorch: parameters by their own names, products with J by `torch.func`, activations by hooks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np

from festina.errors import FestinaError, require
from festina.measures.arrays import as_numpy
from festina.watching.outside import (
    Answers,
    Linearised,
    Outside,
    Parameters,
    check_activations,
    check_layers,
    flat_answers,
)

torch: Any = import_module("torch")  # not one of festina's own libraries: this module is for those who have it
func: Any = import_module("torch.func")
Tensor = Any


class TorchNetwork(Outside):
    """A `torch.nn.Module` on its probes; it is asked in evaluation mode, and left as it was found.

    Args:
        module: the network; what is trained of it are the parameters that require a gradient.
        inputs: the probes, one a row.
        layers: names of submodules, as `named_modules` has them.
    """

    def __init__(self, module: Any, inputs: Any, layers: tuple[str, ...] = ()) -> None:
        self.module, self.layers = module, layers
        self.modules = dict(module.named_modules())
        check_layers(layers, [name for name in self.modules if name])
        self.trained = [name for name, value in module.named_parameters() if value.requires_grad]
        require(bool(self.trained), "model", "have parameters that are trained", "without any")
        first = dict(module.named_parameters())[self.trained[0]]
        short = first.dtype in (torch.float16, torch.bfloat16)  # too short for differences, and unknown to NumPy
        self.dtype, self.device = torch.float32 if short else first.dtype, first.device
        self.inputs = torch.as_tensor(as_numpy("inputs", inputs)).to(self.device)
        if self.inputs.is_floating_point():
            self.inputs = self.inputs.to(self.dtype)

    def parameters(self, now: Any = None) -> Parameters:
        """``now`` may be another module of the same kind, or a state dict, whose buffers are taken over, too."""
        if isinstance(now, Mapping):
            known = set(self.module.state_dict())
            require(known <= set(now), "checkpoint", f"have the arrays {sorted(known)}", sorted(now))
            self.module.load_state_dict({name: torch.as_tensor(now[name]) for name in known})
            now = None
        values = dict((now or self.module).named_parameters())
        return {name: values[name].detach().to("cpu", self.dtype, copy=True).numpy() for name in self.trained}

    def answers(self, parameters: Parameters) -> Answers:
        with self._at_rest(), torch.no_grad():
            return self._call(self._tensors(parameters)).cpu().numpy()

    def linearised(self, parameters: Parameters) -> Linearised:
        point = self._tensors(parameters) | {name: value.clone() for name, value in self.module.named_buffers()}

        def forward(changes: Mapping[str, np.ndarray]) -> np.ndarray:
            tangents, part = self._tensors(changes), {name: point[name] for name in changes}
            with self._at_rest():
                moved = lambda part: self._call(point | part)  # noqa: E731, what stays costs nothing
                found = _with_derivatives(
                    lambda: func.vmap(lambda tangent: func.jvp(moved, (part,), (tangent,))[1])(tangents)
                )
            return found.detach().cpu().numpy()

        def backward(changes: np.ndarray) -> Parameters:
            with self._at_rest():
                pull = func.vjp(lambda part: self._call(point | part), {name: point[name] for name in parameters})[1]
                found = func.vmap(lambda change: pull(change)[0])(torch.as_tensor(changes, dtype=self.dtype))
            return {name: value.detach().cpu().numpy() for name, value in found.items()}

        def pull(change: np.ndarray) -> np.ndarray:
            return forward(backward(change[None]))[0]

        return Linearised(self.answers(parameters), forward, backward, pull)

    def activations(self, parameters: Parameters) -> dict[str, np.ndarray]:
        found: dict[str, np.ndarray] = {}

        def note(name: str) -> Any:
            def hear(module: Any, given: Any, answer: Any) -> None:
                first = answer[0] if isinstance(answer, tuple) else answer  # what recurrent layers and attention give
                require(torch.is_tensor(first), "layers", f"give tensors, as `{name}` must", type(first).__name__)
                found[name] = self._units_second(first.detach().cpu().to(self.dtype).numpy().copy())

            return hear

        handles = [self.modules[name].register_forward_hook(note(name)) for name in self.layers]
        try:
            self.answers(parameters)
        finally:
            for handle in handles:
                handle.remove()
        check_activations(found, self.layers, len(self.inputs))
        return found

    def _units_second(self, values: np.ndarray) -> np.ndarray:
        """Three axes are (probes, positions, units), but (probes, channels, positions) in networks with `Conv1d`."""
        flat_maps = any(isinstance(module, torch.nn.Conv1d) for module in self.modules.values())
        return values if values.ndim != 3 or flat_maps else np.moveaxis(values, -1, 1)

    def layer_of(self, name: str) -> str:
        return name.rpartition(".")[0] or "network"

    def _call(self, point: dict[str, Tensor]) -> Tensor:
        return flat_answers(func.functional_call(self.module, point, (self.inputs,)))

    def _tensors(self, values: Mapping[str, np.ndarray]) -> dict[str, Tensor]:
        return {name: torch.as_tensor(value, dtype=self.dtype, device=self.device) for name, value in values.items()}

    @contextmanager
    def _at_rest(self) -> Iterator[None]:
        """Without dropout and without moving averages: the network as it answers, not as it is trained."""
        modes = {module: module.training for module in self.modules.values()}
        self.module.eval()
        try:
            yield
        finally:
            for module, training in modes.items():
                module.training = training


def _with_derivatives(work: Callable[[], Tensor]) -> Tensor:
    """Some fused operations of PyTorch have no forward derivative, and those that they are made of have."""
    try:
        return work()
    except NotImplementedError:
        fused = torch.backends.mha.get_fastpath_enabled()
        torch.backends.mha.set_fastpath_enabled(False)
        try:
            plain = import_module("torch.nn.attention")
            with torch.backends.mkldnn.flags(enabled=False), plain.sdpa_kernel(plain.SDPBackend.MATH):
                return work()
        except NotImplementedError as error:
            reason = str(error).partition("\n")[0]
            raise FestinaError(f"PyTorch has no forward derivative of an operation of this network: {reason}") from None
        finally:
            torch.backends.mha.set_fastpath_enabled(fused)
