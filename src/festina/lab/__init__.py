"""What runs experiments: registry, run, sweep, store, report."""

from typing import TYPE_CHECKING

from festina._lazy import attributes

if TYPE_CHECKING:
    from festina.lab.registry import all_experiments, find
    from festina.lab.run import Interrupted, run
    from festina.lab.sweep import open_sweep, sweep

__getattr__ = attributes(
    "festina.lab",
    {
        "Interrupted": "festina.lab.run",
        "all_experiments": "festina.lab.registry",
        "find": "festina.lab.registry",
        "open_sweep": "festina.lab.grid",
        "run": "festina.lab.run",
        "sweep": "festina.lab.sweep",
    },
)

__all__ = ["Interrupted", "all_experiments", "find", "open_sweep", "run", "sweep"]
