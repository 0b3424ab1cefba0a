"""The documentation holds together: links lead somewhere, every page is reached, works are cited by keys that exist."""

import re
from pathlib import Path

import pytest

from festina import sources
from festina.sources import Source

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"
BUILT = ("_build", "gallery", "generated", "gallery_src")
PAGES = [path for path in sorted(DOCS.rglob("*.md")) if not set(BUILT) & set(path.relative_to(DOCS).parts)]
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)(?:#[^)]*)?\)")
BIBLIOGRAPHY = (DOCS / "references.bib").read_text(encoding="utf-8")
ENTRIES = dict(re.findall(r"@\w+\{(\w+),\n(.*?)\n\}", BIBLIOGRAPHY, re.DOTALL))
WORKS = [it for it in vars(sources).values() if isinstance(it, Source)]


def is_made(path: Path) -> bool:
    """Whether a page is written when the documentation is built."""
    return bool(set(BUILT) & set(path.relative_to(DOCS).parts))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_links_lead_somewhere(page):
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        path = (page.parent / target).resolve()
        assert path.is_relative_to(DOCS), target
        assert path.exists() or is_made(path), target


def listed() -> set[Path]:
    """The pages that stand in a table of contents, from the front page on."""
    seen: set[Path] = set()
    todo = [DOCS / "index.md"]
    while todo:
        page = todo.pop()
        if page in seen or not page.exists():
            continue
        seen.add(page)
        for block in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            for entry in block.splitlines():
                if entry and not entry.startswith(":"):
                    found = page.parent.resolve().glob(f"{entry}.md") if "*" in entry else [page.parent / f"{entry}.md"]
                    todo += [each.resolve() for each in found]
    return seen


def test_every_page_is_reached_from_the_front_page():
    assert {page.relative_to(DOCS) for page in PAGES} <= {page.relative_to(DOCS) for page in listed()}


@pytest.mark.parametrize("work", WORKS, ids=lambda work: work.key)
def test_every_source_stands_in_the_bibliography(work):
    entry = " ".join(ENTRIES[work.key].replace("{", "").replace("}", "").split())
    title = re.search(r"title\s*= (.*?),\s*author", entry)
    assert title is not None and title[1].lower() in work.citation.lower()


def test_works_are_cited_by_keys_that_exist():
    cited = {
        key.strip()
        for page in PAGES
        for keys in re.findall(r"\{cite:\w+\}`([^`]+)`", page.read_text(encoding="utf-8"))
        for key in keys.split(",")
    }
    assert cited <= ENTRIES.keys() and {work.key for work in WORKS} - {"steyvers2019"} <= cited


def test_the_glossary_knows_the_terms_that_it_refers_to():
    text = (DOCS / "explanation" / "glossary.md").read_text(encoding="utf-8")
    terms = {term.strip() for line in re.findall(r"^(\w[^`$]*)$", text, re.MULTILINE) for term in line.split(",")}
    for shown in re.findall(r"\{term\}`([^`]+)`", text):
        name = re.sub(r".*<(.*)>", r"\1", shown)
        assert name in {*terms, *(line for line in text.splitlines() if line and line[0] != " ")}, name
