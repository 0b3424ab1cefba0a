"""Task abstractions as a model: the limit of many inputs, derivatives, batches, and what is refused."""

import jax
import numpy as np
import pytest

import festina as fs
from festina import models
from festina.errors import ArgumentError, FestinaError
from festina.lab.batch import Builder, make_batch, starts_of
from narrowing import there

SMALL = {
    "inputs": 6,
    "outputs": 3,
    "until": 0.6,
    "step_size": 0.01,
    "records": 12,
    "block_length": 0.1,
    "strength": 0.7,
}


@pytest.mark.parametrize(
    "fields",
    [{"data": "population"}, {"data": "closure"}, {"tasks": 3, "outputs": 2}, {"rank": 2, "similarity": 0.3}],
    ids=str,
)
@pytest.mark.parametrize("recorded", ["courses", "totals"])
@pytest.mark.full
def test_without_noise_networks_follow_their_limit(fields, recorded):
    model = models.TaskAbstraction(**SMALL | {"data": "closure", "recorded": recorded} | fields, scale=0.5)
    result = model.run(seeds=2)
    assert set(there(result.theory)) == set(result.data) & {"loss", "gates", "components", "norms"} | (
        {"total_alignment", "separation"} if recorded == "totals" else set()
    )
    np.testing.assert_array_less(result.errors(*map(str, there(result.theory))), 1e-10)
    assert np.ptp(result["loss"].isel(time=slice(1, None)).values) > 1e-3


@pytest.mark.full
def test_batches_of_many_inputs_come_near_to_the_limit():
    result = models.TaskAbstraction(**SMALL, batch=100_000, scale=0.5).run(seeds=1)
    assert 1e-6 < float(result.errors("gates").max()) < 0.02


@pytest.mark.full
@pytest.mark.parametrize("field", ["gate_timescale", "similarity"])
def test_derivatives_are_those_of_the_limit(field):
    base = SMALL | {"data": "population", "scale": 0.5, "similarity": 0.3}
    model = models.TaskAbstraction(**base)
    slope = model.derivative("loss", field).values
    value, small = getattr(model, field), 1e-6
    near = [models.TaskAbstraction(**base | {field: value + sign * small}).theory() for sign in (-1, 1)]
    times = np.arange(13) * 0.05
    finite = np.subtract(near[1](times)["loss"], near[0](times)["loss"]) / (2 * small)
    np.testing.assert_allclose(slope, finite, atol=1e-6 * max(1.0, np.abs(finite).max()))
    assert np.abs(finite).max() > 1e-2


@pytest.mark.full
def test_a_batch_is_so_many_single_runs():
    fields = SMALL | {"data": "wishart", "batch": 20}
    together = models.TaskAbstraction(**fields).sweep(gate_timescale=[0.03, 0.3], similarity=[0.0, 0.5], seeds=2)
    for timescale, cosine, seed in ((0.3, 0.5, 1), (0.03, 0.0, 0)):
        alone = models.TaskAbstraction(**fields, gate_timescale=timescale, similarity=cosine)
        result = alone.run(first_seed=seed)
        chosen = together.sel(gate_timescale=timescale, similarity=cosine).isel(seed=seed)
        for name in ("gates", "loss", "alignment"):
            np.testing.assert_allclose(chosen[name].transpose(*result[name].dims[1:]), result[name][0], atol=1e-12)


def test_teachers_have_the_cosine_that_is_asked_for():
    model = models.TaskAbstraction(**SMALL, similarity=0.4)
    with fs.double():
        drawn = starts_of(make_batch(Builder.of(model), [0], [[model]], [3]))
    maps = np.asarray(drawn.tasks.maps)[0]
    unit = maps / np.linalg.norm(maps, axis=-1, keepdims=True)
    np.testing.assert_allclose(np.einsum("oi,oi->o", *unit), 0.4, atol=1e-12)


def test_teachers_of_a_rank_have_it_and_are_as_alike_as_is_asked_for():
    model = models.TaskAbstraction(**SMALL, rank=2, similarity=0.4, convention="mean")
    with fs.double():
        maps = np.asarray(starts_of(make_batch(Builder.of(model), [0], [[model]], [3])).tasks.maps)[0]
    np.testing.assert_allclose(np.einsum("moi,noi->mn", maps, maps), 12 * np.array([[1, 0.4], [0.4, 1]]), atol=1e-12)
    plain = model.model_copy(update={"similarity": 0.0})
    with fs.double():
        maps = np.asarray(starts_of(make_batch(Builder.of(plain), [0], [[plain]], [3])).tasks.maps)[0]
    np.testing.assert_allclose(np.linalg.svd(maps)[1], np.tile([6**0.5, 6**0.5, 0.0], (2, 1)), atol=1e-12)


@pytest.mark.full
def test_paths_are_sorted_by_their_teachers():
    result = models.TaskAbstraction(**SMALL | {"until": 3.0, "records": 30}, data="closure", scale=0.5).run(seeds=3)
    mean = result["sorted_alignment"].mean("time").values
    for table, order in zip(mean, result["alignment"].mean("time").values, strict=True):
        assert np.trace(table) == pytest.approx(max(np.trace(order), np.trace(order[:, ::-1])))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"step_size": 0.2, "records": 3}, "`step_size` must not exceed the length of a block, 0.1"),
        ({"records": 7}, "`records` must divide the 60 steps there are"),
        ({"similarity": -0.8, "tasks": 3, "outputs": 2}, "`similarity` must be at least -0.5"),
        ({"recorded": "totals", "tasks": 7, "inputs": 30}, "`recorded` must be courses for more than 6 tasks"),
        ({"rank": 4}, "`rank` must be at most 3, the smaller of inputs and outputs"),
        ({"gate_timescale": 0.0}, "`gate_timescale` must be greater than or equal to 0.0001"),
    ],
)
def test_what_cannot_be_is_refused(fields, message):
    with pytest.raises(ArgumentError, match=message):
        models.TaskAbstraction.checked("model/task-abstraction", SMALL | fields)


@pytest.mark.full
def test_without_a_limit_there_is_no_theory():
    """The limit is known for ‖c‖₁ alone."""
    assert models.TaskAbstraction(**SMALL, order=2).run().theory is None
    assert jax.tree.leaves(models.TaskAbstraction(**SMALL).theory()(0.1))


def test_a_derivative_that_is_not_there_is_refused_in_a_sentence():
    """Four students and teachers in three dimensions have no basis that turns smoothly with them."""
    fields = {"inputs": 3, "outputs": 1, "data": "closure", "until": 0.1, "records": 2, "scale": 0.5}
    model = models.TaskAbstraction(**SMALL | fields)
    with pytest.raises(FestinaError, match=r"∂loss/∂scale of .* does not exist"):
        model.derivative("loss", "scale")
