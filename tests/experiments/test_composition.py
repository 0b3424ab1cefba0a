"""abstraction/composition: its claims, and what they cannot check."""

import jax
import numpy as np
import pytest

import festina as fs
from festina.compiling import quick_jit
from festina.errors import ArgumentError
from festina.experiments.abstraction.composition import Composition, gates
from shared import quick

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def result():
    return quick("abstraction/composition")


def test_quick_claims_hold(result):
    outcomes = {verdict.claim: verdict.outcome for verdict in result.verdicts}
    full = {claim.id for claim in Composition.claims if claim.budget == "full"}
    assert outcomes == {claim: "needs the full budget" if claim in full else "reproduced" for claim in outcomes}, result


def literal_subtask(result, run):
    """Subtask composition of one run and its flexible arm, step by step in NumPy, from the batches of its seed."""
    for_teachers, for_weights, for_data = fs.draws.split(jax.random.key(run), 3)
    teachers = np.asarray(fs.worlds.Tasks.orthogonal(for_teachers, 3, 6, 20).maps)
    students = np.stack(fs.networks.NeuronGated.init(for_weights, 3, 6, 20).students)
    gates, losses = np.full((3, 6), 0.5), []
    moment = quick_jit(lambda step: fs.worlds.Wishart(200).second_moment(fs.draws.fold_in(for_data, step), 20, float))
    for step in range(300):
        error = teachers[step // 100] - np.einsum("po,poi->oi", gates, students)
        losses.append(0.5 * np.sum(error**2))
        pull = error @ np.asarray(moment(step))
        norm = np.sqrt(np.sum(gates**2))
        bound = 2 / 88 * (norm - 1) * gates / norm - 1 / 44 * (gates < 0)
        change = np.einsum("oi,poi->po", pull, students) - bound
        students, gates = students + 0.01 / 0.2 * gates[..., None] * pull, gates + 0.01 / 0.005 * change
    return losses, gates


def test_subtasks_are_those_of_the_literal_equations(result):
    losses, gates = literal_subtask(result, 1)
    simulated = result.data.sel(setting="subtask", arm="flexible").isel(run=1)
    np.testing.assert_allclose(simulated["loss"].values[:300], losses, rtol=1e-9)
    np.testing.assert_allclose(simulated["row_gates"].isel(time=300).values, gates.T, rtol=1e-9)


def test_settings_differ_in_what_they_say_they_do(result):
    arms = {(arm.labels["setting"], arm.labels["arm"]): arm.model for arm in result.arms}
    assert [arms[setting, "flexible"].convention for setting in ("task", "task-unit", "subtask")] == [
        "sum",
        "mean",
        "sum",
    ]
    assert all(model.strength == (arm == "flexible") for (_, arm), model in arms.items())
    assert arms["task", "forgetful"].gate_timescale == arms["task", "flexible"].gate_timescale


def test_gates_of_pairs_are_those_of_the_task_shown(result):
    """New blocks of the quick budget show CA, AB, BC, CA."""
    course = result["sorted_gates"].sel(setting="task-unit", arm="flexible").isel(run=0)
    ends = np.stack([course.sel(time=15.0 + block - 0.01, method="nearest").values for block in range(4)])
    on = np.mean([ends[0, [0, 2]], ends[1, [0, 1]], ends[2, [1, 2]], ends[3, [0, 2]]])
    found = [float(gates(result, "task-unit", which)[0]) for which in ("on", "off")]
    np.testing.assert_allclose(found, [on, np.mean(ends[[0, 1, 2, 3], [1, 2, 0, 1]])], rtol=1e-12)


def test_what_follows_the_new_tasks_does_not_count_as_their_change(result):
    """Two blocks of new tasks, 14 to 16, though the recordings go on to 18."""
    config = result.config.model_copy(update={"novel_blocks": 2})
    total = result["total_alignment"].sel(setting="subtask", arm="flexible").transpose("run", "time").values
    found = Composition().kept(fs.experiment.Result(Composition(), config, result.data)).sel(setting="subtask")
    np.testing.assert_array_equal(found, total[:, 1600] - total[:, 1400])


def test_too_few_blocks_leave_claims_undecided(result):
    for fields, needs in (
        ({"novel_blocks": 9}, "23 blocks: --until 23"),
        ({"training_blocks": 7}, "--training-blocks 14"),
    ):
        other = fs.experiment.Result(Composition(), result.config.model_copy(update=fields), result.data)
        verdicts = [claim.judge(other, "full") for claim in Composition.claims]
        assert {verdict.outcome for verdict in verdicts} == {"undecided"}
        assert all(needs in verdict.note for verdict in verdicts)


def test_recordings_must_fall_on_steps_of_both_kinds():
    with pytest.raises(ArgumentError, match="`records` must divide the 3000 steps"):
        Composition().configure(records=6000)


def test_the_figure_has_nine_panels(result, recwarn):
    figure = result.figure()
    figure.canvas.draw()
    assert len(figure.axes) == 9
    assert not recwarn.list
