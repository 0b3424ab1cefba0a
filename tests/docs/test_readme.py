"""The README is short, its examples run as written, its links lead somewhere, and its tables are up to date."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import festina
from patience import PATIENCE

ROOT = Path(__file__).resolve().parent.parent.parent


README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_it_is_short_and_what_it_names_is_there():
    assert len(README.splitlines()) < 150
    links = re.findall(r"\]\((?!https://)([^)#]+)", README)
    assert "docs/figures/four_bodies.png" in links
    assert [link for link in links if not (ROOT / link).exists()] == []
    assert f"festina-{festina.__version__}-py3" in README and f"version = {{{festina.__version__}}}" in README


def test_its_first_example_has_ten_lines():
    block = re.search(r"```python\n(.*?)```", README, re.DOTALL)
    assert block is not None and len(block[1].strip().splitlines()) == 10


@pytest.mark.full
def test_the_examples_run_as_written_one_after_the_other(tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(blocks) == 2
    (tmp_path / "example.py").write_text("\n".join(blocks), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "example.py"], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    assert "Trajectory(flow" in done.stdout and "Comparison(max error" in done.stdout
    assert (tmp_path / "comparison.png").stat().st_size > 10_000
    assert "exact [theory]: reproduced at 3 of 3 points" in done.stdout
    assert (tmp_path / "chain" / "result.json").exists() and (tmp_path / "runs" / "linear" / "chain").exists()


@pytest.mark.full
def test_the_example_of_task_abstractions_runs_as_written(tmp_path):
    """Ten lines on scikit-learn's digits: every switch of the second half is noticed."""
    page = (ROOT / "docs" / "theory" / "abstraction.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    assert code is not None and len(code[1].strip().splitlines()) <= 13
    (tmp_path / "example.py").write_text(code[1], encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "example.py"], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    assert "3200 steps of 20 examples, 2 paths" in done.stdout
    assert "100% of switches detected" in done.stdout


def test_the_tables_are_up_to_date():
    sys.path.insert(0, str(ROOT / "docs"))
    import tables

    for path in tables.pages():
        text = path.read_text(encoding="utf-8")
        assert tables.updated(text) == text, f"run `python docs/tables.py`: {path.name} is out of date"
