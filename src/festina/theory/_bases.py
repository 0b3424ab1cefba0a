"""One basis for each space in which many matrices between the spaces are diagonal, if there is one.

Matrices M: s → t between named spaces are *mutually diagonalisable* if there are orthonormal bases R_v with
M = R_t diag(·) R_sᵀ for all of them at once. All products of such matrices and their transposes are then diagonal too,
and so is a generic member of what they generate: with A = Σ_k c_k (M_k + M_kᵀ) for random c, the resolvent
(c I − A)⁻¹. Its eigenvectors on one space are that space's basis. Each of them is then carried to the other spaces by
the matrices, step by step, so that weak modes and long ways are no harder than others; what the matrices do not tell
apart is carried over consistently. What arrives is made orthonormal: if it was not, no matrix is diagonal in it.
"""

import heapq
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from festina.worlds.gated import node_slices

Block = tuple[str, str, Float[np.ndarray, "_ _"]]  # target space, source space, matrix
ABSENT = 1e-9  # a matrix that keeps less than this share of a direction does not know it
DEPENDENT = 1e-6  # what arrives adds nothing to a space if less than this share of it is new


def joint_bases(sizes: Mapping[str, int], blocks: Sequence[Block]) -> dict[str, Float[np.ndarray, "_ modes"]]:
    """R_v of each space, one column a mode; zero where a mode has no part in a space."""
    resolvent, places = _resolvent(sizes, blocks)
    steps = _steps(blocks)
    found: dict[str, dict[int, np.ndarray]] = {name: {} for name in sizes}
    modes = 0
    for name in sizes:
        fresh = _new_directions(resolvent[places[name], places[name]], list(found[name].values()))
        _carry(name, dict(enumerate(fresh, start=modes)), steps, found)
        modes += len(fresh)
    bases = {name: np.zeros((size, modes)) for name, size in sizes.items()}
    for name, columns in found.items():
        for mode, column in columns.items():
            bases[name][:, mode] = column
    return bases


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
    places = node_slices(tuple(sizes.items()))
    total = sum(sizes.values())
    random = np.random.default_rng(0)  # any generic numbers: what is found does not depend on them
    generic = np.zeros((total, total))
    for target, source, matrix in blocks:
        size = np.linalg.norm(matrix)
        if size > 0:
            share = random.uniform(0.5, 1.5) * matrix / size
            generic[places[target], places[source]] += share
            generic[places[source], places[target]] += share.T
    # A multiple of the norm keeps the resolvent well conditioned; its blocks still hold all orders of products.
    norm = max(np.linalg.norm(generic, 2), 1.0)
    return np.linalg.inv(np.eye(total) - generic / (1.1 * norm)), places


def _steps(blocks: Sequence[Block]) -> dict[str, list[tuple[str, np.ndarray]]]:
    """The ways out of each space: matrices of unit norm, and where they lead."""
    steps: dict[str, list[tuple[str, np.ndarray]]] = {}
    for target, source, matrix in blocks:
        size = np.linalg.norm(matrix, 2)
        if size > 0 and target != source:
            steps.setdefault(source, []).append((target, matrix / size))
            steps.setdefault(target, []).append((source, matrix.T / size))
    return steps


def _carry(
    name: str,
    directions: Mapping[int, np.ndarray],
    steps: Mapping[str, list[tuple[str, np.ndarray]]],
    found: dict[str, dict[int, np.ndarray]],
) -> None:
    """Bring the directions of some modes to all spaces they lead to, and add them to what is found there.

    The strongest link comes first, and what a space knows already is taken out of what arrives: rounding errors along
    a strong mode would otherwise grow, step by step, at the expense of a weak one.
    """
    offers = [(-1.0, number, name, mode, vector) for number, (mode, vector) in enumerate(directions.items())]
    count = len(offers)
    while offers:
        size, _, space, mode, vector = heapq.heappop(offers)
        known = found[space]
        if mode in known or len(known) >= len(vector):
            continue
        left = _without(vector, list(known.values()))
        length = np.linalg.norm(left)
        if length < DEPENDENT * -size:
            continue
        known[mode] = left / length
        for target, matrix in steps.get(space, []):
            moved = matrix @ known[mode]
            if mode not in found[target] and np.linalg.norm(moved) > ABSENT:
                heapq.heappush(offers, (-float(np.linalg.norm(moved)), count, target, mode, moved))
                count += 1


def _without(vector: np.ndarray, known: list[np.ndarray]) -> np.ndarray:
    """What is orthogonal to some orthonormal vectors; twice, for the sake of rounding."""
    if not known:
        return vector
    basis = np.stack(known, axis=1)
    for _ in range(2):
        vector = vector - basis @ (basis.T @ vector)
    return vector


def _new_directions(block: np.ndarray, known: list[np.ndarray]) -> list[np.ndarray]:
    """Eigenvectors of a space's own block among the directions it does not have yet, the strongest first."""
    taken = np.stack(known, axis=1) if known else np.zeros((len(block), 0))
    free = np.linalg.svd(taken, full_matrices=True)[0][:, len(known) :]
    _, vectors = np.linalg.eigh(free.T @ block @ free)
    return list((free @ vectors[:, ::-1]).T)
