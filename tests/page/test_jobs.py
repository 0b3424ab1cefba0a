"""Jobs without any server: places, the queue, cancelling, limits."""

import threading

import pytest

from festina.errors import ArgumentError
from festina.page.jobs import Cancelled, Job, Jobs, QueueFull, UnknownJob
from festina.page.limits import Timings
from festina.page.questions import read_question
from festina.page.runs import carry_out
from patience import PATIENCE, wait_for


class Gate:
    """Work that goes on until it is let go, and looks up only then, as a compiled chunk does."""

    def __init__(self):
        self.open = threading.Event()
        self.left = threading.Event()

    def __call__(self, job):
        self.open.wait(PATIENCE)
        try:
            job.check()
            job.end("done", seconds=1.0)
        finally:
            self.left.set()


def states(job):
    return [event.data for event in job.events.after(0)[0] if event.name == "state"]


def test_two_run_at_a_time_and_others_wait_in_order():
    jobs, gates = Jobs(), [Gate() for _ in range(4)]
    started = [jobs.submit(gate) for gate in gates]
    assert jobs.counts == (2, 2, 0)
    assert [job.position for job in started] == [0, 0, 1, 2]
    gates[0].open.set()
    wait_for(lambda: started[0].state == "done")
    wait_for(lambda: started[2].position == 0 and started[3].position == 1)
    for gate in gates:
        gate.open.set()
    wait_for(lambda: jobs.counts == (0, 0, 0))
    assert all(job.state == "done" for job in started)


def test_a_full_queue_says_so():
    jobs, gate = Jobs(at_once=1, queue=2), Gate()
    for _ in range(3):
        jobs.submit(gate)
    with pytest.raises(QueueFull, match="2 runs are waiting"):
        jobs.submit(gate)
    gate.open.set()


def test_cancelling_gives_the_place_to_the_next_at_once():
    jobs, stuck, second = Jobs(at_once=1), Gate(), Gate()
    first, after = jobs.submit(stuck), jobs.submit(second)
    jobs.cancel(first)
    assert first.state == "cancelled"
    assert after.state == "compiling"
    assert jobs.counts == (1, 0, 1)
    stuck.open.set()
    assert stuck.left.wait(PATIENCE)
    wait_for(lambda: jobs.counts == (1, 0, 0))
    assert first.state == "cancelled"  # what the thread said afterwards was not heard
    assert "cancelled" in states(first)[-1]
    second.open.set()


def test_nothing_is_heard_of_a_job_that_has_ended():
    job = Job(lambda job: None)
    job.end("cancelled", "nobody wants it")
    job.say("running")
    job.end("done", seconds=1.0)
    assert job.state == "cancelled"
    assert len(job.events.after(0)[0]) == 1


def test_a_waiting_job_can_be_cancelled():
    jobs, gate = Jobs(at_once=1), Gate()
    jobs.submit(gate)
    waiting = jobs.submit(gate)
    jobs.cancel(waiting)
    assert jobs.counts == (1, 0, 0)
    gate.open.set()


def test_threads_that_cannot_be_stopped_are_bounded():
    jobs, gate = Jobs(at_once=1, winding_down=2), Gate()
    for _ in range(2):
        jobs.cancel(jobs.submit(gate))
    third = jobs.submit(gate)
    assert third.state == "queued"
    assert "cancelled runs" in states(third)[-1]
    gate.open.set()
    wait_for(lambda: third.state == "done")


def test_a_job_that_takes_too_long_is_cancelled():
    jobs, gate = Jobs(seconds=0.1), Gate()
    job = jobs.submit(gate)
    wait_for(lambda: job.state == "cancelled")
    assert "longer than 0.1 seconds" in states(job)[-1]
    gate.open.set()


def test_trouble_is_told_in_a_sentence():
    def work(job):
        raise ArgumentError("Argument `x` must be small, but is large.")

    job = Jobs().submit(work)
    wait_for(lambda: job.state == "failed")
    assert "must be small" in states(job)[-1]


def test_finished_jobs_are_forgotten_in_time(monkeypatch):
    monkeypatch.setattr("festina.page.limits.KEPT_JOBS", 3)
    jobs = Jobs()
    done = []
    for _ in range(5):
        done.append(jobs.submit(lambda job: job.end("done", seconds=0.0)))
        wait_for(lambda: jobs.counts == (0, 0, 0))
    assert jobs.find("run", done[-1].id) is done[-1]
    with pytest.raises(UnknownJob, match="unknown run"):
        jobs.find("run", done[0].id)


def test_a_cancelled_run_stops_at_its_next_chunk(monkeypatch):
    chunks = []

    def simulate(experiment, runs, *, listen, **others):
        for records in range(1, 5):
            chunks.append(records)
            listen(records, {})

    monkeypatch.setattr("festina.lab.answer.simulate", simulate)
    job = Job(lambda job: None)
    job.end("cancelled")
    question = read_question({"experiment": "linear/chain"})
    with pytest.raises(Cancelled):
        carry_out(question, None, Timings(), job)
    assert chunks == [1]
