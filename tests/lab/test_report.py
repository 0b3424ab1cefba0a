"""The report: everything in one file, nothing unescaped, failures told as plainly as successes."""

import re
import shutil
from base64 import b64encode
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import festina as fs
from festina import claims
from festina._lazy import jnp, plt
from festina.cli.work import run_one
from festina.errors import FestinaWarning, StoreError, UnknownName
from festina.experiment import Arms, Experiment, Model, Variable, continuous, structural
from festina.lab import machine, registry
from festina.lab.pictures import encoded, ensure_figure, save_figure
from festina.lab.question import Question
from festina.lab.report import result_section, totals, write_report
from festina.lab.reproduce import Entry, load, reproduce, select
from festina.lab.tables import as_json, run_command, value_text
from festina.sources import LECTURE, SAXE_2013
from festina.style import THEORY
from festina.wording import duration


class Falling(Model):
    """A number that falls."""

    name = "test-falling"
    variables = {"left": Variable("what is left")}

    rate: float = continuous(1.0, gt=0, unit="1/τ", help="how fast, in % & <more>")
    records: int = structural(11, ge=2, le=1000, help="how many recordings")
    seeds: int = structural(1, ge=1, help="a field with the name of a flag")

    def start(self, key: Any) -> Any:
        return {"a": jnp.ones(())}

    def process(self, start: Any) -> Any:
        return fs.learning.flow_process(
            lambda state, stage: {"a": -self.rate * state["a"]},
            start,
            jnp.linspace(0.0, 2.0, self.records),
            lambda state: {"left": state.parameters["a"]},
        )


class Decay(Experiment):
    """What is left of `a` falls as a^(−t/τ) <b>while</b> nobody looks.

    The rate is that of the equation

        τ da/dt = −k a,  a(0) = 1 & w_1 = 1,

    which ``flow`` integrates. There are

    - small things, as W_{l+1};
    - and others.
    """

    name = "toy/decay"
    sources = (SAXE_2013, LECTURE)
    arms = Arms(Falling)
    seeds = 2
    quick = {"records": 6, "seeds": 1}

    @claims.paper(SAXE_2013.at("Fig. 1 <i>"), claims.below(0.5))
    def falls(self, result: Any) -> Any:
        """It falls."""
        return result["left"].isel(time=-1)

    @claims.paper(LECTURE.at("slide 7"), claims.above(2.0), reason="a slip of the <pen>")
    def rises(self, result: Any) -> Any:
        """It rises & shines."""
        return result["left"].isel(time=-1)

    @claims.paper(LECTURE.at("slide 8"), claims.near(0.4, 1e-3), loosely=claims.near(0.3, 0.2))
    def value(self, result: Any) -> Any:
        """It ends at 0.4."""
        return result["left"].isel(time=-1)

    @claims.check(claims.above(0.0), budget="full")
    def costly(self, result: Any) -> Any:
        """It goes on."""
        return 1.0

    def figure(self, result: Any) -> Any:
        with fs.style.style():
            figure, axis = plt.subplots()
            axis.plot(result["time"], result["left"].isel(run=0))
            axis.set(xlabel="time", ylabel="left")
            fs.style.letter(axis)
        return figure


class Refusing(Falling):
    """A number that cannot be simulated."""

    def process(self, start: Any) -> Any:
        raise ZeroDivisionError("nothing <to> divide by")


class Broken(Decay):
    """One that cannot be simulated."""

    name = "toy/broken"
    arms = Arms(Refusing)


class Unseen(Decay):
    """One that cannot be drawn."""

    name = "toy/unseen"

    def figure(self, result: Any) -> Any:
        raise RuntimeError("no & ink")


class Page(HTMLParser):
    """What a browser would find in a page: its text, its tags, and where it points to."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.tags: list[str] = []
        self.targets: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.targets += [value or "" for name, value in attrs if name in ("src", "href", "srcset", "data", "action")]

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).replace("\u00a0", " ").replace("\u2060", "").split())


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store")


@pytest.fixture(scope="module")
def result(store: Path) -> Any:
    return fs.run(Decay(), store=store, rate=0.5, seeds=3, first_seed=4)


@pytest.fixture(scope="module")
def entries(store: Path) -> list[Entry]:
    given = [Entry(kind.name, kind()) for kind in (Decay, Broken, Unseen)]
    given.append(Entry("toy/absent", error="its module <cannot> be imported"))
    told: list[Entry] = []
    done = reproduce(given, store=store, budget="quick", tell=told.append)
    assert told == done
    return done


def test_one_failure_does_not_stop_the_others(entries: list[Entry]) -> None:
    decay, broken, unseen, absent = entries
    assert decay.result is not None and not decay.problem
    assert broken.result is None and broken.error == "ZeroDivisionError: nothing <to> divide by"
    assert broken.verdicts == ()
    assert unseen.result is not None and unseen.problem == "the figure could not be drawn: RuntimeError: no & ink"
    assert absent.problem
    assert totals(entries).startswith("2 experiments ran. 2 more could not be run. ")


def test_the_report_is_one_file_with_everything_in_it(entries: list[Entry], tmp_path: Path) -> None:
    path = write_report(entries, tmp_path / "report.html")
    source = path.read_text(encoding="utf-8")
    page = Page(source)
    assert all(target.startswith(("#", "data:image/")) for target in page.targets)
    assert not re.search(r"@import|url\(", source)
    assert "script" not in page.tags and "link" not in page.tags
    assert page.tags.count("img") == 1
    for expected in (
        "festina run toy/decay --budget quick",
        "Saxe et al. 2013, Fig. 1 <i>",
        "✗ not reproduced",
        "needs the full budget",
        "ZeroDivisionError: nothing <to> divide by",
        "RuntimeError: no & ink",
        "its module <cannot> be imported",
        "τ da/dt = −k a, a(0) = 1 & w 1 = 1",
        "rate = 1, records = 6, seeds = 1",
        "float64",
    ):
        assert expected in page.text, expected
    assert "<li>small things, as W<sub>l+1</sub>;</li><li>and others.</li></ul>" in source
    assert "<b>while" not in source and "<i>" not in source


def test_a_result_brings_its_own_style_into_a_notebook(result: Any) -> None:
    section = result._repr_html_()
    assert section == result_section(result)
    page = Page(section)
    assert page.tags.count("style") == 1 and page.tags.count("img") == 1
    assert "≈ reproduced qualitatively" in page.text
    assert "3 (seeds 4 to 6), full budget" in page.text


def test_numbers_are_set_as_in_print(result: Any) -> None:
    from festina.lab import typesetting

    assert typesetting.numbers("< 1e-08") == "&lt; 10<sup>−8</sup>"
    assert typesetting.numbers("-7.3e+05 ± 2") == "−7.3 × 10<sup>5</sup> ± 2"
    assert (
        typesetting.inline("`a_1` and a_1^(2−x) = 3")
        == "<code>a_1</code> and a<sub>1</sub><sup>2−x</sup>\u00a0=\u00a03"
    )


def test_failed_runs_and_notes_are_told(result: Any) -> None:
    data = result.data.assign_attrs(failures=["run 1 failed <here>"], notes=["digits instead of images"])
    text = Page(result_section(fs.Result(result.experiment, result.config, data))).text
    assert "run 1 failed <here>" in text and "digits instead of images" in text


def test_the_command_gives_the_result_again(result: Any, store: Path) -> None:
    assert Question.answered_by(result).command == "festina run toy/decay --seeds 3 --first-seed 4 --rate 0.5"
    assert run_command("toy/decay", "full", {"seeds": 2}, {}) == "festina run toy/decay --set seeds=2"
    again = fs.run(Decay(), store=store, rate=0.5, seeds=3, first_seed=4)
    assert again.from_store and Question.answered_by(again).key == Question.answered_by(result).key


def test_figures_are_whole_and_the_same_each_time(result: Any, tmp_path: Path) -> None:
    first = [path.read_bytes() for path in save_figure(result, tmp_path)]
    assert first[0].startswith(b"\x89PNG") and b"<svg" in first[1]
    assert [path.read_bytes() for path in save_figure(result, tmp_path)] == first
    assert sorted(path.name for path in tmp_path.iterdir()) == ["figure.png", "figure.svg"]
    assert plt.get_fignums() == []
    with fs.style.style():
        assert not plt.rcParams["axes.spines.top"]
    assert plt.rcParams["axes.spines.top"]
    assert THEORY["color"] == "#000000"


def test_all_formats_of_a_figure_have_the_layout_of_the_first(result: Any) -> None:
    with fs.style.style():
        figure = result.figure()
        encoded(figure, "png")
        place = figure.axes[0].get_position().bounds
        figure.axes[0].set_ylabel("much\nmore\nroom")
        encoded(figure, "svg")
    assert figure.axes[0].get_position().bounds == place


@pytest.mark.parametrize("harm", [lambda content: b"", lambda content: content.replace(b"3", b"4")])
def test_a_damaged_figure_is_neither_handed_out_nor_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harm: Any
) -> None:
    def ask() -> Any:
        return fs.run(Decay(), store=tmp_path, budget="quick")

    ensure_figure(ask())
    stored = ask()
    with monkeypatch.context() as idle:
        idle.setattr("festina.lab.pictures.draw", None)
        paths = ensure_figure(stored)
    drawn = [path.read_bytes() for path in paths]
    paths[1].write_bytes(harm(drawn[1]))
    report = write_report([Entry(stored.experiment.name, stored.experiment, result=stored)], tmp_path / "report.html")
    assert b64encode(drawn[1]).decode() in report.read_text()
    with pytest.warns(FestinaWarning, match=r"the figure in .* is damaged; drawn again"):
        ensure_figure(stored)
    assert [path.read_bytes() for path in paths] == drawn


def test_selection_by_source_family_and_name(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {kind.name: kind for kind in (Decay, Broken)}

    def find(name: str) -> Experiment:
        if name == "other/lost":
            raise ImportError("gone")
        return known[name]()

    monkeypatch.setattr(registry, "names", lambda: (*known, "other/lost"))
    monkeypatch.setattr(registry, "find", find)
    assert [entry.name for entry in select()] == [*known, "other/lost"]
    assert [entry.name for entry in select("lecture")] == [*known]
    assert [entry.name for entry in select("toy")] == [*known]
    assert [entry.problem for entry in select("other/lost")] == ["ImportError: gone"]
    with pytest.raises(UnknownName, match="did you mean 'saxe2013'"):
        select("sax2013")


def test_an_experiment_is_loaded_with_the_fields_that_it_is_to_run_with() -> None:
    assert load("linear/chain", {"depth": (2,)}).fields == {"depth": (2,)}
    assert load("linear/chain").fields == {}


def test_an_unwritable_store_is_told_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot write"):
        reproduce([Entry("toy/decay", Decay())], store=tmp_path / "file" / "runs")


def test_a_result_that_cannot_be_stored_is_still_told_and_kept(
    result: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import festina.lab.run

    def run(*words: Any, **question: Any) -> Any:
        error = StoreError("cannot write runs: No space left on device")
        error.result = result  # pyright: ignore
        raise error

    monkeypatch.setattr(festina.lab.run, "run", run)
    monkeypatch.setattr(machine, "prepare", lambda: None)
    with pytest.raises(StoreError, match=r"No space left on device; the data is in \S+") as told:
        run_one(Decay(), as_json=False, figure=True)
    assert "It rises & shines." in capsys.readouterr().out
    folder = Path(str(told.value).split()[-1])
    kept = xr.open_zarr(folder / "data.zarr", group="simulation", consolidated=False)
    np.testing.assert_array_equal(kept["left"], result["left"])
    shutil.rmtree(folder)


def test_words_and_json() -> None:
    assert [value_text(v) for v in (1.0, 0.1, 1e-5, True, (1.0, float("inf")), 0.1 + 0.2)] == [
        "1", "0.1", "1e-05", "true", "1,inf", "0.30000000000000004",
    ]  # fmt: skip
    assert [duration(s) for s in (3.14, 125.0, 7300.0, float("nan"))] == ["3.1 s", "2 min 5 s", "2 h 1 min", "unknown"]
    assert as_json({"a": float("nan"), "b": (np.float64("-inf"), np.int64(3)), "c": Path("x")}) == {
        "a": None, "b": ["-Infinity", 3], "c": "x",
    }  # fmt: skip


@pytest.mark.full
def test_an_interrupt_while_a_figure_is_drawn_is_no_fault_of_the_figure(monkeypatch):
    """linear/chain integrates a flow in its figure, which Ctrl-C ends with an error of its own."""
    from festina.errors import Interrupted
    from festina.lab.pictures import draw
    from shared import quick

    result = quick("linear/chain")

    def figure(self, result):
        raise Interrupted("interrupted at t = 3")

    monkeypatch.setattr(type(result.experiment), "figure", figure)
    with pytest.raises(KeyboardInterrupt):
        draw(result)
