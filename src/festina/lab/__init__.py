"""What runs experiments: registry, run, sweep, store, report."""

from typing import TYPE_CHECKING

from festina._lazy import attributes

if TYPE_CHECKING:
    from festina.lab import report, style
    from festina.lab.grid import open_sweep
    from festina.lab.registry import all_experiments, find
    from festina.lab.run import run
    from festina.lab.sweep import sweep

__getattr__ = attributes(
    "festina.lab",
    {
        "all_experiments": "festina.lab.registry",
        "find": "festina.lab.registry",
        "open_sweep": "festina.lab.grid",
        "report": "festina.lab.report",
        "run": "festina.lab.run",
        "style": "festina.lab.style",
        "sweep": "festina.lab.sweep",
    },
)

__all__ = ["all_experiments", "find", "open_sweep", "report", "run", "style", "sweep"]
