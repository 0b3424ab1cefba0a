"""What will take long is said before it has taken long; time is made up here."""

import sys
from threading import Event

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from festina.errors import FestinaError, FestinaWarning
from festina.learning import descent, descent_process, drive, flow_process, loop, outlook
from festina.learning.descent import no_data
from festina.learning.outlook import Counted, Outlook, Recorded
from festina.networks import DeepLinear
from festina.worlds import Teacher

CHUNKS = 100


def bowl(inputs):
    """A hundred chunks of one step."""
    rate = lambda weight, data, stage: -inputs["stiffness"] * weight  # noqa: E731
    return descent_process(rate, jnp.ones(2), jax.random.key(0), 0.01, CHUNKS, 1, lambda state: {"w": state.parameters})


def runs(*stiffness):
    return {"stiffness": jnp.asarray(stiffness)}


def test_a_run_of_hours_says_so_after_its_first_part(clock):
    clock.every_look = 30.0  # and two looks for each chunk
    with pytest.warns(FestinaWarning, match=r"^bowl will take about 1 h 39 min more at this pace; Ctrl-C") as said:
        drive(bowl, runs(1.0), label="bowl")
    assert len(said) == 1


def test_a_run_of_minutes_says_nothing(clock):
    clock.every_look = 10.0
    drive(bowl, runs(1.0))


def test_what_is_compiled_says_nothing_of_the_pace(clock):
    place = Outlook("work", Counted(0, 10), 10)
    clock.now += 4000.0
    clock.compiled = clock.now - 6.0
    place.tick(lambda: Counted(1, 10), 9)


def test_who_listens_tells_in_their_own_way(clock):
    clock.every_look = 1e5
    drive(bowl, runs(1.0), listen=lambda records, observed: None)


def recorded(records, steps, times, end=100.0, total=101):
    return Recorded(records, total, np.asarray([steps]), np.asarray([times]), np.asarray([end]))


def test_fixed_steps_are_projected_exactly():
    assert recorded(11, 500, 10.0).left(recorded(1, 0, 0.0)) == pytest.approx(9.0)
    assert recorded(11, 10, 10.0).left(recorded(1, 0, 0.0)) == pytest.approx(9.0)


def test_a_flow_that_takes_a_step_for_each_recording_goes_with_recordings_and_not_with_time():
    """Evenly in log time: nine tenths of the recordings are ahead, and all of the time."""
    assert recorded(11, 10, 1e-6).left(recorded(1, 0, 0.0)) == pytest.approx(9.0)


def test_a_stiff_flow_goes_with_time():
    assert recorded(11, 100_020, 1.0).left(recorded(1, 0, 0.0)) == pytest.approx(99.0, rel=1e-3)


def test_a_run_that_was_given_up_takes_no_more_time():
    gone = Recorded(11, 101, np.asarray([1_000_000, 20]), np.asarray([0.5, 10.0]), np.asarray([0.5, 100.0]))
    start = Recorded(1, 101, np.zeros(2, int), np.zeros(2), np.full(2, 100.0))
    assert gone.left(start) == pytest.approx(180 / 1_000_020)


def creeping(inputs):
    """Growth that no step size can follow, from t = 1 on: the flow stops there."""
    rate = lambda level, stage: inputs["stiffness"] * level**2  # noqa: E731
    return flow_process(rate, jnp.ones(()), jnp.linspace(0.0, 100.0, 101), lambda state: {"level": state.parameters})


def test_a_flow_that_was_given_up_is_no_reason_to_wait(clock):
    clock.every_look = 50.0
    assert len(drive(creeping, runs(2.0, 2.0)).failures) == 2
    clock.every_look = 60.0
    with pytest.warns(FestinaWarning, match="will take about"):
        drive(creeping, runs(2.0, -1.0))


def test_a_part_that_does_not_end_is_seen_from_outside(clock):
    work = Outlook("work", Counted(0, 100), 100)
    clock.now += 500.0
    work.look()  # may still be compiling
    clock.compiled = clock.now
    clock.now += 30.0
    work.look()  # fifty minutes
    clock.now += 10.0
    with pytest.warns(FestinaWarning, match="^work will take about 1 h 6 min more"):
        work.look()
    clock.now += 1e6
    work.look()  # once is enough


def test_a_pause_is_not_taken_for_the_pace(clock):
    work = Outlook("work", Counted(0, 1500), 1500)
    for done in range(1, 1501):
        clock.now += 10.0 if done in (1, 700) else 0.01  # a library loads, or others have the machine
        work.look()
        work.tick(lambda done=done: Counted(done, 1500), 1500 - done)


def test_a_pace_that_lasts_is_told_at_the_second_look(clock):
    work = Outlook("work", Counted(0, 1500), 1500)
    clock.now += 6.0
    work.tick(lambda: Counted(1, 1500), 1499)
    clock.now += 6.0
    with pytest.warns(FestinaWarning, match="^work will take about 2 h 29 min more"):
        work.tick(lambda: Counted(2, 1500), 1498)


def test_a_part_that_nobody_can_judge_is_named_after_ten_minutes(clock):
    work = Outlook("work", Counted(0, 1), 1)
    clock.now += 601.0
    with pytest.warns(FestinaWarning, match="^work may take hours: nothing of it was finished in the last 10 min 1 s"):
        work.look()


def test_what_is_done_is_not_waited_for(clock):
    work = Outlook("work", Counted(0, 1), 1)
    work.tick(lambda: Counted(1, 1), 0)
    clock.now += 1e6
    work.look()


def test_a_thread_looks_while_work_is_at_hand(monkeypatch):
    looked = Event()
    monkeypatch.setattr(outlook, "LOOK", 1e-3)
    monkeypatch.setattr(Outlook, "look", lambda self: looked.set())
    with Outlook("work", Counted(0, 1), 1).watched():
        assert looked.wait(60.0)


class NothingMayRun(Exception):
    pass


@pytest.fixture
def unstarted(monkeypatch):
    """The loop up to the point where it would compile."""

    class Start:
        shapes = loop._start.shapes

        def __call__(self, *arguments):
            raise NothingMayRun

    monkeypatch.setattr(loop, "_start", Start())


def test_more_steps_than_any_machine_takes_are_told_before_anything_is_compiled(unstarted):
    network, world = DeepLinear.init(jax.random.key(0), (2, 3, 2), 0.5), Teacher(np.eye(2))
    with pytest.raises(NothingMayRun):
        descent(network, world, 1e8, step_size=1e-3)
    with (
        pytest.warns(
            FestinaWarning, match=r"^descent has 1e\+13 steps, which take more than 27 h 46 min on any machine"
        ),
        pytest.raises(NothingMayRun),
    ):
        descent(network, world, 1e9, step_size=1e-4)
    with pytest.raises(FestinaError, match=r"`until` must hold fewer than 1e\+15 steps of 1e-300"):
        descent(network, world, 1e300, step_size=1e-300)


def test_what_does_not_fit_into_memory_is_refused_before_anything_is_compiled(unstarted, monkeypatch):
    monkeypatch.setattr(outlook, "_memory", lambda: 1600.0)
    with pytest.raises(FestinaError, match=r"^The recordings of a run would take 1.62 kB, but this machine has 1.6 kB"):
        drive(bowl, runs(1.0))
    monkeypatch.setattr(outlook, "_memory", lambda: 1700.0)
    with pytest.raises(NothingMayRun):
        drive(bowl, runs(1.0))
    with pytest.raises(FestinaError, match=r"^The recordings of 2 runs would take 3.23 kB"):
        drive(bowl, runs(1.0, 2.0))


def test_steps_that_are_numbered_in_pieces_are_the_same_steps(monkeypatch):
    def build(inputs):
        rate = lambda weight, data, stage: jnp.sin(weight + inputs["stiffness"])  # noqa: E731
        return descent_process(
            rate, jnp.ones(3), jax.random.key(0), 0.1, 2, 30, lambda state: {"w": state.parameters}, draw=no_data
        )

    whole = drive(build, runs(1.0))
    monkeypatch.setattr(sys.modules["festina.learning.descent"], "LONGEST", 7)
    pieces = drive(lambda inputs: build(inputs), runs(1.0))
    np.testing.assert_array_equal(whole.observed["w"], pieces.observed["w"])
    assert pieces.steps == 60
