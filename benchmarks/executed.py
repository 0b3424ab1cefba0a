"""Which tests execute which line, so that a fault meets first the tests that can see it.

A plugin of pytest (`-p executed`), used by mutations.py. Where EXECUTED_INTO names a file, what each test executes and
how long it takes is written there. Where EXECUTED_ORDER names a file, the tests that are listed in it are run, in its
order, and `<file>.now` tells which of them has begun last.

What a test finds ready made by an earlier one (a program that was traced, a fixture of the file) it does not execute
again, so that what is recorded of one test holds for its whole file; no two files share a process. Nor is it known what
processes execute that a test starts: files with such tests are always among those that may see a fault.
"""

import json
import os
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from coverage import Coverage

ROOMS = ("learning", "theory", "lab", "measures")
INTO, ORDER = "EXECUTED_INTO", "EXECUTED_ORDER"
STARTS = re.compile(r"subprocess|Popen|multiprocessing|Cluster|sys\.executable|workers=|processes=")
AT_ONCE, FILES_AT_ONCE = 5, 4  # tests of a file, and files, that a fault meets first


@dataclass(frozen=True)
class Record:
    """What the tests of one file and tier execute.

    Attributes:
        seconds: of each test that passes, in the order of the file.
        lines: of each module, by its path below `src`: which tests execute a line; none if only importing it does.
        starts: whether a test may start other processes.
        red: the tests that fail without a fault, too, and are not asked.
    """

    seconds: Mapping[str, float]
    lines: Mapping[str, Mapping[int, frozenset[str]]]
    starts: bool
    red: frozenset[str]

    @classmethod
    def read(cls, path: Path, tests: Path) -> "Record":
        content = json.loads(path.read_text())
        names = list(content["seconds"])
        lines = {
            module: {int(line): frozenset(names[index] for index in those) for line, those in found.items()}
            for module, found in content["lines"].items()
        }
        red = frozenset(test for test, outcome in content["out"].items() if outcome == "failed")
        return cls(content["seconds"], lines, STARTS.search(tests.read_text()) is not None, red)

    def who(self, module: str, lines: set[int]) -> set[str]:
        """The tests that execute any of these lines of a module."""
        found = self.lines.get(module, {})
        return set[str]().union(*(tests for line, tests in found.items() if line in lines))


def in_order(records: list[Record], module: str, lines: set[int], at_import: bool) -> list[list[str]]:
    """The tests that may see a change of a module: a few quick ones that execute it, all others that do, and the rest.

    Args:
        records: of all files whose tests are asked.
        module: that is changed, by its path below `src`.
        lines: tests that execute one of them come first.
        at_import: what is changed is executed by importing: whoever imports the module may see it.
    """
    seconds = {test: time for record in records for test, time in record.seconds.items()}
    near = [sorted(record.who(module, lines), key=seconds.__getitem__) for record in records]
    ranked = sorted((tests for tests in near if tests), key=lambda tests: seconds[tests[0]])
    first = [test for tests in ranked[:FILES_AT_ONCE] for test in tests[:AT_ONCE]]
    others = list[str]()
    for record, tests in zip(records, near, strict=True):
        if tests or record.starts or (at_import and record.lines.get(module)):
            others += record.seconds
    batches, met = list[list[str]](), set[str]()
    for batch in (first, [test for tests in ranked for test in tests], others):
        batches.append([test for test in batch if test not in met])
        met |= set(batch)
    return batches


class Recorder:
    """Notes what each test executes, and how long it takes."""

    def __init__(self, into: Path, source: Path) -> None:
        self.into, self.source = into, source
        rooms = [str(source / room) for room in ROOMS]
        self.counted = Coverage(data_file=None, config_file=False, source=rooms, messages=False)
        self.counted.set_option("run:core", "ctrace")  # the one that knows who executes a line
        self.seconds, self.out = defaultdict[str, float](float), dict[str, str]()
        self.counted.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        self.counted.switch_context(item.nodeid)
        try:
            return (yield)
        finally:
            self.counted.switch_context("")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] += report.duration
        if report.outcome != "passed":
            self.out[report.nodeid] = report.outcome

    def pytest_unconfigure(self) -> None:
        self.counted.stop()
        passed = {test: time for test, time in self.seconds.items() if test not in self.out}
        places = {test: index for index, test in enumerate(passed)}
        data, lines = self.counted.get_data(), dict[str, dict[int, list[int]]]()
        for path in data.measured_files():
            lines[str(Path(path).relative_to(self.source.parent))] = {
                line: sorted(places[test] for test in tests if test in places)
                for line, tests in data.contexts_by_lineno(path).items()
            }
        self.into.write_text(json.dumps({"seconds": passed, "lines": lines, "out": self.out}))


class Orderer:
    """Runs the tests that are listed in a file, in that order."""

    def __init__(self, order: Path) -> None:
        self.places = {test: place for place, test in enumerate(json.loads(order.read_text()))}
        self.now = order.with_suffix(".now")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        chosen = [item for item in items if item.nodeid in self.places]
        items[:] = sorted(chosen, key=lambda item: self.places[item.nodeid])

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.now.write_text(nodeid)


def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Before festina is imported."""
    if INTO in os.environ:
        source = Path(os.environ["PYTHONPATH"].split(os.pathsep)[0]) / "festina"
        early_config.pluginmanager.register(Recorder(Path(os.environ[INTO]), source))
    if ORDER in os.environ:
        early_config.pluginmanager.register(Orderer(Path(os.environ[ORDER])))
