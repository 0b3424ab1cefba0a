"""The page on speed: every table it has was written by a benchmark that exists, and every benchmark has one."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
TEXT = (ROOT / "docs" / "speed.md").read_text(encoding="utf-8")
BENCHMARKS = ROOT / "benchmarks"
HELPERS = {"__main__", "table", "kernels"}
BLOCK = re.compile(r"<!-- begin (\w+) -->\n(.*?)<!-- end (\w+) -->", re.DOTALL)
BLOCKS = {match[1]: match for match in BLOCK.finditer(TEXT)}


def published(path):
    """The names of the tables that a benchmark shows."""
    calls = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    return {ast.literal_eval(call.args[0]) for call in calls if ast.unparse(call.func) == "table.show"}


def programs():
    return {path.stem: path for path in BENCHMARKS.glob("*.py") if path.stem not in HELPERS}


def test_blocks_are_whole_and_appear_once():
    assert TEXT.count("<!-- begin ") == TEXT.count("<!-- end ") == len(BLOCKS)
    assert all(match[1] == match[3] for match in BLOCKS.values())


@pytest.mark.parametrize("name", BLOCKS)
def test_every_block_holds_a_table_and_where_it_was_measured(name):
    rows = re.findall(r"^\|.*\|$", BLOCKS[name][2], re.MULTILINE)
    assert len(rows) >= 3
    assert len({row.count("|") for row in rows}) == 1
    assert re.search(r"\*\d{4}-\d\d-\d\d, .*jax \d.*numpy \d.*\*", BLOCKS[name][2])


def test_every_table_of_a_benchmark_has_its_block():
    assert set().union(*(published(path) for path in programs().values())) == set(BLOCKS)


def test_every_benchmark_is_named_and_every_name_exists():
    named = set(re.findall(r"`benchmarks/(\w+)\.py`", TEXT))
    assert programs().keys() <= named
    assert all((BENCHMARKS / f"{name}.py").is_file() for name in named)


def test_all_benchmarks_run_together():
    main = ast.parse((BENCHMARKS / "__main__.py").read_text(encoding="utf-8"))
    names = next(
        ast.literal_eval(node.value)
        for node in main.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "NAMES"
    )
    assert set(names) == programs().keys()


def test_figures_and_links_are_there():
    local = [target for target in re.findall(r"\]\(([^)#]+)[^)]*\)", TEXT) if not target.startswith("http")]
    assert local
    assert all((ROOT / "docs" / target).is_file() for target in local)
