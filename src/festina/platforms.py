"""Where JAX computes: the platforms that JAX_PLATFORMS asks for must be there."""

import jax
from jax.extend import backend

from festina.errors import FestinaError


def check_platforms() -> None:
    """Start the platforms that are asked for, if any are; FestinaError names those that are there if that fails."""
    asked: str | None = jax.config.jax_platforms  # pyright: ignore[reportAttributeAccessIssue]
    if not asked:
        return
    try:
        backend.backends()
    except Exception as error:  # JAX has several ways to say so, one of them an assertion without a word
        there = ", ".join(_platforms_there(asked))
        raise FestinaError(f"JAX_PLATFORMS must name platforms that are there ({there}), but is {asked!r}.") from error


def _platforms_there(asked: str) -> list[str]:
    """What JAX finds when it may choose; afterwards it is as if it had not been asked."""
    try:
        backend.clear_backends()
        jax.config.update("jax_platforms", "")
        return sorted(backend.backends())
    finally:
        backend.clear_backends()
        jax.config.update("jax_platforms", asked)
