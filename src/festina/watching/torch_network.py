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

    Parameters that require no gradient are constants, and must stay what they are.

    Args:
        module: the network; what is trained of it are the parameters that require a gradient.
        inputs: the probes, one a row.
        layers: names of submodules, as `named_modules` has them.
    """

    changes_in_its_place = True

    def __init__(self, module: Any, inputs: Any, layers: tuple[str, ...] = ()) -> None:
        self.module, self.layers = module, layers
        self.modules = dict(module.named_modules())
        check_layers(layers, [name for name in self.modules if name])
        self.trained = [name for name, value in module.named_parameters() if value.requires_grad]
        require(bool(self.trained), "model", "have parameters that are trained", "without any")
        known = dict(module.named_parameters())
        imaginary = [name for name, value in known.items() if value.is_complex()]
        require(not imaginary, "model", "have real parameters", f"with complex ones, {', '.join(imaginary)}")
        self.frozen: dict[str, Tensor] | None = None  # as they are at the first look
        first = known[self.trained[0]]
        short = first.dtype in (torch.float16, torch.bfloat16)  # too short for differences, and unknown to NumPy
        self.dtype, self.device = torch.float32 if short else first.dtype, first.device
        self.inputs = torch.as_tensor(as_numpy("inputs", inputs)).to(self.device)
        if self.inputs.is_floating_point():
            self.inputs = self.inputs.to(self.dtype)

    def parameters(self, now: Any = None) -> Parameters:
        """``now`` may be another module of the same kind, or a state dict, whose buffers are taken over, too."""
        if isinstance(now, Mapping):
            known = self.module.state_dict()
            require(set(known) <= set(now), "checkpoint", f"have the arrays {sorted(known)}", sorted(now))
            for name, value in known.items():
                shape, wanted = tuple(now[name].shape), tuple(value.shape)
                require(shape == wanted, "checkpoint", f"have `{name}` of shape {wanted}", f"of shape {shape}")
            self.module.load_state_dict({name: torch.as_tensor(now[name]) for name in known})
            now = None
        module = self.module if now is None else now
        require(isinstance(module, torch.nn.Module), "now", "be a torch.nn.Module", f"of type {type(module).__name__}")
        values = {name: value.detach() for name, value in module.named_parameters()}
        shapes = {name: tuple(value.shape) for name, value in self.module.named_parameters()}
        same = {name: tuple(value.shape) for name, value in values.items()} == shapes
        require(same, "now", f"have the parameters of the start, {shapes}", "another network")
        self._keep_frozen({name: value for name, value in values.items() if name not in self.trained})
        return {name: values[name].to("cpu", self.dtype, copy=True).numpy() for name in self.trained}

    def _keep_frozen(self, values: dict[str, Tensor]) -> None:
        if self.frozen is None:
            self.frozen = {name: value.clone() for name, value in values.items()}
        for name, value in values.items():
            must = f"keep `{name}`, which required no gradient when it was first looked at"
            require(bool(torch.equal(value, self.frozen[name])), "model", must, "one in which it has moved")

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
        return flat_answers(func.functional_call(self.module, point, (self.inputs,)), len(self.inputs))

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
