"""The package's own papers agree with each other: versions, extras and groups, citation, files of the community."""

import re
import tomllib
from pathlib import Path

import festina
from large_files import LARGEST, too_large

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def group(name: str) -> set[str]:
    """The requirements of a dependency group, and of those that it includes."""
    found: set[str] = set()
    for entry in PROJECT["dependency-groups"][name]:
        found |= {entry} if isinstance(entry, str) else group(entry["include-group"])
    return found


def test_groups_are_the_extras():
    extras = PROJECT["project"]["optional-dependencies"]
    assert {name: group(name) for name in ("dev", "docs")} == {name: set(extras[name]) for name in ("dev", "docs")}


def test_every_requirement_has_its_tested_version():
    """In constraints.txt, which the Makefile installs with."""
    pinned = {line.partition("==")[0] for line in text("constraints.txt").splitlines() if "==" in line}
    extras = PROJECT["project"]["optional-dependencies"]
    asked = [*PROJECT["project"]["dependencies"], *(line for lines in extras.values() for line in lines)]
    names = {re.split(r"[\[>=<]", line)[0] for line in asked}
    assert names - pinned == set()


def test_the_version_is_the_same_everywhere():
    assert f"\nversion: {festina.__version__}\n" in text("CITATION.cff")
    heads = re.findall(r"^## \[(.*?)\]", text("CHANGELOG.md"), re.MULTILINE)
    assert heads[:2] in ([festina.__version__, "0.1.0"], ["Unreleased", festina.__version__])


def test_what_a_newcomer_looks_for_is_there():
    names = (
        "LICENSE",
        "CITATION.cff",
        "CODE_OF_CONDUCT.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "SUPPORT.md",
        "paper.md",
    )
    assert [name for name in names if not (ROOT / name).is_file()] == []
    workflow = text(".github/workflows/ci.yml")
    targets = set(re.findall(r"^([a-z-]+):", text("Makefile"), re.MULTILINE))
    called = re.findall(r"run: make ([a-z-]+)", workflow)
    assert "test" in called and set(called) <= targets


def test_the_paper_has_the_sections_that_its_journal_asks_for_and_cites_what_it_lists():
    paper, listed = text("paper.md"), set(re.findall(r"^@\w+\{(\w+),", text("paper.bib"), re.MULTILINE))
    heads = re.findall(r"^# (.*)$", paper, re.MULTILINE)
    assert {"Summary", "Statement of need", "State of the field", "Software design"} <= set(heads)
    assert {"Research impact statement", "AI usage disclosure", "References"} <= set(heads)
    assert set(re.findall(r"@(\w+\d{4}\w*|\w+)(?=[;\]])", paper)) == listed


def test_large_files_are_named(tmp_path):
    (tmp_path / "large").write_bytes(bytes(LARGEST + 1))
    (tmp_path / "small").write_bytes(bytes(LARGEST))
    (said,) = too_large([str(tmp_path / name) for name in ("large", "small", "none")])
    assert "large has 500,001 bytes" in said
