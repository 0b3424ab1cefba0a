"""The reference: every public object, command and field has its place, and `help` shows signatures that can be read."""

import contextlib
import inspect
import io
import re
import sys
from functools import reduce
from importlib import import_module
from pathlib import Path
from rlcompleter import Completer

import pytest

import festina as fs
from festina.cli import main
from festina.cli.fields import facts_of
from festina.lab.registry import all_models, find
from shared import RESULTS, quick

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"
sys.path.insert(0, str(DOCS / "_ext"))
import generated_experiments  # noqa: E402
from generated_api import ROOMS, rooms  # noqa: E402
from generated_commands import commands, commands_page, parser_of  # noqa: E402
from generated_models import file_name, model_pages  # noqa: E402

OBJECTS = [name for names in rooms().values() for name in names]
PAGE = commands_page()


def found(name: str):
    """A public object by its full name, which may lead through modules."""
    module = name.rpartition(".")[0]
    return getattr(import_module(module), name.rpartition(".")[2])


def signatures() -> dict[str, str]:
    """What `help` shows of every public function, by its name."""
    functions = {name: found(name) for name in OBJECTS}
    return {name: str(inspect.signature(each)) for name, each in functions.items() if inspect.isfunction(each)}


def test_signatures_name_types_instead_of_spelling_them_out():
    shown = signatures()
    assert len(shown) > 200
    assert not [name for name, text in shown.items() if "Union[" in text or "jaxlib._jax.Array, '...'" in text]
    assert "(first: ArrayLike, second: ArrayLike" in shown["festina.theory.balanced"]
    assert "observe: Observe" in shown["festina.flow"]


def test_every_room_is_in_the_index_and_every_object_in_one_room():
    index = (DOCS / "reference" / "index.md").read_text(encoding="utf-8")
    assert re.findall(r"^generated/(festina[\w.]*)$", index, re.MULTILINE) == [name for name, *_ in ROOMS]
    assert len(OBJECTS) == len(set(OBJECTS)) > 400
    assert {"festina.flow", "festina.worlds.tree", "festina.theory.coding.redundant", "festina.Model"} <= {*OBJECTS}


@pytest.mark.parametrize("command", commands())
def test_every_flag_of_a_command_is_listed(command):
    section = re.search(rf"^## festina {re.escape(command)}\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)
    assert section is not None
    flags = parser_of(command).flags - {"--help"}
    assert flags and all(re.search(rf"`{flag}[` ]", section[1]) for flag in flags)


def test_the_parser_reads_again_after_it_was_looked_at(capsys):
    parser_of("list")
    assert main(["version"]) == 0
    assert capsys.readouterr().out.startswith("festina ")


def test_every_field_of_every_model_is_on_its_page():
    pages = model_pages()
    for model in all_models():
        page = pages[f"models/{file_name(model)}.md"]
        for field in facts_of(model):
            assert f"| `{field.name}` |" in page


@pytest.mark.parametrize(
    ("typed", "offered"),
    [("fs.fl", "fs.flow("), ("fs.models.Two", "fs.models.TwoLayer("), ("fs.theory.bala", "fs.theory.balanced(")],
)
def test_names_are_completed_before_they_are_loaded(typed, offered):
    completer = Completer({"fs": fs})
    with contextlib.redirect_stdout(io.StringIO()):
        offers = [completer.complete(typed, number) for number in range(5)]
    assert any(offer and offer.startswith(offered.rstrip("(")) for offer in offers), offers


def test_all_that_is_offered_is_there():
    assert reduce(getattr, ("models", "TwoLayer", "run"), fs)
    assert {"flow", "descent", "sample", "models", "theory"} <= set(dir(fs))
    assert all(hasattr(fs, name) for name in dir(fs))


def test_a_page_of_an_experiment_has_its_claims_and_figure_and_needs_no_data_for_them(tmp_path, monkeypatch):
    experiment = find("linear/chain")
    verdicts = quick("linear/chain").verdicts
    page = generated_experiments.experiment_page(experiment, RESULTS, tmp_path)
    assert "![The figure of linear/chain](../figures/linear_chain.svg)" in page
    assert (tmp_path / "linear_chain.svg").read_text(encoding="utf-8").startswith("<?xml")
    for claim, verdict in zip(experiment.claims, verdicts, strict=True):
        assert claim.statement in page and verdict.measurement in page
    monkeypatch.setattr(generated_experiments.stores, "load", None)
    assert generated_experiments.experiment_page(experiment, RESULTS, tmp_path) == page


def test_a_page_without_a_result_says_how_to_make_one(tmp_path):
    page = generated_experiments.experiment_page(find("linear/chain"), tmp_path, tmp_path)
    assert "No result of it was at hand" in page and "festina run linear/chain --budget quick" in page
    assert not [*tmp_path.rglob("*.svg")]
