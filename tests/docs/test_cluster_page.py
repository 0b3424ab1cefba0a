"""The page on sweeps: its commands do what it says, word for word, on a smaller grid."""

import re
import shlex
from pathlib import Path

import pytest

from festina.cli import main

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "cluster.md"
COMMANDS = [
    line.removeprefix("$ ")
    for block in re.findall(r"```console\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    for line in block.splitlines()
]


def smaller(command: str, store: Path) -> list[str]:
    """The words of a command with a grid of a few points, and a store of its own."""
    words = [re.sub(r":\d+$", ":2", word) if "=l" in word else word for word in shlex.split(command)]
    words = [str(store) if word == "runs" else word for word in words]
    return [*words[1:], "--budget", "quick"] if "--over" in words else words[1:]


def test_the_page_has_the_commands_it_is_about():
    named = {tuple(command.split()[:3]) for command in COMMANDS}
    for expected in ("sweep status", "sweep resume", "sweep slurm", "sweep linear/chain"):
        assert ("festina", *expected.split()) in named


@pytest.mark.full
def test_the_commands_of_one_machine_in_turn(tmp_path, capsys):
    own = [c for c in COMMANDS if c.startswith("festina ") and "--scheduler" not in c]
    assert len(own) == 5
    for command in own:
        assert main(smaller(command, tmp_path)) == 0, command
    out = capsys.readouterr().out
    assert "4 of 4 runs done (100%)" in out and "All sweeps in" in out and "slurm.sh" in out


def test_the_commands_of_dask_are_dasks_own():
    pytest.importorskip("distributed")
    from distributed.cli import dask_scheduler, dask_worker

    for tool, module in (("scheduler", dask_scheduler.main), ("worker", dask_worker.main)):
        (command,) = [c for c in COMMANDS if c.startswith(f"dask {tool}")]
        flags = {flag for parameter in module.params for flag in (*parameter.opts, *parameter.secondary_opts)}
        assert {word for word in command.split() if word.startswith("--")} <= flags
