"""What the benchmarks share: CPU seconds, rounds that are interleaved, and tables in the terminal and in the docs.

Ratios are always taken within one round of one process, whose variants run one after the other, so that a machine that
is slower for a minute is slower for all of them. A table that is published replaces the block of its name in
`docs/explanation/speed.md`, between `<!-- begin NAME -->` and `<!-- end NAME -->`, together with where and when it was
measured.
"""

import argparse
import os
import platform
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

PAGE = Path(__file__).resolve().parent.parent / "docs" / "explanation" / "speed.md"
NAMED = ("jax", "jaxlib", "numpy")

Rows = Sequence[Sequence[Any]]


def parser(description: str | None) -> argparse.ArgumentParser:
    """The command line that all benchmarks have."""
    formatter = argparse.RawDescriptionHelpFormatter
    result = argparse.ArgumentParser(description=description, formatter_class=formatter)
    result.add_argument("--write", action="store_true", help="put the table into docs/explanation/speed.md")
    return result


def cpu_seconds(work: Callable[[], Any]) -> float:
    """Of this process, all its threads together; what is computed lazily is waited for."""
    import jax

    began = process_time()
    jax.block_until_ready(work())
    return process_time() - began


def interleaved(works: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """CPU seconds of each work in each round, every round with all of them in turn."""
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            seconds[name].append(cpu_seconds(work))
    return seconds


def repeated(work: Callable[[], Any], least: float = 0.05) -> float:
    """CPU seconds of one call, as the mean of as many as take ``least`` together."""
    seconds, calls = 0.0, 0
    while seconds < least:
        seconds += cpu_seconds(work)
        calls += 1
    return seconds / calls


def ratios(slower: Sequence[float], faster: Sequence[float]) -> list[float]:
    """How many times faster, round by round."""
    return [one / other for one, other in zip(slower, faster, strict=True)]


def short(value: float) -> str:
    """Three digits that count: 0.0123, 1.23, 123, 12,300, 1.23·10⁷."""
    if isinstance(value, int) and abs(value) < 1e6:
        return f"{value:,}"
    if value == 0 or value != value:
        return "0" if value == 0 else "—"
    if not 1e-3 <= abs(value) < 1e6:
        digits, power = f"{value:.2e}".split("e")
        return f"{digits}·10{str(int(power)).translate(str.maketrans('-0123456789', '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'))}"
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 100 else f"{rounded:#.3g}".rstrip(".")


def spread(values: Sequence[float]) -> str:
    """The median, and in brackets the least and the largest."""
    if len(set(values)) == 1:
        return short(values[0])
    return f"{short(median(values))} ({short(min(values))}–{short(max(values))})"


def verdict(goal: float, values: Sequence[float]) -> str:
    """A goal for a ratio, and whether its median is there."""
    return f"{short(goal)}, {'reached' if median(values) >= goal else 'missed'}"


def show(name: str, columns: Sequence[str], rows: Rows, *, write: bool, note: str = "") -> None:
    """Print a table, and publish it if asked to."""
    cells = [[str(cell) for cell in row] for row in (columns, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(columns))]
    print(f"\n{name}: {conditions()}")
    for row in cells:
        first, *others = (
            cell.ljust(width) if n == 0 else cell.rjust(width)
            for n, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        print("  ".join([first, *others]).rstrip())
    if note:
        print(note)
    if write:
        publish(name, columns, rows, note)


def publish(name: str, columns: Sequence[str], rows: Rows, note: str = "", page: Path = PAGE) -> None:
    """Rewrite the block of this name on the page."""
    lines = ["| " + " | ".join(columns) + " |", "|---" + "|---:" * (len(columns) - 1) + "|"]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    text = "\n".join(lines) + f"\n\n{note + ' ' if note else ''}*{conditions()}.*\n"
    before = page.read_text(encoding="utf-8")
    block = re.compile(rf"(<!-- begin {re.escape(name)} -->\n).*?(<!-- end {re.escape(name)} -->)", re.DOTALL)
    after, found = block.subn(lambda match: f"{match[1]}\n{text}\n{match[2]}", before)
    if found != 1:
        raise SystemExit(f"{page.name} must have one block named {name}, but has {found}")
    page.write_text(after, encoding="utf-8")


def conditions() -> str:
    """When, on what, with what, and how busy the machine was."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    versions = ", ".join(f"{package} {_version(package)}" for package in NAMED)
    of = f"{cores} of {os.cpu_count()} cores"
    load = f"load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "load unknown"
    return f"{date.today()}, {processor()}, {of}, {load}; Python {platform.python_version()}, {versions}"


def processor() -> str:
    """Its name, as far as the machine tells it."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    found = {key: re.search(rf"^{key}\s*: (.+)$", text, re.MULTILINE) for key in ("model name", "cpu family", "model")}
    name, family, model = (match[1] if match else "?" for match in found.values())
    return f"{name} (family {family}, model {model})"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"
