"""abstraction/regimes: its claims, reference values, and one compilation for a whole map."""

from typing import Any

import numpy as np
import pytest
import xarray as xr

import festina as fs
from festina.claims import NotApplicable, Undecided
from festina.errors import ArgumentError
from festina.experiment import Result
from festina.experiments.abstraction.regimes import COLUMNS, LENGTHS, PRINTED, Regimes, alignments, as_printed
from festina.learning import loop
from narrowing import there
from shared import quick

pytestmark = pytest.mark.full

UNLIKE_PRINT = {"slowest-gates", "short-blocks", "printed-table-speed", "printed-table-strength"}
NEEDS_BATCHES = {"many-samples"}


@pytest.fixture(scope="module")
def result():
    return quick("abstraction/regimes")


def test_quick_claims(result):
    outcomes = {verdict.claim: verdict.outcome for verdict in result.verdicts}
    assert {claim for claim, outcome in outcomes.items() if outcome == "not reproduced"} == UNLIKE_PRINT, result
    assert {claim for claim, outcome in outcomes.items() if outcome == "not applicable"} == NEEDS_BATCHES, result


def test_reference_values():
    """Means over ten seeds of an independent program with the population gradient; seeds differ by a few hundredths."""
    found = alignments(fs.run("abstraction/regimes", data="closure", strength=(0.0, 0.1)), "speed").mean("run")
    np.testing.assert_allclose(found.sel(block_length=1.0), [0.9996, 0.995, 0.896, 0.714, 0.699], atol=0.05)


def test_the_closure_makes_the_map_of_the_population(result):
    fields: dict[str, Any] = {"seeds": 2, "until": 2.0, "records": 2, "block_length": (0.5, 0.1), "strength": (0.1,)}
    one, other = (fs.run("abstraction/regimes", data=data, **fields) for data in ("closure", "population"))
    for name in ("total_alignment", "separation", "loss"):
        np.testing.assert_allclose(one[name], other[name], atol=1e-10)
        np.testing.assert_allclose(there(one.theory)[name], other[name], atol=1e-10)


def test_a_map_compiles_once():
    """All cells of both panels are one program, whatever their numbers and seeds."""
    small: dict[str, Any] = {"budget": "quick", "seeds": 2, "until": 0.7, "records": 7}
    before = loop._chunk.compiled._cache_size()
    fs.run("abstraction/regimes", **small)
    fs.run("abstraction/regimes", **small, strength=(0.2, 0.3, 0.4, 0.5, 0.6), weight_timescale=0.2, first_seed=7)
    assert loop._chunk.compiled._cache_size() == before + 1


def test_the_order_of_cells_does_not_matter(result):
    turned = fs.run("abstraction/regimes", budget="quick", gate_timescale=(0.1, 0.08, 0.06, 0.04, 0.02))
    for one, other in zip(result.verdicts, turned.verdicts, strict=True):
        if one.measured is not None and one.claim != "closed":
            np.testing.assert_allclose(one.measured, there(other.measured), atol=1e-9)


def test_blocks_shorter_than_a_step_are_refused():
    with pytest.raises(ArgumentError, match=r"`step_size` must not exceed the length of a block, 0\.0004"):
        fs.run("abstraction/regimes", block_length=(1.0, 0.0004))


def test_a_map_may_have_few_cells():
    fields = {"until": 0.7, "gate_timescale": (0.02,), "strength": (0.0,), "block_length": (0.1,)}
    result = fs.run("abstraction/regimes", budget="quick", seeds=1, **fields)
    assert result["total_alignment"].sizes["arm"] == 2
    outcomes = {verdict.claim: verdict.outcome for verdict in result.verdicts}
    assert outcomes["unbounded"] == "undecided" and outcomes["closed"] == "reproduced"
    assert len(result.figure().axes) == 3
    few = printed_result(block_length=(0.1,))
    for claim in ("long-blocks", "bounded", "slowest-gates", "printed-table-speed"):
        with pytest.raises(NotApplicable):
            next(known for known in Regimes.claims if known.id == claim).measure(Regimes(), few)


def printed_result(**fields):
    """A result whose maps are the printed ones, but for one cell of the speeds (τ_c = .1 at the shortest blocks)."""
    experiment = Regimes()
    config = experiment.configure(**fields)
    cells = [PRINTED[arm.labels["panel"]][LENGTHS.index(arm.labels["block_length"])][
                 COLUMNS[arm.labels["panel"]].index(arm.labels.get("gate_timescale", arm.labels.get("strength")))]
             for arm in experiment.arms_at(config)]  # fmt: skip
    off = [arm.labels.get("gate_timescale") == 0.1 and arm.labels["block_length"] == 0.1 for arm in
           experiment.arms_at(config)]  # fmt: skip
    values = np.asarray(cells) + 0.25 * np.asarray(off)
    coords = {name: (dim, labels) for name, (dim, labels) in experiment.arms.coordinates(config).items()}
    data = xr.Dataset({"total_alignment": (("run", "time", "arm"), values[None, None])}, coords)
    return Result(experiment, config, data)


@pytest.mark.parametrize("lengths", [(1.0, 0.8, 0.6, 0.4, 0.1), (0.1, 0.6, 1.0, 0.4, 0.8)])
def test_the_print_is_compared_cell_by_cell(lengths):
    result = printed_result(block_length=lengths)
    found = as_printed(result, "speed").isel(run=0) - np.asarray(PRINTED["speed"])
    np.testing.assert_allclose(found, 0.25 * np.outer(np.eye(5)[4], np.eye(5)[4]), atol=1e-12)
    np.testing.assert_allclose(as_printed(result, "strength").isel(run=0), PRINTED["strength"], atol=1e-12)


def test_what_the_print_does_not_show_is_not_compared():
    columns = {"gate_timescale": (0.02, 0.04, 0.06, 0.08)}
    for fields, needs in ((columns, "needs 0.1 among"), ({"until": 3.5, "records": 35}, "--until 7")):
        with pytest.raises((NotApplicable, Undecided), match=needs):
            as_printed(printed_result(**fields), "speed")
