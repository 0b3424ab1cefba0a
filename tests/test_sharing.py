"""Tests that share a result go to one worker, which xdist's own groups no longer see to."""

from itertools import chain

from sharing import Shares, group_of


class Worker:
    """As much of a worker as a scheduler talks to."""

    shutting_down = False

    def __init__(self, name):
        self.gateway, self.given = self, []
        self.id = self.workerinput = name

    def send_runtest_some(self, indices):
        self.given += indices

    def shutdown(self):
        self.shutting_down = True


def shared_out(tests, config, workers=2):
    """The tests that each worker gets, if each finishes what it has in turn."""
    scheduler = config.hook.pytest_xdist_make_scheduler(config=config, log=None)
    assert isinstance(scheduler, Shares)
    scheduler.numnodes = workers
    crew = [Worker(str(number)) for number in range(workers)]
    for worker in crew:
        scheduler.add_node(worker)
        scheduler.add_node_collection(worker, tests)
    scheduler.schedule()
    done = dict.fromkeys(crew, 0)
    while any(done[worker] < len(worker.given) for worker in crew):
        for worker in crew:
            if done[worker] < len(worker.given):
                scheduler.mark_test_complete(worker, worker.given[done[worker]])
                done[worker] += 1
    return [[tests[index] for index in worker.given] for worker in crew]


def test_no_group_is_split_and_no_test_forgotten(monkeypatch, request):
    monkeypatch.setattr(request.config.option, "tx", ["popen", "popen"], raising=False)
    monkeypatch.setattr(request.config.option, "loadscopereorder", False, raising=False)
    files = [f"tests/{folder}/test_{name}.py" for folder in ("worlds", "networks") for name in ("linear", "gated", "x")]
    tests = [f"{path}::test_{case}[{case}]" for path in [*files, "tests/docs/test_commands.py"] for case in range(5)]
    given = shared_out(tests, request.config)
    assert sorted(chain(*given)) == sorted(tests) and all(given)
    first, second = ({group_of(test) for test in share} for share in given)
    assert not first & second


def test_what_is_about_one_experiment_is_one_group():
    asking = "tests/experiments/test_verdicts.py::test_quick_runs_are_sound_and_explained[linear/chain]"
    viewing = "tests/page/test_declared_views.py::test_views[linear/chain]"
    testing = "tests/experiments/test_chain.py::test_frozen_half_times"
    assert {group_of(asking), group_of(viewing), group_of(testing)} == {"linear/chain"}
    assert group_of("tests/theory/test_chain.py::test_x[linear/chain]") == "theory/test_chain"
    commands = [f"tests/docs/test_commands.py::test_a_command_ends_well[{case}]" for case in ("one", "other")]
    assert [group_of(test) for test in commands] == commands
