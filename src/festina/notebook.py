"""How results show themselves in a notebook: sentences as a list, numbers as a table, and their data below."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from html import escape


def told(text: str) -> str:
    """What an object prints, as HTML: its first line as a paragraph, lines that are indented below it as a list.

    Args:
        text: as ``repr`` or ``str`` gives it.

    Example:
        >>> from festina.notebook import told
        >>> told("rich\\n  because the kernel turned")
        '<p>rich</p><ul><li>because the kernel turned</li></ul>'
    """
    parts: list[str] = []
    items: list[str] = []
    for line in [*filter(str.strip, text.splitlines()), ""]:
        if line.startswith(" "):
            items.append(f"<li>{escape(line.strip())}</li>")
            continue
        parts += [f"<ul>{''.join(items)}</ul>"] if items else []
        parts += [f"<p>{escape(line)}</p>"] if line else []
        items = []
    return "".join(parts)


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table with a row of headings.

    Args:
        head: what the columns are.
        rows: of any values; those that are no text are shown as Python prints them.

    Example:
        >>> from festina.notebook import table
        >>> table(["mode", "s"], [["first", 3.0]])
        '<table><tr><th>mode</th><th>s</th></tr><tr><td>first</td><td>3.0</td></tr></table>'
    """
    lines = [_row("th", head), *(_row("td", row) for row in rows)]
    return f"<table>{''.join(lines)}</table>"


def _row(cell: str, values: Iterable[object]) -> str:
    return f"<tr>{''.join(f'<{cell}>{escape(str(value))}</{cell}>' for value in values)}</tr>"


class Told:
    """For objects of which a notebook shows what they print: ``repr`` or ``str``, as a paragraph and a list.

    Example:
        >>> from festina.notebook import Told
        >>> class Answer(Told):
        ...     def __str__(self): return "yes"
        >>> Answer()._repr_html_()
        '<p>yes</p>'
    """

    __slots__ = ()

    def _repr_html_(self) -> str:
        return told(str(self))


def in_kernel() -> bool:
    """Whether this process is a Jupyter kernel: its standard error is no terminal, and yet somebody may look at it."""
    python = sys.modules.get("IPython")
    shell = python.get_ipython() if python is not None else None
    return shell is not None and "IPKernelApp" in shell.config
