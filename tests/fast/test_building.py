"""Kernels are built where they can be, once, and missed by nobody where they cannot."""

import logging
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from festina import fast
from festina.fast import building
from narrowing import there
from patience import PATIENCE

FAKE = """#!/bin/sh
echo called >> "{folder}/calls"
case "$1" in --version) echo "fake 1.0"; exit 0;; esac
{first}
while [ $# -gt 1 ]; do case "$1" in -o) out="$2";; esac; shift; done
cp "{library}" "$out"
"""


@pytest.fixture
def alone(monkeypatch, tmp_path, caplog):
    """A place of its own to build in, with nothing known of compilers; what is said of them."""
    monkeypatch.setenv("FESTINA_FAST", "1")
    monkeypatch.setenv("FESTINA_CACHE", str(tmp_path / "cache"))
    building._library.cache_clear()
    caplog.set_level(logging.INFO, logger="festina")
    yield lambda: [each.getMessage() for each in caplog.records]
    building._library.cache_clear()


@pytest.fixture
def fake(kernels, tmp_path):
    """Writes a compiler that hands out the kernels that are there, after some commands of one's own."""
    (built,) = {Path(there(fast.library())._name)}

    def write(first=""):
        script = tmp_path / "fakecc"
        script.write_text(FAKE.format(folder=tmp_path, first=first, library=built))
        script.chmod(0o755)
        return str(script)

    return write


def refused(said, words):
    """Nothing is built, and one line says why, however often one asks."""
    assert fast.library() is None and fast.library() is None
    (line,) = [each for each in said() if "are not used" in each]
    assert words in line and "\n" not in line


def test_without_a_compiler_jax_does_the_work(alone, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(building, "find_spec", lambda name: None)
    refused(alone, "no C compiler was found")


def test_the_extra_brings_a_compiler(monkeypatch, tmp_path):
    monkeypatch.setattr(building, "find_spec", lambda name: name == "ziglang")
    assert building.compiler("", str(tmp_path)) == [sys.executable, "-m", "ziglang", "cc"]


def test_a_compiler_that_is_named_must_be_there(alone, monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler -O2")
    refused(alone, "CC names 'no-such-compiler -O2', which cannot be run")


@pytest.mark.parametrize(
    ("first", "words"),
    [
        ("echo 'error: it is broken' >&2; echo more >&2; exit 1", "could not build them: error: it is broken"),
        ("exit 0", "could not build them: it says nothing"),
        ("kill -9 $$", "could not build them: it says nothing"),
    ],
    ids=["fails", "writes nothing", "is killed"],
)
def test_a_broken_compiler_costs_a_line(first, words, fake, alone, monkeypatch, tmp_path):
    monkeypatch.setenv("CC", fake(first))
    refused(alone, words)
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


def test_a_compiler_that_builds_something_else_is_not_believed(fake, alone, monkeypatch):
    monkeypatch.setenv(
        "CC", fake('for w in "$@"; do [ "$o" = 1 ] && echo text > "$w" && exit 0; o=0; [ "$w" = -o ] && o=1; done')
    )
    refused(alone, "")


@pytest.mark.parametrize("folder", ["file/below", ""])
def test_a_folder_that_cannot_be_written_costs_a_line(folder, fake, alone, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("CC", fake())
    monkeypatch.setenv("FESTINA_CACHE", str(tmp_path / folder) if folder else "")
    refused(alone, "cannot write" if folder else "no folder to keep them in")


def test_they_are_built_once_and_anew_if_damaged(fake, alone, monkeypatch, tmp_path):
    monkeypatch.setenv("CC", fake())
    assert fast.library() is not None
    (built,) = (tmp_path / "cache").rglob("*.so")
    building._library.cache_clear()
    assert fast.library() is not None
    assert sum("building" in line for line in alone()) == 1
    damaged = tmp_path / "other" / built.relative_to(tmp_path / "cache")  # nowhere that this process has read it
    damaged.parent.mkdir(parents=True)
    damaged.write_text("damaged")
    monkeypatch.setenv("FESTINA_CACHE", str(tmp_path / "other"))
    assert fast.library() is not None and damaged.stat().st_size == built.stat().st_size
    assert sum("building" in line for line in alone()) == 2


def test_they_can_be_switched_off(alone, monkeypatch):
    for off in ("0", ""):
        monkeypatch.setenv("FESTINA_FAST", off)
        assert fast.library() is None
    assert alone() == []


BOTH = """
import numpy as np
from festina import fast
from festina.fast.joint import normals
assert fast.library() is not None
print(normals(1, 3).tolist())
"""


@pytest.mark.full
def test_two_processes_may_build_at_once(fake, tmp_path):
    settings = os.environ | {"CC": fake("sleep 0.5"), "FESTINA_CACHE": str(tmp_path / "cache"), "FESTINA_FAST": "1"}
    both = [
        subprocess.Popen([sys.executable, "-c", BOTH], env=settings, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    said = [process.communicate(timeout=PATIENCE)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0] and said[0] == said[1] != ""
    left = [path.suffix for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert left == [".so"]


def test_who_asks_for_steps_without_kernels_is_told(alone, monkeypatch):
    monkeypatch.setenv("FESTINA_FAST", "0")
    one = np.ones(1)
    descent = fast.Descent(
        np.eye(2)[None, None], np.zeros(1, int), one, one, one, one, np.ones((1, 1), int), (0,),
        np.zeros(1, np.uint64), step_size=0.5, loss_share=1.0,
    )  # fmt: skip
    with pytest.raises(RuntimeError, match="there are no kernels"):
        descent.after((np.zeros((1, 2, 2)),), (one,), 0, 1)
