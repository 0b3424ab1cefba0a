"""Values of a claim, with what they are of, so that its table can say over what they spread."""

from typing import Any

from festina._lazy import np, xr


def labelled(values: Any, *dims: str) -> Any:
    """Values along named dimensions.

    Example:
        >>> labelled([0.1, 0.2], "run").sizes["run"]
        2
    """
    return xr.DataArray(np.asarray(values), dims=dims)
