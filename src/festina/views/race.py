"""What to look at in races of pathways."""

from festina.views import race_logic, race_pathways, race_routing

PARTS = (race_logic, race_routing, race_pathways)

VIEWS = {name: views for part in PARTS for name, views in part.VIEWS.items()}
HEADLINES = {name: fields for part in PARTS for name, fields in part.HEADLINES.items()}
MATTERS = {name: rules for part in PARTS for name, rules in part.MATTERS.items()}
CRITICAL = {
    "model/margin": {"separation": lambda model: ((2 / 3) ** 0.5,)},
    "model/gated-margin": {"separation": lambda model: ((2 / 3) ** 0.5,)},
    "model/similar-tasks": {"mean_target": lambda model: (1 / model.tasks,)},  # where the cosine is −1/C
}
"""Margins at which both kinds of pathways are as fast; the cosine of targets above which a shared pathway wins."""
