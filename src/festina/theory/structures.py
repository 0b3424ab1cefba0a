"""What pathways see of contexts whose structures differ, mode by mode, and the loss that follows.

Features H hold in every one of C contexts, and H_b, in a block of its own, in context b alone; n objects, P = nC
samples with inputs (e_object, κ e_context), see `festina.worlds.contexts`. H̃ is H less its mean over objects.

- On centred objects inputs are white, D = 1/n. There the *common* path, always on, sees the singular values S of
  [CH̃; H̃_1; …; H̃_C]/P. What all objects share makes C modes more, from the singular vectors of their correlation, with
  D = vᵀΣˣv.
- It leaves H̃_b(1[c = b] − 1/C) in block b of context c. A path that is on in *all contexts but k* can learn of it

      W*_k = [(1/C − 1[b = k]) H̃_b]_b, and sees Σʸˣ = W*_k/P, D_kk = (C − 1)/P, D_kj = (C − 2)/P,

  so that its error is [W*_k − W_k − (C − 2)Σ_j W_j]/P. Since Σ_j W*_j = 0, the last term is zero at the start and at
  the end. Without it each path is by itself, with D_eff = 1/P and the singular values S of W*_k/P.

If all structures are the same that term is zero at all times, and these are the modes of `festina.theory.rectified`. If
they differ, modes of different paths come at different times and in different directions: then two things are left out,
the term itself, and what D has beside its diagonal in the modes that all objects share.

Source: Jarvis et al. (2025) for the two kinds of path and their sigmoids; structures that differ are derived here.
"""

from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Float

from festina.errors import require
from festina.theory.rectified import Modes, TwoPhases


class Path(eqx.Module):
    """Modes that a path learns, and where they lie.

    Attributes:
        modes: S, D and how many of them there are, all in one row.
        left: output directions u, one a row.
        right: input directions v, one a row.

    Example:
        >>> import festina as fs
        >>> path = fs.theory.structures.common_path(np.eye(2), [np.eye(2), np.eye(2)])
        >>> path.left.shape, path.right.shape  # one centred mode of two objects; 3 × 2 features
        ((1, 6), (1, 2))
    """

    modes: Modes
    left: Float[np.ndarray, "*paths modes features"]
    right: Float[np.ndarray, "*paths modes objects"]

    def strengths(self, maps: Float[Any, "*paths features objects"]) -> Float[Any, "*paths modes"]:
        """uᵀWv: how much of each mode there is in a map, or in one map for each path."""
        return ((self.left @ maps) * self.right).sum(axis=-1)

    @property
    def learned(self) -> Float[np.ndarray, "*paths modes"]:
        """S/D, to which `strengths` come in the end."""
        ends = np.asarray(self.modes.strength / self.modes.input_variance)[: np.prod(self.left.shape[:-1])]
        return ends.reshape(self.left.shape[:-1])


def common_path(common: Any, structures: Any, context_scale: float = 1.0) -> Path:
    """The path that is always on; its centred modes come first, then those of what all objects share.

    Args:
        common: H, features × objects.
        structures: H_b of every context.
        context_scale: κ, the size of the context's part of the input.

    Returns:
        A `Path` whose `modes` are all modes, and whose directions are those of the centred ones.

    Example:
        >>> import festina as fs
        >>> world = fs.worlds.multitask(contexts=3)
        >>> path = fs.theory.structures.common_path(world.common, world.structures)
        >>> (24 * path.modes.strength[:3]).round(3)  # √(C² + C) σ
        array([9.165, 6.   , 6.   ])
    """
    common, structures = _checked(common, structures)
    contexts, _, objects = structures.shape
    stacked = np.concatenate([contexts * common, *structures]) / (objects * contexts)
    left, strength, right = _centred_modes(stacked)
    shared = _shared_modes(common.mean(axis=1), structures.mean(axis=2), objects, context_scale)
    sizes = np.concatenate([strength, shared[0]])
    spread = np.concatenate([np.full_like(strength, 1 / objects), shared[1]])
    return Path(Modes(sizes, spread, np.ones_like(sizes)), left, right)


def paths_but_one(structures: Any) -> Path:
    """The paths that are on in all contexts but one, on what the common path leaves; one for each context.

    Args:
        structures: H_b of every context b, features × objects each.

    Returns:
        A `Path` with directions of contexts × modes; directions of outputs have a block for what is common, which is
        zero, before those of the contexts.

    Example:
        >>> import festina as fs
        >>> paths = fs.theory.structures.paths_but_one(fs.worlds.different_structures().structures)
        >>> paths.learned[:, :3].round(2)  # a hierarchy, a ring, a cross-cut
        array([[2.14, 1.52, 1.2 ],
               [2.17, 2.01, 0.68],
               [2.14, 1.38, 1.2 ]])
    """
    structures = _checked(structures[0], structures)[1]
    contexts, features, objects = structures.shape
    signs = 1 / contexts - np.eye(contexts)
    blocks = signs[:, :, None, None] * structures[None]
    targets = blocks.reshape(contexts, contexts * features, objects)
    left, strength, right = _centred_modes(targets)
    samples = objects * contexts
    sizes = strength.ravel() / samples
    outward = np.pad(left, ((0, 0), (0, 0), (features, 0)))
    return Path(Modes(sizes, np.full_like(sizes, 1 / samples), np.ones_like(sizes)), outward, right)


def two_phases(common: Any, structures: Any, context_scale: float = 1.0) -> TwoPhases:
    """The loss of the common path and of all-but-one paths that learn what it leaves.

    Args:
        common: H, features × objects.
        structures: H_b of every context.
        context_scale: κ, the size of the context's part of the input.

    Returns:
        ``theory(time, common_initial, contextual_initial)`` is the mean loss.

    Example:
        >>> import festina as fs
        >>> world = fs.worlds.different_structures()
        >>> theory = fs.theory.structures.two_phases(world.common, world.structures)
        >>> theory([0.0, 60.0, 1000.0], 1e-6, 1e-12).round(2)  # a plateau at what the common path leaves
        array([4.4 , 0.69, 0.  ])
    """
    return TwoPhases(common_path(common, structures, context_scale).modes, paths_but_one(structures).modes)


def _centred_modes(
    features: Float[np.ndarray, "*batch features objects"],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Output directions (a row each), strengths and input directions of features less their mean over objects."""
    centred = np.linalg.svd(np.ones((1, features.shape[-1])))[2][1:]
    left, strengths, right = np.linalg.svd(features @ centred.T, full_matrices=False)
    return np.swapaxes(left, -1, -2), strengths, right @ centred


def _shared_modes(
    common: Float[np.ndarray, " features"],
    own: Float[np.ndarray, "contexts features"],
    objects: int,
    context_scale: float,
) -> tuple[Float[np.ndarray, " contexts"], Float[np.ndarray, " contexts"]]:
    """S and D of what all objects share: inputs are the constant object 1/√n and κ e_context, outputs their means."""
    contexts = len(own)
    inputs = np.column_stack([np.full(contexts, objects**-0.5), context_scale * np.eye(contexts)])
    outputs = np.column_stack(
        [np.tile(common, (contexts, 1)), *(np.outer(np.eye(contexts)[b], own[b]) for b in range(contexts))]
    )
    _, strength, right = np.linalg.svd(outputs.T @ inputs / contexts, full_matrices=False)
    seen = right[:contexts] @ inputs.T  # the constant object is a sum of contexts: one mode of C + 1 sees nothing
    return strength[:contexts], np.mean(seen**2, axis=1)


def _checked(
    common: Any, structures: Any
) -> tuple[Float[np.ndarray, "features objects"], Float[np.ndarray, "contexts features objects"]]:
    common, structures = np.asarray(common, float), np.asarray(structures, float)
    fits = structures.ndim == 3 and len(structures) >= 2 and structures.shape[1:] == common.shape
    require(fits, "structures", f"be two or more matrices of the shape {common.shape} of `common`", structures.shape)
    finite = bool(np.isfinite(structures).all() and np.isfinite(common).all())
    require(finite, "structures", "be finite, as must be `common`", "some that are not")
    return common, structures
