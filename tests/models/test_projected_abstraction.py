"""Task abstractions in the span of their teachers: which description is exact from which start, and against a loop."""

import numpy as np
import pytest

import festina as fs
from festina import models
from festina.errors import ArgumentError

SMALL = {
    "inputs": 7,
    "outputs": 2,
    "until": 0.6,
    "step_size": 0.01,
    "records": 12,
    "block_length": 0.1,
    "scale": 0.5,
    "data": "closure",
}
SEEN = ("loss", "share", "gates", "weights", "components", "norms", "speeds")


def run(**fields):
    return models.ProjectedAbstraction(**SMALL | fields).run()


def apart(one, other):
    """The largest difference in all that means the same in every description."""
    return max(float(abs(one[name] - other[name]).max()) for name in SEEN)


@pytest.mark.full
@pytest.mark.parametrize("fields", [{}, {"tasks": 3, "similarity": 0.3, "convention": "mean"}], ids=str)
def test_a_description_is_exact_from_a_start_in_its_span_and_from_no_other(fields):
    """P + M coordinates from any start, M for each row in the span of its teachers, M for all rows if they agree."""
    for start, exact, other in (("spanned", "rows", "plane"), ("aligned", "plane", None), ("random", "whole", "rows")):
        whole = run(begin=start, data="population", **fields)
        assert apart(run(begin=start, described=exact, **fields), whole) < 1e-12, start
        np.testing.assert_array_less(whole.errors(), 1e-10)
        if other is not None:
            assert apart(run(begin=start, described=other, **fields), whole) > 1e-3, start


@pytest.mark.parametrize("convention", ["sum", "mean"])
@pytest.mark.full
def test_the_plane_is_the_reduced_model_in_units_of_the_full_one(convention):
    """Euler steps of eqs 15 and 16, with constants and a factor of the bounds as `reduced_scales` gives them."""
    model = models.ProjectedAbstraction(**SMALL, described="plane", convention=convention)
    seen = model.run().data.isel(run=0)
    rule = fs.worlds.convention(convention)
    sizes = 2, rule.row_norm(7), rule.loss_share(2)
    scales = fs.theory.abstraction.reduced_scales(model.weight_timescale, model.gate_timescale, *sizes)
    weights, gates = seen["weights"].values[0], seen["gates"].values[0]
    for step in range(60):
        if step % 5 == 0:
            np.testing.assert_allclose(seen["weights"][step // 5], weights, atol=1e-12)
            np.testing.assert_allclose(seen["gates"][step // 5], gates, atol=1e-12)
        error = np.eye(2)[step // 10 % 2] - gates @ weights
        bound = 2 * model.normalization * (np.abs(gates).sum() - 1) * np.sign(gates) - model.nonnegativity * (gates < 0)
        pull = weights @ error - scales.regularization * bound
        weights = weights + model.step_size / scales.weight_timescale * np.outer(gates, error)
        gates = gates + model.step_size / scales.gate_timescale * pull
        if step % 5 == 4:
            left = np.eye(2)[(step + 1) // 10 % 2] - gates @ weights
            np.testing.assert_allclose(seen["share"][(step + 1) // 5], left @ left, atol=1e-12)


@pytest.mark.full
def test_starts_are_what_the_teachers_see_of_the_random_one():
    random, spanned, aligned = (run(begin=start).data.isel(run=0, time=0) for start in ("random", "spanned", "aligned"))
    np.testing.assert_allclose(spanned["weights"], random["weights"], atol=1e-15)
    np.testing.assert_allclose(aligned["weights"], random["weights"], atol=1e-15)
    assert (spanned["norms"] < random["norms"]).all() and (aligned["norms"] < spanned["norms"]).all()
    in_plane = np.linalg.norm(aligned["weights"], axis=1) * (2 / 7) ** 0.5  # times the norm of a teacher
    np.testing.assert_allclose(aligned["norms"], in_plane, atol=1e-15)


@pytest.mark.full
def test_mirrored_paths_stand_to_either_side_of_the_diagonal():
    found = run(begin="mirrored", angle=0.3, scale=0.2)["weights"].isel(run=0, time=0).values
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 0.2, rtol=1e-12)
    np.testing.assert_allclose(np.arctan2(found[:, 1], found[:, 0]), np.pi / 4 + np.array([-0.3, 0.3]), rtol=1e-12)


@pytest.mark.full
@pytest.mark.parametrize(("field", "start"), [("angle", "mirrored"), ("gate_timescale", "aligned")])
def test_derivatives_are_those_of_the_limit(field, start):
    base = SMALL | {"begin": start, "described": "plane"}
    model = models.ProjectedAbstraction(**base)
    value, small = getattr(model, field), 1e-6
    near = [models.ProjectedAbstraction(**base | {field: value + sign * small}).theory() for sign in (-1, 1)]
    times = np.arange(13) * 0.05
    finite = np.subtract(near[1](times)["loss"], near[0](times)["loss"]) / (2 * small)
    np.testing.assert_allclose(model.derivative("loss", field).values, finite, atol=1e-6)
    assert np.abs(finite).max() > 1e-3


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"begin": "mirrored", "tasks": 3}, "`begin` must be another one for more than two tasks"),
        ({"described": "rows", "data": "wishart"}, "`described` must be whole for batches of inputs"),
        ({"described": "plane", "rank": 2}, "`described` must be whole or rows for teachers of a rank"),
        ({"angle": 101.0}, "`angle` must be less than or equal to 100"),
    ],
)
def test_what_cannot_be_is_refused(fields, message):
    with pytest.raises(ArgumentError, match=message):
        models.ProjectedAbstraction.checked("model/projected-abstraction", SMALL | fields)
