"""linear/semantics: its quick claims on a tree, and the cheap ones on the other structures."""

from dataclasses import replace

import jax
import matplotlib.pyplot as plt
import numpy as np
import pytest

from festina.errors import ArgumentError
from festina.experiments.linear._semantics_measures import half_times
from festina.experiments.linear._semantics_world import build_world, owned_features, steps_apart
from festina.experiments.linear.semantics import Semantics
from shared import quick

pytestmark = pytest.mark.full

STRUCTURES = ("tree", "partition", "ring", "grid")


@pytest.fixture(scope="module")
def result():
    return quick("linear/semantics")


def test_quick_claims_hold(result):
    assert {verdict.claim: verdict.outcome for verdict in result.verdicts} == {
        claim.id: "reproduced" for claim in Semantics.claims
    }


@pytest.mark.parametrize("structure", STRUCTURES)
def test_singular_values_are_those_of_the_closed_form(structure):
    world = build_world(Semantics().configure("quick", structure=structure))
    measured = np.linalg.svd(np.asarray(world.moments.cross), compute_uv=False)
    closed = np.sort(np.repeat(np.asarray(world.strengths), world.multiplicities))[::-1]
    np.testing.assert_allclose(measured, closed, atol=1e-10 * closed[0])


@pytest.mark.parametrize(
    ("until", "note"), [(10.0, "the network `deep` is still learning: needs --until "), (25.0, "")]
)
def test_networks_that_still_learn_say_how_long_it_takes(result, until, note):
    """Cut off at until, levels that are not learned to a half make their claims undecided."""
    seen = result["time"].values <= until
    config = result.config.model_copy(update={"until": until})
    short = replace(result, config=config, data=result.data.isel(time=seen), theory=result.theory.isel(time=seen))
    verdicts = {claim.id: claim.judge(short, "quick") for claim in Semantics.claims}
    assert verdicts["exact"].outcome == "reproduced"
    for claim in ("progressive", "half-time"):
        assert verdicts[claim].note.startswith(note) and bool(verdicts[claim].note) == bool(note)
        assert verdicts[claim].outcome == ("undecided" if note else "reproduced")
    if note:
        needed = float(verdicts["progressive"].note.split()[-1])
        assert needed == pytest.approx(half_times(result, "deep").max(), rel=0.1)


def test_theory_gives_the_variables_of_the_simulation(result):
    assert set(result.theory.data_vars) == {"learned", "loss", "similarity", "illusion"}
    for name in result.theory.data_vars:
        assert result.theory[name].dims == result[name].dims
    assert np.all(result.errors("illusion") < 0.05)
    assert np.all(result.errors("similarity") < 0.05 * float(result["similarity"].max()))


def test_figure_has_a_letter_for_each_panel(result):
    figure = result.figure()
    letters = {text.get_text() for axis in figure.axes for text in axis.texts}
    assert {"a", "b", "c", "d", "e"} <= letters
    plt.close(figure)


@pytest.mark.parametrize("structure", ["partition", "ring", "grid"])
def test_other_structures_start_and_predict_as_the_tree_does(structure):
    config = Semantics().configure("quick", structure=structure)
    solution = Semantics().theory(config, jax.random.key(0))
    answer = solution(np.array([0.0, 15.0, 1e4]))
    np.testing.assert_allclose(answer["learned"][-1], 1.0, atol=1e-9)
    deep = np.asarray(answer["learned"])[1, 0]
    assert np.all(np.diff(deep) < 0), "broad levels are ahead of fine ones"
    illusion = np.asarray(answer["illusion"])
    assert np.all(illusion[1, 0] > 0.02) and np.all(np.abs(illusion[-1]) < 1e-9)
    assert np.all(np.abs(illusion[:, 1]) < 0.02), "a shallow network has no illusions"


@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_rate_and_an_observation_of_every_structure_can_be_traced(structure):
    config = Semantics().configure("quick", structure=structure)
    process = Semantics().simulate(config, jax.random.key(0))
    seen = jax.eval_shape(process.observe, process.initial)
    items = build_world(config).items
    assert seen["similarity"].shape == (items, items)
    assert {name: len(seen[name].shape) for name in seen} == {
        name: len(variable.dims) for name, variable in Semantics.variables.items()
    }


def test_steps_apart():
    def first_row(**fields):
        return steps_apart(Semantics().configure(**fields))[0].tolist()

    assert first_row(structure="tree", branching=(2, 3)) == [0, 1, 1, 2, 2, 2]
    assert first_row(structure="partition", classes=2, members=2) == [0, 1, 2, 2]
    assert first_row(structure="ring", items=5) == [0, 1, 2, 2, 1]
    assert first_row(structure="grid", rows=2, columns=3) == [0, 1, 2, 1, 2, 3]


def test_owned_features_of_a_tree_have_its_levels():
    config = Semantics().configure(structure="tree", branching=(2, 2, 2), features=15)
    owned, shells = owned_features(config)
    assert owned.targets.shape == (8, 15)
    shares = [8 / 2**level for level in range(4)]
    expected = [np.sqrt(sum(shares[level:])) / 8 for level in (0, 1, 2, 2, 3, 3, 3, 3)]
    measured = np.linalg.svd(owned.moments.cross, compute_uv=False)
    np.testing.assert_allclose(measured, expected, atol=1e-12)
    np.testing.assert_allclose(shells.sum(axis=(1, 2)), 1.0)
    np.testing.assert_allclose(np.einsum("rfi,if->r", shells, owned.targets), 0.0)


@pytest.mark.parametrize("fields", [{"hidden": 7}, {"features": 7}, {"flip": 0.5}, {"branching": (2, 1)}])
def test_impossible_questions_are_refused(fields):
    with pytest.raises(ArgumentError, match="Argument `"):
        Semantics().simulate(Semantics().configure(**fields), jax.random.key(0))
