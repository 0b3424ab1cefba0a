"""What a check has found: all of it, not only the first."""

from collections.abc import Iterable


class Nonconforming(AssertionError):
    """A model or an experiment that is not as the lab expects it to be."""


def demand(what: str, findings: Iterable[str]) -> None:
    """Raise if anything was found, with one line for each finding."""
    found = list(findings)
    if found:
        raise Nonconforming("\n".join([f"{what} is not ready:", *(f"- {each}" for each in found)]))
