"""One basis for each space in which many matrices between the spaces are diagonal, if there is one.

Matrices M: s → t between named spaces are *mutually diagonalisable* if there are orthonormal bases R_v with
M = R_t diag(·) R_sᵀ for all of them at once. All products of such matrices and their transposes are then diagonal too,
and so is a generic member of what they generate: with A = Σ_k c_k (M_k + M_kᵀ) for random c, the resolvent
(c I − A)⁻¹. Its eigenvectors on one space are that space's basis, and its blocks carry them to the other spaces. What
the matrices do not distinguish, the resolvent does not distinguish either, and carries over consistently.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

Block = tuple[str, str, Float[np.ndarray, "_ _"]]  # target space, source space, matrix
ABSENT = 1e-9  # a direction carried over with less than this share of its length is not there


def joint_bases(sizes: Mapping[str, int], blocks: Sequence[Block]) -> dict[str, Float[np.ndarray, "_ modes"]]:
    """R_v of each space, one column a mode; zero where a mode has no part in a space."""
    resolvent, places = _resolvent(sizes, blocks)
    columns: dict[str, list[np.ndarray]] = {name: [] for name in sizes}
    for name in sizes:
        for direction in _new_directions(resolvent[places[name], places[name]], columns[name]):
            for other in sizes:
                carried = resolvent[places[other], places[name]] @ direction
                columns[other].append(_unit(carried, columns[other]))
            columns[name][-1] = direction
    return {name: np.stack(found, axis=1) for name, found in columns.items()}


def off_diagonal(bases: Mapping[str, Any], block: Block) -> float:
    """The share of a matrix's norm that its basis leaves off the diagonal: ‖M − R_t diag(R_tᵀ M R_s) R_sᵀ‖/‖M‖."""
    target, source, matrix = block
    size = np.linalg.norm(matrix)
    if size == 0:
        return 0.0
    rest = matrix - (bases[target] * diagonal(bases, block)[None]) @ bases[source].T
    return float(np.linalg.norm(rest) / size)


def diagonal(bases: Mapping[str, Any], block: Block) -> Float[np.ndarray, " modes"]:
    """diag(R_tᵀ M R_s): a matrix's number in each mode."""
    target, source, matrix = block
    return np.einsum("am,ab,bm->m", bases[target], matrix, bases[source])


def _resolvent(sizes: Mapping[str, int], blocks: Sequence[Block]) -> tuple[np.ndarray, dict[str, slice]]:
    edges = np.cumsum([0, *sizes.values()])
    places = {name: slice(int(edges[k]), int(edges[k + 1])) for k, name in enumerate(sizes)}
    random = np.random.default_rng(0)  # any generic numbers: what is found does not depend on them
    generic = np.zeros((edges[-1], edges[-1]))
    for target, source, matrix in blocks:
        size = np.linalg.norm(matrix)
        if size > 0:
            share = random.uniform(0.5, 1.5) * matrix / size
            generic[places[target], places[source]] += share
            generic[places[source], places[target]] += share.T
    # A multiple of the norm keeps the resolvent well conditioned; its blocks still hold all orders of products.
    norm = max(np.linalg.norm(generic, 2), 1.0)
    return np.linalg.inv(np.eye(edges[-1]) - generic / (1.3 * norm)), places


def _new_directions(block: np.ndarray, known: list[np.ndarray]) -> list[np.ndarray]:
    """Eigenvectors of a space's own block among the directions it does not have yet, the strongest first."""
    size = len(block)
    present = [vector for vector in known if np.any(vector)]
    taken = np.stack(present, axis=1) if present else np.zeros((size, 0))
    left, strengths, _ = np.linalg.svd(taken, full_matrices=True)
    free = left[:, int(np.sum(strengths > ABSENT)) :]
    _, vectors = np.linalg.eigh(free.T @ block @ free)
    return list((free @ vectors[:, ::-1]).T)


def _unit(vector: np.ndarray, known: list[np.ndarray]) -> np.ndarray:
    """A direction made a unit vector, or nothing where there is hardly any, or none left to be had."""
    size = np.linalg.norm(vector)
    full = sum(bool(np.any(other)) for other in known) >= len(vector)
    return np.zeros_like(vector) if size < ABSENT or full else vector / size
