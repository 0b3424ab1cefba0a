"""The λ-balanced solution as the lecture prints it: a reference to read, not to compute with.

Saxe, "Models of representation learning dynamics", eqs 13–15 (after Dominé et al. 2025). With S = U s Vᵀ,
Sλ = √(s² + λ²/4), H = sgn(λ)√((Sλ − s)/(Sλ + s)), G = 1/√(1 + H²), λ⊥ = sgn(No − Ni) λ/2, T = t/τ, and
U⊥ or V⊥ for what the wider side has beyond the singular vectors:

    B = W₂ᵀU(G + HG) + W₁V(G − HG),   C = W₂ᵀU(G − HG) − W₁V(G + HG),   D = W₂ᵀU⊥ + W₁V⊥   (at t = 0)
    Z₁ = ½V(G − HG)e^{SλT}Bᵀ − ½V(G + HG)e^{−SλT}Cᵀ + V⊥e^{λ⊥T}Dᵀ                              (13)
    Z₂ = ½U(G + HG)e^{SλT}Bᵀ + ½U(G − HG)e^{−SλT}Cᵀ + U⊥e^{λ⊥T}Dᵀ                              (14)
    A  = I + B (e^{2SλT} − 1)/(4Sλ) Bᵀ − C (e^{−2SλT} − 1)/(4Sλ) Cᵀ + D (e^{2λ⊥T} − 1)/(2λ⊥) Dᵀ  (15)

and QQᵀ = [Z₁; Z₂] A⁻¹ [Z₁; Z₂]ᵀ. Eq. 15 is printed with (e^{λ⊥T} − 1)/λ⊥ in its last term, a misprint: it
breaks the conservation of λ whenever Ni ≠ No. Range of validity: digits are lost from max(Sλ)·T ≈ 15 on, and
the exponentials overflow at 355. Use :func:`festina.theory.balanced.balanced` for everything else.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from festina.arrays import ArrayLike, Number
from festina.compiling import brief_jit
from festina.precision import precise
from festina.theory.balanced import balanced

#: max(Sλ)·t/τ up to which the printed formula keeps about eight digits.
ACCURATE_UNTIL = 10.0


class Literal(eqx.Module):
    """Eqs 13–15 for one network; made by :func:`literal`, called with times.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> weights = np.array([[0.1, 1.0]]), np.array([[0.5]]), np.array([[1.0, 0.0]])  # λ = 0.5² − 0.1² − 1 = −0.76
        >>> for misprinted in (False, True):
        ...     answer = fs.theory.literal(*weights, misprinted=misprinted)(2.0)
        ...     print(f"{answer['output_gram'].trace() - answer['input_gram'].trace():.2f}")
        -0.76
        -0.91
    """

    first: Float[Array, "hidden in"]
    second: Float[Array, "out hidden"]
    correlation: Float[Array, "out in"]
    timescale: Float[Array, ""]
    misprinted: bool = eqx.field(static=True)

    @precise
    def __call__(self, time: ArrayLike) -> dict[str, Array]:
        """``map``, ``input_gram``, ``output_gram`` and ``loss`` = ½|S − W₂W₁|², with the shape of ``time``."""
        times = jnp.asarray(time, dtype=jnp.result_type(float))
        blocks = _curve(self, times.ravel() / self.timescale)
        return {name: block.reshape(times.shape + block.shape[1:]) for name, block in blocks.items()}

    def _at(self, time: Float[Array, ""]) -> dict[str, Array]:
        first, second = jnp.asarray(self.first), jnp.asarray(self.second)
        (outputs, hidden), inputs = second.shape, first.shape[1]
        count = min(inputs, outputs)
        imbalance = (jnp.sum(second**2) - jnp.sum(first**2)) / hidden
        left, strength, right = jnp.linalg.svd(jnp.asarray(self.correlation), full_matrices=True)
        left, left_over, right, right_over = (
            left[:, :count],
            left[:, count:],
            right[:count].T,
            right[count:].T,
        )

        rate = jnp.hypot(strength, imbalance / 2)
        tilt = jnp.where(rate > 0, imbalance / 2 / jnp.where(rate > 0, rate + strength, 1.0), 0.0)  # H
        cosine = 1 / jnp.sqrt(1 + tilt**2)  # G
        more, less = cosine + tilt * cosine, cosine - tilt * cosine
        growing = second.T @ left * more[None] + first @ right * less[None]  # B
        decaying = second.T @ left * less[None] - first @ right * more[None]  # C
        # One of U⊥ and V⊥ is empty: D, λ⊥ and the last term are those of the other.
        over = second.T @ left_over if outputs > inputs else first @ right_over  # D
        side = imbalance / 2 if outputs > inputs else -imbalance / 2  # λ⊥

        up, down = (growing * jnp.exp(rate * time)[None]).T, (decaying * jnp.exp(-rate * time)[None]).T
        inward = right @ (less[:, None] * up - more[:, None] * down) / 2
        outward = left @ (more[:, None] * up + less[:, None] * down) / 2
        rest = jnp.exp(side * time) * over.T
        if outputs > inputs:
            outward = outward + left_over @ rest
        elif inputs > outputs:
            inward = inward + right_over @ rest

        last = _integral(side, time) if self.misprinted else _integral(2 * side, time)
        matrix = (
            jnp.eye(hidden)
            + growing * (_integral(2 * rate, time) / 2)[None] @ growing.T
            + decaying * (_integral(-2 * rate, time) / 2)[None] @ decaying.T
            + last * over @ over.T
        )
        solved_in, solved_out = jnp.linalg.solve(matrix, inward.T), jnp.linalg.solve(matrix, outward.T)
        product = outward @ solved_in
        loss = jnp.sum((jnp.asarray(self.correlation) - product) ** 2) / 2
        grams = {"input_gram": inward @ solved_in, "output_gram": outward @ solved_out}
        return {"map": product, **grams, "loss": loss}


@brief_jit
def _curve(solution: Literal, times: Float[Array, " time"]) -> dict[str, Array]:
    return jax.vmap(solution._at)(times)


def _integral(rate: Float[Array, "..."], time: Float[Array, ""]) -> Float[Array, "..."]:
    """∫₀ᵗ e^{rate·u} du, also at rate = 0."""
    return jnp.where(rate == 0, time, jnp.expm1(rate * time) / jnp.where(rate == 0, 1.0, rate))


@precise
def literal(
    first: ArrayLike,
    second: ArrayLike,
    correlation: ArrayLike,
    timescale: Number = 1.0,
    *,
    misprinted: bool = False,
) -> Literal:
    """Eqs 13–15 as printed, for whitened inputs; digits are lost from max(Sλ)·t/τ ≈ 15 on, where `balanced` keeps them.

    Args:
        first: W₁ at t = 0, of shape (Nh, Ni).
        second: W₂ at t = 0, of shape (No, Nh), balanced with the first.
        correlation: Σyx, of shape (No, Ni).
        timescale: τ > 0.
        misprinted: with the last term of eq. 15 as it stands in print, which breaks the conservation of λ if Ni ≠ No.

    Returns:
        A `Literal`: ``solution(time)`` gives `map`, `input_gram`, `output_gram` and `loss`.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> solution = fs.theory.literal(0.1 * np.eye(2), 0.1 * np.eye(2), correlation=np.diag([2.0, 1.0]))
        >>> solution(1.5)["map"].diagonal().round(3)  # as `balanced` has it
        array([1.339, 0.169])
    """
    checked = balanced(first, second, correlation, timescale)
    first, second, correlation = map(jnp.asarray, (checked.first, checked.second, checked.correlation))
    return Literal(first, second, correlation, jnp.asarray(checked.timescale), misprinted)
