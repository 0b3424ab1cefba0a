"""What every scene must be, whatever it shows: sound for the browser, and small enough to be sent often."""

import json
from typing import Any

MOST_BYTES = 400_000
COMMON = {"kind", "title", "note", "groups", "times", "time_label"}


def sound(scene: dict[str, Any]) -> dict[str, Any]:
    """The scene, if it is JSON without NaN, not too large, and its parts fit to each other."""
    text = json.dumps(scene, allow_nan=False, ensure_ascii=False)
    assert len(text.encode()) < MOST_BYTES, f"{scene['title']}: {len(text.encode())} bytes"
    assert set(scene) >= COMMON
    _CHECKS[scene["kind"]](scene)
    assert known(scene), f"{scene['title']}: nothing is known"
    return scene


def known(scene: dict[str, Any]) -> bool:
    """Whether there is any number to be seen in it."""
    return any(value is not None for part in _values(scene) for value in _flat(part))


def _values(scene: dict[str, Any]) -> list[Any]:
    match scene["kind"]:
        case "curves":
            return [line["y"] for line in scene["lines"]]
        case "heat" | "raster":
            return [panel["frames"] for panel in scene["panels"]]
        case "plane":
            clouds = [frame["x"] for cloud in scene["clouds"] for frame in cloud["frames"]]
            return clouds + [path["x"] for path in scene["paths"]]
        case "graph":
            return [edge["values"] for edge in scene["edges"]]
        case _:
            return [bar["frames"] for bar in scene["bars"]]


def _flat(value: Any) -> list[Any]:
    return [entry for part in value for entry in _flat(part)] if isinstance(value, list) else [value]


def _curves(scene: dict[str, Any]) -> None:
    for line in scene["lines"]:
        assert 0 <= line["group"] < len(scene["groups"])
        rows = line["y"] if scene["times"] else [line["y"]]
        assert len(rows) == max(1, len(scene["times"]))
        assert all(len(row) == len(scene["grids"][line["grid"]]) for row in rows)
        assert (line["low"] is None) == (line["high"] is None)


def _heat(scene: dict[str, Any]) -> None:
    rows, columns = len(scene["y"]["values"]), len(scene["x"]["values"])
    for panel in scene["panels"]:
        assert len(panel["frames"]) == max(1, len(scene["times"]))
        assert all(len(frame) == rows for frame in panel["frames"])
        assert all(len(row) == columns for frame in panel["frames"] for row in frame)
        for order in panel.get("orders") or []:
            assert sorted(order) == list(range(rows))


def _plane(scene: dict[str, Any]) -> None:
    frames = max(1, len(scene["times"]))
    for path in scene["paths"]:
        assert len(path["x"]) == len(path["y"]) == frames
        assert 0 <= path["group"] < len(scene["groups"])
    for cloud in scene["clouds"]:
        assert len(cloud["frames"]) == frames
        assert all(len(frame["x"]) == len(frame["y"]) for frame in cloud["frames"])
        assert 0 <= cloud["group"] < len(scene["groups"])
    if scene["surface"]:
        rows = scene["surface"]["values"]
        assert len(rows) == len(scene["surface"]["y"])
        assert all(len(row) == len(scene["surface"]["x"]) for row in rows)


def _graph(scene: dict[str, Any]) -> None:
    nodes = {node["id"] for node in scene["nodes"]}
    assert len(nodes) == len(scene["nodes"])
    for edge in scene["edges"]:
        assert {edge["from"], edge["to"]} <= nodes
        assert 0 <= edge["group"] < len(scene["groups"])
        assert len(edge["values"]) == max(1, len(scene["times"]))


def _bars(scene: dict[str, Any]) -> None:
    for bar in scene["bars"]:
        assert 0 <= bar["group"] < len(scene["groups"])
        assert len(bar["frames"]) == max(1, len(scene["times"]))
        assert bar["errors"] is None or len(bar["errors"]) == len(bar["frames"])


_CHECKS = {"curves": _curves, "heat": _heat, "raster": _heat, "plane": _plane, "graph": _graph, "bars": _bars}
