"""The neural tangent kernel of a two-layer linear network, from grams alone.

For y = W₂W₁x, with the examples as the columns of X (Ni, P), and outputs before examples,

    K = I ⊗ A + M ⊗ G,    A = XᵀW₁ᵀW₁X,    M = W₂W₂ᵀ,    G = XᵀX.

K has (No·P)² entries and is never formed here (except by :func:`empirical_kernel`): every quantity follows
from ``input_gram`` = W₁ᵀW₁, ``output_gram`` = M and XXᵀ. Grams may carry leading axes, such as time. Without
``inputs``, X is the identity: whitened inputs.
"""

import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Float, Shaped

from festina.errors import require
from festina.precision import precise

Gram = Shaped[ArrayLike, "..."]
Values = Float[Array, "..."]


@precise
def kernel_inner(
    input_gram: Gram,
    output_gram: Gram,
    other_input_gram: Gram,
    other_output_gram: Gram,
    inputs: Gram | None = None,
) -> Values:
    """⟨K, K'⟩ = No⟨A, A'⟩ + tr M'⟨A, G⟩ + tr M⟨A', G⟩ + ⟨M, M'⟩⟨G, G⟩, the sum over all entries."""
    first, second, other_first, other_second = map(
        _real, (input_gram, output_gram, other_input_gram, other_output_gram)
    )
    moment = _moment(inputs, first.shape[-1])
    return _inner(first, second, other_first, other_second, moment)


def _inner(first: Array, second: Array, other_first: Array, other_second: Array, moment: Array) -> Array:
    seen, other_seen = first @ moment, other_first @ moment
    return (
        second.shape[-1] * jnp.einsum("...ij,...ji->...", seen, other_seen)
        + _trace(other_second) * _trace(seen @ moment)
        + _trace(second) * _trace(other_seen @ moment)
        + jnp.einsum("...ij,...ij->...", second, other_second) * jnp.sum(moment**2)
    )


@precise
def kernel_distance(
    input_gram: Gram,
    output_gram: Gram,
    start_input_gram: Gram | None = None,
    start_output_gram: Gram | None = None,
    inputs: Gram | None = None,
) -> Values:
    """1 − cos(K₀, K) = 1 − ⟨K₀, K⟩/(|K₀||K|): the change of direction. K₀ is the first entry unless given.

    Computed as ½|K/|K| − K₀/|K₀||², which keeps its digits where the kernel hardly turns.
    """
    (first, second), (start_first, start_second), moment = _pair(
        input_gram, output_gram, start_input_gram, start_output_gram, inputs
    )
    size = jnp.sqrt(_inner(first, second, first, second, moment))[..., None, None]
    start = jnp.sqrt(_inner(start_first, start_second, start_first, start_second, moment))[..., None, None]
    turn = first / size - start_first / start, second / size - start_second / start
    return _inner(*turn, *turn, moment) / 2


@precise
def kernel_movement(
    input_gram: Gram,
    output_gram: Gram,
    start_input_gram: Gram | None = None,
    start_output_gram: Gram | None = None,
    inputs: Gram | None = None,
) -> Values:
    """|K − K₀|/|K₀|: the change of direction and of size. K₀ is the first entry unless given."""
    (first, second), (start_first, start_second), moment = _pair(
        input_gram, output_gram, start_input_gram, start_output_gram, inputs
    )
    change = first - start_first, second - start_second
    start = _inner(start_first, start_second, start_first, start_second, moment)
    return jnp.sqrt(jnp.maximum(_inner(*change, *change, moment), 0.0) / start)


@precise
def target_alignment(input_gram: Gram, output_gram: Gram, targets: Gram, inputs: Gram | None = None) -> Values:
    """⟨K, yyᵀ⟩/(|K||yyᵀ|) with y the targets Y (No, P) read row by row.

    ⟨K, yyᵀ⟩ = tr(YXᵀ W₁ᵀW₁ XYᵀ) + tr(M YXᵀXYᵀ), and |yyᵀ| = |Y|².
    """
    first, second, targets = map(_real, (input_gram, output_gram, targets))
    examples = jnp.eye(first.shape[-1], dtype=first.dtype) if inputs is None else _real(inputs)
    expected = (second.shape[-1], examples.shape[1])
    require(targets.shape == expected, "targets", f"have shape (outputs, examples) = {expected}", targets.shape)
    moment, correlation = _moment(inputs, first.shape[-1]), targets @ examples.T
    aligned = jnp.einsum("oi,...ij,oj->...", correlation, first, correlation)
    aligned = aligned + jnp.einsum("oi,...op,pi->...", correlation, second, correlation)
    return aligned / (jnp.sqrt(_inner(first, second, first, second, moment)) * jnp.sum(targets**2))


@precise
def representational_similarity(gram: Gram, reference: Gram, inputs: Gram | None = None) -> Values:
    """⟨A, A'⟩/(|A||A'|), the cosine of two similarity matrices.

    For the hidden layer's A = XᵀW₁ᵀW₁X give ``input_gram``, a reference of the same kind and the inputs; for
    M = W₂W₂ᵀ give ``output_gram`` and a reference without inputs.
    """
    first = _real(gram)
    second = jnp.broadcast_to(_real(reference), first.shape)
    moment = _moment(inputs, first.shape[-1])

    def inner(one: Array, other: Array) -> Array:
        return jnp.einsum("...ij,...ji->...", one @ moment, other @ moment)

    return inner(first, second) / jnp.sqrt(inner(first, first) * inner(second, second))


@precise
def empirical_kernel(
    first: Float[Array, "hidden in"], second: Float[Array, "out hidden"], inputs: Float[Array, "in examples"]
) -> Float[Array, "rows rows"]:
    """K itself, (No·P, No·P), outputs before examples: for small networks and for tests."""
    seen = first @ inputs
    similarity, gram = seen.T @ seen, inputs.T @ inputs
    return jnp.kron(jnp.eye(len(second)), similarity) + jnp.kron(second @ second.T, gram)


def _pair(
    input_gram: Gram,
    output_gram: Gram,
    start_input: Gram | None,
    start_output: Gram | None,
    inputs: Gram | None,
) -> tuple[tuple[Array, Array], tuple[Array, Array], Array]:
    first, second = _real(input_gram), _real(output_gram)
    given = start_input is not None and start_output is not None
    both = (start_input is None) == (start_output is None)
    require(both, "start_output_gram", "be given together with `start_input_gram`", "alone")
    require(given or first.ndim > 2, "start_input_gram", "be given for grams without a time axis", None)
    start_first = _real(start_input) if start_input is not None else first[0]
    start_second = _real(start_output) if start_output is not None else second[0]
    start = jnp.broadcast_to(start_first, first.shape), jnp.broadcast_to(start_second, second.shape)
    return (first, second), start, _moment(inputs, first.shape[-1])


def _moment(inputs: Gram | None, width: int) -> Float[Array, "in in"]:
    """XXᵀ: with it A and G, whose size is the number of examples, need not be formed."""
    if inputs is None:
        return jnp.eye(width)
    examples = _real(inputs)
    require(examples.ndim == 2 and len(examples) == width, "inputs", f"have {width} rows", examples.shape)
    return examples @ examples.T


def _trace(matrix: Array) -> Array:
    return jnp.trace(matrix, axis1=-2, axis2=-1)


def _real(value: Gram) -> Values:
    return jnp.asarray(value, dtype=jnp.result_type(float))
