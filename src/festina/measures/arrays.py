"""Arrays from other libraries: what measures accept of a network that was trained elsewhere."""

from typing import Any

import numpy as np
from jaxtyping import Float, Shaped

from festina.errors import ArgumentError, require
from festina.precision import detached


def as_numpy(name: str, values: Any) -> Shaped[np.ndarray, "..."]:
    """An array of any library as NumPy; tensors that carry gradients are detached."""
    values = detached(values)
    if str(getattr(values, "dtype", "")) == "torch.bfloat16":  # which NumPy does not know
        values = values.float()
    try:
        return np.asarray(values)
    except ValueError as error:
        raise ArgumentError(f"Argument `{name}` must be a rectangular array, but {error}.") from None


def as_real(name: str, values: Any) -> Float[np.ndarray, "..."]:
    """The same in float64: real numbers, all of them finite."""
    array = as_numpy(name, values)
    real = array.dtype == bool or array.dtype.kind in "iuf" or "float" in str(array.dtype)
    require(real, name, "be real numbers", f"of type {array.dtype}")
    array = array.astype(float)
    bad = int(np.sum(~np.isfinite(array)))
    require(bad == 0, name, "be finite everywhere", f"{bad} non-finite values")
    return array
