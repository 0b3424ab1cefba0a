"""The installed command, as people and machines use it: from outside, in a process of its own."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from festina.cli import main
from patience import PATIENCE

FESTINA = Path(sys.executable).with_name("festina")
NAME = "linear/chain"
HEAVY = ("jax", "numpy", "xarray", "matplotlib", "zarr")
SMALL = ("--budget", "quick", "--records", "20", "--depth", "1,2", "--until", "20")
ESCAPE = "\x1b"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder of results for all tests of this file."""
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    return kept | {"JAX_PLATFORMS": "cpu"}


@pytest.fixture(scope="module")
def festina(environment: dict[str, str]) -> Any:
    def call(*words: Any, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [FESTINA, *map(str, words)],
            capture_output=True,
            text=True,
            env=environment | more,
            timeout=PATIENCE,
            check=False,
        )

    return call


@pytest.fixture(scope="module")
def first_run(festina: Any, store: Path) -> subprocess.CompletedProcess[str]:
    return festina("run", NAME, "--budget", "quick", "--out", store)


def complaint(done: subprocess.CompletedProcess[str]) -> str:
    """The one line of a refused command."""
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("festina: ") and done.stderr.count("\n") == 1, done.stderr
    return done.stderr


@pytest.mark.parametrize("words", [["list"], ["--help"], ["run", NAME, "--help"], ["show", NAME]], ids=" ".join)
def test_asking_imports_nothing_heavy(words: list[str], environment: dict[str, str]) -> None:
    program = (
        "import sys; from festina.cli import main; code = main(sys.argv[1:]); "
        f"loaded = [name for name in {HEAVY} if name in sys.modules]; "
        "print(loaded, file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", program, *words], env=environment, capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stderr == "[]\n"


def test_help_comes_from_the_configuration(festina: Any) -> None:
    text = " ".join(festina("run", NAME, "--help").stdout.split())
    assert "--strength X input-output correlation s [number ≥ 0.001, ≤ 100; default 3; continuous]" in text
    assert "--until X when to stop [number ≥ 1e-06, ≤ 100000; in τ; default" in text
    for flag in (
        "--set",
        "--seeds",
        "--first-seed",
        "--budget",
        "--out",
        "--fresh",
        "--json",
        "--debug",
        "--no-figure",
    ):
        assert flag in text
    for flag in ("--over", "--keep", "--tile"):
        assert flag in festina("sweep", NAME, "--help").stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["rum"], "unknown command 'rum'; did you mean 'run'?"),
        (["--versin"], "unknown flag '--versin'; did you mean '--version'?"),
        (["run", "linear/chian"], "did you mean 'linear/chain'"),
        (["show", "linear/chian"], "did you mean 'linear/chain'"),
        (["reproduce", "sax2013"], "did you mean 'saxe2013'"),
        (["run", NAME, "--dept", "3"], "'--dept'; did you mean '--depth'"),
        (["run", NAME, "--set", "dept=3"], "unknown field of linear/chain 'dept'; did you mean 'depth'?"),
        (["run", NAME, "--strength", "-1e-3"], "`strength` must be greater than or equal to 0.001, but is '-1e-3'"),
        (["run", NAME, "--strength"], "--strength: expected one argument"),
        (["run", NAME, "--strength", "1", "--set", "strength=2"], "`strength` must be given once"),
        (["run", NAME, "--set", "strength"], "`set` must look like field=value, but is 'strength'"),
        (["run", NAME, "--seeds", "many"], "`seeds` must be a whole number, but is 'many'"),
        (["run", NAME, "--budget", "huge"], "`budget` must be 'quick' or 'full', but is 'huge'"),
        (["run", NAME, "extra"], "unexpected argument 'extra'"),
        (["run"], "run needs the name of an experiment: "),
        (["sweep", NAME], "sweep needs at least one axis"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, list) else "",
)
def test_a_mistake_is_answered_in_one_line(capsys: Any, words: list[str], says: str) -> None:
    code, (out, err) = main(words), capsys.readouterr()
    assert says in complaint(subprocess.CompletedProcess(words, code, out, err))


def test_a_mistake_ends_the_process_with_its_code_and_one_line(festina: Any) -> None:
    assert "unknown command 'rum'; did you mean 'run'?" in complaint(festina("rum"))


def test_list_and_show(festina: Any) -> None:
    listed = festina("list").stdout
    assert listed.count(NAME) == 1
    assert listed.index("saxe2013") < listed.index(NAME)
    cards = json.loads(festina("list", "--json").stdout)
    assert NAME in [card["name"] for card in cards]
    shown = " ".join(festina("show", NAME).stdout.split())
    for expected in ("Exact solutions to the nonlinear dynamics", "input_variance", "< 1e-08", f"festina run {NAME}"):
        assert expected in shown
    card = json.loads(festina("show", NAME, "--json").stdout)
    assert card["claims"] and {field["name"] for field in card["fields"]} >= {"depth", "initial"}


def test_version(festina: Any) -> None:
    assert re.fullmatch(r"festina \d+\.\d+.*\n", festina("version").stdout)
    assert festina("--version").stdout == festina("version").stdout
    assert json.loads(festina("version", "--json").stdout)["version"] in festina("version").stdout


def test_a_run_prints_its_claims_and_where_everything_is(first_run: Any) -> None:
    assert first_run.returncode == 0, first_run.stderr
    assert first_run.stderr == ""
    text = first_run.stdout
    assert re.search(r"exact +theory +< 1e-08 +\S+ ± \S+ over 4 depths +reproduced\n", text)
    assert re.search(r"\d+ of \d+ claims? of papers reproduced", text)
    assert ESCAPE not in text and "✓" not in text
    assert max(map(len, text.splitlines()[2:])) <= 100
    figure = Path(re.search(r"figure  (\S+)", text)[1])  # pyright: ignore
    assert figure.read_bytes().startswith(b"\x89PNG") and figure.with_suffix(".svg").exists()


@pytest.mark.full
def test_the_same_question_is_answered_from_the_store(festina: Any, first_run: Any, store: Path) -> None:
    again = festina("run", NAME, "--budget", "quick", "--out", store)
    assert "from the store" in again.stdout and "from the store" not in first_run.stdout
    answer = json.loads(festina("run", "--json", *SMALL, "--no-figure", NAME, "--out", store).stdout)
    assert answer["from_store"] is False and answer["figures"] == []
    assert answer["config"]["depth"] == [1, 2]
    assert answer["command"] == f"festina run {NAME} --budget quick --depth 1,2 --until 20 --records 20"


@pytest.mark.full
def test_a_terminal_gets_colours_unless_it_declines(first_run: Any, environment: dict[str, str], store: Path) -> None:
    table = in_terminal(["run", NAME, "--budget", "quick", "--out", str(store)], environment | {"TERM": "xterm"})
    assert f"{ESCAPE}[32mreproduced" in table and "✓" in table
    assert ESCAPE in in_terminal(["list"], environment | {"TERM": "xterm"})
    assert ESCAPE not in in_terminal(["list"], environment | {"TERM": "xterm", "NO_COLOR": "1"})


def in_terminal(words: list[str], environment: dict[str, str]) -> str:
    """What the command prints where its output is a terminal."""
    import pty

    leader, follower = pty.openpty()
    with subprocess.Popen([FESTINA, *words], stdout=follower, stderr=subprocess.DEVNULL, env=environment) as process:
        os.close(follower)
        seen = b""
        try:
            while part := os.read(leader, 65536):
                seen += part
        except OSError:  # the other end has closed
            pass
        assert process.wait(PATIENCE) == 0
    os.close(leader)
    return seen.decode()


@pytest.mark.full
def test_an_unwritable_folder_is_told_before_the_work(festina: Any, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = festina("run", NAME, "--budget", "quick", "--out", tmp_path / "file" / "runs")
    assert "cannot write results to" in complaint(done)


def test_debug_shows_where(festina: Any) -> None:
    done = festina("run", NAME, "--strength", "-1", "--debug")
    assert done.returncode == 2
    assert "Traceback" in done.stderr and "festina: Argument `strength`" in done.stderr


@pytest.mark.full
def test_a_small_sweep(festina: Any, store: Path) -> None:
    words = ["sweep", NAME, *SMALL, "--over", "initial=log:1e-3:1e-2:2", "--keep", "product", "--out", store]
    answer = json.loads(festina(*words, "--json").stdout)
    assert answer["done"] == 2 and answer["failed"] == 0 and answer["sizes"]["initial"] == 2
    assert answer["variables"] == ["product"]
    assert "2 runs done (seed 1 × initial 2)." in festina(*words).stdout
    assert "'minus'" in complaint(festina("sweep", NAME, "--over", "depth=1,minus", "--out", store))
    fixed = complaint(festina("sweep", NAME, *SMALL, "--over", "depth=1,2", "--out", store))
    assert "must not name `depth`, which is also fixed to" in fixed


@pytest.mark.full
def test_reproduce_writes_one_self_contained_report(festina: Any, first_run: Any, store: Path) -> None:
    done = festina("reproduce", NAME, "--budget", "quick", "--out", store)
    assert done.returncode == 0, done.stderr
    path = store / "report.html"
    assert str(path) in done.stdout
    page = path.read_text(encoding="utf-8")
    assert not re.search(r"""(src|href)=["']?\s*(https?:)?//""", page)
    assert f"festina run {NAME} --budget quick" in page
    answer = json.loads(festina("reproduce", NAME, "--budget", "quick", "--out", store, "--json").stdout)
    assert answer["report"] == str(path) and answer["experiments"][0]["from_store"] is True


def test_a_reader_that_leaves_early_is_no_error(environment: dict[str, str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([FESTINA, "list"], stdout=writer, stderr=subprocess.PIPE, env=environment, check=False)
    os.close(writer)
    assert done.stderr == b""


@pytest.mark.parametrize(
    "asked", ["cpu,nonsense", *(pytest.param(it, marks=pytest.mark.full) for it in ("tpu", "cuda"))]
)
@pytest.mark.full
def test_a_platform_that_is_not_there_is_told_before_the_work(festina: Any, tmp_path: Path, asked: str) -> None:
    there = r"JAX_PLATFORMS must name platforms that are there \(.*cpu.*\), but is "
    done = festina("run", NAME, *SMALL, "--out", tmp_path / "none", JAX_PLATFORMS=asked)
    if asked == "cuda" and done.returncode == 0:
        pytest.skip("there is one here")
    assert re.search(f"{there}'{asked}'", complaint(done)) and not (tmp_path / "none").exists()


@pytest.mark.full
def test_a_platform_that_is_not_there_is_told_in_python_too_each_time(environment: dict[str, str]) -> None:
    program = (
        "import festina as fs; from festina.errors import FestinaError\n"
        "for _ in range(2):\n"
        "    try: fs.run('linear/chain', budget='quick')\n"
        "    except FestinaError as error: print(error)\n"
    )
    asked = environment | {"JAX_PLATFORMS": "nonsense"}
    done = subprocess.run([sys.executable, "-c", program], env=asked, capture_output=True, text=True)
    assert done.stdout.count("but is 'nonsense'.") == 2, done.stderr


@pytest.mark.parametrize("closed", ["1", "2"])
def test_a_stream_that_was_closed_is_no_error(closed: str, environment: dict[str, str]) -> None:
    command = ["sh", "-c", f'exec "$@" {closed}>&-', "sh", str(FESTINA), "list"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_terminated_it_ends_at_once_and_silently(environment: dict[str, str]) -> None:
    """SIGTERM has its usual effect; what is on disk is whole, as it is after any end."""
    command = [FESTINA, "run", NAME, "--budget", "quick"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
        process.terminate()
        assert process.communicate(timeout=PATIENCE) == (b"", b"")
    assert process.returncode == -signal.SIGTERM
