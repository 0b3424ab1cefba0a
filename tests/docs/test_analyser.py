"""The page on the analyser of codes: every example runs as written, those of other libraries where installed."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "analyser.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
SAYS = {
    "torch": (r"analog code of 3 classes in 300 neurons", r"share of the top tenth 0.4"),
    "flax": (r"analog code of 3 classes in 300 neurons", r"share of the top tenth 0.4"),
    "odours": (r"sparse code of 3 classes in 200 neurons", r"\{musk\} \[2\]"),
}


@pytest.mark.parametrize(("mark", "lines"), SAYS.items(), ids=list(SAYS))
def test_the_example_runs_as_written(mark, lines, tmp_path):
    if mark in ("torch", "flax") and importlib.util.find_spec(mark) is None:
        pytest.skip(f"{mark} is not installed")
    (code,) = [example for example in EXAMPLES if mark in example]
    (tmp_path / "example.py").write_text(code, encoding="utf-8")
    done = subprocess.run([sys.executable, "example.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    for line in lines:
        assert re.search(line, done.stdout), done.stdout


def test_every_example_is_tried():
    assert len(EXAMPLES) == len(SAYS)
