"""model/semantic: an independent integration, its theory in every structure, and what every model has to be."""

import jax
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import festina as fs
from festina.errors import ArgumentError

STRUCTURES = ("tree", "partition", "ring", "grid")
SMALL = fs.models.Semantic(
    structure="partition", classes=2, members=2, features=5, hidden=64, scale=0.02, until=12.0, records=12
)


def changed(model, **fields):
    return model.model_copy(update=fields)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_singular_values_are_those_of_the_closed_form(structure):
    world = fs.models.Semantic(structure=structure).world()
    measured = np.linalg.svd(np.asarray(world.moments.cross), compute_uv=False)
    closed = np.sort(np.repeat(np.asarray(world.strengths), world.multiplicities))[::-1]
    np.testing.assert_allclose(measured, closed, atol=1e-10 * closed[0])


@pytest.mark.full
@pytest.mark.parametrize("features_of", ["structure", "neighbourhoods"])
def test_an_independent_integration(features_of):
    """Two layers, one item after the other, by another integrator; shares by projection of the features."""
    model = changed(SMALL, features_of=features_of)
    result = model.run()
    first, second = (np.asarray(weight) for weight in model.start(jax.random.key(0)).weights)
    owned, shells = model.owned()
    targets = np.asarray(owned.targets if features_of == "neighbourhoods" else model.world().dataset.targets).T
    split = first.size

    def layers(flat):
        return flat[:split].reshape(first.shape), flat[split:].reshape(second.shape)

    def rate(_, flat):
        first, second = layers(flat)
        error = (targets - second @ first) / targets.shape[1]
        return np.concatenate([(second.T @ error).ravel(), (error @ first.T).ravel()])

    time = result["time"].values
    start = np.concatenate([first.ravel(), second.ravel()])
    solved = solve_ivp(rate, (0, time[-1]), start, "DOP853", time, rtol=1e-11, atol=1e-13).y.T
    for number, flat in enumerate(solved):
        first, second = layers(flat)
        seen, mapping = result.data.isel(run=0, time=number), second @ first
        np.testing.assert_allclose(seen["loss"], np.sum((targets - mapping) ** 2) / 2 / targets.shape[1], atol=1e-8)
        np.testing.assert_allclose(seen["similarity"], first.T @ first, atol=1e-8)
        for level, projector in enumerate(np.asarray(model.world().projectors)):
            part = targets @ projector
            share = np.sum(part * mapping) / np.sum(part**2)
            np.testing.assert_allclose(seen["learned"][level], share, atol=1e-8)
        if features_of == "neighbourhoods":
            np.testing.assert_allclose(seen["illusion"], np.einsum("rfi,fi->r", shells, mapping), atol=1e-8)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.full
def test_theory_of_every_structure(structure):
    """Broad levels are ahead of fine ones, all is learned in the end, and illusions come and go, if there is depth."""
    deep = fs.models.Semantic(structure=structure)
    time = np.array([0.0, 9.0, 15.0, 1e4])
    learned = np.asarray(deep.theory()(time)["learned"])
    np.testing.assert_allclose(learned[-1], 1.0, atol=1e-9)
    assert np.all(np.diff(learned[2]) < 0)
    owned = changed(deep, features_of="neighbourhoods")
    illusion = np.asarray(owned.theory()(time)["illusion"])
    assert np.all(illusion.max(axis=0) > 0.02) and np.all(np.abs(illusion[-1]) < 1e-9)
    assert np.all(np.abs(changed(owned, depth=1).theory()(time)["illusion"]) < 0.02)


@pytest.mark.parametrize("fields", [{"weights": "decoupled"}, {"depth": 1}, {"weights": "decoupled", "depth": 1}])
@pytest.mark.full
def test_decoupled_weights_and_one_layer_follow_theory(fields):
    result = changed(SMALL, **fields).run()
    assert result.errors("learned", "loss").max() < 1e-8


@pytest.mark.full
def test_modes_that_share_their_hidden_directions_have_no_theory():
    """A narrow hidden layer learns, but not mode by mode."""
    narrow = changed(SMALL, hidden=4, scale=0.5)
    assert narrow.run().theory is None
    with pytest.raises(ArgumentError, match="must have a theory"):
        narrow.theory()


@pytest.mark.full
def test_half_times_are_those_of_theory():
    result = changed(SMALL, weights="decoupled", records=200).run()
    np.testing.assert_allclose(result["half_time"], result.solved["half_time"], rtol=1e-3)


@pytest.mark.full
@pytest.mark.parametrize("field", ["correlation", "scale"])
def test_derivatives_are_those_of_finite_differences(field):
    value = getattr(SMALL, field)
    step = 1e-5 * value
    above, below = (changed(SMALL, **{field: value + sign * step}).run() for sign in (1, -1))
    for name in ("learned", "loss"):
        expected = (above[name] - below[name])[0] / (2 * step)
        np.testing.assert_allclose(SMALL.derivative(name, field), expected, atol=2e-4 * abs(expected).max())


@pytest.mark.full
def test_a_batch_is_single_runs():
    batch = SMALL.sweep(correlation=[0.2, 0.6], seeds=2)
    for correlation in (0.2, 0.6):
        for seed in (0, 1):
            alone = changed(SMALL, correlation=correlation).run(first_seed=seed)
            together = batch.sel(correlation=correlation, seed=seed)
            for name in ("learned", "loss", "growing", "similarity"):
                np.testing.assert_allclose(together[name], alone[name][0], rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"hidden": 7}, "hidden"),
        ({"features": 7}, "features"),
        ({"flip": 0.5}, "flip"),
        ({"depth": 3}, "depth"),
        ({"weights": "decoupled", "features_of": "neighbourhoods"}, "features_of"),
    ],
)
def test_impossible_fields_are_refused(fields, named):
    with pytest.raises(ArgumentError, match=f"`{named}` must"):
        fs.run("model/semantic", **fields)


def test_theory_is_in_double_precision_whatever_the_flag_of_jax_says():
    with jax.enable_x64(False):
        found = SMALL.theory()(np.array([5.0]))
    assert all(isinstance(values, np.ndarray) and values.dtype == float for values in found.values())
