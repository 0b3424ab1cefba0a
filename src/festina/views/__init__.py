"""What to look at: one to three pictures of every model and experiment, and the number to turn first.

They stand here, and not in the modules that compute, so that a change of what is shown costs nobody a result; a class
of one's own has them as its attributes ``pictures`` and ``headline``.
"""

from festina.views.declared import headline_of, matters_of, views_of
from festina.views.vocabulary import (
    Bars,
    Curves,
    Edge,
    Graph,
    Heat,
    Mark,
    Node,
    Plane,
    Quantity,
    Raster,
    Surface,
    View,
)

__all__ = [
    "Bars",
    "Curves",
    "Edge",
    "Graph",
    "Heat",
    "Mark",
    "Node",
    "Plane",
    "Quantity",
    "Raster",
    "Surface",
    "View",
    "headline_of",
    "matters_of",
    "views_of",
]
