"""The figure of a result as files: drawn once, kept beside the result, drawn again if they are damaged."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from festina._lazy import plt
from festina.errors import FestinaWarning, Interrupted
from festina.files import write_bytes, write_json
from festina.lab.identity import drawing_code
from festina.lab.store import hashes
from festina.style import DOTS_PER_INCH, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from festina.experiment import Result

FORMATS = ("png", "svg")
FIGURE_CARD = "figure.json"  # the hashes of the figure's files, and of the code that draws


def draw(result: Result, formats: Sequence[str] = FORMATS) -> dict[str, bytes]:
    """The figure of a result, drawn once, as the bytes of each format."""
    with style():
        try:
            figure = result.figure()
        except Interrupted:  # of a flow that the figure shows: Ctrl-C, and no fault of the figure's
            raise KeyboardInterrupt from None
        try:
            return {name: encoded(figure, name) for name in formats}
        finally:
            plt.close(figure)


def encoded(figure: Figure, name: str) -> bytes:
    """The bytes of a figure in one of the formats; its layout is found with the first, and is that of all others.

    `savefig` would draw every figure twice, once for its layout, although drawing lays it out, too.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    stream = BytesIO()
    figure.set_dpi(DOTS_PER_INCH)
    if name == "svg":
        FigureCanvasSVG(figure).print_svg(stream, metadata={"Date": None})  # so that the same result is the same file
    else:
        FigureCanvasAgg(figure).print_png(stream)
    figure.set_layout_engine("none")
    return stream.getvalue()


def figure_paths(folder: Path) -> list[Path]:
    """Where the figure of a stored result lies, in each format."""
    return [folder / f"figure.{name}" for name in FORMATS]


def is_drawn(folder: Path) -> bool:
    """Whether the figure of a stored result lies beside it, as it was drawn, and as it would be drawn now."""
    card = _card(folder)
    return card.get("code") == drawing_code() and card.get("files") == hashes(folder, figure_paths(folder))


def _card(folder: Path) -> dict[str, Any]:
    """What is known of the figure beside a stored result; nothing if that is not to be read."""
    try:
        card = json.loads((folder / FIGURE_CARD).read_text())
    except (OSError, ValueError):
        return {}
    return card if isinstance(card, dict) else {}


def ensure_figure(result: Result) -> list[Path]:
    """The figure beside a stored result; one that is there as it would be drawn is as good as new."""
    if result.path is None:
        return []
    card = result.path / FIGURE_CARD
    if result.from_store and is_drawn(result.path):
        return figure_paths(result.path)
    if result.from_store and card.exists() and _card(result.path).get("code") in (None, drawing_code()):
        warnings.warn(f"the figure in {result.path} is damaged; drawn again", FestinaWarning, stacklevel=2)
    card.unlink(missing_ok=True)
    paths = save_figure(result, result.path)
    write_json(card, {"code": drawing_code(), "files": hashes(result.path, paths)})
    return paths


def save_figure(result: Result, folder: Path) -> list[Path]:
    """Draw a result's figure into a folder; each file appears whole or not at all."""
    paths = figure_paths(folder)
    for path, content in zip(paths, draw(result).values(), strict=True):
        write_bytes(path, content)
    return paths
