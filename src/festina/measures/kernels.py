"""The neural tangent kernel of a two-layer linear network, from grams alone.

For y = W₂W₁x, with the examples as the columns of X (Ni, P), and outputs before examples,

    K = I ⊗ A + M ⊗ G,    A = XᵀW₁ᵀW₁X,    M = W₂W₂ᵀ,    G = XᵀX.

K has (No·P)² entries and is never formed here (except by :func:`empirical_kernel`): every quantity follows
from ``input_gram`` = W₁ᵀW₁, ``output_gram`` = M and XXᵀ. Grams may carry leading axes, such as time. Without
``inputs``, X is the identity: whitened inputs.
"""

import numpy as np
from jaxtyping import Array, Float

from festina.arrays import ArrayLike, Real, real, xp
from festina.errors import require
from festina.precision import precise

Gram = ArrayLike  # of any shape (…, n, n)
Values = Real
Matrix = Array | np.ndarray


@precise
def kernel_inner(
    input_gram: Gram,
    output_gram: Gram,
    other_input_gram: Gram,
    other_output_gram: Gram,
    inputs: Gram | None = None,
) -> Values:
    """⟨K, K'⟩ = No⟨A, A'⟩ + tr M'⟨A, G⟩ + tr M⟨A', G⟩ + ⟨M, M'⟩⟨G, G⟩, the sum over all entries.

    Args:
        input_gram: W₁ᵀW₁, inputs × inputs; leading axes, such as time, are carried along.
        output_gram: W₂W₂ᵀ, outputs × outputs.
        other_input_gram: W₁ᵀW₁ of the kernel K'.
        other_output_gram: W₂W₂ᵀ of the kernel K'.
        inputs: X, one example a column; white unless given.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> first, second = np.diag([1.0, 2.0]), np.array([[3.0]])  # K = I ⊗ A + M ⊗ I = diag(4, 5)
        >>> float(fs.measures.kernel_inner(first, second, first, second))
        41.0
    """
    first, second, other_first, other_second = map(real, (input_gram, output_gram, other_input_gram, other_output_gram))
    moment = _moment(inputs, first.shape[-1])
    return _inner(first, second, other_first, other_second, moment)


def _inner(first: Matrix, second: Matrix, other_first: Matrix, other_second: Matrix, moment: Matrix) -> Values:
    seen, other_seen = first @ moment, other_first @ moment
    return (
        second.shape[-1] * xp.einsum("...ij,...ji->...", seen, other_seen)
        + _trace(other_second) * _trace(seen @ moment)
        + _trace(second) * _trace(other_seen @ moment)
        + xp.einsum("...ij,...ij->...", second, other_second) * xp.sum(moment**2)
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

    Args:
        input_gram: W₁ᵀW₁, inputs × inputs; leading axes, such as time, are carried along.
        output_gram: W₂W₂ᵀ, outputs × outputs.
        start_input_gram: W₁ᵀW₁ of K₀; the first along the leading axis unless given.
        start_output_gram: W₂W₂ᵀ of K₀; given together with the other one.
        inputs: X, one example a column; white unless given.

    Returns:
        One number for each entry of the leading axes: 0 for a kernel that has only grown, near 1 for one that is new.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> first = np.stack([np.eye(2), 3 * np.eye(2), np.diag([4.0, 0.0])])  # W₁ᵀW₁ over time: grown, then turned
        >>> second = np.array([1.0, 3.0, 0.0])[:, None, None]  # W₂W₂ᵀ over time
        >>> np.round(fs.measures.kernel_distance(first, second), 3)
        array([0.   , 0.   , 0.293])
    """
    (first, second), (start_first, start_second), moment = _pair(
        input_gram, output_gram, start_input_gram, start_output_gram, inputs
    )
    size = xp.sqrt(_inner(first, second, first, second, moment))[..., None, None]
    start = xp.sqrt(_inner(start_first, start_second, start_first, start_second, moment))[..., None, None]
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
    """|K − K₀|/|K₀|: the change of direction and of size. K₀ is the first entry unless given.

    Args:
        input_gram: W₁ᵀW₁, inputs × inputs; leading axes, such as time, are carried along.
        output_gram: W₂W₂ᵀ, outputs × outputs.
        start_input_gram: W₁ᵀW₁ of K₀; the first along the leading axis unless given.
        start_output_gram: W₂W₂ᵀ of K₀; given together with the other one.
        inputs: X, one example a column; white unless given.

    Returns:
        One number for each entry of the leading axes: 0 where nothing has moved (lazy learning).

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> first = np.stack([np.eye(2), 3 * np.eye(2)])  # W₁ᵀW₁ over time
        >>> second = np.array([1.0, 3.0])[:, None, None]  # W₂W₂ᵀ over time
        >>> np.round(fs.measures.kernel_movement(first, second), 6)
        array([0., 2.])
    """
    (first, second), (start_first, start_second), moment = _pair(
        input_gram, output_gram, start_input_gram, start_output_gram, inputs
    )
    change = first - start_first, second - start_second
    start = _inner(start_first, start_second, start_first, start_second, moment)
    return xp.sqrt(xp.maximum(_inner(*change, *change, moment), 0.0) / start)


@precise
def target_alignment(input_gram: Gram, output_gram: Gram, targets: Gram, inputs: Gram | None = None) -> Values:
    """⟨K, yyᵀ⟩/(|K||yyᵀ|) with y the targets Y (No, P) read row by row.

    ⟨K, yyᵀ⟩ = tr(YXᵀ W₁ᵀW₁ XYᵀ) + tr(M YXᵀXYᵀ), and |yyᵀ| = |Y|².

    Args:
        input_gram: W₁ᵀW₁, inputs × inputs; leading axes, such as time, are carried along.
        output_gram: W₂W₂ᵀ, outputs × outputs.
        targets: Y, one example a column.
        inputs: X, one example a column; white unless given.

    Returns:
        One cosine for each entry of the leading axes; 1 for a kernel that is yyᵀ but for its size.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> targets = np.array([[2.0, 0.0]])  # one output, two examples
        >>> start, end = np.eye(2), np.diag([1.0, 0.0])  # W₁ᵀW₁ with all inputs, and with the useful one alone
        >>> np.round(fs.measures.target_alignment(np.stack([start, end]), np.zeros((2, 1, 1)), targets), 3)
        array([0.707, 1.   ])
    """
    first, second, wanted = map(real, (input_gram, output_gram, targets))
    examples = np.eye(first.shape[-1], dtype=first.dtype) if inputs is None else real(inputs)
    expected = (second.shape[-1], examples.shape[1])
    require(wanted.shape == expected, "targets", f"have shape (outputs, examples) = {expected}", wanted.shape)
    moment, correlation = _moment(inputs, first.shape[-1]), wanted @ examples.T
    aligned = xp.einsum("oi,...ij,oj->...", correlation, first, correlation)
    aligned = aligned + xp.einsum("oi,...op,pi->...", correlation, second, correlation)
    return aligned / (xp.sqrt(_inner(first, second, first, second, moment)) * xp.sum(wanted**2))


@precise
def representational_similarity(gram: Gram, reference: Gram, inputs: Gram | None = None) -> Values:
    """⟨A, A'⟩/(|A||A'|), the cosine of two similarity matrices.

    For the hidden layer's A = XᵀW₁ᵀW₁X give ``input_gram``, a reference of the same kind and the inputs; for
    M = W₂W₂ᵀ give ``output_gram`` and a reference without inputs.

    Args:
        gram: one matrix, or several along leading axes, such as time.
        reference: a matrix, or as many.
        inputs: X, one example a column; white unless given.

    Returns:
        One cosine for each entry of the leading axes.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> target = np.array([[2.0, 0.0], [0.0, 0.0]])  # SᵀS of a task
        >>> np.round(fs.measures.representational_similarity(np.stack([np.eye(2), 5 * target]), target), 3)
        array([0.707, 1.   ])
    """
    first = real(gram)
    second = xp.broadcast_to(real(reference), first.shape)
    moment = _moment(inputs, first.shape[-1])

    def inner(one: Matrix, other: Matrix) -> Values:
        return xp.einsum("...ij,...ji->...", one @ moment, other @ moment)

    return inner(first, second) / xp.sqrt(inner(first, first) * inner(second, second))


@precise
def empirical_kernel(
    first: Float[Matrix, "hidden in"], second: Float[Matrix, "out hidden"], inputs: Float[Matrix, "in examples"]
) -> Float[Matrix, "rows rows"]:
    """K itself, (No·P, No·P), outputs before examples: for small networks and for tests.

    Args:
        first: W₁.
        second: W₂.
        inputs: X, one example a column.

    Example:
        >>> import jax.numpy as jnp
        >>> from festina.measures.kernels import empirical_kernel
        >>> empirical_kernel(jnp.ones((3, 2)), jnp.ones((4, 3)), jnp.eye(2)).shape  # 4 outputs, 2 examples
        (8, 8)
    """
    seen = first @ inputs
    similarity, gram = seen.T @ seen, inputs.T @ inputs
    return xp.kron(np.eye(len(second)), similarity) + xp.kron(second @ second.T, gram)


def _pair(
    input_gram: Gram,
    output_gram: Gram,
    start_input: Gram | None,
    start_output: Gram | None,
    inputs: Gram | None,
) -> tuple[tuple[Matrix, Matrix], tuple[Matrix, Matrix], Matrix]:
    first, second = real(input_gram), real(output_gram)
    given = start_input is not None and start_output is not None
    both = (start_input is None) == (start_output is None)
    require(both, "start_output_gram", "be given together with `start_input_gram`", "alone")
    require(given or first.ndim > 2, "start_input_gram", "be given for grams without a time axis", None)
    start_first = real(start_input) if start_input is not None else first[0]
    start_second = real(start_output) if start_output is not None else second[0]
    start = xp.broadcast_to(start_first, first.shape), xp.broadcast_to(start_second, second.shape)
    return (first, second), start, _moment(inputs, first.shape[-1])


def _moment(inputs: Gram | None, width: int) -> Float[Matrix, "in in"]:
    """XXᵀ: with it A and G, whose size is the number of examples, need not be formed."""
    if inputs is None:
        return np.eye(width)
    examples = real(inputs)
    require(examples.ndim == 2 and len(examples) == width, "inputs", f"have {width} rows", examples.shape)
    return examples @ examples.T


def _trace(matrix: Matrix) -> Values:
    return xp.trace(matrix, axis1=-2, axis2=-1)
