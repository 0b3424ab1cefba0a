"""What there is to run, as a table."""

import subprocess
import sys

import pytest

import festina as fs
from festina.errors import FestinaWarning, UnknownName
from festina.lab import registry
from festina.lab.reproduce import Entry


def test_every_experiment_is_listed_with_its_sentence_and_its_fields():
    listed = fs.list_experiments()
    assert list(listed) == list(registry.names()) and len(listed) == len(registry.names())
    line = listed["linear/chain"]
    assert line.sentence == registry.find("linear/chain").summary()
    assert set(line.fields) == set(registry.find("linear/chain").Config.model_fields)
    assert "linear/chain" in listed and "linear/chian" not in listed
    with pytest.raises(UnknownName, match="unknown name 'linear/chian'; did you mean 'linear/chain'"):
        listed["linear/chian"]


def test_every_model_is_listed_under_the_name_by_which_it_runs():
    listed = fs.list_models()
    assert [name.removeprefix("model/") for name in listed] == sorted(registry.model_names())
    assert "imbalance" in listed["model/two-layer"].fields


@pytest.mark.parametrize("listed", [fs.list_experiments(), fs.list_models()])
def test_the_table_can_be_read(listed):
    lines = repr(listed).splitlines()
    assert max(map(len, lines)) <= 120
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == list(listed)
    for name in listed:
        assert name in listed._repr_html_()
        assert " ".join(listed[name].sentence.split()) in " ".join(repr(listed).split())


def test_one_that_cannot_be_loaded_is_named_and_hides_no_other(monkeypatch):
    sound = Entry("linear/chain", registry.find("linear/chain"))
    monkeypatch.setattr("festina.lab.catalogue.load_all", lambda: [Entry("other/one", error="it is broken"), sound])
    with pytest.warns(FestinaWarning, match="experiment 'other/one' cannot be loaded: it is broken"):
        assert list(fs.list_experiments()) == ["linear/chain"]


def test_listing_imports_nothing_heavy():
    program = (
        "import sys, festina as fs; repr(fs.list_experiments()), repr(fs.list_models()); "
        "print([name for name in ('jax', 'numpy', 'xarray', 'matplotlib', 'zarr') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
