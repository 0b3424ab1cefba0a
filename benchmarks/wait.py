"""How long a person waits for an experiment: from the command to its figure, at the quick budget, cold and warm.

    python benchmarks/wait.py [names ...] [--write]

`--write` also notes how many programs each experiment compiles, in tests/experiments/programs.json.

Every experiment runs twice, each time in a new process kept to one core, with an empty store: cold, with an empty cache
of compiled programs, and warm, with the cache that the cold run has left. The columns share out the CPU seconds of the
process: *import* is all before the question is asked; *trace*, *lower* and *compile* are JAX's, whoever calls for them
(a program that is read from JAX's cache is not compiled, but looking it up counts there); *run* is the simulation, with
the reading of its programs where they are kept; *theory*, *claims*, *store* and *figure* are what their names say,
without what JAX needed for them.

The last row is the least that an answer could take with these libraries: import them, compile one product of matrices,
write one small data set and draw three panels, in both formats, without festina.
"""

import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import table

from festina.lab.registry import builtin_names

GOAL = {"cold": (5.0, 12.0), "warm": (1.5, 6.0)}  # CPU seconds: of the median experiment, and of any that do not sample
STAGES = {"jaxpr_trace": "trace", "jaxpr_to_mlir_module": "lower", "backend_compile": "compile"}
PROGRAMS = Path(__file__).resolve().parent.parent / "tests" / "experiments" / "programs.json"
LEAST = "*the libraries alone*"
PARTS = ("import", "trace", "lower", "compile", "run", "theory", "claims", "store", "figure")


class Watch:
    """Shares out the CPU seconds of this process among the parts of an answer.

    JAX tells when tracing, lowering and compiling begin and end, one inside the other, by the clock on the wall; their
    CPU seconds are their share of the part in which they happen.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.programs = 0
        self.spans: list[tuple[float, float, str]] = []
        self.began = (0.0, 0.0)

    def hear(self, event: str, start_time: float, end_time: float, **_: Any) -> None:
        """What JAX calls when it has traced, lowered or compiled something."""
        stage = STAGES.get(event.removeprefix("/jax/core/compile/").removesuffix("_duration"))
        if stage is not None:
            self.spans.append((start_time, end_time, stage))
            self.programs += stage == "compile"

    def next(self) -> None:
        """From here on time belongs to the next part."""
        self.began, self.spans = (time.process_time(), time.time()), []

    def note(self, name: str) -> None:
        """What has passed since the last note belongs to a part, but for what JAX tells of."""
        spent, passed = time.process_time() - self.began[0], time.time() - self.began[1]
        for stage, seconds in _own_times(self.spans).items():
            share = seconds * spent / max(passed, 1e-9)
            self.seconds[stage] += share
            spent -= share
        self.seconds[name] += spent
        self.next()


def _own_times(spans: Sequence[tuple[float, float, str]]) -> dict[str, float]:
    """Seconds of each stage without those of stages inside of it."""
    own: dict[str, float] = defaultdict(float)
    for start, end, stage in spans:
        inside = [(a, b) for a, b, _ in spans if start <= a and b <= end and (a, b) != (start, end)]
        outermost = [(a, b) for a, b in inside if not any(c <= a and b <= d and (a, b) != (c, d) for c, d in inside)]
        own[stage] += end - start - sum(b - a for a, b in set(outermost))
    return own


def answer(name: str, store: Path) -> dict[str, float]:
    """Ask one experiment in this process, as the command line does; CPU seconds of each part, and how many programs."""
    from festina.lab import machine

    machine.prepare()
    import jax

    from festina.lab import answer as answering
    from festina.lab.pictures import ensure_figure
    from festina.lab.question import Question
    from festina.lab.registry import find

    watch = Watch()
    watch.seconds["import"] = time.process_time()
    jax.monitoring.register_event_time_span_listener(watch.hear)
    keep = answering._keep

    def kept(*arguments: Any) -> None:
        watch.note("claims")
        keep(*arguments)
        watch.note("store")

    def tell(event: Any) -> None:
        if isinstance(event, answering.Whole):
            watch.note("run")
        elif isinstance(event, answering.Predicted):
            watch.note("theory")

    answering._keep = kept
    watch.next()
    result = answering.answer(Question.of(find(name), "quick", None, 0), store=store, tell=tell)
    ensure_figure(result)
    watch.note("figure")
    counts = {"programs": watch.programs, "before the figure": result.data.attrs["programs"]}
    return watch.seconds | counts | {"all": time.process_time()}


def least(store: Path) -> dict[str, float]:
    """An answer without a question: what the libraries alone take, in CPU seconds of each part."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    import xarray as xr

    watch = Watch()
    watch.seconds["import"] = time.process_time()
    jax.monitoring.register_event_time_span_listener(watch.hear)
    watch.next()
    data = xr.Dataset({"loss": ("time", np.asarray(jax.jit(lambda x: jnp.sum(x @ x, 0))(jnp.eye(50))))})
    watch.note("run")
    data.to_zarr(store / "data.zarr")
    watch.note("store")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(7.2, 2.5), layout="constrained")
    for axis in axes:
        axis.plot(data["loss"] + 1, label="loss")
        axis.set(xlabel="time $t$", ylabel="loss", yscale="log")
        axis.legend()
    for name in ("png", "svg"):
        figure.savefig(store / f"figure.{name}", dpi=200)
        figure.set_layout_engine("none")
    watch.note("figure")
    return watch.seconds | {"programs": watch.programs, "all": time.process_time()}


def measured(name: str, cache: Path) -> dict[str, float]:
    """The same in a process of its own, on one core."""
    with TemporaryDirectory() as store:
        settings = os.environ | {"PYTHONDONTWRITEBYTECODE": "", "FESTINA_CACHE": str(cache), "JAX_PLATFORMS": "cpu"}
        words = [sys.executable, __file__, "--answer", name, store]
        done = subprocess.run(words, env=settings, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = table.parser(__doc__)
    parser.add_argument("names", nargs="*", help="experiments; all unless given")
    parser.add_argument("--answer", nargs=2, metavar=("NAME", "STORE"), help="one, in this process, as JSON")
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    if options.answer:
        sys.modules["dask"] = None  # pyright: ignore  # comes with the tests only, and xarray would import it
        name, store = options.answer[0], Path(options.answer[1])
        print(json.dumps(least(store) if name == LEAST else answer(name, store)))
        return
    found = {}
    for name in (*(options.names or builtin_names()), LEAST):
        with TemporaryDirectory() as cache:
            found[name] = {state: measured(name, Path(cache)) for state in GOAL}
        print(name, *(f"{state} {found[name][state]['all']:.2f}" for state in GOAL), flush=True)
    rows = [
        (
            name,
            *(f"{both[state]['all']:.1f}" for state in GOAL),
            *(" / ".join(f"{both[state].get(part, 0.0):.1f}" for state in GOAL) for part in PARTS),
            int(both["cold"]["programs"]),
        )
        for name, both in found.items()
    ]
    least_row = rows.pop()
    middle = {state: median(both[state]["all"] for name, both in found.items() if name != LEAST) for state in GOAL}
    rows.append(("**median**", *(f"{middle[state]:.1f}" for state in GOAL), *("" for _ in PARTS), ""))
    rows.append(least_row)
    columns = ("experiment", *(f"CPU s, {state}" for state in GOAL), *PARTS, "programs")
    table.show("wait", columns, rows, write=options.write, note="Each cell: cold / warm.")
    if options.write:
        write_down({name: both["cold"]["before the figure"] for name, both in found.items() if name != LEAST})


def write_down(programs: dict[str, float]) -> None:
    """How many programs an answer takes, for the test that sees when there are more."""
    known = json.loads(PROGRAMS.read_text(encoding="utf-8")) if PROGRAMS.exists() else {}
    counts = {name: int(count) for name, count in sorted((known | programs).items())}
    PROGRAMS.write_text(json.dumps(counts, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
