"""One run as one file: charts, claims and equations that work from a disk, with no server and no network.

The file holds the page's own modules, unchanged but for the names they import one another by, and the run as JSON.
"""

import json
import posixpath
import re
from base64 import b64encode
from html import escape
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from festina._version import __version__
from festina.experiment import Result
from festina.files import write_atomically
from festina.lab.question import Question
from festina.lab.tables import as_json, seeds_of, value_text
from festina.page.describe import describe
from festina.page.runs import verdicts_of
from festina.page.scenes import scenes
from festina.page.series import MOST_TIMES, chosen, lines, numbers, of_dataset
from festina.views import views_of

STATIC = Path(__file__).with_name("static")
TEMPLATE = Path(__file__).with_name("export.html")
ENTRY = "exported.js"
STYLES = (
    "vendor/uplot/uPlot.min.css",
    "vendor/katex/katex.min.css",
    "css/base.css",
    "css/experiment.css",
    "css/views.css",
    "css/charts.css",
)
SCRIPTS = ("vendor/uplot/uPlot.iife.min.js", "vendor/katex/katex.min.js")
IMPORT = re.compile(r'(\bfrom |\bimport )"(\.{1,2}/[\w./-]+\.js)"')
FONTS = re.compile(r"src:url\((fonts/[\w-]+\.woff2)\)[^;}]*")


def write_page(result: Result, path: Path) -> Path:
    """Write a result as a self-contained page; the file appears whole or not at all."""
    page = page_of(result)

    def write(temporary: Path) -> None:
        temporary.write_text(page, encoding="utf-8")

    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, write)
    return path


def page_of(result: Result) -> str:
    """The whole page as text."""
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        version=escape(__version__, quote=True),
        title=escape(result.experiment.name),
        rerun=f"<code>{escape(Question.answered_by(result).command)}</code>",
        styles="\n".join(f"<style>{_style(name)}</style>" for name in STYLES),
        scripts="\n".join(f"<script>{_script(name)}</script>" for name in SCRIPTS),
        modules=_inside_script(json.dumps({"imports": modules()})),
        run=_inside_script(json.dumps(content_of(result), ensure_ascii=False, allow_nan=False)),
    )


def content_of(result: Result) -> dict[str, Any]:
    """All that the page shows of a result, as JSON."""
    attrs = result.data.attrs
    config = result.config
    return as_json(
        {
            "version": __version__,
            "experiment": describe(result.experiment),
            "settings": {name: value_text(getattr(config, name)) for name in type(config).model_fields},
            "budget": attrs.get("budget", "full"),
            "seeds": seeds_of(result),
            "created": attrs.get("created", ""),
            "seconds": attrs.get("seconds"),
            "failures": result.failures,
            "simulation": _answer(result, result.data),
            "theory": None if result.theory is None else _answer(result, result.theory),
            "claims": verdicts_of(result),
            "command": Question.answered_by(result).command,
            "python": Question.answered_by(result).python,
        }
    )


def _answer(result: Result, data: Any) -> dict[str, Any]:
    """Times and series as the page's server sends them."""
    shown = chosen(data.sizes["time"], MOST_TIMES)
    clock = data["clock"].values[0] if "clock" in data.coords else data["time"].values
    series = lines(of_dataset(data, result.experiment), shown)
    pictured = scenes(views_of(result.experiment), data, result.config)
    return {"times": numbers(np.asarray(clock)[shown]), "series": series, "scenes": pictured}


def modules() -> dict[str, str]:
    """The page's modules that the exported page needs, under their names, as addresses that hold their text."""
    found: dict[str, str] = {}
    waiting = [ENTRY]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        text = (STATIC / "js" / name).read_text(encoding="utf-8")
        waiting += [_beside(name, imported) for _, imported in IMPORT.findall(text)]
        # An address that holds its own text has no folder for "./" to mean anything in.
        renamed = IMPORT.sub(lambda found, name=name: f'{found[1]}"festina/{_beside(name, found[2])}"', text)
        found[name] = _data_address("text/javascript", renamed.encode())
    return {f"festina/{name}": address for name, address in sorted(found.items())}


def _beside(name: str, imported: str) -> str:
    """What a module means by "./other.js" or "../other.js", from the folder of all modules."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), imported))


def _style(name: str) -> str:
    """A style sheet with its fonts in it; one format of each is enough for every browser that has modules."""
    path = STATIC / name

    def embedded(font: re.Match[str]) -> str:
        return f"src:url({_data_address('font/woff2', (path.parent / font[1]).read_bytes())}) format('woff2')"

    return FONTS.sub(embedded, path.read_text(encoding="utf-8"))


def _script(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8").replace("</script", r"<\/script")


def _inside_script(text: str) -> str:
    """JSON that cannot end the element it stands in."""
    return text.replace("<", r"\u003c")


def _data_address(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{b64encode(content).decode()}"
