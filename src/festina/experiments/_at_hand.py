"""Images that may not be there: the digits of scikit-learn stand in for them, and whoever looks is told."""

from festina.experiments.abstraction._images_sets import at_hand

__all__ = ["at_hand"]
