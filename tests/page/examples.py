"""Scenes made by hand, one of every kind, and a server that answers a browser with them: numbers that tests know."""

import json
from typing import Any

import numpy as np

TIMES = np.linspace(0.0, 8.0, 41)
RATES = {"slow": 0.5, "fast": 2.0}
FIGURE = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="80" height="40"><rect width="80" height="40" fill="#0072B2"/></svg>'
)


def scene(kind: str, groups: list[str], times: Any, **rest: Any) -> dict[str, Any]:
    head = {"kind": kind, "title": f"An example of {kind}", "note": "Made by hand.", "time_label": "time (τ)"}
    return head | {"groups": groups, "times": list(times)} | rest


def curves(shift: float) -> dict[str, Any]:
    """Two decays, the second of which has a band; quiet single runs behind it."""

    def line(group: int, rate: float, **more: Any) -> dict[str, Any]:
        y = (np.exp(-rate * TIMES) + shift).tolist()
        base = {"name": "", "group": group, "run": None, "grid": 0, "y": y, "low": None, "high": None, "quiet": False}
        return base | more

    fast = np.exp(-2.0 * TIMES) + shift
    band = {"low": (fast - 0.1).tolist(), "high": (fast + 0.1).tolist()}
    quiet = line(1, 1.8, run=0, quiet=True)
    return scene(
        "curves",
        list(RATES),
        [],
        x={"label": "time (τ)", "log": False},
        y={"label": "what is left", "log": False, "low": None, "high": None},
        grids=[TIMES.tolist()],
        lines=[line(0, 0.5), line(1, 2.0, **band), quiet],
        marks=[{"x": 2.0, "y": None, "label": "half way"}, {"x": None, "y": 0.5, "label": "half"}],
    )


def matrices(shift: float, *, rows: int, columns: int) -> list[Any]:
    return [(np.arange(rows * columns).reshape(rows, columns) * 0.1 * t + shift).tolist() for t in range(3)]


def panels(kind: str, shift: float) -> dict[str, Any]:
    rows, columns = (6, 3) if kind == "raster" else (4, 4)
    frames = matrices(shift, rows=rows, columns=columns)
    panel: dict[str, Any] = {"name": "kernel", "group": None, "frames": frames}
    more: dict[str, Any] = {}
    if kind == "raster":
        panel["orders"] = [[0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0], [1, 0, 3, 2, 5, 4]]
        more["bands"] = [{"from": 0, "to": 4, "label": "first code"}, {"from": 4, "to": 6, "label": "second"}]
    return scene(
        kind,
        [],
        [0.0, 1.0, 2.0],
        x={"label": "column", "values": [f"c{k}" for k in range(columns)]},
        y={"label": "row", "values": list(range(rows))},
        value={"label": "kernel", "low": None, "high": None, "diverging": False},
        panels=[panel],
        **more,
    )


def plane(shift: float) -> dict[str, Any]:
    side = np.linspace(-2.0, 2.0, 9)
    surface = (np.outer(side, side) - 1.0) ** 2
    along = TIMES / 8.0
    paths = [
        {
            "name": "",
            "group": k,
            "run": 0,
            "x": (along * (k + 1) / 2).tolist(),
            "y": (along * (k + 1) / 2 + shift).tolist(),
        }
        for k in range(2)
    ]
    frames = [{"x": [0.1 * k, -0.1 * k], "y": [0.5, -0.5 - shift]} for k in range(len(TIMES))]
    return scene(
        "plane",
        list(RATES),
        TIMES.tolist(),
        x={"label": "first weight", "low": -2.0, "high": 2.0},
        y={"label": "second weight", "low": -2.0, "high": 2.0},
        equal=True,
        surface={"x": side.tolist(), "y": side.tolist(), "values": surface.tolist(), "label": "loss", "levels": 8},
        paths=paths,
        clouds=[{"name": "units", "group": 0, "frames": frames, "labels": ["robin", "rose"]}],
        marks=[
            {"x": 0.0, "y": 0.0, "label": "saddle", "shape": "saddle"},
            {"x": 1.0, "y": 1.0, "label": "solution", "shape": "minimum"},
        ],
    )


def graph(shift: float) -> dict[str, Any]:
    open_, closed = np.linspace(0.2, 1.0, 5) + shift, np.linspace(0.2, 0.0, 5)
    nodes = [("in", 0.0, 0.5), ("hidden", 0.5, 0.9), ("out", 1.0, 0.5)]
    return scene(
        "graph",
        ["open", "closed"],
        [0.0, 1.0, 2.0, 3.0, 4.0],
        nodes=[{"id": name, "label": name, "x": x, "y": y} for name, x, y in nodes],
        edges=[
            {"from": "in", "to": "hidden", "name": "shared", "group": 0, "values": open_.tolist()},
            {"from": "hidden", "to": "out", "name": "upper", "group": 0, "values": open_.tolist()},
            {"from": "in", "to": "out", "name": "direct", "group": 1, "values": closed.tolist()},
        ],
        value={"label": "strength", "low": 0.0, "high": 1.0},
    )


def bars(shift: float) -> dict[str, Any]:
    entries = [("colour", 0), ("colour", 1), ("shape", 0), ("shape", 1)]
    return scene(
        "bars",
        list(RATES),
        [0.0, 1.0],
        x={"label": "feature"},
        y={"label": "share", "low": 0.0, "high": None},
        bars=[
            {"name": name, "group": group, "frames": [0.1, 0.2 * (k + 1) + shift], "errors": [0.0, 0.05]}
            for k, (name, group) in enumerate(entries)
        ],
    )


def example(kind: str, shift: float) -> dict[str, Any]:
    """The scene of a kind; simulation and theory differ by a shift."""
    makers = {"curves": curves, "plane": plane, "graph": graph, "bars": bars}
    return makers[kind](shift) if kind in makers else panels(kind, shift)


KINDS = ("curves", "heat", "raster", "plane", "graph", "bars")


def field(name: str, type_: str, value: Any, **more: Any) -> dict[str, Any]:
    base: dict[str, Any] = {"name": name, "label": name, "help": f"what {name} is", "unit": "", "kind": "continuous"}
    base |= {"type": type_, "default": value, "quick": value, "minimum": None, "maximum": None, "slider": None}
    return base | {"choices": None, "values": None, "matters": None} | more


SLIDER = {"from": -10.0, "to": 10.0, "scale": "lin"}
FIELDS = [
    field("strength", "number", 1.0, slider={"from": 0.1, "to": 10.0, "scale": "log"}),
    field(
        "imbalance",
        "text",
        "-5,0,5",
        kind="structural",
        values={"type": "number", "slider": SLIDER, "minimum": -20, "maximum": 20, "choices": None, "most": 5},
    ),
    field("world", "choice", "tree", kind="structural", choices=["tree", "ring"]),
    field("branching", "integer", 2, kind="structural", minimum=1, maximum=6, matters={"world": ["tree"]}),
    field("items", "integer", 8, kind="structural", minimum=2, maximum=1000, matters={"world": ["ring"]}),
]


def description(name: str, kinds: list[str]) -> dict[str, Any]:
    """What the page is told of an experiment with some kinds of views."""
    return {
        "name": name,
        "family": "example",
        "summary": "An example made by hand",
        "text": ["It has numbers that a test knows."],
        "sources": [],
        "equations": [{"tex": "x = 1", "sentence": "One."}, {"tex": "y = 2", "sentence": "Two."}],
        "presets": [{"name": "ring", "sentence": "A ring.", "budget": "quick", "fields": {"world": "ring"}}],
        "time_unit": "τ",
        "theory": True,
        "seeds": {"quick": 1, "full": 2},
        "variables": [{"name": "loss", "label": "loss", "unit": "", "dims": []}],
        "claims": [],
        "views": [{"kind": kind, "title": f"An example of {kind}"} for kind in kinds],
        "headline": ["imbalance"],
        "try": {"sentence": "Set strength to 3: it decays.", "field": "strength", "value": 3.0},
        "fields": FIELDS,
    }


class Answers:
    """Answers of a server that knows only these examples; it notes what was asked."""

    def __init__(self, page: Any) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.shift = {"simulation": 0.01, "theory": 0.0}
        self.figure: tuple[int, str] = (200, FIGURE)
        self.change: Any = lambda scene: scene  # made to every scene before it is sent
        self.runs = 0
        page.route("**/api/**", self.answer)

    def answer(self, route: Any) -> None:
        request = route.request
        path = request.url.split("/api/", 1)[1]
        if path.startswith("experiments/"):
            kinds = path.rsplit("/", 1)[1].split("-")
            self.send(route, description(path.removeprefix("experiments/"), [] if kinds == ["none"] else kinds))
        elif path.endswith("/events"):
            route.fulfill(status=200, content_type="text/event-stream", body=self.events())
        elif path.endswith("figure.svg"):
            status, body = self.figure
            kind = "image/svg+xml" if status == 200 else "application/json"
            route.fulfill(status=status, content_type=kind, body=body)
        elif request.method == "DELETE":
            route.fulfill(status=204)
        else:
            asked = json.loads(request.post_data)
            self.asked.append((path, asked))
            self.kinds = asked["experiment"].split("/")[1].split("-")
            self.runs += path == "runs"
            self.send(
                route,
                self.part("theory")
                if path == "theory"
                else {"id": f"run-{self.runs}", "state": "running", "position": 0},
            )

    def part(self, source: str) -> dict[str, Any]:
        series = [{"variable": "loss", "label": "loss", "unit": "", "line": "", "run": 0, "values": [1.0, 0.5]}]
        scenes = [self.change(example(kind, self.shift[source])) for kind in self.kinds if kind in KINDS]
        return {"times": [0.0, 1.0], "series": series, "scenes": scenes}

    def events(self) -> str:
        told = [
            ("state", {"state": "compiling", "message": "the training loop"}),
            ("points", {"records": 2, "of": 2} | self.part("simulation")),
            ("claims", {"verdicts": [], "sentence": "No claims."}),
            ("done", {"seconds": 0.1, "failures": [], "command": "festina run", "python": "festina.run()"}),
        ]
        return "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in told)

    def send(self, route: Any, data: Any) -> None:
        route.fulfill(status=200, content_type="application/json", body=json.dumps(data))

    def last(self, path: str) -> dict[str, Any]:
        """What was last asked of an address."""
        return next(body for name, body in reversed(self.asked) if name == path)
