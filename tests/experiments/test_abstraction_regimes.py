"""abstraction/regimes: its claims, reference values, and one compilation for a whole map."""

import numpy as np
import pytest
import xarray as xr

import festina as fs
from festina.claims import NotApplicable, Undecided
from festina.errors import ArgumentError
from festina.experiments.abstraction._regimes_measures import PANELS, PRINTED, from_print, panel
from festina.experiments.abstraction.regimes import Regimes
from festina.learning import loop
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
    found = panel(fs.run("abstraction/regimes", data="closure", strengths=(0.0, 0.1)), "speed").mean(axis=0)
    np.testing.assert_allclose(found[:, 0], [0.9996, 0.995, 0.896, 0.714, 0.699], atol=0.05)


def test_the_closure_makes_the_map_of_the_population(result):
    fields = {"seeds": 2, "until": 2.0, "records": 2, "block_lengths": (0.5, 0.1), "strengths": (0.1,)}
    one, other = (fs.run("abstraction/regimes", data=data, **fields) for data in ("closure", "population"))
    for name in ("total_alignment", "separation", "loss"):
        np.testing.assert_allclose(one[name], other[name], atol=1e-10)
        np.testing.assert_allclose(one.theory[name], other[name], atol=1e-10)


def test_a_map_compiles_once():
    """All cells of both panels are one program, whatever their numbers and seeds."""
    small = {"budget": "quick", "seeds": 2, "until": 0.7, "records": 7}
    before = loop._chunk.compiled._cache_size()
    fs.run("abstraction/regimes", **small)
    fs.run("abstraction/regimes", **small, strength=0.2, gate_timescale=0.01, first_seed=7)
    assert loop._chunk.compiled._cache_size() == before + 1


def test_the_order_of_cells_does_not_matter(result):
    turned = fs.run("abstraction/regimes", budget="quick", gate_timescales=(0.1, 0.08, 0.06, 0.04, 0.02))
    for one, other in zip(result.verdicts, turned.verdicts, strict=True):
        if one.measured is not None and one.claim != "closed":
            np.testing.assert_allclose(one.measured, other.measured, atol=1e-9)


def test_blocks_shorter_than_a_step_are_refused():
    with pytest.raises(ArgumentError, match="`block_lengths` must each hold at least one step"):
        fs.run("abstraction/regimes", block_lengths=(1.0, 0.0004))


def test_a_map_may_have_one_panel():
    result = fs.run("abstraction/regimes", budget="quick", seeds=1, until=0.7, gate_timescales=(), block_lengths=(0.1,))
    assert result["total_alignment"].sizes["cell"] == 5
    outcomes = {verdict.claim: verdict.outcome for verdict in result.verdicts}
    assert {outcomes[claim] for claim in ("fast-gates", "slowest-gates", "printed-table-speed")} == {"not applicable"}
    assert outcomes["unbounded"] == "undecided"
    assert len(result.figure().axes) == 2


class Map(dict):
    """A result whose maps are the printed ones, but for one cell of the speeds (τ_c = .1 at the shortest blocks)."""

    def __init__(self, **fields):
        self.config = Regimes().configure(**fields)
        lengths = self.config.block_lengths
        printed = np.concatenate(
            [np.stack([PRINTED[which]["rows"][length] for length in lengths], 1) for which in PANELS]
        )
        cells = printed.reshape(1, 1, -1).copy()
        cells[0, 0, 4 * len(lengths) + lengths.index(0.1)] += 0.25
        self["total_alignment"] = xr.DataArray(cells, dims=("run", "time", "cell"))


@pytest.mark.parametrize("lengths", [(1.0, 0.8, 0.6, 0.4, 0.1), (0.1, 0.6, 1.0, 0.4, 0.8)])
def test_the_print_is_compared_cell_by_cell(lengths):
    found = from_print(Map(block_lengths=lengths), "speed").values
    np.testing.assert_allclose(found, 0.25 * np.outer(np.eye(5)[4], np.eye(5)[4]), atol=1e-12)
    np.testing.assert_allclose(from_print(Map(block_lengths=lengths), "strength"), 0.0, atol=1e-12)


def test_what_the_print_does_not_show_is_not_compared():
    for fields, needs in (({"strength": 0.2}, "strength = 0.3"), ({"until": 3.5}, "--until 7")):
        with pytest.raises((NotApplicable, Undecided), match=needs):
            from_print(Map(**fields), "speed")
