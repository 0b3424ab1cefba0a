"""How representations lie to each other, drawn on paper: few dimensions, and the same axes at every moment.

All functions take the Gram matrix H Hᵀ of representations (items as rows of H), and so cannot depend on a rotation of
the units that hold them.

Sources: W. S. Torgerson, "Multidimensional scaling: I. Theory and method" (1952), for classical scaling; J. de Leeuw,
"Convergence of the majorization method for multidimensional scaling" (1988), for the descent of the stress.
"""

import numpy as np
from jaxtyping import Float

GOLDEN_ANGLE = np.pi * (3.0 - 5.0**0.5)
NUDGE = 1e-2  # share of the hidden dimensions that a first layout shows, so that items on one spot can part
RANK = 1e-6  # directions with a smaller share of the largest extent count as absent


def distances(gram: Float[np.ndarray, "*times items items"]) -> Float[np.ndarray, "*times items items"]:
    """d_ij = √(G_ii + G_jj − 2 G_ij).

    Args:
        gram: G = H Hᵀ of the items; leading axes, such as time, are carried along.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> items = np.array([[0.0, 0.0], [3.0, 4.0]])
        >>> fs.measures.distances(items @ items.T)
        array([[0., 5.],
               [5., 0.]])
    """
    squares = np.einsum("...ii->...i", gram)
    return np.sqrt(np.maximum(squares[..., :, None] + squares[..., None, :] - 2.0 * gram, 0.0))


def classical_scaling(
    gram: Float[np.ndarray, "items items"], dimensions: int = 2
) -> Float[np.ndarray, "items dimensions"]:
    """The projection that keeps most of the variance: with J G J = Σ_k λ_k e_k e_kᵀ, J = I − 1/P, column k is √λ_k e_k.

    The sign of each axis is chosen so that its largest entry is positive. Distances are exact if the items lie in
    that many dimensions.

    Args:
        gram: G = H Hᵀ of the P items.
        dimensions: how many columns to give; those that the items do not have are zero.

    Returns:
        Where each item lies, one a row.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> items = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 8.0]])
        >>> places = fs.measures.classical_scaling(items @ items.T)
        >>> fs.measures.distances(places @ places.T)[0].round(6)
        array([0., 5., 8.])
    """
    axes = _principal_axes(gram)[:, :dimensions]
    missing = dimensions - axes.shape[1]
    return np.pad(axes, ((0, 0), (0, max(missing, 0))))


def planar_paths(
    grams: Float[np.ndarray, "times items items"], sweeps: int = 1000
) -> Float[np.ndarray, "times items 2"]:
    """The items' ways through the plane: one linear view Z(t) = (J G(t) J)^½ A of the representations at all times.

    The symmetric root stands for the representations, whatever units hold them. A is chosen so that the last layout
    minimises the stress Σ_ij (|z_i − z_j| − d_ij)². Unlike the two principal axes, such a view shows every split of a
    hierarchy, and because A does not depend on time, an item moves only if its representation does.

    Args:
        grams: Gram matrices in the order of time.
        sweeps: steps of the descent on the stress (Z ← B(Z) Z / P, which never raises it).

    Returns:
        The two coordinates of every item at every time.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> items = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 8.0]])
        >>> grams = np.array([0.0, 0.25, 1.0])[:, None, None] * (items @ items.T)  # growing from one spot
        >>> paths = fs.measures.planar_paths(grams)
        >>> paths.shape, bool(np.allclose(paths[1], paths[2] / 2))
        ((3, 3, 2), True)
    """
    roots = _roots(_centred(grams))
    layout = _upright(_majorize(_first_layout(grams[-1]), distances(grams[-1]), sweeps))
    return roots @ (np.linalg.pinv(roots[-1], rcond=RANK, hermitian=True) @ layout)


def stress(layout: Float[np.ndarray, "items axes"], target: Float[np.ndarray, "items items"]) -> float:
    """√(Σ_ij (|z_i − z_j| − d_ij)² / Σ_ij d_ij²): zero for a faithful layout.

    Args:
        layout: z, one item a row.
        target: the distances d that it should have.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> triangle = 1.0 - np.eye(3)  # all are equally far from each other, which takes a plane
        >>> round(fs.measures.stress(np.array([[0.0], [0.5], [1.0]]), triangle), 3)
        0.408
    """
    return float(np.linalg.norm(distances(layout @ layout.T) - target) / np.linalg.norm(target))


def _centred(gram: Float[np.ndarray, "*times items items"]) -> Float[np.ndarray, "*times items items"]:
    """J G J, J = I − 1/P."""
    rows = gram - gram.mean(axis=-2, keepdims=True)
    return rows - rows.mean(axis=-1, keepdims=True)


def _roots(grams: Float[np.ndarray, "times items items"]) -> Float[np.ndarray, "times items items"]:
    """The symmetric square root of each Gram matrix."""
    values, vectors = np.linalg.eigh(grams)
    return np.einsum("tik,tk,tjk->tij", vectors, np.sqrt(np.maximum(values, 0.0)), vectors)


def _principal_axes(gram: Float[np.ndarray, "items items"]) -> Float[np.ndarray, "items axes"]:
    """√λ_k e_k of the centred Gram matrix, largest first, the largest entry of each positive."""
    values, vectors = np.linalg.eigh(_centred(gram))
    axes = vectors[:, ::-1] * np.sqrt(np.maximum(values[::-1], 0.0))
    largest = axes[np.argmax(np.abs(axes), axis=0), np.arange(axes.shape[1])]
    return axes * np.where(largest < 0.0, -1.0, 1.0)


def _first_layout(gram: Float[np.ndarray, "items items"]) -> Float[np.ndarray, "items 2"]:
    """Classical scaling, with a little of every further dimension mixed in, each in a direction of its own."""
    axes = _principal_axes(gram)
    angles = GOLDEN_ANGLE * np.arange(axes.shape[1])
    directions = NUDGE * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    directions[: min(2, len(directions))] = np.eye(len(directions), 2)[:2]
    return axes @ directions


def _majorize(
    layout: Float[np.ndarray, "items 2"], target: Float[np.ndarray, "items items"], sweeps: int
) -> Float[np.ndarray, "items 2"]:
    """De Leeuw's step Z ← B(Z) Z / P, with B_ij = −d_ij/|z_i − z_j| and rows that sum to zero."""
    for _ in range(sweeps):
        gaps = distances(layout @ layout.T)
        ratios = np.divide(target, gaps, out=np.zeros_like(target), where=gaps > 0.0)
        layout = (ratios.sum(axis=1, keepdims=True) * layout - ratios @ layout) / len(layout)
    return layout


def _upright(layout: Float[np.ndarray, "items 2"]) -> Float[np.ndarray, "items 2"]:
    """Centred, with the widest spread across the page."""
    layout = layout - layout.mean(axis=0)
    return layout @ np.linalg.svd(layout, full_matrices=False)[2].T
