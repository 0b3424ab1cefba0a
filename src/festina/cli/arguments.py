"""From words to arguments: the flags every command has, and those an experiment's configuration gives it."""

import argparse
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

from festina.cli.fields import facts_of
from festina.errors import ArgumentError, FestinaError, FestinaWarning, UnknownName
from festina.experiment import Budget, Experiment
from festina.files import RESULTS
from festina.lab import registry
from festina.lab.own_files import is_file_name
from festina.lab.settings import OPTIONS, Settings, read_settings
from festina.lab.tables import RESERVED, flag_of

FIELD = "field:"
KINDS = (
    "Continuous fields are swept within one compiled call; for each value of a structural field the program is "
    "compiled anew."
)


class Parser(argparse.ArgumentParser):
    """A parser whose complaints are festina's own: one line, with what would be allowed."""

    def __init__(self, command: str, **options: Any) -> None:
        super().__init__(
            prog=f"festina {command}".strip(),
            allow_abbrev=False,
            formatter_class=lambda prog: argparse.HelpFormatter(prog, max_help_position=28),
            **options,
        )

    def error(self, message: str) -> NoReturn:
        raise FestinaError(f"{message}; see `{self.prog} --help`")

    @property
    def flags(self) -> set[str]:
        return {flag for action in self._actions for flag in action.option_strings if flag.startswith("--")}

    def read(self, words: list[str]) -> argparse.Namespace:
        """Parse all words, or name the first that has no meaning and the nearest that would have one."""
        found, left_over = self.parse_known_args(_with_values_attached(words, self.flags))
        for word in left_over:
            if word.startswith("-"):
                raise UnknownName(f"flag of `{self.prog}`", word.partition("=")[0], self.flags)
        if left_over:
            self.error(f"unexpected argument {left_over[0]!r}")
        return found


def _with_values_attached(words: list[str], flags: set[str]) -> list[str]:
    """Write `--field -1e-3` as `--field=-1e-3`: argparse would take the number for a flag.

    Flags may be spelled as the fields are, with underscores.
    """
    attached: list[str] = []
    for word in words:
        if word.startswith("--"):
            flag, equals, value = word.partition("=")
            attached.append(flag.replace("_", "-") + equals + value)
        elif attached and attached[-1] in flags and word.startswith("-") and _is_number(word):
            attached[-1] += f"={word}"
        else:
            attached.append(word)
    return attached


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def add_output(parser: Parser) -> None:
    """Flags of every command."""
    group = parser.add_argument_group("output")
    group.add_argument("--json", action="store_true", help="print JSON for machines, and nothing else")
    group.add_argument("--debug", action="store_true", help="show where an error came from")
    group.add_argument("--verbose", "-v", action="store_true", help="report every step on standard error; -vv: more")


def add_work(parser: Parser, *, budget: Budget = "full", first_seed: bool = True, fresh: bool = True) -> Any:
    """Flags of the commands that compute; ``budget`` is that of who names none."""
    group = parser.add_argument_group("work")
    group.add_argument("--budget", metavar="quick|full", help=f"quick for a look [default {budget}]")
    parser.set_defaults(usual_budget=budget)
    group.add_argument("--seeds", metavar="N", help="how many independent runs [default: the experiment's own]")
    if first_seed:
        group.add_argument("--first-seed", metavar="N", help="seed of the first run [default 0]")
    add_folder(group)
    if fresh:
        add_fresh(group)
    return group


def add_folder(group: Any) -> None:
    """Where results are kept."""
    group.add_argument("--out", metavar="DIR", default=RESULTS, help=f"folder of results [default {RESULTS}]")


def add_fresh(group: Any) -> None:
    """Whether the folder may answer."""
    group.add_argument("--fresh", action="store_true", help="compute even what is already in the folder")


def add_fields(parser: Parser, experiment: Experiment | None) -> None:
    """One flag for each field of the experiment's configuration, and `--set` for any of them."""
    about = "fields of the experiment" if experiment is None else f"fields of {experiment.name}"
    group = parser.add_argument_group(about, KINDS)
    group.add_argument(
        "--set", metavar="FIELD=VALUE", action="append", default=[], help="any field by its name; may be repeated"
    )
    group.add_argument("--settings", metavar="FILE", help="a TOML file with fields; flags override it")
    for facts in facts_of(experiment) if experiment else ():
        flag = flag_of(facts.name)
        if flag.removeprefix("--") in RESERVED:
            continue
        group.add_argument(flag, metavar=facts.metavar, dest=FIELD + facts.name, help=facts.sentence.replace("%", "%%"))


def fields_from(found: argparse.Namespace) -> dict[str, str]:
    """The fields that were given, by flag or by `--set`; each may be given once."""
    given = {
        name.removeprefix(FIELD): value
        for name, value in vars(found).items()
        if name.startswith(FIELD) and value is not None
    }
    for text in found.set:
        name, equals, value = text.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name:
            raise ArgumentError(f"Argument `set` must look like field=value, but is {text!r}.")
        if name in given:
            raise ArgumentError(f"Argument `{name}` must be given once, but is {given[name]!r} and {value!r}.")
        given[name] = value
    return given


def question_from(found: argparse.Namespace, experiment: Experiment) -> dict[str, Any]:
    """What is asked of an experiment, as `festina.run` takes it; a mistyped value is answered before any work."""
    settings = settings_from(found, experiment)
    fields = {**settings.fields, **fields_from(found)}
    options = options_from(found, settings)
    check(experiment, options["budget"], fields)
    return options | {"store": Path(found.out), "fresh": found.fresh} | fields


def settings_from(found: argparse.Namespace, experiment: Experiment) -> Settings:
    """What the file of settings says, if there is one."""
    return Settings() if found.settings is None else read_settings(found.settings, experiment)


def options_from(found: argparse.Namespace, settings: Settings) -> dict[str, Any]:
    """Budget and seeds: as the flags have them, or else the file of settings."""
    given = {name: getattr(found, name) for name in OPTIONS if getattr(found, name) is not None}
    asked = {**settings.options, **given}
    budget = budget_named(asked.get("budget", found.usual_budget))
    counts = {name: whole_number(name, asked.get(name)) for name in ("seeds", "first_seed")}
    return {"budget": budget, "seeds": counts["seeds"], "first_seed": counts["first_seed"] or 0}


def whole_number(name: str, text: Any) -> int | None:
    """A count, or the sentence that says what is wrong with it."""
    if text is None:
        return None
    try:
        if isinstance(text, bool | float):  # in a file of settings
            raise ValueError
        return int(text)
    except (TypeError, ValueError):
        raise ArgumentError(f"Argument `{name}` must be a whole number, but is {text!r}.") from None


def budget_from(found: argparse.Namespace) -> Budget:
    """The budget that the flags name, or the command's own."""
    return budget_named(found.usual_budget if found.budget is None else found.budget)


def budget_named(text: Any) -> Budget:
    """A budget, or the sentence that says which there are."""
    if text == "quick":
        return "quick"
    if text == "full":
        return "full"
    raise ArgumentError(f"Argument `budget` must be 'quick' or 'full', but is {text!r}.")


def split_name(words: list[str], known: Iterable[str]) -> tuple[str | None, list[str]]:
    """The name or the file of an experiment among the words, wherever it stands, and the other words."""
    known = set(known)
    place = next((place for place, word in enumerate(words) if word in known or is_file_name(word)), None)
    if place is None and words and not words[0].startswith("-"):
        place = 0
    return (None, words) if place is None else (words[place], words[:place] + words[place + 1 :])


def check(experiment: Experiment, budget: Budget, fields: dict[str, Any]) -> None:
    """Before any work: a mistyped value is answered at once. What there is to warn of is said when work begins."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FestinaWarning)
        experiment.configure(budget, **fields)


def required(name: str | None, command: str) -> Experiment:
    if name is None:
        raise FestinaError(f"{command} needs the name of an experiment: {', '.join(registry.names())}")
    return registry.find(name)
