"""Plain text as HTML: paragraphs and lists, `code`, formulas, numbers as in print."""

import re
from html import escape
from textwrap import dedent

SCIENTIFIC = re.compile(r"(?<![\w.])(-?\d+(?:\.\d+)?)e([+-]?\d+)\b")


def paragraph(text: str) -> str:
    """A part of a docstring: an equation if it is indented, else a paragraph, with a list if it has points."""
    if all(line.startswith("   ") for line in text.split("\n")):
        return f'<p class="equation">{formulas(escape(dedent(text)))}</p>'
    introduction, *items = re.split(r"^\s*[-*] ", text, flags=re.MULTILINE)
    said = f"<p>{inline(' '.join(introduction.split()))}</p>" if introduction.strip() else ""
    points = "".join(f"<li>{inline(' '.join(item.split()))}</li>" for item in items)
    return said + (f"<ul>{points}</ul>" if points else "")


def inline(text: str) -> str:
    """Text with its `code` marked and its formulas set."""
    marked = r"``(?P<double>.+?)``|`(?P<single>.+?)`|(?P<plain>[^`]+|`)"
    return "".join(
        formulas(found["plain"]) if found["plain"] else f"<code>{found['double'] or found['single']}</code>"
        for found in re.finditer(marked, escape(text))
    )


def formulas(text: str) -> str:
    """Raise a^2 and a^(2−2/D), lower w_1 and w_{l+1}, and keep equations from breaking at their signs."""
    text = re.sub(r"\^(?:\(([^()]*)\)|\{([^{}]*)\}|(−?\w+))", lambda found: f"<sup>{_first(found)}</sup>", text)
    text = re.sub(r"(?<=\b[^\W\d_])_(?:\{([^{}]*)\}|(\w{1,3})\b)", lambda found: f"<sub>{_first(found)}</sub>", text)
    return re.sub(r"(?<=\s)−(?=\S)", "−\u2060", text.replace(" = ", "\u00a0=\u00a0"))


def _first(found: re.Match[str]) -> str:
    """The group of a match that took part in it."""
    return next(group for group in found.groups() if group is not None)


def numbers(text: str) -> str:
    """Escaped text with 1e-08 set as a power of ten, and hyphens before digits as minus signs."""

    def power(found: re.Match[str]) -> str:
        exponent = str(int(found[2])).replace("-", "−")
        mantissa = "" if found[1] == "1" else f"{found[1]} × "
        return f"{mantissa}10<sup>{exponent}</sup>"

    return re.sub(r"(?<![\w.])-(?=\d)", "−", SCIENTIFIC.sub(power, escape(text)))
