"""The reference of the command line, from the parsers themselves."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager

from festina.cli.arguments import Parser
from festina.cli.commands import COMMANDS

PARTS = {"sweep": ("sweep status", "sweep resume", "sweep slurm", "sweep work")}
ANY_NAME = {"show", "run", "sweep", "export", "sweep slurm"}


class Caught(Exception):
    """A parser that was about to read words."""

    def __init__(self, parser: Parser) -> None:
        super().__init__(parser.prog)
        self.parser = parser


@contextmanager
def catching() -> Iterator[None]:
    """Within, a command hands over its parser instead of reading its words with it."""

    def caught(parser: Parser, words: list[str]) -> argparse.Namespace:
        raise Caught(parser)

    read, Parser.read = Parser.read, caught
    try:
        yield
    finally:
        Parser.read = read


def parser_of(command: str) -> Parser:
    """The parser of a command, as it is without the name of an experiment."""
    first, *rest = command.split()
    with catching():
        try:
            COMMANDS[first](rest)
        except Caught as found:
            return found.parser
    raise AssertionError(f"{command} reads its words without a parser")


def commands() -> list[str]:
    """All commands, those of two words behind the ones they belong to."""
    return [each for name in COMMANDS for each in (name, *PARTS.get(name, ()))]


def commands_page() -> str:
    head = (
        "# The command line\n\nEvery command has `--help`. Where it takes the name of an experiment or a model, "
        "`festina COMMAND NAME --help` shows its fields too; [models](../models.md) and "
        "[experiments](../experiments.md) have them on pages of their own.\n"
    )
    return "\n".join([head, *(section(command, parser_of(command)) for command in commands())])


def section(command: str, parser: Parser) -> str:
    usage = " ".join(parser.format_usage().removeprefix("usage: ").split())
    parts = [f"## festina {command}\n", f"{escape(parser.description or '')}\n", f"```text\n{usage}\n```\n"]
    rows = [row(action) for group in parser._action_groups for action in group._group_actions if says(action)]
    return "\n".join([*parts, "| argument | what it does |", "|---|---|", *rows, ""])


def says(action: argparse.Action) -> bool:
    return action.help is not argparse.SUPPRESS and "--help" not in action.option_strings


def row(action: argparse.Action) -> str:
    value = action.metavar if isinstance(action.metavar, str) else (action.dest.upper() if action.nargs != 0 else "")
    names = [f"{flag} {value}".strip() for flag in action.option_strings] or [value]
    text = (action.help or "").replace("%%", "%")
    return f"| {', '.join(f'`{name}`'.replace('|', chr(92) + '|') for name in names)} | {escape(text)} |"


def escape(text: str) -> str:
    """Text that Markdown takes as it is, also in a cell of a table."""
    return " ".join(text.split()).replace("|", r"\|").replace("$", r"\$")
