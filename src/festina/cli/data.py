"""`festina data`: which images are at hand, and how to get those that are not."""

from pathlib import Path
from typing import Any

from festina.cli import arguments
from festina.cli.arguments import Parser
from festina.cli.output import print_json, table
from festina.errors import FestinaError, UnknownName

ACTIONS = ("list", "fetch")
DIGITS = "digits"  # come with scikit-learn, and so are always there


def data(words: list[str]) -> int:
    parser = Parser(
        "data",
        usage="festina data list | festina data fetch NAME [--folder DIR]",
        description="Which images are available, and which are not: `fetch` downloads a set (mnist or fashion) and "
        "compares it with the published one. $FESTINA_DATA says where sets are kept.",
    )
    parser.add_argument("action", metavar="list|fetch", help="what to do")
    parser.add_argument("name", metavar="NAME", nargs="?", help="mnist or fashion")
    parser.add_argument(
        "--folder", metavar="DIR", help="where sets are kept, each in a folder of its name [default: the user's cache]"
    )
    arguments.add_output(parser)
    found = parser.read(words)
    if found.action not in ACTIONS:
        raise UnknownName("action of `festina data`", found.action, ACTIONS)
    if found.action == "list":
        return _list(found.folder, found.name, found.json)
    if found.name is None:
        raise FestinaError("data fetch needs the name of a set: mnist or fashion")
    return _fetch(found.name, found.folder, found.json)


def _list(folder: str | None, name: str | None, as_json: bool) -> int:
    from festina.worlds import images

    names = [DIGITS, *images.CHECKSUMS] if name is None else [name]
    sets = [_state(images, name, folder) for name in names]
    if as_json:
        print_json(sets)
    else:
        rows = [(one["name"], "yes" if one["there"] else "no", one["folder"]) for one in sets]
        print(table(("images", "there", "folder"), rows))
    return 0


def _state(images: Any, name: str, folder: str | None) -> dict[str, Any]:
    if name == DIGITS:
        return {"name": name, "there": True, "folder": "(comes with scikit-learn)"}
    place = _place(images, name, folder)
    return {"name": name, "there": images.has_images(name, place), "folder": str(place)}


def _place(images: Any, name: str, folder: str | None) -> Path:
    """The folder of a set, under the one that the user names: two sets have files of the same names."""
    return images.folder_of(name, None if folder is None else Path(folder) / name)


def _fetch(name: str, folder: str | None, as_json: bool) -> int:
    from festina.worlds import images

    place = images.fetch(name, _place(images, name, folder))
    if as_json:
        print_json({"name": name, "folder": str(place)})
    else:
        print(f"{name} is in {place}, as it was published.")
    return 0
