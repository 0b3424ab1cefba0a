"""One sweep, computed by one process, by two, by XLA's threads on two cores, and by two devices of one process.

    python benchmarks/processes.py [--write]

Wall-clock time, the only benchmark in which it counts; with start-up and compilation. Each way runs in a process of
its own. CPU seconds are those of the process and of those it started, and others' share is how much of the machine went
to programs that are not this one: where it is large, points per second say little, points per CPU second still do.

Two devices: XLA is told that the machine has two (`--xla_force_host_platform_device_count=2`), and `shard_map` gives
each of them half of the runs of every chunk; everything else is as in one process. XLA's pool needs more threads than
there are devices, or the two wait for each other for ever.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import table

POINTS = {
    "gate_timescale": [0.01 * 1.4**power for power in range(12)],
    "block_length": [0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0],
}
SEEDS, TILE = 10, 48
FIELDS = {"until": 6.0, "records": 20}
WAYS = {
    "one process on one core": "one",
    "one process, XLA's threads on two cores": "threads",
    "one process, two XLA devices (shard_map)": "devices",
    "two processes, a core each": "processes",
}
# With no more threads than devices, XLA's pool can wait for itself for ever: hence more of them (`NPROC`).
TWO_DEVICES = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "NPROC": "8"}
LONGEST = 300.0  # seconds of one way


def runs() -> int:
    return SEEDS * len(POINTS["gate_timescale"]) * len(POINTS["block_length"])


def cpu_seconds() -> float:
    """Of this process and of those it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def machine_seconds() -> float:
    """CPU seconds of all programs on the machine since it was started, as Linux counts them."""
    try:
        words = Path("/proc/stat").read_text(encoding="utf-8").split("\n", 1)[0].split()[1:]
    except OSError:
        return float("nan")
    user, nice, system, _, _, *interrupts = (int(word) for word in words[:8])
    return (user + nice + system + sum(interrupts)) / os.sysconf("SC_CLK_TCK")


def sweep(way: str) -> None:
    """The whole sweep in one of the ways, into a folder that is thrown away; what it took, as JSON."""
    if way == "one" and hasattr(os, "sched_setaffinity"):  # before JAX counts the cores
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    began, machine = time.perf_counter(), machine_seconds()
    from festina.lab.sweeps.executors import InProcess, Processes
    from festina.lab.sweeps.sweep import sweep as swept

    if way == "devices":
        on_two_devices()
    executor = Processes(2) if way == "processes" else InProcess()
    with tempfile.TemporaryDirectory() as folder:
        swept("abstraction/specialization", POINTS, store=folder, seeds=SEEDS, tile=TILE, executor=executor, **FIELDS)
    wall, cpu = time.perf_counter() - began, cpu_seconds()
    others = max(0.0, machine_seconds() - machine - cpu) / wall / (os.cpu_count() or 1)
    print(json.dumps({"wall": wall, "cpu": cpu, "others": others}))


def on_two_devices() -> None:
    """Let the loop share the runs of every chunk out among the devices."""
    import jax
    from jax.sharding import Mesh, PartitionSpec

    from festina.compiling import quick_jit
    from festina.learning import loop

    mesh, across = Mesh(jax.devices(), ("runs",)), PartitionSpec("runs")
    assert mesh.size == 2, "needs two devices"

    @partial(quick_jit, static_argnums=(0, 4))
    def chunk(build: Any, inputs: Any, state: Any, first: Any, count: int) -> Any:
        def share(inputs: Any, state: Any, first: Any) -> Any:
            look = lambda process, state, index: process.observe(state)  # noqa: E731
            return loop._watched(build, inputs, state, first, count, look)

        specs = (across, across, PartitionSpec())
        return jax.shard_map(share, mesh=mesh, in_specs=specs, out_specs=across, check_vma=False)(inputs, state, first)

    loop._chunk = chunk


def measured(way: str) -> dict[str, float]:
    environment = os.environ | (TWO_DEVICES if way == "devices" else {})
    words = [sys.executable, __file__, "--way", way]
    done = subprocess.run(words, env=environment, stdout=subprocess.PIPE, check=True, text=True, timeout=LONGEST)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = table.parser(__doc__)
    parser.add_argument("--way", choices=WAYS.values(), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way:
        sweep(options.way)
        return
    found = {name: measured(way) for name, way in WAYS.items()}
    base = found["one process on one core"]
    rows = [
        (
            name,
            table.short(took["wall"]),
            table.short(runs() / took["wall"]),
            table.short(base["wall"] / took["wall"]),
            table.short(took["cpu"]),
            table.short(runs() / took["cpu"]),
            f"{took['others']:.0%}",
        )
        for name, took in found.items()
    ]
    columns = ("way", "wall s", "runs per wall s", "× one", "CPU s", "runs per CPU s", "machine taken by others")
    busy = max(took["others"] for took in found.values())
    said = "The machine was busy with other work: compare CPU seconds." if busy > 0.1 else "The machine was idle."
    note = f"{runs()} runs of `abstraction/specialization`, with start-up and compilation. {said}"
    table.show("processes", columns, rows, write=options.write, note=note)


if __name__ == "__main__":
    main()
