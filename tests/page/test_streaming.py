"""A real server and real connections: streaming, cancelling, disconnecting, speed."""

import re
import socket
from math import inf
from time import sleep

import httpx
import pytest
from serving import CHAIN, events, real_server

from festina.cli import main
from festina.learning import loop, outlook
from festina.page.app import Page
from festina.page.jobs import Jobs
from interrupting import SERVES, Command
from patience import PATIENCE, wait_for

SLOW = {"experiment": "linear/chain", "budget": "quick", "fields": {"records": 100_000}, "confirmed": True}


@pytest.fixture(autouse=True, scope="module")
def endless():
    """Runs as long as `SLOW` stay where they are after a few chunks, until they are cancelled: on any machine."""
    advance = loop._advance_journey

    def advance_at_first(build, inputs, journey, count, until):
        if journey.records < 5 * count or count * loop.CHUNKS < SLOW["fields"]["records"]:
            advance(build, inputs, journey, count, until)
        else:
            sleep(0.01)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "_advance_journey", advance_at_first)
        patch.setattr(outlook, "HOUR", inf)  # nobody foresees that they take for ever
        yield


@pytest.fixture(scope="module")
def jobs():
    return Jobs()


@pytest.fixture(scope="module")
def client(jobs):
    with real_server(jobs) as client:
        yield client


def run_to_the_end(client, initial):
    started = client.post("/api/runs", json=CHAIN | {"fields": {"initial": initial}})
    *_, (name, _) = events(client, f"/api/runs/{started.json()['id']}/events")
    assert name == "done"


@pytest.mark.full
def test_a_second_run_of_the_same_structure_does_not_compile(client):
    run_to_the_end(client, 0.01)
    compiled = loop._chunk.compiled._cache_size()
    for k in range(1, 6):
        run_to_the_end(client, 0.01 + 0.001 * k)
    assert loop._chunk.compiled._cache_size() == compiled


@pytest.mark.full
def test_points_grow_and_are_thinned(client):
    body = {"experiment": "linear/chain", "budget": "quick", "fields": {"records": 20_000}, "confirmed": True}
    started = client.post("/api/runs", json=body).json()
    pictures = [data for name, data in events(client, f"/api/runs/{started['id']}/events") if name == "points"]
    assert len(pictures) >= 3
    records = [picture["records"] for picture in pictures]
    assert records == sorted(records)
    assert records[-1] == pictures[-1]["of"] == 20_001
    for picture in pictures:
        assert len(picture["times"]) <= 300
        assert all(len(one["values"]) == len(picture["times"]) for one in picture["series"])


def begun(client):
    """A long run that has shown its first points."""
    started = client.post("/api/runs", json=SLOW).json()
    path = f"/api/runs/{started['id']}"
    for name, _ in events(client, f"{path}/events"):
        if name == "points":
            break  # and with it the stream is closed
    return path


def test_cancelling_frees_the_place_at_once(client, jobs):
    path = begun(client)
    assert client.delete(path).status_code == 204
    assert jobs.counts[0] == 0
    name, data = list(events(client, f"{path}/events"))[-1]
    assert (name, data["state"]) == ("state", "cancelled")
    wait_for(lambda: jobs.counts == (0, 0, 0))
    assert client.get(f"{path}/data.csv").status_code == 409
    assert client.delete(path).status_code == 204


def test_a_client_that_disconnects_cancels(client, jobs, monkeypatch):
    monkeypatch.setattr("festina.page.limits.GRACE", 0.1)
    path = begun(client)
    wait_for(lambda: jobs.counts[0] == 0)
    _, data = list(events(client, f"{path}/events"))[-1]
    assert data["message"] == "nobody listens any more"


def test_a_client_that_disconnects_has_a_moment_of_grace(client, jobs, monkeypatch):
    monkeypatch.setattr("festina.page.limits.GRACE", PATIENCE)
    path = begun(client)
    wait_for(lambda: jobs.find("run", path.split("/")[-1]).streams == 0)
    assert jobs.counts[0] == 1
    client.delete(path)


def test_a_client_that_comes_back_in_time_keeps_the_run(client, jobs, monkeypatch):
    """When the moment of grace is over, somebody listens again."""
    over, cancel_if_alone = [], Page._cancel_if_alone
    monkeypatch.setattr("festina.page.limits.GRACE", 0.0)
    monkeypatch.setattr(Page, "_cancel_if_alone", lambda page, job: over.append((page, job)))
    path = begun(client)
    wait_for(lambda: over)
    with client.stream("GET", f"{path}/events") as response:
        lines = response.iter_lines()  # which closes the stream when it is dropped
        next(lines)
        cancel_if_alone(*over[0])
        assert jobs.counts[0] == 1
    client.delete(path)


@pytest.mark.full
def test_maps_are_cancelled_too(client, jobs):
    axes = {
        "x": {"field": "initial", "from": 0.01, "to": 0.1, "scale": "log", "count": 33},
        "y": {"field": "strength", "from": 1.0, "to": 3.0, "scale": "lin", "count": 33},
    }
    body = CHAIN | axes | {"fields": {"records": 20}, "variable": "loss"}
    started = client.post("/api/maps", json=body).json()
    path = f"/api/maps/{started['id']}"
    levels = []
    for name, data in events(client, f"{path}/events"):
        if name == "cells":
            levels.append(data)
            break
    assert (len(levels[0]["x"]), len(levels[0]["y"])) == (5, 5)
    client.delete(path)
    assert jobs.counts[0] == 0
    wait_for(lambda: jobs.counts == (0, 0, 0))


@pytest.fixture
def explore(tmp_path):
    """The command, as soon as it has said where the page is, while it is still warming up."""
    command = Command(["explore", "--port", "0"], tmp_path)
    wait_for(lambda: command.has_said(SERVES) or not command.is_alive())
    yield command
    command.process.kill()
    command.process.wait()


@pytest.mark.full
def test_the_command_stops_before_the_page_was_ever_opened(explore):
    explore.interrupt()
    assert explore.end().kind == "stopped"


def test_the_command_serves_on_a_free_port_and_stops_with_a_run_on_the_page(explore):
    found = re.search(r"http://127\.0\.0\.1:\d+/", explore.said)
    assert found, explore.said
    with httpx.Client(base_url=found[0], timeout=PATIENCE) as browser:
        assert browser.get("/api/experiments/linear/chain").json()["name"] == "linear/chain"
        started = browser.post("/api/runs", json=SLOW).json()
        seen = []
        for event in events(browser, f"/api/runs/{started['id']}/events"):
            seen.append(event)
            if len(seen) == 1:
                explore.interrupt()
    assert (seen[-1][0], seen[-1][1]["state"], seen[-1][1]["message"]) == ("state", "cancelled", "the server stops")
    assert explore.end().kind == "stopped"


def test_the_command_says_what_is_missing(monkeypatch, capsys):
    monkeypatch.setattr("festina.cli.explore.find_spec", lambda name: None)
    assert main(["explore"]) == 2
    assert "pip install 'festina[page]'" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--port", "x"], ["--port", "70000"], ["--port", "-1"], ["--hots", "a"]])
def test_bad_words_are_named(words, capsys):
    assert main(["explore", *words]) == 2
    assert words[0].strip("-") in capsys.readouterr().err


def test_hosts_that_cannot_be_or_should_not_be(monkeypatch, capsys):
    monkeypatch.setattr("festina.lab.machine.prepare", lambda: None)
    monkeypatch.setattr("festina.page.server.warm_up", lambda: None)
    assert main(["explore", "--host", "256.1.1.1", "--port", "0"]) == 2
    assert "cannot serve at 256.1.1.1" in capsys.readouterr().err
    monkeypatch.setattr("uvicorn.Server.run", lambda self, sockets: None)
    assert main(["explore", "--host", "0.0.0.0", "--port", "0"]) == 0
    assert "there is no password" in capsys.readouterr().err


def test_help(capsys):
    assert main(["explore", "--help"]) == 0
    assert "--port" in capsys.readouterr().out
    assert main(["--help"]) == 0
    assert "explore" in capsys.readouterr().out


def test_a_run_that_nobody_comes_to_see_does_not_keep_its_place(client, jobs, monkeypatch):
    monkeypatch.setattr("festina.page.limits.FIRST_GRACE", 0.3)
    started = client.post("/api/runs", json=SLOW).json()
    wait_for(lambda: jobs.find("run", started["id"]).state == "cancelled")


def test_bodies_that_come_too_late_or_not_whole_are_refused(client, monkeypatch):
    monkeypatch.setattr("festina.page.limits.BODY_SECONDS", 0.2)
    address = (client.base_url.host, client.base_url.port)
    head = f"POST /api/theory HTTP/1.1\r\nHost: {address[0]}:{address[1]}\r\nContent-Length: 100\r\n\r\n{{".encode()
    with socket.create_connection(address) as slow:
        slow.sendall(head)
        assert slow.recv(100).startswith(b"HTTP/1.1 408 ")
    for _ in range(20):
        with socket.create_connection(address) as gone:
            gone.sendall(head)
    assert client.get("/").status_code == 200
