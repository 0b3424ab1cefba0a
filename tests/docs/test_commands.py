"""Every command that a page shows ends well, as it is written; a command that would take hours is asked for a look."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from patience import PATIENCE
from shared import RESULTS

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)
KEPT = {name: value for name, value in os.environ.items() if name.startswith(("JAX_", "XLA_", "PYTHONPATH"))}
"""Where compiled programs are, how they are compiled, and the code under test; nothing else of who runs the tests."""

HOURS = {"festina reproduce": "rectified race/xor --budget quick"}
"""Commands that take hours, and what is added to them here; tests/experiments/test_verdicts.py has all quick runs."""

ELSEWHERE = {
    "make": "tested by what the Makefile calls",
    "python -m pip install": "tests/test_wheel.py, into an empty environment",
    "dask": "tests/docs/test_cluster_page.py",
    "festina sweep": "tests/docs/test_cluster_page.py, on smaller grids",
    "festina explore": "tests/page/test_streaming.py",
    ".venv/bin/festina": "tests/docs/test_contributing.py: an experiment that the reader has yet to write",
    ".venv/bin/python docs/tables.py": "tests/docs/test_readme.py",
    "festina diagnose": "tests/watching/test_diagnose.py, on checkpoints that it makes",
    "python benchmarks": "tests/docs/test_speed.py: benchmarks are measured, not tested",
}
"""Commands that are tried in another way, and where."""


def shown() -> dict[str, str]:
    """Every command of every page, without its comment, and the page that shows it first."""
    found: dict[str, str] = {}
    for page in PAGES:
        if "_build" in page.parts or "gallery" in page.parts:
            continue
        for block in BLOCK.findall(page.read_text(encoding="utf-8")):
            for line in block.splitlines():
                if line.startswith("$ "):
                    found.setdefault(line.removeprefix("$ ").partition(" #")[0].strip(), page.name)
    return found


def files() -> dict[str, str]:
    """The files that a page shows for its commands to use, by name."""
    text = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs" / "howto").glob("*.md")))
    page = (ROOT / "docs" / "howto" / "ask_and_keep.md").read_text(encoding="utf-8")
    (settings,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    own = {name: code for code, name in re.findall(r"```python\n(# (\w+\.py)\n.*?)```", text, re.DOTALL)}
    return {"chain.toml": settings, **own}


def elsewhere(command: str) -> bool:
    return command.startswith(tuple(ELSEWHERE))


OWN = [command for command in shown() if not elsewhere(command)]


def call(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    experiments = 4 if words[0] == "reproduce" else 1
    return subprocess.run(
        [sys.executable, "-m", "festina", *words],
        cwd=folder,
        env=KEPT | {"PATH": "/usr/bin:/bin", "HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=PATIENCE * experiments,
        check=False,
    )


def test_the_pages_have_the_commands_they_are_about():
    named = {" ".join(command.split()[:2]) for command in OWN}
    assert {f"festina {word}" for word in ("list", "show", "run", "export", "reproduce", "tour")} <= named
    assert all(command.startswith("festina ") for command in OWN), "a command that no test tries"


@pytest.mark.full
@pytest.mark.parametrize("command", OWN)
def test_a_command_ends_well(command, tmp_path):
    """Exit code 0, nothing on standard error, and no claim that fails, but for those of all experiments together."""
    whole = f"{command} {HOURS.get(command, '')}"
    words = shlex.split(whole)[1:]
    if words[0] == "reproduce":
        words += ["--out", str(RESULTS)]
    for name, text in files().items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    done = call(words, tmp_path)
    assert done.returncode == 0, done.stderr
    if words[0] != "reproduce":
        assert done.stderr == "" or "-v" in words
        assert "not reproduced" not in done.stdout, done.stdout


def test_make_knows_every_target_that_is_shown():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    wanted = {command.split()[1] for command in shown() if command.startswith("make ")}
    assert wanted and wanted <= targets
    assert "DEMO ?= tour" in (ROOT / "Makefile").read_text(encoding="utf-8")
