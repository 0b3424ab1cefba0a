"""How many faults do the tests see? One-line faults at random places, each met by the tests of its own room.

    python benchmarks/mutations.py [--faults 200] [--seed 0] [--rooms learning theory lab measures] [--workers 2]

A fault is one small change of the source: a comparison, sum, product or truth value turned round, a number moved, a
condition negated, a call left out. Each is made in a copy of the project, whose tests run until one of them fails, or
takes far longer than it should. First come those that execute the changed statement, the quickest before all others,
then the rest of their files, and all that may start a process, whose lines nobody knows; what is executed when a module
is imported meets every test of the room that imports it (executed.py). What tests execute is recorded once, and again
after a change of the package or of the tests. The tests of `make test` come first, and for what they do not see those
that take long. What nobody has seen is printed as a change of a line.
"""

import argparse
import ast
import json
import os
import random
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from queue import Queue
from time import time
from typing import TypeVar

from executed import INTO, ORDER, ROOMS, Record, in_order

PROJECT = Path(__file__).resolve().parent.parent
KEPT = PROJECT / ".cache/executed"
TIERS = ("not full", "full")
PATIENCE = 120.0  # seconds that a test may take, besides thirty times what it took without a fault
T = TypeVar("T")
R = TypeVar("R")
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

    @property
    def room(self) -> str:
        return self.module.relative_to("src/festina").parts[0]

    def who(self) -> tuple[set[int], bool]:
        """The lines by which those are known whom a fault may concern, and whether importing the module may be enough.

        These are the lines of the statement, without its body; the body of a function for its defaults; and the bodies
        of all functions of the module for what else is executed by importing.
        """
        text = (PROJECT / self.module).read_text()
        line, tree = text.count("\n", 0, self.start) + 1, ast.parse(text)
        statements = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
        around = [node for node in statements if line in _whole(node)] or tree.body  # or a decorator of a class
        inner = max(around, key=lambda node: (node.lineno, -_end(node)))
        functions = [node for node in statements if isinstance(node, ast.FunctionDef)]
        if any(line in _body(node) for node in functions):
            return set(_whole(inner)) - set(_body(inner)), False
        if inner in functions:
            return set(_body(inner)), False
        inside = set[int]().union(*map(_body, functions))
        return inside, not self._is_known_to_functions_alone(inner, tree, inside)

    def _is_known_to_functions_alone(self, node: ast.stmt, tree: ast.Module, inside: set[int]) -> bool:
        """Whether a statement gives a name to a number, which only functions of the module use."""
        names = [target.id for target in getattr(node, "targets", []) if isinstance(target, ast.Name)]
        if len(names) != 1:
            return False
        uses = [each for each in ast.walk(tree) if isinstance(each, ast.Name) and each.id == names[0]]
        others = [path for folder in ("src", "tests") for path in (PROJECT / folder).rglob("*.py")]
        return all(each.lineno in inside for each in uses if isinstance(each.ctx, ast.Load)) and not any(
            re.search(rf"\b{names[0]}\b", path.read_text()) for path in others if path != PROJECT / self.module
        )

    def told(self, sample: int) -> str:
        text = (PROJECT / self.module).read_text()
        number, first = text.count("\n", 0, self.start) + 1, text.rfind("\n", 0, self.start) + 1
        last = text.find("\n", self.end)
        before, after = text[first:last].strip(), (text[first : self.start] + self.new + text[self.end : last]).strip()
        return f"{sample}. {self.module}:{number}\n    - {before}\n    + {after}"


def _end(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _whole(node: ast.stmt) -> range:
    return range(node.lineno, _end(node) + 1)


def _body(node: ast.stmt) -> range:
    """The lines of what a statement holds, if they are not those of the statement itself."""
    body = getattr(node, "body", None)
    return range(max(body[0].lineno, node.lineno + 1), _end(node) + 1) if body else range(0)


class _Places(ast.NodeVisitor):
    """All places of a module where a fault can be made; annotations and decorators of functions are not among them."""

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


class Copy:
    """A copy of the project, in which one fault at a time is made.

    Its tests read compiled programs from a folder that all copies share, and results from one of its own, which is
    emptied before each fault.
    """

    def __init__(self, folder: Path, compiled: Path) -> None:
        self.folder = folder
        shutil.copytree(PROJECT, folder, ignore=shutil.ignore_patterns(".git", ".venv", "runs", "_build", ".cache"))
        (folder / ".cache").mkdir()
        (folder / ".cache/compiled").symlink_to(compiled)
        self.server = subprocess.Popen([sys.executable, "benchmarks/forked.py"], cwd=folder, env=_settings(folder),
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)  # fmt: skip

    def record(self, tests: str, tier: str) -> Record:
        """What the tests of a file and tier execute; recorded again only after a change of the package or the file."""
        package, files = self.folder / "src/festina", self.folder / "tests"
        read = [*package.rglob("*.py"), *files.glob("*.py"), *(self.folder / tests).parent.glob("*.py")]
        read = [path for path in sorted(read) if not path.name.startswith("test_")] + [self.folder / tests]
        known = sha256(b"".join(path.read_bytes() for path in read)).hexdigest()[:16]
        path = KEPT / f"{tests.replace('/', '-')}-{tier.replace(' ', '-')}-{known}.json"
        if not path.exists():
            KEPT.mkdir(parents=True, exist_ok=True)
            _, said = self._pytest([tests], tier, {INTO: str(path)}, lambda: False)
            if not path.exists():
                raise RuntimeError(said)
        return Record.read(path, self.folder / tests)

    def seen_by(self, fault: Fault, records: list[Record], tier: str, near: bool) -> str | None:
        """The first test of a tier that a fault makes fail, of those alone that execute it if only ``near``."""
        target = self.folder / fault.module
        text, times = target.read_text(), target.stat()
        shutil.rmtree(self.folder / ".cache/results", ignore_errors=True)
        try:
            target.write_text(fault.apply(text))
            module = str(fault.module.relative_to("src"))
            batches = in_order(records, module, *fault.who())
            for batch in batches[:2] if near else batches:
                if batch and (red := self._red(batch, records, tier)):
                    return red
            return None
        finally:
            target.write_text(text)
            os.utime(target, ns=(times.st_atime_ns, times.st_mtime_ns))  # what is compiled of it is right again

    def _red(self, batch: list[str], records: list[Record], tier: str) -> str | None:
        """The first of these tests that fails or takes far longer than it did."""
        order, seconds = self.folder / "order.json", dict[str, float]()
        for record in records:
            seconds.update(record.seconds)
        order.write_text(json.dumps(batch))
        now = order.with_suffix(".now")
        now.write_text("what is imported")

        def has_no_end() -> bool:
            return time() - now.stat().st_mtime > PATIENCE + 30 * seconds.get(now.read_text(), 0)

        files, began = list(dict.fromkeys(test.partition("::")[0] for test in batch)), time()
        code, said = self._pytest(["-x", *files], tier, {ORDER: str(order)}, has_no_end)
        if code is None:
            self._forget(began)
            return f"{now.read_text()} has no end"
        if code in (0, 5):  # 5: nothing was selected
            return None
        red = [line for line in said.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return red[0] if red else f"ended with {code}"

    def _forget(self, since: float) -> None:
        """Programs that a killed process may have written by half."""
        for path in (self.folder / ".cache/compiled").iterdir():
            if path.stat().st_mtime > since:
                path.unlink(missing_ok=True)

    def _pytest(self, arguments: list[str], tier: str, asked: dict[str, str],
                has_no_end: Callable[[], bool]) -> tuple[int | None, str]:  # fmt: skip
        """What pytest ended with, None if it was ended because it would not, and what it said."""
        options = ["-q", "-n", "0", "-p", "no:cacheprovider", "-p", "executed", "-m", tier]
        said = self.folder / "said.txt"
        order = {"arguments": [*options, *arguments], "settings": asked, "said": str(said)}
        there, back = self.server.stdin, self.server.stdout
        assert there is not None and back is not None
        there.write(f"{json.dumps(order)}\n".encode())
        process, is_over = int(back.readline()), False
        while not select.select([back], [], [], 2.0)[0]:
            if has_no_end() and not is_over:
                os.killpg(process, signal.SIGKILL)
                is_over = True
        code = int(back.readline())
        return None if is_over else code, said.read_text()


def _settings(folder: Path) -> dict[str, str]:
    flags = "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"
    flags += " --xla_llvm_disable_expensive_passes=true --xla_cpu_parallel_codegen_split_count=1"
    paths = os.pathsep.join(str(folder / name) for name in ("src", "benchmarks"))
    own = {"PYTHONPATH": paths, "JAX_PLATFORMS": "cpu", "OPENBLAS_NUM_THREADS": "1", "XLA_FLAGS": flags}
    return dict(os.environ) | own | {"MPLBACKEND": "Agg"}


class Trial:
    """Meets faults with tests, in as many copies of the project as there are workers."""

    def __init__(self, scratch: Path, workers: int) -> None:
        self.free, self.pool = Queue[Copy](), ThreadPoolExecutor(workers)
        compiled = PROJECT / ".cache/compiled"
        compiled.mkdir(parents=True, exist_ok=True)
        for number in range(workers):
            self.free.put(Copy(scratch / str(number), compiled))

    def each(self, work: Callable[[Copy, T], R], things: Iterable[T]) -> list[R]:
        """What work makes of each thing, in a copy that is free."""

        def one(thing: T) -> R:
            copy = self.free.get()
            try:
                return work(copy, thing)
            finally:
                self.free.put(copy)

        return list(self.pool.map(one, things))

    def unseen(self, faults: dict[int, Fault], tier: str, near: bool) -> dict[int, Fault]:
        """Those of some numbered faults that no test of a tier sees; what has seen the others is printed."""
        rooms = sorted({fault.room for fault in faults.values()})
        files = [(room, path) for room in rooms for path in sorted((PROJECT / "tests" / room).glob("test_*.py"))]
        found = self.each(lambda copy, it: copy.record(str(it[1].relative_to(PROJECT)), tier), files)
        print(
            "".join(f"fails without a fault: {test}\n" for record in found for test in record.red), end="", flush=True
        )
        records = {room: [record for (of, _), record in zip(files, found, strict=True) if of == room] for room in rooms}

        def one(copy: Copy, number: int) -> bool:
            began, fault = time(), faults[number]
            red = copy.seen_by(fault, records[fault.room], tier, near)
            print(f"{'seen' if red else 'not seen'} ({tier}) {fault.told(number)}", flush=True)
            print(f"    {red or ''} [{time() - began:.0f} s]", flush=True)
            return red is not None

        seen = self.each(one, faults)
        return {number: fault for (number, fault), red in zip(faults.items(), seen, strict=True) if not red}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", type=int, metavar="NUMBER", help="of the faults drawn; all unless given")
    parser.add_argument("--rooms", nargs="+", default=list(ROOMS), choices=ROOMS)
    parser.add_argument("--tiers", nargs="+", default=list(TIERS), choices=TIERS, help="of tests")
    parser.add_argument("--near", action="store_true", help="only tests that execute the fault: a first impression")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--list", action="store_true", help="print the faults drawn, and try none")
    options = parser.parse_args()
    everywhere = places(options.rooms)
    drawn = dict(enumerate(random.Random(options.seed).sample(everywhere, options.faults)))
    left = tried = {number: drawn[number] for number in options.only or drawn}
    print(f"{len(everywhere)} places for a fault; {len(tried)} are tried", flush=True)
    if options.list:
        print("\n".join(fault.told(number) for number, fault in drawn.items()))
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        trial = Trial(Path(scratch), options.workers)
        for tier in options.tiers:
            left = trial.unseen(left, tier, options.near)
            seen = len(tried) - len(left)
            print(f"{seen} of {len(tried)} faults were seen so far ({seen / len(tried):.1%})", flush=True)
    print("\n".join(f"NOT SEEN {fault.told(number)}" for number, fault in left.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
