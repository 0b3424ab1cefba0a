"""What can be asked of a whole sweep: where claims hold, and how it looks."""

import pickle

import numpy as np
import pytest
import xarray as xr

import festina as fs
from festina.errors import ArgumentError, FestinaError, UnknownName
from festina.lab import Swept, open_sweep
from festina.lab.sweeps.executors import InProcess
from festina.lab.sweeps.folder import prepare, sweep_folder
from festina.lab.sweeps.sweep import planned
from festina.lab.sweeps.worker import Shard, work
from narrowing import there
from toy import Toy

OVER = {"units": [1, 3], "speed": [0.5, 1.0, 15.0], "records": [10, 20]}


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    store = tmp_path_factory.mktemp("store")
    return fs.sweep(Toy(), OVER, seeds=2, store=store, tile=4, spread=0.1, executor=InProcess())


def test_without_a_store_it_is_that_of_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = fs.sweep(Toy(), "speed=1,2", budget="quick", executor=InProcess())
    assert data.attrs["store"].startswith("runs/toy/decay/sweep-")


def test_a_notebook_says_which_sweep_it_is_above_its_data(swept):
    html = swept._repr_html_()
    about = "toy/decay over units (2), speed (3), records (2): 24 of 24 runs done"
    assert html.index(about) < html.index("xr-wrap")


@pytest.mark.full
def test_it_is_a_data_set_and_what_is_made_of_it_a_plain_one(swept, tmp_path):
    assert isinstance(swept, xr.Dataset) and type(swept.load()) is Swept
    for made in (
        swept.sel(units=1),
        swept.copy(),
        swept * 1.0,
        swept[["final"]],
        swept.map(abs),
        pickle.loads(pickle.dumps(swept)),
    ):
        assert type(made) is xr.Dataset
    assert pickle.loads(pickle.dumps(swept)).identical(swept.copy())
    assert swept.identical(open_sweep(swept.attrs["store"], Toy()))
    assert xr.concat([swept.isel(seed=[0]), swept.isel(seed=[1])], "seed").sizes["seed"] == 2


def test_claims_are_counted_over_all_points(swept):
    assert swept.verdicts["exact"].holds.all()
    assert swept.verdicts["false"].counts == {"not reproduced": 8, "reproduced": 4}


@pytest.mark.full
def test_every_point_is_judged_as_the_run_that_it_is(swept):
    verdicts = swept.verdicts
    assert [verdict.claim for verdict in verdicts] == [claim.id for claim in Toy.claims] and len(verdicts) == 3
    assert verdicts is swept.verdicts
    for units, speed, records in ((1, 0.5, 10), (3, 1.0, 20), (3, 15.0, 10)):
        alone = fs.run(Toy(), units=units, speed=speed, records=records, seeds=2, spread=0.1)
        for own, verdict in zip(alone.verdicts, verdicts, strict=True):
            here = {"units": units, "speed": speed, "records": records}
            assert str(verdict.outcome.sel(here).item()) == own.outcome
            np.testing.assert_allclose(verdict.measured.sel(here), there(own.measured), rtol=1e-3, atol=1e-10)
            assert (verdict.statement, verdict.expectation) == (own.statement, own.expectation)
    assert verdicts["exact"].holds.all()
    assert verdicts["false"].holds.sel(speed=15.0).all() and not verdicts["false"].holds.sel(speed=0.5).any()
    assert verdicts["false"].counts == {"not reproduced": 8, "reproduced": 4}
    line = "false [paper]: not reproduced at 8, reproduced at 4 of 12 points; measured "
    assert str(verdicts["false"]).startswith(line) and line in repr(verdicts)
    with pytest.raises(UnknownName, match="unknown claim 'fals'; did you mean 'false'"):
        verdicts["fals"]


@pytest.mark.full
def test_arms_are_judged_as_in_a_run(tmp_path):
    question = {"budget": "quick", "records": 40, "depth": (1, 2, 4)}
    data = fs.sweep("linear/chain", {"initial": [1e-3, 1e-1]}, store=tmp_path, executor=InProcess(), **question)
    for initial in (1e-3, 1e-1):
        alone = {it.claim: it.outcome for it in fs.run("linear/chain", initial=initial, **question).verdicts}
        assert alone == {it.claim: str(it.outcome.sel(initial=initial).item()) for it in data.verdicts}


@pytest.mark.full
def test_what_failed_or_is_not_done_is_not_judged_as_if_it_were(tmp_path):
    failed = fs.sweep(Toy(), {"speed": [-1.0, 1.0]}, store=tmp_path, explode=True, executor=InProcess())
    assert failed.verdicts["false"].outcome.values.tolist() == ["undecided", "not reproduced"]
    plan = planned(Toy(), {"speed": [1.0, 2.0, 3.0]}, tile=1)
    folder = sweep_folder(tmp_path, plan)
    prepare(folder, plan)
    work(folder, plan, shard=Shard(0, 2))
    begun = open_sweep(folder, Toy()).verdicts["exact"]
    assert begun.outcome.values.tolist() == ["reproduced", "", "reproduced"]
    assert str(begun).startswith("exact [theory]: reproduced at 2 of 2 points")


def test_claims_need_all_variables_and_models_make_none(tmp_path):
    data = fs.sweep(Toy(), "speed=1,2", store=tmp_path, variables="final", executor=InProcess())
    with pytest.raises(FestinaError, match="claims are judged on all variables, but the sweep of toy/decay kept final"):
        _ = data.verdicts
    model = fs.models.Chain(records=10).sweep(strength=[1.0, 2.0])
    assert len(model.verdicts) == 0 and repr(model.verdicts) == "No claims are made."


def lines(axis):
    return [np.asarray(line.get_ydata()) for line in axis.lines]


def test_one_axis_is_drawn_as_curves_of_last_values(tmp_path):
    data = fs.sweep(Toy(), {"speed": [0.1, 1.0, 10.0]}, store=tmp_path, seeds=3, spread=0.2, executor=InProcess())
    figure = data.plot()
    panels = {axis.get_ylabel(): axis for axis in figure.axes if axis.axison}
    assert list(panels) == ["level / V", "sum of the levels", "last total", "what is left of each unit\n/ V"]
    ends = data["total"].isel(time=-1)
    np.testing.assert_allclose(lines(panels["sum of the levels"])[0], ends.mean("seed"))
    assert panels["last total"].get_xscale() == "log" and panels["last total"].get_xlabel() == "speed / 1/τ"
    assert [text.get_text() for text in there(panels["level / V"].get_legend()).get_texts()] == ["unit 0", "unit 1"]
    (axis,) = data.plot("total").axes
    assert axis.get_ylabel() == "sum of the levels"


def test_two_axes_are_drawn_as_a_map(tmp_path):
    data = fs.sweep(Toy(), {"speed": [1.0, 2.0, 3.0], "units": [1, 2]}, store=tmp_path, executor=InProcess())
    figure = data.plot("total")
    image = figure.axes[0].images[0]
    np.testing.assert_allclose(
        there(image.get_array()), data["total"].isel(time=-1, seed=0).transpose("units", "speed")
    )
    assert [text.get_text() for text in figure.axes[0].get_xticklabels()] == ["1", "2", "3"]
    assert figure.axes[0].get_xlabel() == "speed / 1/τ" and figure.axes[0].get_ylabel() == "units"
    assert len(data.plot("level", units=2).axes) == 1  # of two axes one is left


@pytest.mark.full
def test_runs_with_fewer_recordings_end_where_they_end_and_failed_ones_nowhere(swept, tmp_path):
    (axis,) = swept.plot("total", units=3, speed=1.0).axes
    ends = swept["total"].sel(units=3, speed=1.0).mean("seed")
    expected = [ends.sel(records=10).dropna("time")[-1], ends.sel(records=20)[-1]]
    np.testing.assert_allclose(lines(axis)[0], expected)
    failed = fs.sweep(Toy(), {"speed": [-1.0, 1.0]}, store=tmp_path, explode=True, executor=InProcess())
    assert np.isnan(lines(failed.plot("total").axes[0])[0][0])


@pytest.mark.full
def test_what_is_no_number_stands_side_by_side(tmp_path):
    data = fs.sweep("linear/chain", {"depth": [1, 3, "inf"]}, store=tmp_path, budget="quick", records=20)
    (axis,) = data.plot("product").axes
    assert [text.get_text() for text in axis.get_xticklabels()] == ["1", "3", "∞"]


def test_a_plot_that_cannot_be_says_why(swept):
    with pytest.raises(ArgumentError, match="must leave one or two axes for a plot, but leaves 3: units, speed"):
        swept.plot()
    with pytest.raises(ArgumentError, match="must leave one or two axes for a plot, but leaves none"):
        swept.plot(units=1, speed=1.0, records=10)
    with pytest.raises(UnknownName, match="unknown variable of the sweep 'totl'; did you mean 'total'"):
        swept.plot("totl", units=1)
    assert callable(swept.plot.scatter)


def test_what_differs_by_rounding_is_drawn_as_the_same(tmp_path):
    model = fs.models.Chain(records=20, until=200.0, initial=0.1)
    (axis,) = model.sweep(strength=[1.0, 2.0, 3.0]).plot("loss").axes
    assert axis.get_ylim()[1] > 0.1 and max(lines(axis)[0]) < 1e-6
