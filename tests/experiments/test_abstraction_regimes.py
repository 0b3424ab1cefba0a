"""abstraction/regimes: its claims, reference values, and one compilation for a whole map."""

import numpy as np
import pytest

import festina as fs
from festina.errors import ArgumentError
from festina.experiments.abstraction.regimes import panel
from festina.learning import loop
from shared import quick

pytestmark = pytest.mark.full

FAILING = {"slowest-gates", "short-blocks", "many-samples"}  # the last needs batches


@pytest.fixture(scope="module")
def result():
    return quick("abstraction/regimes")


def test_quick_claims(result):
    outcomes = {verdict.claim: verdict.outcome for verdict in result.verdicts}
    assert {claim for claim, outcome in outcomes.items() if outcome != "reproduced"} == FAILING, result


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
    assert {v.claim for v in result.verdicts if v.outcome == "needs the full budget"} >= {"fast-gates", "slowest-gates"}
    assert len(result.figure().axes) == 2
