"""What to look at in races of pathways."""

from festina.views import race_logic, race_pathways, race_routing

PARTS = (race_logic, race_routing, race_pathways)

VIEWS = {name: views for part in PARTS for name, views in part.VIEWS.items()}
HEADLINES = {name: fields for part in PARTS for name, fields in part.HEADLINES.items()}
MATTERS = {name: rules for part in PARTS for name, rules in part.MATTERS.items()}
