"""What the command line arranges before heavy work: figures without a screen, warnings in one line, platforms that are
there, a garbage collector that looks less often, and a cache of compiled programs."""

import gc
import os
import sys
import warnings
from importlib import import_module
from typing import Any

from festina.errors import FestinaWarning
from festina.files import cache_folder

# Programs of which size, and which took how many seconds to compile, are kept.
WORTH_KEEPING = {"persistent_cache_min_compile_time_secs": 0.2, "persistent_cache_min_entry_size_bytes": -1}
# New objects after which Python looks for unreachable cycles among them, and how often the older ones are looked at.
# By Python's own 700 a sixth of the time of a short run goes into looking at what the libraries have made on import.
COLLECT_AFTER = (100_000, 10, 10)


def prepare() -> None:
    """Call this just before work begins, and before anything imports JAX or matplotlib."""
    gc.set_threshold(*COLLECT_AFTER)
    os.environ["MPLBACKEND"] = "Agg"
    warnings.showwarning = _show_warning
    warnings.simplefilter("always", FestinaWarning)
    warnings.filterwarnings("ignore", message="Error (reading|writing) persistent compilation cache")
    for name in ("festina.lab.run", "festina.lab.sweeps.sweep", "festina.style"):
        import_module(name)
    _use_compilation_cache()
    from festina.platforms import check_platforms

    check_platforms()
    if gc.get_freeze_count() == 0:
        gc.freeze()  # modules and classes stay until the end: no collection has to look at them


def _show_warning(message: Any, category: Any, filename: Any, lineno: Any, file: Any = None, line: Any = None) -> None:
    if issubclass(category, FestinaWarning):
        warn(str(message))
    else:
        print(warnings.formatwarning(message, category, filename, lineno, line), end="", file=file or sys.stderr)


def warn(message: str) -> None:
    """A warning as one line on standard error."""
    say(f"warning: {message}")


def say(message: str) -> None:
    """One line on standard error, above a progress bar if there is one."""
    line = f"festina: {' '.join(message.split())}"
    bars = sys.modules.get("festina.learning.progress")
    if bars is not None:
        bars.Bar.write(line, file=sys.stderr)
    else:
        print(line, file=sys.stderr)


def passing(words: str) -> None:
    """A line on standard error that stays until the next one, or until what comes after it; only on a terminal."""
    if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        print(f"\r\x1b[K{words}", end="", file=sys.stderr, flush=True)


def _use_compilation_cache() -> None:
    """Let JAX keep what it compiles, so that the second run starts at once; a cache that cannot be is no error."""
    folder = cache_folder()
    if folder is None or "JAX_COMPILATION_CACHE_DIR" in os.environ:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".writable.{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError:
        return
    import jax

    from festina.programs import KEEPER

    KEEPER.folder = folder / "programs"
    wanted = {"compilation_cache_dir": str(folder), **WORTH_KEEPING}
    for name, value in wanted.items():
        if f"JAX_{name.upper()}" not in os.environ:  # what a user has set holds
            jax.config.update(f"jax_{name}", value)
