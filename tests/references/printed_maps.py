"""Two maps that the authors of task abstractions printed, and whether festina's differ by more than seeds do.

The print is a mean of ten seeds without a spread; the spread is taken from seeds of festina's own, which run the
experiment as published. In each cell, two such means of the same process differ by a normal number of standard
deviation s √(1/10 + 1/n), where s is the standard deviation over our n seeds. A cell is said to differ if it does so
beyond rounding and Student's quantile for one false alarm in twenty among all fifty cells. All cells of a seed start
from one network, so that no such law holds for a whole map: its root mean square is held against those of ten seeds
drawn from ours.
"""

from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

import festina as fs
from festina.experiments.abstraction.regimes import COLUMNS, LENGTHS, PRINTED, STRENGTH, TIMESCALE, as_printed

NOTED = Path(__file__).resolve().parents[2] / "docs" / "printed_maps.json"  # what the page shows
AXES = {"speed": "τ_c", "strength": "strength"}
FIXED = {"speed": f"strength {STRENGTH:g}", "strength": f"gate timescale {TIMESCALE:g}"}
SEEDS = 20  # of ours
THEIRS = 10  # seeds of a printed mean
ROUNDING = 0.0005  # of three digits
FALSE_ALARMS = 0.05 / 50  # in each of fifty cells
RESAMPLES, RARE = 4000, 0.999


def replay(store: Path | None = None) -> fs.Result:
    """The experiment as published: batches of 200 inputs, both maps."""
    return fs.run("abstraction/regimes", seeds=SEEDS, records=1, store=store)


def compared(result: fs.Result) -> dict[str, Any]:
    """For each map, everything that the page shows: rows are block lengths, numbers have three digits."""
    return {which: _rounded(against(printed(which), ends(result, which))) for which in PRINTED}


def printed(which: str) -> np.ndarray:
    """The printed means, shape (block length, column)."""
    return np.array(PRINTED[which])


def ends(result: fs.Result, which: str) -> np.ndarray:
    """Total alignments at the end, shape (seed, block length, column)."""
    return as_printed(result, which).values


def against(theirs: np.ndarray, runs: np.ndarray) -> dict[str, Any]:
    """A mean of ten seeds against our runs: means, cells that differ, root mean squares of both and of chance."""
    count, mean = len(runs), runs.mean(axis=0)
    error = runs.std(axis=0, ddof=1) * np.sqrt(1 / THEIRS + 1 / count)
    beyond = ROUNDING + stats.t.ppf(1 - FALSE_ALARMS / 2, count - 1) * error
    return {
        "ours": mean,
        "differs": np.abs(mean - theirs) > beyond,
        "rms": root_mean_square(mean - theirs),
        "chance": by_chance(runs),
    }


def by_chance(runs: np.ndarray) -> float:
    """A root mean square that ten of our seeds exceed once in a thousand times; what chance there is in our own mean
    is added to it.
    """
    random, count = np.random.default_rng(0), len(runs)
    chosen = random.integers(0, count, (RESAMPLES, THEIRS))
    resampled = [root_mean_square(runs[some].mean(axis=0) - runs.mean(axis=0)) for some in chosen]
    return float(np.quantile(resampled, RARE) * np.sqrt(1 + THEIRS / count))


def root_mean_square(difference: np.ndarray) -> float:
    return float(np.sqrt(np.mean(difference**2)))


def _rounded(found: dict[str, Any]) -> dict[str, Any]:
    return {name: value.tolist() if name == "differs" else np.round(value, 3).tolist() for name, value in found.items()}


def tables(noted: dict[str, Any]) -> str:
    """Both maps for the page: in every cell ours, theirs and the difference, bold where the cell differs."""
    return "\n\n".join(_table(which, noted[which]) for which in PRINTED)


def _table(which: str, noted: dict[str, Any]) -> str:
    differ = int(np.sum(noted["differs"]))
    said = (
        f"The {which} map ({FIXED[which]}): root mean square {noted['rms']:.3f}, where ten seeds "
        f"would differ from ours by {noted['chance']:.3f} at most (once in a thousand times by more); {differ} of 25 "
        "cells differ."
    )
    columns = [f"{AXES[which]} = {column:g}" for column in COLUMNS[which]]
    rows = ["| " + " | ".join(["τ_B", *columns]) + " |", "|---" * (1 + len(columns)) + "|"]
    for length, *cells in zip(LENGTHS, noted["ours"], printed(which), noted["differs"], strict=True):
        rows.append(f"| {length:g} | " + " | ".join(_cell(*cell) for cell in zip(*cells, strict=True)) + " |")
    return "\n".join([said, "", *rows])


def _cell(ours: float, theirs: float, differs: bool) -> str:
    difference = f"{ours - theirs:+.3f}".replace("-", "−")
    return f"{ours:.3f} / {theirs:.3f} / " + (f"**{difference}**" if differs else difference)
