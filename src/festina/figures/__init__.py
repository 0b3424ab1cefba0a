"""How it looks: style, palette, and panels that know simulation from theory and arms from seeds."""

from festina._lazy import attributes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from festina.figures import style
    from festina.figures.panels import DOTS, Page, curves, end_points, label_of, looks_of, map_of, share_scale
    from festina.figures.style import draw_band, letter

__getattr__ = attributes(
    "festina.figures",
    {
        "DOTS": "festina.figures.panels",
        "Page": "festina.figures.panels",
        "curves": "festina.figures.panels",
        "draw_band": "festina.figures.style",
        "end_points": "festina.figures.panels",
        "label_of": "festina.figures.panels",
        "letter": "festina.figures.style",
        "looks_of": "festina.figures.panels",
        "map_of": "festina.figures.panels",
        "share_scale": "festina.figures.panels",
        "style": "festina.figures.style",
    },
)

__all__ = [
    "DOTS",
    "Page",
    "curves",
    "draw_band",
    "end_points",
    "label_of",
    "letter",
    "looks_of",
    "map_of",
    "share_scale",
    "style",
]
