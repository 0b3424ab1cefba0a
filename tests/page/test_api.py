"""The API: what it answers, and that no input, however bad, gets more than a clear refusal."""

import io
import json
import threading
import zipfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr
from serving import CHAIN, events, real_server

import festina
from festina.page import limits, server
from festina.page.app import THEORIES_WAITING
from festina.page.jobs import Jobs
from festina.page.security import HEADERS, is_allowed
from patience import PATIENCE, wait_for


@pytest.fixture(scope="module")
def client():
    with real_server() as client:
        yield client


@pytest.fixture(scope="module")
def finished(client):
    """A finished run: its id, its events, and the same from festina.run."""
    fields = {"records": 100, "initial": 0.02}
    body = {"experiment": "linear/chain", "budget": "quick", "fields": fields, "seeds": 2}
    started = client.post("/api/runs", json=body)
    assert started.status_code == 201
    assert started.json()["state"] == "running"
    seen = list(events(client, f"/api/runs/{started.json()['id']}/events"))
    return started.json()["id"], seen, festina.run("linear/chain", budget="quick", seeds=2, **fields)


def last(seen, name):
    return [data for kind, data in seen if kind == name][-1]


def message(response, status):
    assert response.status_code == status, response.text
    error = response.json()["error"]
    assert error["message"]
    assert len(error["message"]) < 1000
    return error


def test_the_gallery_and_an_experiment(client):
    told = client.get("/api/experiments").json()
    assert "linear/chain" in [card["name"] for card in told["experiments"]]
    told = client.get("/api/experiments/linear/chain").json()
    assert {field["name"]: field["quick"] for field in told["fields"]}["records"] == 500
    picture = client.get("/api/experiments/linear/chain/thumbnail.svg")
    assert picture.headers["content-type"].startswith("image/svg+xml")


def test_events_come_in_order(finished):
    _, seen, _ = finished
    names = [name for name, _ in seen]
    states = [data["state"] for name, data in seen if name == "state"]
    assert states == ["compiling", "running", "judging", "done"], seen[-1]
    assert names.index("points") < names.index("theory") < names.index("claims") < names.index("done")
    assert names[-1] == "done"


def test_a_run_is_what_festina_run_gives(finished):
    _, seen, result = finished
    points, theory, claims = (last(seen, name) for name in ("points", "theory", "claims"))
    assert points["records"] == points["of"] == result.data.sizes["time"]
    assert points["times"] == result.data["time"].values.tolist()
    compared = 0
    for told, data in ((points, result.data), (theory, result.theory)):
        for one in told["series"]:
            depth = float(one["line"].removeprefix("depth "))
            expected = data[one["variable"]].isel(run=one["run"]).sel(depth=depth)
            assert one["values"] == expected.values.tolist()
            compared += 1
    assert compared == 2 * 2 * 2 * 4  # simulation and theory, variables, runs, depths
    assert [v["outcome"] for v in claims["verdicts"]] == [v.outcome for v in result.verdicts]
    assert [v["measured"] for v in claims["verdicts"]] == [v.measurement for v in result.verdicts]
    assert [v["value"] for v in claims["verdicts"]] == [v.measured for v in result.verdicts]


def test_a_run_tells_how_to_have_it_again(finished):
    _, seen, _ = finished
    done = last(seen, "done")
    assert done["command"] == "festina run linear/chain --budget quick --seeds 2 --initial 0.02 --records 100"
    asked = {}
    eval(done["python"], {"festina": SimpleNamespace(run=lambda name, **given: asked.update(given, name=name))})
    assert asked == {"name": "linear/chain", "budget": "quick", "seeds": 2, "initial": 0.02, "records": 100}
    assert done["failures"] == []


def test_theory_alone_is_the_theory_of_the_run(client, finished):
    _, seen, _ = finished
    told = client.post("/api/theory", json=CHAIN | {"fields": {"records": 100, "initial": 0.02}}).json()
    of_run = [one for one in last(seen, "theory")["series"] if one["run"] == 0]
    np.testing.assert_allclose(told["times"], last(seen, "theory")["times"], rtol=1e-14)
    assert [one["line"] for one in told["series"]] == [one["line"] for one in of_run]
    for alone, beside in zip(told["series"], of_run, strict=True):
        np.testing.assert_allclose(alone["values"], beside["values"], rtol=1e-9)
    assert told["config"]["initial"] == 0.02


def test_an_experiment_without_theory_says_nothing(client):
    bare = client.post("/api/theory", json={"experiment": "abstraction/mechanism", "budget": "quick"})
    assert bare.status_code == 204
    assert bare.content == b""


@pytest.mark.full
def test_downloads(client, finished):
    name, _, result = finished
    files = {kind: client.get(f"/api/runs/{name}/{kind}") for kind in ("figure.png", "figure.svg", "data.csv")}
    assert all(file.status_code == 200 for file in files.values())
    assert files["figure.png"].content.startswith(b"\x89PNG")
    assert b"<svg" in files["figure.svg"].content
    assert 'filename="linear-chain-figure.png"' in files["figure.png"].headers["content-disposition"]
    rows = files["data.csv"].text.splitlines()
    assert rows[0] == "variable,run,seed,time,entry,simulation,theory"
    assert len(rows) == 1 + 2 * 2 * 4 * 101
    assert {tuple(row.split(",")[1:3]) for row in rows[1:]} == {("0", "0"), ("1", "1")}  # runs and their seeds
    final = dict(zip(rows[0].split(","), rows[-1].split(","), strict=True))
    assert final["entry"] == "depth inf"
    assert final["variable"] == "loss"
    assert float(final["simulation"]) == result.data["loss"].values[-1, -1, -1]
    assert float(final["theory"]) == result.theory["loss"].values[-1, -1, -1]


def test_data_formats_hold_the_same_numbers(client, finished, tmp_path):
    name, _, result = finished
    with xr.open_dataset(io.BytesIO(client.get(f"/api/runs/{name}/data.nc").content), engine="scipy") as data:
        np.testing.assert_array_equal(data["product"].values, result.data["product"].values)
        np.testing.assert_array_equal(data["theory_product"].values, result.theory["product"].values)
        assert data.attrs["experiment"] == "linear/chain"
    with zipfile.ZipFile(io.BytesIO(client.get(f"/api/runs/{name}/data.zip").content)) as archive:
        archive.extractall(tmp_path)
    stored = xr.open_zarr(tmp_path / "data.zarr", group="theory", consolidated=False)
    np.testing.assert_array_equal(stored["product"].values, result.theory["product"].values)


def test_a_browser_that_has_seen_the_end_need_not_ask_again(client, finished):
    name, _, _ = finished
    assert client.get(f"/api/runs/{name}/events", headers={"Last-Event-ID": "999"}).status_code == 204


@pytest.mark.full
def test_a_map_is_refined_and_its_cells_are_the_runs(client):
    axes = {
        "x": {"field": "initial", "from": 0.01, "to": 0.1, "scale": "log", "count": 9},
        "y": {"field": "strength", "from": 1.0, "to": 3.0, "scale": "lin", "count": 5},
    }
    body = CHAIN | axes | {"fields": {"records": 20}, "variable": "product", "entry": {"depth": 1}, "seed": 0}
    started = client.post("/api/maps", json=body)
    assert started.status_code == 201
    seen = list(events(client, f"/api/maps/{started.json()['id']}/events"))
    assert last(seen, "done")["cells"] == 45
    fine = last(seen, "cells")
    assert (len(fine["x"]), len(fine["y"])) == (9, 5)
    fields = {"records": 20, "initial": fine["x"][3], "strength": fine["y"][2]}
    expected = festina.run("linear/chain", budget="quick", **fields)["product"].isel(run=0, time=-1, depth=1).item()
    assert fine["values"][2][3] == pytest.approx(expected, rel=1e-6)
    assert np.isfinite(np.array(fine["values"], float)).all()
    message(client.get(f"/api/runs/{started.json()['id']}/data.csv"), 409)


@pytest.mark.parametrize(
    ("change", "field", "says"),
    [
        ({"fields": {"initial": -1}}, "initial", "greater than or equal to 1e-09"),
        ({"fields": {"initial": "NaN"}}, "initial", "finite"),
        ({"fields": {"initial": "inf"}}, "initial", "finite"),
        ({"fields": {"initial": 10**400}}, "initial", "must"),
        ({"fields": {"initial": "abc"}}, "initial", "number"),
        ({"fields": {"initial": None}}, "initial", "null"),
        ({"fields": {"initial": {"a": 1}}}, "initial", "an object"),
        ({"fields": {"initial": [1, 2]}}, "initial", "number"),
        ({"fields": {"records": 10**9}}, "records", "less than or equal to 100000"),
        ({"fields": {"records": 1.5}}, "records", "integer"),
        ({"fields": {"depth": ",".join(map(str, range(1, 66)))}}, "depth", "at most 64 values"),
        ({"fields": {"depth": []}}, "depth", "at least 1"),
        ({"fields": {"initail": 1}}, "initail", "did you mean 'initial'"),
        ({"fields": {"x" * 5000: 1}}, "x" * 60, "unknown field"),
        ({"fields": [1]}, "fields", "a list"),
        ({"budget": "huge"}, "budget", "'quick' or 'full'"),
        ({"budget": ["quick"]}, "budget", "'quick' or 'full'"),
        ({"experiment": 3}, "experiment", "a number"),
    ],
)
@pytest.mark.parametrize("path", ["/api/runs", "/api/theory"])
def test_bad_fields_are_named(client, path, change, field, says):
    error = message(client.post(path, json=CHAIN | change), 422)
    assert error["field"] == field
    assert says in error["message"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"seeds": 51}, "seeds"),
        ({"seeds": 0}, "seeds"),
        ({"seeds": 10**30}, "seeds"),
        ({"seeds": "3"}, "seeds"),
        ({"seeds": True}, "seeds"),
        ({"confirmed": 1}, "confirmed"),
        ({"fields": {"depth": "1e9"}, "confirmed": True}, "depth"),
        ({"nonsense": 1}, None),
    ],
)
def test_bad_runs_are_refused(client, change, field):
    assert message(client.post("/api/runs", json=CHAIN | change), 422)["field"] == field


def test_too_much_memory_is_refused_with_the_numbers(client):
    body = CHAIN | {
        "fields": {"records": 100_000, "depth": ",".join(map(str, range(1, 9)))},
        "seeds": 50,
        "confirmed": True,
    }
    assert "512 MB" in message(client.post("/api/runs", json=body), 422)["message"]


@pytest.mark.parametrize(
    ("experiment", "fields"),
    [
        (
            "abstraction/regularizer",
            {"steps": 10_000_000, "records": 1, "first": ",".join(f"{n / 10}" for n in range(1, 61))},
        ),
        ("abstraction/reduction", {"until": 1000.0, "step_size": 1e-4, "records": 2}),
        ("abstraction/specialization", {"inputs": 1000, "batch": 1_000_000, "data": "sampled"}),
        ("linear/chain", {"until": 1e5}),
    ],
)
def test_hours_and_terabytes_are_refused_with_the_numbers(client, experiment, fields):
    body = {"experiment": experiment, "budget": "quick", "fields": fields}
    for address, more in (("/api/runs", {"confirmed": True}), ("/api/theory", {})):
        assert "times the work of the full budget" in message(client.post(address, json=body | more), 422)["message"]


def test_every_budget_and_preset_is_allowed():
    for experiment in festina.lab.all_experiments():
        for budget in ("quick", "full"):
            limits.check_work(experiment, experiment.configure(budget))
        for preset in experiment.presets:
            limits.check_work(experiment, experiment.configure(preset.budget, **preset.fields))


def test_downloads_do_not_crowd_out_theory(client, finished, monkeypatch):
    monkeypatch.setattr(limits, "DOWNLOADS_WAITING", 0)
    assert "downloads are waiting" in message(client.get(f"/api/runs/{finished[0]}/figure.png"), 429)["message"]


@pytest.mark.parametrize("seed", [-1, 2**32, 0.5, "1", True])
def test_bad_seeds_of_theory_are_refused(client, seed):
    assert message(client.post("/api/theory", json=CHAIN | {"seed": seed}), 422)["field"] == "seed"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"x": None}, "x"),
        ({"x": {"field": "depth", "from": 1, "to": 2, "count": 5}}, "x"),
        ({"x": {"field": "strength", "from": 1, "to": 2, "count": 5}}, "y"),
        ({"x": {"field": "initial", "from": 0, "to": 1, "scale": "log", "count": 5}}, "x"),
        ({"x": {"field": "initial", "from": 0, "to": 1, "scale": "lin", "count": 5}}, "initial"),
        ({"x": {"field": "initial", "from": 1, "to": 1, "count": 5}}, "x"),
        ({"x": {"field": "initial", "from": 1, "to": 10**400, "count": 5}}, "x"),
        ({"x": {"field": "initial", "from": 0.1, "to": 1, "count": 34}}, "count"),
        ({"x": {"field": "initial", "from": 0.1, "to": 1, "count": 5, "more": 1}}, None),
        ({"variable": "nothing"}, "variable"),
        ({"variable": ["loss"]}, "variable"),
        ({"entry": {"width": 0}}, "entry"),
        ({"entry": {"depth": -1}}, "entry"),
        ({"entry": 3}, "entry"),
        ({"seed": -1}, "seed"),
    ],
)
def test_bad_maps_are_refused(client, change, field):
    axes = {
        "x": {"field": "initial", "from": 0.1, "to": 1, "scale": "lin", "count": 5},
        "y": {"field": "strength", "from": 1, "to": 2, "scale": "lin", "count": 5},
    }
    body = CHAIN | axes | {"variable": "loss", "entry": None, "seed": 0} | change
    assert message(client.post("/api/maps", json=body), 422)["field"] == field


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[1]",
        b"null",
        b'{"experiment": NaN}',
        b"\xff\xfe",
        b"[" * 60_000,
        b'{"seeds": ' + b"9" * 9000 + b"}",
    ],
)
@pytest.mark.parametrize("path", ["/api/runs", "/api/theory", "/api/maps"])
def test_what_is_not_json_is_refused(client, path, body):
    message(client.post(path, content=body), 400)


def test_bodies_that_are_too_large_are_refused(client):
    body = b'{"a": "' + b"x" * limits.BODY_BYTES + b'"}'
    assert "64 kB" in message(client.post("/api/runs", content=body), 413)["message"]
    assert "64 kB" in message(client.post("/api/runs", content=iter([body[:50_000], body[50_000:]])), 413)["message"]


@pytest.mark.parametrize(
    "path",
    [
        "/api/experiments/linear/nothing",
        "/api/experiments/..%2f..%2fetc/passwd",
        "/api/experiments/linear/_helpers",
        "/api/runs/unknown/events",
        "/api/runs/unknown/figure.png",
        "/api/maps/unknown/events",
        "/static/../app.py",
        "/static/..%2fapp.py",
        "/static/%2e%2e/app.py",
        "/static/....//app.py",
        "/static//etc/passwd",
        "/static/",
        "/static",
        "/etc/passwd",
        "/api",
    ],
)
def test_what_is_not_there_is_not_found(client, path):
    connection = HTTPConnection(client.base_url.host, client.base_url.port, timeout=PATIENCE)
    connection.request("GET", path)  # as it stands, where a client would tidy up
    response = connection.getresponse()
    assert response.status == 404
    assert set(json.loads(response.read())["error"]) == {"message", "field"}


def test_files_of_a_run_are_only_those(client, finished):
    for name in ("passwd", "..%2f..%2fapp.py", "figure.pdf"):
        assert client.get(f"/api/runs/{finished[0]}/{name}").status_code == 404


def test_an_unknown_experiment_is_not_found_with_the_nearest(client):
    for path in ("/api/runs", "/api/theory", "/api/maps"):
        assert "linear/chain" in message(client.post(path, json=CHAIN | {"experiment": "linear/chian"}), 404)["message"]


def test_other_methods_are_refused(client):
    message(client.get("/api/runs"), 405)
    message(client.put("/api/experiments"), 405)


def test_every_answer_has_the_headers(client):
    for path in ("/", "/api/experiments/linear/chain", "/api/nothing", "/static/nothing.js"):
        headers = client.get(path).headers
        assert {name: headers.get(name) for name in HEADERS} == HEADERS
    assert "'unsafe" not in HEADERS["Content-Security-Policy"]


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "", "[::1", "0.0.0.0"])
def test_other_hosts_are_refused(client, host):
    refused = client.get("/api/experiments", headers={"Host": host})
    message(refused, 400)
    assert {name: refused.headers.get(name) for name in HEADERS} == HEADERS


def test_hosts_of_this_machine_are_allowed(client):
    for host in ("127.0.0.1:8000", "localhost:1", "[::1]:80"):
        assert client.get("/api/experiments/linear/chain", headers={"Host": host}).status_code == 200
    assert is_allowed("192.168.0.7", "0.0.0.0")
    assert not is_allowed("evil.example", "0.0.0.0")
    assert is_allowed("lab.example", "lab.example")


def test_other_origins_may_not_ask(client):
    for origin in ("http://evil.example", "null", "http://127.0.0.1:1"):
        message(client.post("/api/runs", json=CHAIN, headers={"Origin": origin}), 403)
    own = f"http://{client.base_url.host}:{client.base_url.port}"
    answer = client.post("/api/theory", json=CHAIN, headers={"Origin": own})
    assert answer.status_code == 200


def test_long_runs_are_asked_about_until_they_are_known_to_be_short():
    with real_server() as client:
        body = {"experiment": "linear/chain", "budget": "full", "fields": {"records": 100}, "seeds": 2}
        refused = client.post("/api/runs", json=body)
        assert "full budget" in message(refused, 409)["message"]
        assert refused.json()["confirm"]["seconds"] is None
        larger = client.post("/api/runs", json=CHAIN | {"fields": {"records": 600}})
        assert "`records` is larger" in larger.json()["confirm"]["reason"]
        started = client.post("/api/runs", json=body | {"confirmed": True})
        assert started.status_code == 201
        list(events(client, f"/api/runs/{started.json()['id']}/events"))
        assert client.post("/api/runs", json=body).status_code == 201


def test_structures_that_took_long_are_asked_about_with_the_time():
    timings, experiment = limits.Timings(), festina.lab.find("linear/chain")
    config = experiment.configure("full")
    timings.note(experiment, config, 1, 30.0)
    doubt = timings.question(experiment, config, 2, "full")
    assert doubt is not None
    assert doubt.seconds == 60.0
    assert timings.question(experiment, experiment.configure("quick", initial=0.5), 50, "quick") is None
    assert timings.question(experiment, experiment.configure("quick", depth=(1, 2)), 1, "quick") is None
    assert timings.question(experiment, experiment.configure("quick", depth=(1, 2, 3, 4, 5)), 1, "quick") is not None


@pytest.mark.full
def test_a_full_queue_is_told(monkeypatch):
    monkeypatch.setattr("festina.page.runs.carry_out", lambda question, store, timings, job: job._stop.wait(300))
    monkeypatch.setattr(limits, "FIRST_GRACE", 300.0)  # for as long as it takes to ask a thousand times
    jobs = Jobs()
    with real_server(jobs) as client:
        statuses = [client.post("/api/runs", json=CHAIN).status_code for _ in range(1000)]
        assert statuses == [201] * 18 + [429] * 982
        assert jobs.counts == (2, 16, 0)
        assert client.get("/api/experiments/linear/chain").status_code == 200
        jobs.cancel_all()
        assert jobs.counts[:2] == (0, 0)


@pytest.mark.full
def test_a_thousand_questions_are_answered(client):
    for k in range(1000):
        response = client.post("/api/theory", json=CHAIN | {"fields": {"records": 100, "strength": -k}})
        assert response.status_code == 422
    assert client.get("/api/experiments/linear/chain").status_code == 200


def test_questions_to_theory_wait_in_a_bounded_line(client, monkeypatch):
    answer = threading.Event()

    def theory_of(experiment, run):
        assert answer.wait(PATIENCE)

    monkeypatch.setattr("festina.page.app.theory_of", theory_of)
    with ThreadPoolExecutor(90) as crowd:
        asked = [crowd.submit(client.post, "/api/theory", json=CHAIN) for _ in range(90)]
        wait_for(lambda: sum(each.done() for each in asked) == 90 - THEORIES_WAITING)
        answer.set()
    assert Counter(each.result().status_code for each in asked) == {204: THEORIES_WAITING, 429: 90 - THEORIES_WAITING}
    assert client.post("/api/theory", json=CHAIN).status_code == 204


def test_a_mistake_inside_is_an_apology_without_details(client, monkeypatch):
    def broken(*arguments):
        raise RuntimeError("a secret")

    monkeypatch.setattr("festina.page.app.theory_of", broken)
    error = message(client.post("/api/theory", json=CHAIN), 500)
    assert "secret" not in error["message"]


def test_a_server_that_starts_imports_what_the_gallery_lists_and_then_makes_theory_ready(monkeypatch):
    ready = []
    monkeypatch.setattr(server, "load_all", lambda: ready.append("gallery"))
    monkeypatch.setattr(server, "theory_of", lambda experiment, run: ready.append(experiment.name))
    server.warm_up()
    assert ready == ["gallery", server.FIRST]
