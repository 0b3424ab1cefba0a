"""The wheel: it builds, installs into an empty environment, and runs an experiment from there."""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import festina
from patience import PATIENCE

ROOT = Path(__file__).resolve().parent.parent
CLEAN = {
    name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV", "JAX_", "XLA_"))
}
"""As a user's shell: nothing of the tests' own environment, but for where pip finds packages."""


def call(*words: object, folder: Path, patience: float = PATIENCE) -> subprocess.CompletedProcess[str]:
    environment = CLEAN | {"JAX_PLATFORMS": "cpu", "FESTINA_CACHE": "", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    return subprocess.run(
        [*map(str, words)], cwd=folder, env=environment, capture_output=True, text=True, timeout=patience, check=False
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Built by the build backend itself, without a network."""
    pytest.importorskip("hatchling", reason="hatchling, which builds the wheel, is not installed")
    folder = tmp_path_factory.mktemp("dist")
    done = call(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, folder=ROOT)
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_has_the_package_whole_and_nothing_else(wheel):
    assert wheel.name == f"festina-{festina.__version__}-py3-none-any.whl"
    names = set(zipfile.ZipFile(wheel).namelist())
    package = Path(festina.__file__).parent
    own = {f"festina/{path.relative_to(package).as_posix()}" for path in package.rglob("*") if path.is_file()}
    own = {name for name in own if "__pycache__" not in name}
    assert own <= names and {"festina/py.typed", "festina/fast/joint.c", "festina/fast/joint_kernels.h"} <= names
    assert all(name.startswith(("festina/", f"festina-{festina.__version__}.dist-info/")) for name in names)


@pytest.mark.full
def test_the_wheel_installs_into_an_empty_environment_and_runs_an_experiment(wheel, tmp_path):
    made = call(sys.executable, "-m", "venv", "empty", folder=tmp_path)
    assert made.returncode == 0, made.stderr
    python = tmp_path / "empty" / "bin" / "python"
    constraints = ROOT / "constraints.txt"
    words = ("-m", "pip", "install", "-q", "--no-compile", "--constraint", constraints, wheel)
    installed = call(python, *words, folder=tmp_path, patience=3 * PATIENCE)  # some forty packages
    if "No matching distribution" in installed.stderr or "Max retries" in installed.stderr:
        pytest.skip("pip cannot reach a registry of packages from here")
    assert installed.returncode == 0, installed.stderr
    command = tmp_path / "empty" / "bin" / "festina"
    version = call(command, "--version", folder=tmp_path)
    assert version.stdout.split()[-1] == festina.__version__
    done = call(command, "run", "linear/chain", "--budget", "quick", folder=tmp_path)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert re.search(r"exact +theory .* reproduced$", done.stdout, re.MULTILINE), done.stdout
    assert "not reproduced" not in done.stdout, done.stdout
    where = call(python, "-c", "import festina; print(festina.__file__)", folder=tmp_path)
    assert Path(where.stdout.strip()).is_relative_to(tmp_path)
