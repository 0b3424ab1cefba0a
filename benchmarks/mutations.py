"""How many faults do the tests see? One-line faults at random places, each met by the tests of its own room.

    python benchmarks/mutations.py [--faults 200] [--seed 0] [--rooms learning theory lab measures] [--workers 2]

A fault is one small change of the source: a comparison, sum, product or truth value turned round, a number moved, a
condition negated, a call left out. Each is made in a copy of the project, whose tests run until one of them fails (or a
thousand seconds are over: a loop without an end is seen, too). Those named after the module come first, then those that
mention what it defines, then all others of the room; those of `make test`, and only if none of them fails, those that
take long. What nobody has seen is printed as a change of a line.
"""

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from queue import Queue

PROJECT = Path(__file__).resolve().parent.parent
ROOMS = ("learning", "theory", "lab", "measures")
PATIENCE = 1000.0  # seconds that tests may take
COMPARED = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),  # codespell:ignore
}
COMPUTED = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.Mod: ("%", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Pow: ("**", "*"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
}
JOINED = {ast.And: ("and", "or"), ast.Or: ("or", "and")}


@dataclass(frozen=True)
class Fault:
    """A change of the text of one module, between two places in it."""

    module: Path
    start: int
    end: int
    new: str

    def apply(self, text: str) -> str:
        return text[: self.start] + self.new + text[self.end :]

    def told(self) -> str:
        text = (PROJECT / self.module).read_text()
        number, first = text.count("\n", 0, self.start) + 1, text.rfind("\n", 0, self.start) + 1
        last = text.find("\n", self.end)
        before, after = text[first:last].strip(), (text[first : self.start] + self.new + text[self.end : last]).strip()
        return f"{self.module}:{number}\n    - {before}\n    + {after}"


class _Places(ast.NodeVisitor):
    """All places of a module where a fault can be made; annotations and decorators are not among them."""

    def __init__(self, module: Path, text: str) -> None:
        self.module, self.text, self.found = module, text, list[Fault]()
        ends = [0]
        for line in text.splitlines(keepends=True):
            ends.append(ends[-1] + len(line))
        self.starts, self.lines = ends, text.splitlines(keepends=True)

    def place(self, line: int, column: int) -> int:
        return self.starts[line - 1] + len(self.lines[line - 1].encode()[:column].decode())

    def span(self, node: ast.AST) -> tuple[int, int]:
        where: ast.expr = node  # type: ignore[assignment]
        assert where.end_lineno is not None and where.end_col_offset is not None
        return self.place(where.lineno, where.col_offset), self.place(where.end_lineno, where.end_col_offset)

    def between(self, left: ast.AST, right: ast.AST, old: str, new: str) -> None:
        """An operator is the one word or sign of its kind between its sides."""
        begin, end = self.span(left)[1], self.span(right)[0]
        word = rf"\b{old}\b" if old[0].isalpha() else re.escape(old)
        hits = list(re.finditer(word, self.text[begin:end]))
        if len(hits) == 1:
            self.found.append(Fault(self.module, begin + hits[0].start(), begin + hits[0].end(), new))

    def visit_Compare(self, node: ast.Compare) -> None:
        for left, kind, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
            self.between(left, right, *COMPARED[type(kind)])
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if type(node.op) in COMPUTED and not _is_text(node):
            self.between(node.left, node.right, *COMPUTED[type(node.op)])
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        for left, right in zip(node.values, node.values[1:], strict=False):
            self.between(left, right, *JOINED[type(node.op)])
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not | ast.USub):
            begin, length = self.span(node)[0], 3 if isinstance(node.op, ast.Not) else 1
            self.found.append(Fault(self.module, begin, begin + length, ""))
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self.found.append(Fault(self.module, *self.span(node), str(not node.value)))
        elif isinstance(node.value, int | float):
            other = node.value + 1 if isinstance(node.value, int) or node.value == 0 else 2 * node.value
            self.found.append(Fault(self.module, *self.span(node), repr(other)))

    def visit_If(self, node: ast.If) -> None:
        if ast.unparse(node.test) != "TYPE_CHECKING":
            begin, end = self.span(node.test)
            self.found.append(Fault(self.module, begin, end, f"not ({self.text[begin:end]})"))
            self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self.found.append(Fault(self.module, *self.span(node), "pass"))
        self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """What is said is not what is computed."""

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for default in [*node.args.defaults, *filter(None, node.args.kw_defaults)]:
            self.visit(default)
        for statement in node.body:
            self.visit(statement)


def _is_text(node: ast.BinOp) -> bool:
    return any(isinstance(side, ast.JoinedStr) or _is_string(side) for side in (node.left, node.right))


def _is_string(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def places(rooms: list[str]) -> list[Fault]:
    """Every fault that could be made in these rooms."""
    found = list[Fault]()
    for room in rooms:
        for path in sorted((PROJECT / "src/festina" / room).rglob("*.py")):
            text = path.read_text()
            visitor = _Places(path.relative_to(PROJECT), text)
            visitor.visit(ast.parse(text))
            found += visitor.found
    return found


def tests_of(module: Path, folder: Path) -> list[list[str]]:
    """The tests of a module's room, in groups: named after it, mentioning what it defines, and all others."""
    room = module.relative_to("src/festina").parts[0]
    files = sorted((folder / "tests" / room).glob("test_*.py"))
    stem = module.stem.strip("_")
    tree = ast.parse((PROJECT / module).read_text())
    defined = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    names = [name for name in defined if not name.startswith("_")]
    mention = re.compile("|".join(rf"\b{name}\b" for name in [stem, *names]))
    rank = {path: 0 if stem in path.stem else 1 if mention.search(path.read_text()) else 2 for path in files}
    groups = [[str(path.relative_to(folder)) for path in files if rank[path] == place] for place in range(3)]
    return [group for group in groups if group]


def seen_by(fault: Fault, folder: Path) -> str | None:
    """The first test that a fault makes fail; None if none does."""
    target = folder / fault.module
    text = target.read_text()
    try:
        target.write_text(fault.apply(text))
        for tier, group in product(("not full", "full"), tests_of(fault.module, folder)):
            try:
                outcome = subprocess.run(_command(group, tier), cwd=folder, env=_settings(folder), timeout=PATIENCE,
                                         capture_output=True, text=True, check=False)  # fmt: skip
            except subprocess.TimeoutExpired:
                return "no end"
            if outcome.returncode not in (0, 5):  # 5: nothing was selected
                red = [line for line in outcome.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
                return f"{red[0]}{' (takes long)' * (tier == 'full')}" if red else f"ended with {outcome.returncode}"
        return None
    finally:
        target.write_text(text)


def _command(files: list[str], tier: str) -> list[str]:
    options = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "-m", tier]
    return [sys.executable, "-m", "pytest", *options, *files]


def _settings(folder: Path) -> dict[str, str]:
    flags = "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"
    flags += " --xla_llvm_disable_expensive_passes=true --xla_cpu_parallel_codegen_split_count=1"
    own = {"PYTHONPATH": str(folder / "src"), "JAX_PLATFORMS": "cpu", "OPENBLAS_NUM_THREADS": "1", "XLA_FLAGS": flags}
    return dict(os.environ) | own | {"MPLBACKEND": "Agg", "PYTHONDONTWRITEBYTECODE": "1"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="of the faults drawn, how many were tried before")
    parser.add_argument("--rooms", nargs="+", default=list(ROOMS), choices=ROOMS)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    everywhere = places(options.rooms)
    chosen = random.Random(options.seed).sample(everywhere, options.faults)[options.first :]
    print(f"{len(everywhere)} places for a fault; {len(chosen)} are tried", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        free = Queue[Path]()
        for number in range(options.workers):
            copy = Path(scratch) / str(number)
            ignored = shutil.ignore_patterns(".git", ".venv", "runs", "_build", "__pycache__")
            shutil.copytree(PROJECT, copy, ignore=ignored)
            free.put(copy)

        def one(fault: Fault) -> bool:
            folder = free.get()
            try:
                red = seen_by(fault, folder)
            finally:
                free.put(folder)
            print(f"{'seen' if red else 'NOT SEEN'} {fault.told()}\n    {red or ''}", flush=True)
            return red is not None

        with ThreadPoolExecutor(options.workers) as pool:
            seen = list(pool.map(one, chosen))
    print(f"{sum(seen)} of {len(seen)} faults were seen ({sum(seen) / len(seen):.0%})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
