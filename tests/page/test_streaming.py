"""A real server and real connections: streaming, cancelling, disconnecting, speed."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time

import httpx
import pytest
from serving import CHAIN, events, real_server, wait_until

from festina.cli import main
from festina.page.jobs import Jobs

SLOW = {"experiment": "linear/chain", "budget": "quick", "fields": {"records": 100_000}, "confirmed": True}


@pytest.fixture(scope="module")
def jobs():
    return Jobs()


@pytest.fixture(scope="module")
def client(jobs):
    with real_server(jobs) as client:
        yield client


def first_points(client, initial):
    """Seconds from the question to the first picture, and all events."""
    began = time.monotonic()
    started = client.post("/api/runs", json=CHAIN | {"fields": {"initial": initial}})
    seconds, seen = None, []
    for name, data in events(client, f"/api/runs/{started.json()['id']}/events"):
        seen.append((name, data))
        if name == "points" and seconds is None:
            seconds = time.monotonic() - began
    return seconds, seen


def test_a_second_run_of_the_same_structure_does_not_compile(client):
    from festina.learning import loop

    first_points(client, 0.01)
    compiled = loop._chunk.compiled._cache_size()
    for k in range(1, 6):
        first_points(client, 0.01 + 0.001 * k)
    assert loop._chunk.compiled._cache_size() == compiled


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
    began = time.monotonic()
    assert client.delete(path).status_code == 204
    assert jobs.counts[0] == 0
    assert time.monotonic() - began < 0.5
    name, data = list(events(client, f"{path}/events"))[-1]
    assert (name, data["state"]) == ("state", "cancelled")
    wait_until(lambda: jobs.counts == (0, 0, 0))
    assert client.get(f"{path}/data.csv").status_code == 409
    assert client.delete(path).status_code == 204


def test_a_client_that_disconnects_cancels_after_a_moment(client, jobs, monkeypatch):
    monkeypatch.setattr("festina.page.limits.GRACE", 0.5)
    path = begun(client)
    assert jobs.counts[0] == 1
    assert wait_until(lambda: jobs.counts[0] == 0, 5) >= 0.2
    _, data = list(events(client, f"{path}/events"))[-1]
    assert data["message"] == "nobody listens any more"


def test_a_client_that_comes_back_in_time_keeps_the_run(client, jobs, monkeypatch):
    monkeypatch.setattr("festina.page.limits.GRACE", 0.5)
    path = begun(client)
    with client.stream("GET", f"{path}/events") as response:
        lines = response.iter_lines()
        next(lines)
        time.sleep(1.0)
        assert jobs.counts[0] == 1
    client.delete(path)


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
    wait_until(lambda: jobs.counts == (0, 0, 0))


def test_the_command_serves_on_a_free_port_and_stops():
    command = [sys.executable, "-m", "festina", "explore", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ))
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        address = re.search(r"http://127\.0\.0\.1:\d+/", line)
        assert address, line
        told = httpx.get(f"{address[0]}api/experiments/linear/chain", timeout=30)
        assert json.loads(told.text)["name"] == "linear/chain"
    finally:
        process.send_signal(signal.SIGINT)
        _, trouble = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "Traceback" not in trouble


def test_the_command_says_what_is_missing(monkeypatch, capsys):
    monkeypatch.setattr("festina.cli.explore.find_spec", lambda name: None)
    assert main(["explore"]) == 2
    assert "pip install 'festina[page]'" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--port", "x"], ["--port", "70000"], ["--port", "-1"], ["--hots", "a"]])
def test_bad_words_are_named(words, capsys):
    assert main(["explore", *words]) == 2
    assert words[0].strip("-") in capsys.readouterr().err


def test_hosts_that_cannot_be_or_should_not_be(monkeypatch, capsys):
    monkeypatch.setattr("festina.cli.machine.prepare", lambda: None)
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
    wait_until(lambda: jobs.find("run", started["id"]).state == "cancelled")


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
