"""Programs that are kept: the same numbers, traced once, and never those of other code, shapes or settings."""

import json
import subprocess
import sys
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src import config

from festina.compiling import brief_jit, programs_compiled, quick_jit, thorough_jit
from festina.lab.batch import batches
from festina.lab.question import Question
from festina.lab.registry import find
from festina.precision import double
from festina.programs import KEEPER
from narrowing import there
from toy import Toy


@dataclass(frozen=True)
class Power:
    """A static argument that says what code it stands for."""

    exponent: int
    program_mark: str = "code of powers"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(KEEPER, "folder", tmp_path)
    monkeypatch.setattr(KEEPER, "_at_hand", {})
    return tmp_path


def another_process() -> None:
    KEEPER._at_hand.clear()


def counted(jit=quick_jit, work=lambda power, x: x**power.exponent):
    """A compiled function, and how often it is traced."""
    traced = []

    def function(power, values, times):
        traced.append(power)
        return {"value": times * work(power, values["x"]), "times": jnp.asarray(times)}

    return jit(function, static_argnums=(0, 2)), traced


def test_what_was_kept_is_not_traced_again(folder):
    function, traced = counted()
    first = function(Power(3), {"x": np.arange(4.0)}, 2)
    another_process()
    second = function(Power(3), {"x": np.arange(4.0) + 1}, 2)
    np.testing.assert_array_equal(first["value"], 2 * np.arange(4.0) ** 3)
    np.testing.assert_array_equal(second["value"], 2 * (np.arange(4.0) + 1) ** 3)
    assert len(traced) == 1 and len(list(folder.iterdir())) == 1
    another_process()
    shapes = function.shapes(Power(3), {"x": np.arange(4.0)}, 2)
    assert shapes["value"].shape == (4,) and shapes["value"].dtype == np.float64 and len(traced) == 1


@pytest.mark.parametrize(
    "others",
    [
        (Power(2, "other code"), {"x": np.arange(4.0)}, 2),
        (Power(3), {"x": np.arange(5.0)}, 2),
        (Power(3), {"x": np.arange(4.0, dtype=np.float32)}, 2),
        (Power(3), {"x": np.arange(4.0), "y": 1.0}, 2),
        (Power(3), {"x": np.arange(4.0)}, 5),
    ],
)
def test_other_code_shapes_and_values_are_other_programs(folder, others):
    function, traced = counted()
    function(Power(3), {"x": np.arange(4.0)}, 2)
    another_process()
    expected = others[2] * others[1]["x"] ** others[0].exponent
    np.testing.assert_array_equal(function(*others)["value"], expected)
    assert len(traced) == 2 and len(list(folder.iterdir())) == 2


def test_another_precision_is_another_program(folder):
    function, _ = counted(brief_jit)
    assert function(Power(1), {"x": np.ones(2)}, 1)["value"].dtype == np.float64
    with jax.enable_x64(False):
        assert function(Power(1), {"x": np.ones(2)}, 1)["value"].dtype == np.float32


def test_a_damaged_file_is_written_again(folder):
    function, traced = counted()
    function(Power(3), {"x": np.arange(4.0)}, 2)
    (path,) = folder.iterdir()
    whole = path.read_bytes()
    for damage in (b"", whole[: len(whole) // 2], b"\0" * 100):
        path.write_bytes(damage)
        another_process()
        np.testing.assert_array_equal(function(Power(3), {"x": np.ones(4)}, 2)["value"], 2.0)
        assert len(path.read_bytes()) == len(whole)
    assert len(traced) == 4


def test_a_folder_that_cannot_be_written_costs_nothing_but_time(folder, monkeypatch):
    (folder / "file").touch()
    monkeypatch.setattr(KEEPER, "folder", folder / "file")
    function, traced = counted()
    np.testing.assert_array_equal(function(Power(3), {"x": np.ones(4)}, 2)["value"], 2.0)
    assert len(traced) == 1


def test_what_cannot_be_known_or_written_is_not_kept(folder):
    function, _ = counted()
    assert function(Power(3, ""), {"x": np.full(1, 2.0)}, 2)["value"] == 16.0  # its code is not known

    def calls_back(power, x):
        return jax.pure_callback(lambda x: np.asarray(x) ** power.exponent, jax.typeof(x), x)

    function, _ = counted(work=calls_back)
    assert function(Power(3), {"x": np.full(1, 2.0)}, 2)["value"] == 16.0
    assert not list(folder.iterdir())


A_PROCESS = """
import json, sys
from pathlib import Path
import jax, jax.numpy as jnp, numpy as np
from festina.compiling import quick_jit
from festina.programs import KEEPER

folder = Path(sys.argv[1])
for name, value in {"compilation_cache_dir": sys.argv[1], "persistent_cache_min_compile_time_secs": 0}.items():
    jax.config.update(f"jax_{name}", value)
KEEPER.folder = folder / "programs"

class Code:
    program_mark = "code of a singular value decomposition"

traced = []
def function(code, x):
    traced.append(code)
    return jnp.linalg.svd(jax.random.normal(jax.random.key(0), (4, 4)) + x)[1]

found = []
for _ in range(int(sys.argv[2])):
    KEEPER._at_hand.clear()
    jax.clear_caches()
    for path in KEEPER.folder.glob("*") if found else ():
        path.unlink()
    found.append(quick_jit(function, static_argnums=0)(Code(), np.arange(4.0)).tolist())
print(json.dumps([len(traced), found, len(list(KEEPER.folder.iterdir()))]))
"""


@pytest.mark.full
def test_what_was_kept_runs_in_another_process_with_the_same_bits(tmp_path):
    """Also what calls LAPACK, which crashes where it was not looked up, and what was kept twice: programs that JAX
    finds in its own cache lose their functions when they are written again."""

    def outcome(times: int) -> list:
        command = [sys.executable, "-c", A_PROCESS, str(tmp_path), str(times)]
        return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.splitlines()[-1])

    traced, (values, same), files = outcome(2)
    assert (traced, files) == (2, 1) and values == same
    assert outcome(1) == [0, [values], 1]


def test_only_programs_of_this_package_are_known_by_their_code():
    with double():
        own = batches(Toy(), Question.of(Toy(), "quick", None, 0).runs)[0].builder
        known = batches(find("linear/chain"), Question.of(find("linear/chain"), "quick", None, 0).runs)[0].builder
    assert own.program_mark == ""
    assert known.code and known.structure in known.program_mark and known.kind.__qualname__ in known.program_mark


def test_every_way_of_compiling_says_how_much_it_optimises():
    """An environment that turns optimisations off, as these tests do, means what asks for nothing."""
    ways = brief_jit, quick_jit, thorough_jit
    assert [there(way(abs).options)["xla_backend_optimization_level"] for way in ways] == [0, 1, 3]


def test_programs_with_one_text_are_compiled_once(folder, monkeypatch):
    """Two codes that come to the same, as where networks differ only in how they start."""
    monkeypatch.setattr("festina.programs.ALIKE", {})
    function, traced = counted(work=lambda power, x: 3.0 * x)
    before = programs_compiled()
    first, second = (function(Power(3, code), {"x": np.arange(4.0)}, 2)["value"] for code in ("one", "another"))
    np.testing.assert_array_equal(first, 6 * np.arange(4.0))
    np.testing.assert_array_equal(second, first)
    assert len(traced) == 2 and programs_compiled() == before + 1
    assert len(list(folder.iterdir())) == 2  # both are found again in another process
    another_process()
    function(Power(3, "another"), {"x": np.arange(4.0)}, 2)
    assert len(traced) == 2


def test_programs_of_one_text_with_other_constants_are_two(folder):
    """A JAX that hands large constants to its programs leaves them out of the text."""
    tables = {k: jnp.arange(2000.0) * k for k in (1, 2)}
    double_of, _ = counted(work=lambda power, x: x * tables[power.exponent][-x.size :])
    with config.use_simplified_jaxpr_constants(True):
        found = [double_of(Power(k, f"code {k}"), {"x": np.ones(1)}, 1)["value"].item() for k in (1, 2)]
    assert found == [1999.0, 3998.0]


def test_programs_that_call_other_functions_of_python_are_two(folder):
    """Of a function that is called back, the text has a number."""

    def calls_back(power, x):
        return jax.pure_callback(lambda x: np.asarray(x) ** power.exponent, jax.typeof(x), x)

    function, _ = counted(work=calls_back)
    found = [function(Power(k, f"code {k}"), {"x": np.full(1, 2.0)}, 1)["value"].item() for k in (2, 3)]
    assert found == [4.0, 8.0]


def test_programs_of_one_text_that_take_other_arguments_are_two(folder):
    """What a program does not use is not handed to it, so that its text does not tell which argument is which."""

    def function(power, first, second):
        return 2.0 * (first if power.program_mark == "first" else second)

    double_of = quick_jit(function, static_argnums=0)
    assert double_of(Power(1, "first"), 3.0, np.ones(3)).item() == 6.0  # of other shapes, which it does not use
    assert [double_of(Power(1, which), 3.0, 5.0).item() for which in ("first", "second")] == [6.0, 10.0]
