"""Every cell of every tutorial runs, in order, and the lessons are built as lessons are."""

import json
import re
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

RUNNER = Path(__file__).with_name("run_pages.py")
DOCS = Path(__file__).resolve().parent.parent.parent / "docs"
LESSONS = {path.stem: path for path in sorted((DOCS / "tutorials").glob("*.md")) if path.stem != "index"}
CELL = re.compile(r"```\{code-cell\} (?:python|ipython3)\n((?::.*\n)*)(.*?)```", re.DOTALL)
SAYS = {
    "first_network": (r"max error: map \d\.\d+e-02",),
    "race": (r"3 paths: ", r"the reduction applies", r"FAILS: moments are mutually diagonalisable"),
    "tasks": (r"4000 cards in a block: right in 9\d", r" 100 cards in a block: right in [45]\d"),
    "codes": (r"redundant code of 3 classes in 100 neurons", r"sparse code of 3 classes in 100 neurons"),
    "lazy_or_rich": (r"19 looks from step 0 to 512, 2 layers", r"^rich$", r"^lazy$", r"trained alike"),
    "sweeps": (r"\('imbalance', 'scale'\) \(9, 3\)",),
}
"""What cells print, by lesson."""


def cells(lesson: str) -> list[str]:
    """The code of a lesson, cell by cell."""
    return [code for _, code in CELL.findall(LESSONS[lesson].read_text(encoding="utf-8"))]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """What every lesson said, and how it failed, if it did; all of them run in one process."""
    files = {}
    for lesson in SAYS:
        files[lesson] = tmp_path_factory.mktemp("lesson") / f"{lesson}.py"
        code = "\n".join(["import matplotlib", "matplotlib.use('Agg')", *cells(lesson)])
        files[lesson].write_text(code, encoding="utf-8")
    done = subprocess.run([sys.executable, RUNNER, *map(str, files.values())], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    return {lesson: said[str(path)] for lesson, path in files.items()}


@pytest.mark.full
@pytest.mark.parametrize("lesson", SAYS)
def test_every_cell_runs_and_says_what_the_text_says(lesson, outcomes):
    said, error = outcomes[lesson]
    assert error == ""
    for line in SAYS[lesson]:
        assert re.search(line, said, re.MULTILINE), said


@pytest.mark.parametrize("lesson", SAYS)
def test_a_lesson_teaches_asks_and_leads_on(lesson):
    text = LESSONS[lesson].read_text(encoding="utf-8")
    assert "*What you learn: " in text and f"<{lesson}.ipynb>`" in text
    assert "## A question" in text and "{dropdown} Why it is so" in text and "## Try next" in text
    assert len(cells(lesson)) >= 4
    assert sum("plt." in cell or ".plot()" in cell for cell in cells(lesson)) >= 2, "a lesson shows what it says"


def test_the_index_lists_the_lessons():
    index = (DOCS / "tutorials" / "index.md").read_text(encoding="utf-8").splitlines()
    assert all(any(fnmatch(lesson, line) for line in index) for lesson in SAYS)
