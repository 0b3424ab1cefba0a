"""Is a network that was trained elsewhere lazy or rich? What it was like over its whole training."""

from festina.watching import files

__all__ = ["files"]
