"""The house: rooms in the order in which data passes through them; a room takes nothing from a room below it.

Imports count wherever they stand, also in functions, and so do names taken as attributes, as in ``fs.theory.chain``.
"""

import pytest

from festina.lab.identity import PACKAGE, _module_of, _named_in, _text

ROOMS = (
    "worlds",
    "networks",
    "learning",
    "theory",
    "measures",
    "models",
    "figures",
    "experiments",
    "lab",
    "views",
    "watching",
    "page",
    "cli",
)
CONTRACTS = {  # what rooms share: each may use the rooms above the one it is written for
    "model": "measures",
    "arms": "measures",
    "experiment": "measures",
    "claims": "measures",
}
FRONT_DOORS = {  # methods for users that call the lab; what they call is not needed to define anything
    ("festina.model", "festina.lab.run"),
    ("festina.model", "festina.lab.solve"),
    ("festina.model", "festina.lab.sweeps.swept"),
    ("festina.experiment", "festina.lab.kept"),
    ("festina.experiment", "festina.lab.report"),
    ("festina.experiment", "festina.lab.batch"),
    ("festina.experiment", "festina.lab.labelled"),
}
MODULES = sorted(_module_of(path) for path in PACKAGE.rglob("*.py"))


def place(module: str) -> int | None:
    """How far down the house a module is; None if it is in no room."""
    parts = module.split(".")
    room = CONTRACTS.get(parts[1], parts[1]) if len(parts) > 1 else ""
    return ROOMS.index(room) if room in ROOMS else None


@pytest.mark.parametrize("module", [module for module in MODULES if place(module) is not None])
def test_a_room_takes_nothing_from_the_rooms_below_it(module):
    here = place(module)
    taken = {name for name in _named_in(_text(module)) if (module, name) not in FRONT_DOORS}
    assert not [name for name in taken if (there := place(name)) is not None and here is not None and there > here]


def test_what_is_in_no_room_takes_nothing_from_any_but_the_contracts():
    """Configurations, errors, sources, words: all rooms use them."""
    loose = [module for module in MODULES if place(module) is None and module.count(".") == 1]
    found = {module: [name for name in _named_in(_text(module)) if place(name) is not None] for module in loose}
    assert {module for module, names in found.items() if names} <= {"festina.__main__", "festina.testing"}


def test_imports_below_are_seen():
    assert "festina.lab.run" in _named_in("import festina as fs\n\ndef f():\n    return fs.run(1)\n")
    assert "festina.theory.chain" in _named_in("def f():\n    from festina.theory import chain\n")
