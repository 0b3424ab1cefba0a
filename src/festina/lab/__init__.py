"""What runs experiments: registry, run, sweep, store, report (`festina.run` and `festina.sweep` are its front door)."""

from typing import TYPE_CHECKING

from festina._lazy import attributes

if TYPE_CHECKING:
    from festina.lab import report
    from festina.lab.cluster import Dask
    from festina.lab.executors import InProcess, Processes
    from festina.lab.opened import open_sweep
    from festina.lab.registry import all_experiments, find
    from festina.lab.sweep import resume

__getattr__ = attributes(
    "festina.lab",
    {
        "Dask": "festina.lab.cluster",
        "InProcess": "festina.lab.executors",
        "Processes": "festina.lab.executors",
        "all_experiments": "festina.lab.registry",
        "find": "festina.lab.registry",
        "open_sweep": "festina.lab.opened",
        "report": "festina.lab.report",
        "resume": "festina.lab.sweep",
    },
)

__all__ = [
    "Dask",
    "InProcess",
    "Processes",
    "all_experiments",
    "find",
    "open_sweep",
    "report",
    "resume",
]
