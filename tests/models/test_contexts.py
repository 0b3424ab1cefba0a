"""model/rectified-contexts and model/gated-contexts: conformance, gates, paths and energies by hand, bounds."""

from typing import Any

import jax
import numpy as np
import pytest

import festina as fs
from festina import models
from festina.errors import ArgumentError
from festina.models.gated_contexts import left_over
from festina.testing import check_model
from festina.worlds.contexts import multitask

SMALL: dict[str, Any] = {"width": 24, "deviation": 0.02, "records": 10}


@pytest.mark.full
@pytest.mark.parametrize(("model", "steps"), [(models.RectifiedContexts, 150), (models.GatedContexts, 600)])
def test_models_conform(model, steps):
    """A rectified network in few steps only: its derivatives leave out that units switch at another step."""
    inside = {"frozen_at": 50.5} if model is models.RectifiedContexts else {}  # no bound, and between two steps
    check_model(model, steps=steps, **inside, **SMALL)


@pytest.mark.full
@pytest.mark.parametrize("field", ["context_scale", "rate"])
def test_derivatives_with_frozen_gates_are_differences(field):
    model = models.RectifiedContexts(gates="frozen", steps=400, **SMALL)
    slope, value = model.derivative("loss", field), getattr(model, field)
    more, less = (
        model.model_copy(update={field: value * (1 + side)}).run()["loss"].isel(run=0) for side in (1e-3, -1e-3)
    )
    size = float(abs(slope).max())
    assert size * value > 0.3
    np.testing.assert_allclose(slope, (more - less) / (2e-3 * value), rtol=0, atol=1e-2 * size)


@pytest.mark.full
def test_frozen_gates_are_those_of_the_start_and_learn_alike_until_units_switch():
    runs = {
        gates: models.RectifiedContexts(gates=gates, steps=2000, width=120, deviation=4e-5, records=100).run()
        for gates in ("learned", "frozen")
    }
    learned, frozen = (runs[gates].data.isel(run=0) for gates in ("learned", "frozen"))
    for name in models.RectifiedContexts.variables:
        np.testing.assert_allclose(learned[name].isel(time=0), frozen[name].isel(time=0), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(learned["loss"].isel(time=1), frozen["loss"].isel(time=1), rtol=1e-4)
    everywhere = frozen["everywhere"]
    assert float(everywhere.std("time").max()) < 1e-7 < float(learned["everywhere"].std("time").max())


@pytest.mark.full
@pytest.mark.parametrize("layers", [1, 2])
def test_gates_frozen_at_a_step_are_those_of_that_step(layers):
    """Until then the network learns as ever; from then on its gates stay, while its units would have others."""
    fields: dict[str, Any] = {"layers": layers, "width": 40, "deviation": 0.02, "steps": 600, "records": 60}
    learned = models.RectifiedContexts(**fields).run().data.isel(run=0)
    frozen = models.RectifiedContexts(gates="frozen", frozen_at=300, **fields).run().data.isel(run=0)
    for name in ("loss", "strength", "own_gates"):
        np.testing.assert_allclose(
            frozen[name].sel(time=slice(0, 300)), learned[name].sel(time=slice(0, 300)), atol=1e-4
        )
    after = frozen.sel(time=slice(300, None))
    assert float(after["everywhere"].std("time").max()) < 1e-6 < float(learned["everywhere"].std("time").max())
    assert float(after["own_gates"].isel(time=-1).min()) < 1 - 1e-3
    assert float(learned["own_gates"].min()) > 1 - 1e-5


@pytest.mark.full
def test_the_world_is_that_of_the_scale_and_linearity_does_not_depend_on_it():
    """R² of a linear map: the same from inputs of any size κ, by least squares on the inputs themselves."""
    model = models.RectifiedContexts(context_scale=1.7, **SMALL)
    network = model.start(jax.random.key(3))
    inputs = multitask(3, 1.7).dataset.inputs
    hidden = np.maximum(inputs @ np.asarray(network.weights[0], float).T, 0)
    table = np.column_stack([inputs, np.ones(len(inputs))])
    rest = hidden - table @ np.linalg.lstsq(table, hidden)[0]
    expected = 1 - np.sum(rest**2) / np.sum((hidden - hidden.mean(axis=0)) ** 2)
    observed = model.process(network).observe(model.process(network).initial)
    np.testing.assert_allclose(observed["linearity"][0], expected, atol=1e-5)
    error = multitask(3).dataset.targets - hidden @ np.asarray(network.weights[1], float).T
    np.testing.assert_allclose(observed["loss"], 0.5 * np.mean(np.sum(error**2, axis=1)), rtol=1e-5)


def test_energies_are_those_of_what_paths_add_to_the_output():
    model = models.GatedContexts(paths="all subsets", seen="everything", counted="of each path", width=4, deviation=1.0)
    network = model.start(jax.random.key(0))
    world, expected = multitask(3), np.zeros(4)
    for name, chosen in zip(model.names, model.sets, strict=True):
        into = [np.asarray(network.weights[f"{part}->{name}"], float) for part in ("object", "context")]
        path = np.asarray(network.weights[f"{name}->y"], float) @ np.concatenate(into, axis=1)
        answer = world.dataset.inputs @ path.T * chosen[world.contexts][:, None]
        expected[int(chosen.sum())] += np.sum(answer**2)
    with fs.double():
        np.testing.assert_allclose(jax.jit(model.energy)(network), expected / expected.sum(), rtol=1e-4)
    assert sorted(model.names) == sorted(f"path {n}" for n in ("123", "1", "2", "3", "12", "13", "23"))


def test_paths_have_the_widths_that_are_counted():
    shared = models.GatedContexts(contexts=4, width=80)
    assert shared.widths == [40, 10, 10, 10, 10] and np.all(shared.sets.sum(axis=1) == [4, 3, 3, 3, 3])
    assert models.GatedContexts(contexts=4, width=80, common=False, paths="single").widths == [20] * 4
    assert models.GatedContexts(width=7, counted="of each path").widths == [7] * 4
    assert shared.graph.inputs == ("object", "context")
    assert models.GatedContexts(common=False).graph.inputs == ("object",)
    alone = models.GatedContexts(paths="none", width=80)
    assert alone.widths == [80] and alone.names == ["path 123"]


@pytest.mark.full
@pytest.mark.parametrize(("first", "nodes"), [("shared", ["shared"] * 4), ("of each path", ["first {}"] * 4)])
def test_a_layer_without_gates_comes_first(first, nodes):
    model = models.GatedContexts(first_layer=first, seen="everything", width=24, deviation=1.0)
    network, world, expected = model.start(jax.random.key(1)), multitask(3), 0.0
    for name, chosen, node in zip(model.names, model.sets, nodes, strict=True):
        early = node.format(name)
        into = [np.asarray(network.weights[f"{part}->{early}"], float) for part in ("object", "context")]
        path = [np.asarray(network.weights[edge], float) for edge in (f"{name}->y", f"{early}->{name}")]
        answer = world.dataset.inputs @ (path[0] @ path[1] @ np.concatenate(into, axis=1)).T
        expected = expected + answer * chosen[world.contexts][:, None]
    samples = model.samples
    found = network(samples.inputs, samples.gates)["y"]
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3 * np.abs(expected).max())
    assert model.graph.widths["shared" if first == "shared" else "first path 12"] == (12 if first == "shared" else 4)


def test_the_residual_is_what_no_linear_map_explains():
    left, inputs = left_over(multitask(4)), multitask(4, 2.5).dataset.inputs
    np.testing.assert_allclose(inputs.T @ left, 0.0, atol=1e-12)
    expected = fs.theory.rectified.residual_loss(4, multitask(4).strengths)
    np.testing.assert_allclose(0.5 * np.mean(np.sum(left**2, axis=1)), expected)
    model = models.GatedContexts(contexts=4, target="residual", common=False, steps=10, records=10, width=16)
    np.testing.assert_allclose(model.run()["loss"].isel(time=0), expected, rtol=1e-5)


def test_strengths_of_modes_are_read_off_answers():
    """Answers that are right have all of every mode; those of the best linear map have the common path's alone."""
    for model in (models.RectifiedContexts(contexts=4), models.GatedContexts(structures="different")):
        world = model.world_at()
        common = fs.theory.structures.common_path(world.common, world.structures)
        others = fs.theory.structures.paths_but_one(world.structures)
        right = world.dataset.targets
        whole, linear = (model.mode_strengths(answers) for answers in (right, right - left_over(world)))
        np.testing.assert_allclose(whole["common_modes"], common.learned, atol=1e-5)
        np.testing.assert_allclose(whole["contextual_modes"], others.learned, atol=1e-5)
        np.testing.assert_allclose(linear["common_modes"], common.learned, atol=1e-5)
        np.testing.assert_allclose(linear["contextual_modes"], 0.0, atol=1e-5)


@pytest.mark.full
def test_a_path_grows_at_first_as_fast_as_theory_says():
    """Growth of a path of one context along its strongest mode, whose S is that of what it alone is shown."""
    model = models.GatedContexts(paths="single", common=False, deviation=1e-6, steps=1500, records=30, width=60)
    process = model.process(model.start(jax.random.key(0)))
    state, sizes = process.initial, []
    with fs.double():
        for index in range(1, 31):
            state = process.advance(state, jax.numpy.asarray(index))
            weights = state.parameters.weights
            sizes.append(np.linalg.norm(np.asarray(weights["path 1->y"] @ weights["object->path 1"], float)))
    world = multitask(3)
    here = world.contexts == 0
    seen = world.dataset.targets[here].T @ world.dataset.inputs[here, :8] / len(world.contexts)
    strength = np.linalg.norm(seen, 2)
    rate = np.diff(np.log(sizes))[-10:] / (50 * model.rate * len(world.contexts))
    np.testing.assert_allclose(rate, 2 * strength, rtol=0.02)


def test_bounds_are_refused_with_a_sentence():
    with pytest.raises(ArgumentError, match="`contexts` must be less than or equal to 8, but is 9"):
        models.RectifiedContexts.checked("model", {"contexts": 9})
    with pytest.raises(ArgumentError, match="`records` must divide the 8000 steps"):
        models.GatedContexts.checked("model", {"records": 161})
    with pytest.raises(ArgumentError, match="`width` must leave a unit for each of the 30 paths, and so be 60 or more"):
        models.GatedContexts.checked("model", {"contexts": 5, "paths": "all subsets", "width": 59})
    with pytest.raises(ArgumentError, match=r"`context_scale` must be greater than or equal to 0\.001"):
        models.RectifiedContexts.checked("model", {"context_scale": 0.0})
