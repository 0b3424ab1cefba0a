"""The version of festina, in the one place every other place reads."""

__version__ = "0.2.0"
