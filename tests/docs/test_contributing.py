"""The guide to adding a model and an experiment works as written."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import festina

GUIDE = Path(__file__).resolve().parent.parent.parent / "CONTRIBUTING.md"
SOURCE = Path(festina.__file__).parent


@pytest.mark.full
def test_the_guide_s_model_and_experiment_pass_its_own_tests(tmp_path):
    """In a copy of the package, file by file, as a reader would."""
    model, experiment, tests = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    package = tmp_path / "festina"
    shutil.copytree(SOURCE, package, ignore=shutil.ignore_patterns("__pycache__", "static"))
    (package / "models" / "decay.py").write_text(model, encoding="utf-8")
    (package / "experiments" / "linear" / "decay.py").write_text(experiment, encoding="utf-8")
    line = "from .decay import Decay as Decay"
    assert f"`{line}`" in GUIDE.read_text(encoding="utf-8")
    with (package / "models" / "__init__.pyi").open("a", encoding="utf-8") as stub:
        stub.write(f"{line}\n")
    (tmp_path / "test_decay.py").write_text(tests, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_decay.py"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and "3 passed" in done.stdout, done.stdout + done.stderr
