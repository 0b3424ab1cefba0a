"""The report: one HTML file with everything in it, readable offline, on paper, in light and in dark."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING, Any

from festina._version import __version__
from festina.lab.pictures import FORMATS, draw, figure_paths, is_drawn
from festina.lab.question import Question
from festina.lab.tables import seeds_of, value_text
from festina.lab.typesetting import inline, numbers, paragraph
from festina.verdicts import KINDS, MARKS, counts, headline, summary
from festina.wording import duration

if TYPE_CHECKING:
    from festina.experiment import Experiment, Result
    from festina.lab.reproduce import Entry
    from festina.verdicts import Outcome, Verdict

LARGEST_SVG = 400_000  # bytes; beyond it a picture of pixels is smaller and quicker to show
STYLE_SHEET = Path(__file__).with_name("report.css")


@dataclass(frozen=True)
class Section:
    """A part of a report that is no experiment: its name, what it shows in a sentence, and what it is, as HTML."""

    name: str
    summary: str
    body: str


def result_section(result: Result) -> str:
    """A result as a piece of HTML that brings its own style, as notebooks show it."""
    body = _heading(result.experiment, "h3") + _body(result)
    return f'<style>{_style_sheet()}</style><section class="festina">{body}</section>'


def write_report(
    entries: Sequence[Entry],
    path: Path,
    *,
    title: str = "What held, and what did not",
    further: Sequence[Section] = (),
) -> Path:
    """Write the report of many experiments as one self-contained file.

    Args:
        entries: results and failures, as `festina.lab.reproduce.reproduce` gives them.
        path: the file to write; it appears whole or not at all.
        title: the heading.
        further: what comes after the experiments.
    """
    from festina.files import write_atomically

    page = report_page(entries, title, further)

    def write(temporary: Path) -> None:
        temporary.write_text(page, encoding="utf-8")

    write_atomically(path, write)
    return path


def report_page(entries: Sequence[Entry], title: str, further: Sequence[Section] = ()) -> str:
    """The whole page as text."""
    sections = "\n".join([*map(_section, entries), *map(_further_section, further)])
    lead = f"{_lead(entries)}\n{_contents(entries, further)}"
    return whole_page(title, lead, f"{sections}\n{_references(entries)}")


def whole_page(title: str, lead: str, body: str) -> str:
    """A page that needs nothing else, from its parts: what stands below the title, and what follows."""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(title)} · festina</title>
<style>{_style_sheet()}</style>
</head>
<body>
<main class="festina">
<header>
<p class="kicker">festina {escape(__version__)} · {_moment(datetime.now(UTC).isoformat())}</p>
<h1>{escape(title)}</h1>
{lead}
</header>
{body}
</main>
</body>
</html>
"""


def totals(entries: Sequence[Entry]) -> str:
    """The whole report in a few sentences, one for each kind of claim."""
    return f"{_ran(entries)} {summary(_verdicts(entries))}"


def _lead(entries: Sequence[Entry]) -> str:
    """The papers' claims in a sentence, and a table of all kinds."""
    found = counts(_verdicts(entries))
    outcomes: list[Outcome] = [outcome for outcome in MARKS if any(row.get(outcome) for row in found.values())]
    head = "".join(f'<th title="{outcome}">{MARKS[outcome]}</th>' for outcome in outcomes)
    rows = "".join(
        f"<tr><td><em>{kind}</em>: {escape(KINDS[kind])}</td>"
        + "".join(f'<td class="number">{row.get(outcome, "")}</td>' for outcome in outcomes)
        + "</tr>"
        for kind, row in found.items()
    )
    table = f"<table><thead><tr><th>Whose statement</th>{head}</tr></thead><tbody>{rows}</tbody></table>"
    said = f"{_ran(entries)} {headline(_verdicts(entries))}"
    return f'<p class="lead">{escape(said)}</p>{table if len(found) > 1 else ""}'


def _ran(entries: Sequence[Entry]) -> str:
    """How many experiments ran, and how many could not."""
    ran = sum(entry.result is not None for entry in entries)
    lost = f" {len(entries) - ran} more could not be run." if ran < len(entries) else ""
    return f"{ran} {'experiment' if ran == 1 else 'experiments'} ran.{lost}"


def _verdicts(entries: Sequence[Entry]) -> list[Verdict]:
    return [verdict for entry in entries for verdict in entry.verdicts]


def _section(entry: Entry) -> str:
    heading = _heading(entry.experiment, "h2") if entry.experiment else f"<h2>{escape(entry.name)}</h2>"
    if entry.error:
        heading += f'<p class="trouble"><strong>Failed.</strong> {escape(entry.error)}</p>'
    body = _body(entry.result) if entry.result is not None else _without_result(entry)
    return f'<section id="{_anchor(entry.name)}">{heading}{body}</section>'


def _further_section(section: Section) -> str:
    heading = f'<p class="kicker">{escape(section.name)}</p><h2 class="summary">{inline(section.summary)}</h2>'
    return f'<section id="{_anchor(section.name)}">{heading}{section.body}</section>'


def _without_result(entry: Entry) -> str:
    """All that can be said of an experiment that gave no result."""
    explained = _explanation(entry.experiment) if entry.experiment else ""
    return f"{explained}<h4>To try again</h4><pre>festina run {escape(entry.name)} --debug</pre>"


def _body(result: Result) -> str:
    return (
        _figure(result)
        + _explanation(result.experiment)
        + _claims(result.verdicts)
        + _notes(result)
        + _failures(result.failures)
        + _origin(result)
    )


def _heading(experiment: Experiment, level: str) -> str:
    sources = " · ".join(escape(source.short) for source in experiment.sources)
    return (
        f'<p class="kicker">{escape(experiment.name)}{" · " if sources else ""}{sources}</p>'
        f'<{level} class="summary">{inline(experiment.summary())}</{level}>'
    )


def _explanation(experiment: Experiment) -> str:
    """The docstring below its first line: paragraphs, and indented blocks as set equations."""
    text = cleandoc(type(experiment).__doc__ or "")
    blocks = re.split(r"\n\s*\n", text)[1:] if "\n" in text else []
    return "".join(paragraph(block) for block in blocks if block.strip())


def _figure(result: Result) -> str:
    try:
        kind, content = _picture(result)
    except Exception as error:  # the numbers are worth showing without the picture
        return f'<p class="trouble">The figure could not be drawn: {escape(f"{type(error).__name__}: {error}")}</p>'
    return picture(kind, content, f"Figure of {result.experiment.name}: {result.experiment.summary()}")


def picture(kind: str, content: bytes, described: str) -> str:
    """A picture with its bytes in it, and in words for those who cannot see it."""
    encoded = b64encode(content).decode()
    return f'<figure><img alt="{escape(described, quote=True)}" src="data:image/{kind};base64,{encoded}"></figure>'


def _picture(result: Result) -> tuple[str, bytes]:
    """The figure that lies beside the stored result, or else one drawn now."""
    if result.path is not None and is_drawn(result.path):
        drawn = {name: path.read_bytes() for name, path in zip(FORMATS, figure_paths(result.path), strict=True)}
    else:
        drawn = draw(result)
    return ("svg+xml", drawn["svg"]) if len(drawn["svg"]) <= LARGEST_SVG else ("png", drawn["png"])


def _claims(verdicts: Sequence[Verdict]) -> str:
    """A table of claims, and below it one of the checks of the computation."""
    if not verdicts:
        return ""
    checks = [verdict for verdict in verdicts if verdict.kind == "check"]
    shown = [verdict for verdict in verdicts if verdict.kind != "check"]
    kinds = "; ".join(
        f"<em>{kind}</em>: {escape(KINDS[kind])}" for kind in KINDS if any(kind == it.kind for it in shown)
    )
    return (
        (f"<h4>Claims</h4>{_verdicts_table(shown)}" if shown else "")
        + (f"<h4>Checks of the computation</h4>{_verdicts_table(checks)}" if checks else "")
        + f'<p class="small">{escape(summary(verdicts))} '
        + "Measured: mean ± standard deviation, and below it the smallest and the largest value. "
        + f"{kinds}{'.' if kinds else ''}</p>"
    )


def _verdicts_table(verdicts: Sequence[Verdict]) -> str:
    head = "<th>Claim</th><th>Kind</th><th>Expected</th><th>Measured</th><th>Verdict</th>"
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(map(_claim, verdicts))}</tbody></table>"


def _claim(verdict: Verdict) -> str:
    remark = f'<span class="aside">{inline(verdict.remark)}</span>' if verdict.remark else ""
    statement = (
        f'{inline(verdict.statement)}<span class="aside">{escape(verdict.source)} · '
        f"<code>{escape(verdict.claim)}</code></span>"
    )
    mark = f'<span class="mark" aria-hidden="true">{MARKS[verdict.outcome]}</span>'
    measured = f"{numbers(verdict.measurement)}{_range(verdict)}"
    return (
        f"<tr><td>{statement}</td><td>{verdict.kind}</td>"
        f'<td class="number">{numbers(verdict.expectation)}</td><td class="number">{measured}</td>'
        f'<td class="verdict {verdict.outcome.replace(" ", "-")}">{mark} {escape(verdict.word)}{remark}</td></tr>'
    )


def _range(verdict: Verdict) -> str:
    if not verdict.spread or verdict.worst is None:
        return ""
    low, high = verdict.worst
    return f'<span class="aside">{numbers(f"{low:.2g} … {high:.2g}")}</span>'


def _notes(result: Result) -> str:
    notes = result.data.attrs.get("notes", [])
    return _list("Notes", [notes] if isinstance(notes, str) else list(notes))


def _failures(failures: list[str]) -> str:
    return _list("Runs that failed", failures)


def _list(heading: str, items: list[Any]) -> str:
    if not items:
        return ""
    return f"<h4>{heading}</h4><ul>{''.join(f'<li>{escape(str(item))}</li>' for item in items)}</ul>"


def _origin(result: Result) -> str:
    """Where the numbers come from, and how to get them again."""
    attrs = result.data.attrs
    seeds = seeds_of(result)
    runs = f"{len(seeds)} (seed{'' if len(seeds) == 1 else 's'} {_span(seeds)}), {attrs.get('budget', '?')} budget"
    settings = ", ".join(
        f"{name} = {value_text(getattr(result.config, name))}" for name in type(result.config).model_fields
    )
    facts = {
        "Runs": runs,
        "Settings": settings,
        "Code": f"festina {attrs.get('version', '?')}"
        + (f", commit {attrs['commit']}" if attrs.get("commit") else "")
        + f", jax {attrs.get('jax', '?')}, {attrs.get('precision', '?')}",
        "Computed": f"{_moment(attrs.get('created', ''))}, in {duration(float(attrs.get('seconds', float('nan'))))}",
    }
    rows = "".join(f"<dt>{name}</dt><dd>{escape(text)}</dd>" for name, text in facts.items() if text)
    return f"<h4>To run it again</h4><pre>{escape(Question.answered_by(result).command)}</pre><dl>{rows}</dl>"


def _span(seeds: list[int]) -> str:
    return f"{seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else ", ".join(map(str, seeds))


def _contents(entries: Sequence[Entry], further: Sequence[Section]) -> str:
    """What the report holds, with a mark for each claim; a single experiment needs no such list."""
    if len(entries) + len(further) < 2:
        return ""
    rows = "".join([*map(_content, entries), *(_row(part.name, inline(part.summary), "") for part in further)])
    legend = " · ".join(f"{mark} {outcome}" for outcome, mark in MARKS.items())
    return f'<table class="contents"><tbody>{rows}</tbody></table><p class="small">{legend}</p>'


def _content(entry: Entry) -> str:
    summary = inline(entry.experiment.summary()) if entry.experiment else ""
    outcomes = [verdict.outcome for verdict in entry.verdicts]
    found = [f"{mark} {outcomes.count(outcome)}" for outcome, mark in MARKS.items() if outcome in outcomes]
    marks = "failed" if entry.result is None else "&ensp;".join(found)
    return _row(entry.name, summary, marks)


def _row(name: str, summary: str, marks: str) -> str:
    link = f'<a href="#{_anchor(name)}">{escape(name)}</a>'
    return f'<tr><td>{link}</td><td>{summary}</td><td class="marks">{marks}</td></tr>'


def _references(entries: Sequence[Entry]) -> str:
    sources = {source.key: source for entry in entries if entry.experiment for source in entry.experiment.sources}
    if not sources:
        return ""
    items = "".join(
        f"<li>{escape(source.citation)} <code>{escape(key)}</code></li>" for key, source in sorted(sources.items())
    )
    return f'<section class="references"><h2>Sources</h2><ul>{items}</ul></section>'


def _anchor(name: str) -> str:
    return escape(re.sub(r"[^\w.-]+", "-", name), quote=True)


def _moment(stamp: str) -> str:
    """A time stamp as people read it."""
    try:
        return datetime.fromisoformat(stamp).strftime("%Y-%m-%d %H:%M %Z").strip()
    except ValueError:
        return stamp or "at an unknown time"


def _style_sheet() -> str:
    return STYLE_SHEET.read_text(encoding="utf-8")
