"""The page on speed: every table it has was written by a benchmark that exists, and every benchmark has one."""

import ast
import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
TEXT = (ROOT / "docs" / "explanation" / "speed.md").read_text(encoding="utf-8")
BENCHMARKS = ROOT / "benchmarks"
HELPERS = {"__main__", "table", "kernels", "mutations", "executed", "forked"}
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
    assert all((ROOT / "docs" / "explanation" / target).is_file() for target in local)


@pytest.fixture
def table():
    spec = importlib.util.spec_from_file_location("table", BENCHMARKS / "table.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_publishing_replaces_one_block_and_nothing_else(table, tmp_path, monkeypatch):
    monkeypatch.setattr(table, "conditions", lambda: "measured here")
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- begin a -->\nold\n<!-- end a -->\n<!-- begin b -->\nkept\n<!-- end b -->\n", "utf-8")
    table.publish("a", ("way", "seconds"), [("new", 1.5)], "Note.", page=page)
    once = page.read_text("utf-8")
    assert "| new | 1.5 |\n\nNote. *measured here.*" in once
    assert "old" not in once
    assert once.startswith("before\n")
    assert "<!-- begin b -->\nkept\n<!-- end b -->" in once
    table.publish("a", ("way", "seconds"), [("new", 1.5)], "Note.", page=page)
    assert page.read_text("utf-8") == once
    with pytest.raises(SystemExit, match="one block named c"):
        table.publish("c", ("way", "seconds"), [], page=page)


def test_numbers_keep_three_digits(table):
    values = {0.01234: "0.0123", 1.0: "1.00", 12.34: "12.3", 123.4: "123", 12345.0: "12,300", 3: "3", 2.5e7: "2.50·10⁷"}
    assert {value: table.short(value) for value in values} == values
    assert table.spread([3.0, 1.0, 2.0]) == "2.00 (1.00–3.00)"
    assert (table.verdict(2, [2.1]), table.verdict(2, [1.9])) == ("2, reached", "2, missed")
