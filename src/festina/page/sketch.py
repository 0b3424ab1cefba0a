"""A scene in a few numbers, for a thumbnail: how it ends, in shares of the picture."""

from __future__ import annotations

from typing import Any

import numpy as np

from festina.page.series import chosen

MOST_POINTS, MOST_LINES, MOST_DOTS, MOST_CELLS = 60, 18, 120, 20

Drawing = dict[str, Any]
"""What is drawn: ``lines`` and ``dots`` [[group, xs, ys], …] in shares of the picture, ``cells`` rows of shares."""


def sketched(scene: dict[str, Any]) -> Drawing:
    """What a thumbnail keeps of a scene: its end, in shares of the picture.

    Args:
        scene: of any kind.
    """
    kind = scene["kind"]
    if kind == "curves":
        lines = [(one["group"], scene["grids"][one["grid"]], _last_frame(one["y"])) for one in _few(scene["lines"])]
        return {"lines": _scaled(lines, scene["x"]["log"], scene["y"]["log"])}
    if kind == "plane":
        paths = [(one["group"], one["x"], one["y"]) for one in _few(scene["paths"])]
        clouds = [(one["group"], one["frames"][-1]["x"], one["frames"][-1]["y"]) for one in scene["clouds"]]
        both = _scaled([*paths, *clouds], False, False)
        dots = [[group, xs[:MOST_DOTS], ys[:MOST_DOTS]] for group, xs, ys in both[len(paths) :]]
        return {"lines": both[: len(paths)], "dots": dots}
    if kind in ("heat", "raster"):
        panel = scene["panels"][0]
        frame = panel["frames"][-1]
        rows = [frame[k] for k in panel["orders"][-1]] if panel.get("orders") else frame
        return {"cells": _coloured(rows, scene["value"]["low"], scene["value"]["high"])}
    if kind == "bars":
        heights = [bar["frames"][-1] for bar in scene["bars"]]
        places = list(range(len(heights)))
        bars = [
            (bar["group"], [k, k], [0.0, height]) for k, height, bar in zip(places, heights, scene["bars"], strict=True)
        ]
        return {"lines": _scaled(bars, False, False)}
    nodes = {node["id"]: node for node in scene["nodes"]}
    ends = [(edge["group"], nodes[edge["from"]], nodes[edge["to"]]) for edge in scene["edges"]]
    edges = [(group, [begin["x"], end["x"]], [begin["y"], end["y"]]) for group, begin, end in ends]
    return {"lines": _scaled(edges, False, False)}


def _few(parts: list[Any]) -> list[Any]:
    return [parts[k] for k in chosen(len(parts), MOST_LINES)]


def _last_frame(values: list[Any]) -> list[Any]:
    return values[-1] if values and isinstance(values[0], list) else values


def _scaled(lines: list[tuple[int, list[Any], list[Any]]], log_x: bool, log_y: bool) -> list[list[Any]]:
    """Lines in shares of the range that all of them take, thinned; None where nothing is known."""

    def read(values: list[Any], log: bool) -> np.ndarray:
        found = np.array([np.nan if value is None else value for value in values], float)
        with np.errstate(all="ignore"):
            return np.where(found > 0, np.log10(found), np.nan) if log else found

    groups = [group for group, _, _ in lines]
    across, up = [read(xs, log_x) for _, xs, _ in lines], [read(ys, log_y) for _, _, ys in lines]
    return [list(line) for line in zip(groups, _shares(across), _shares(up), strict=True)]


def _shares(lines: list[np.ndarray]) -> list[list[float | None]]:
    """Values in shares of the range that all lines take together, thinned."""
    known = np.concatenate([line[np.isfinite(line)] for line in lines]) if lines else np.empty(0)
    low, size = (known.min(), np.ptp(known) or 1.0) if known.size else (0.0, 1.0)
    thin = [(line[chosen(len(line), MOST_POINTS)] - low) / size for line in lines]
    return [[round(float(value), 3) if np.isfinite(value) else None for value in line] for line in thin]


def _coloured(rows: list[list[Any]], low: float | None, high: float | None) -> list[list[float | None]]:
    first, size = low or 0.0, ((high or 0.0) - (low or 0.0)) or 1.0
    few = [rows[k] for k in chosen(len(rows), MOST_CELLS)]
    few = [[row[k] for k in chosen(len(row), MOST_CELLS)] for row in few]
    within = [[None if value is None else min(1.0, max(0.0, (value - first) / size)) for value in row] for row in few]
    return [[None if value is None else round(value, 2) for value in row] for row in within]
