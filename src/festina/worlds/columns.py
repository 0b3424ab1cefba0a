"""Networks that answer many examples at once, with examples as columns.

Under `jax.vmap` every example is a row, but a product W x of all of them comes out with examples as columns: before
the bias is added, JAX turns the array around, and XLA does so in memory, twice in every layer and step. A network that
consists of products and of functions of single numbers can leave examples as columns from its first layer to its
last.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal, jaxpr_as_fun
from jaxtyping import Array

CALLS = {"jit", "pjit"}
PRODUCTS = {"dot_general"}
POINTWISE = {
    *("add", "sub", "mul", "div", "max", "min", "neg", "abs", "sign", "pow", "integer_pow", "square", "sqrt", "rsqrt"),
    *("exp", "exp2", "expm1", "log", "log1p", "tanh", "logistic", "erf", "erfc", "sin", "cos", "clamp"),
    *("eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not", "is_finite", "select_n", "convert_element_type"),
    *("custom_jvp_call", "copy", "stop_gradient"),
}


class InColumns(eqx.Module):
    """A network that goes through all examples side by side.

    Attributes:
        network: a function of one example.
    """

    network: Any

    def __call__(self, given: Any) -> Any:
        return self.network(given)

    def answers(self, inputs: Array) -> Array:
        """The answers to inputs, both with one example a row: ``jax.vmap(network)(inputs)`` up to rounding."""
        program = jax.make_jaxpr(self.network)(jax.ShapeDtypeStruct(inputs.shape[1:], inputs.dtype))
        if inputs.ndim != 2 or len(program.out_avals) != 1 or not _of_layers(program.jaxpr):
            return jax.vmap(self.network)(inputs)
        ((answers, varies),) = _run(program.jaxpr, program.consts, [(inputs.T, True)], inputs.shape[0])
        return jnp.moveaxis(answers, -1, 0) if varies else jax.vmap(self.network)(inputs)


def answers(network: Callable[[Any], Any], inputs: Any) -> Any:
    """The answers of a network to inputs, one example a row."""
    return network.answers(inputs) if isinstance(network, InColumns) else jax.vmap(network)(inputs)


def _of_layers(program: Jaxpr) -> bool:
    """Whether a program has only products and functions of single numbers: others may want examples first."""
    return all(
        _of_layers(equation.params["jaxpr"].jaxpr)
        if equation.primitive.name in CALLS
        else equation.primitive.name in PRODUCTS | POINTWISE
        for equation in program.eqns
    )


def _run(program: Jaxpr, constants: Any, given: list[tuple[Any, bool]], count: int) -> list[tuple[Any, bool]]:
    """What a program gives: arrays, and whether they have a last axis of so many examples; the same of its inputs."""
    known: dict[Any, tuple[Any, bool]] = dict(zip(program.invars, given, strict=True))
    known |= {name: (value, False) for name, value in zip(program.constvars, constants, strict=True)}

    def value_of(name: Any) -> tuple[Any, bool]:
        return (name.val, False) if isinstance(name, Literal) else known[name]

    for equation in program.eqns:
        if equation.primitive.name in CALLS:
            called = equation.params["jaxpr"]
            found = _run(called.jaxpr, called.consts, [value_of(name) for name in equation.invars], count)
        else:
            found = _apply(program, equation, value_of, count)
        known |= zip(equation.outvars, found, strict=True)
    return [value_of(name) for name in program.outvars]


def _apply(
    program: Jaxpr, equation: Any, value_of: Callable[[Any], tuple[Any, bool]], count: int
) -> list[tuple[Any, bool]]:
    """One operation of a program on all examples; next to arrays of examples, others are repeated for each of them."""
    names = list(dict.fromkeys(name for name in equation.invars if not isinstance(name, Literal)))
    source = program.debug_info.with_unknown_names()
    alone = Jaxpr((), names, equation.outvars, [equation], equation.effects, source)
    apply = jaxpr_as_fun(ClosedJaxpr(alone, ()))
    operands = [value_of(name) for name in names]
    if not any(varies for _, varies in operands):
        return [(value, False) for value in apply(*(value for value, _ in operands))]
    if equation.primitive.name in POINTWISE:
        operands = [_for_each(*operand, count) for operand in operands]
    axes = [-1 if varies else None for _, varies in operands]
    found = jax.vmap(apply, axes, -1)(*(value for value, _ in operands))
    return [(value, True) for value in found]


def _for_each(value: Any, varies: bool, count: int) -> tuple[Any, bool]:
    if varies or jnp.ndim(value) == 0:
        return value, varies
    return jax.lax.broadcast_in_dim(value, (*jnp.shape(value), count), tuple(range(jnp.ndim(value)))), True
