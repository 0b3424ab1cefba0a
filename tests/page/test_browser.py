"""The page in a real browser: what is drawn is what the server says, by mouse and by keyboard."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import accessible
import httpx
import numpy as np
import pytest
from serving import events, launch, needs_browser

from patience import PATIENCE
from shared import apart

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright to drive a browser")

pytestmark = [needs_browser, pytest.mark.full]

CHAIN = "#/linear/chain"
CELLS = ".map-figure[data-level]"
DONE = '.status[data-state="done"]'
NO_OTHER_HOST = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> Iterator[str]:
    """Where a server is that runs as people run it, in a process of its own."""
    words = [sys.executable, "-m", "festina", "explore", "--port", "0"]
    settings = os.environ | apart(tmp_path_factory.mktemp("cache")) | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=settings) as process:
        assert process.stdout is not None
        try:
            yield next(word for word in process.stdout.readline().split() if word.startswith("http"))
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def server(address) -> Iterator[httpx.Client]:
    """The same server, asked directly."""
    with httpx.Client(base_url=address, timeout=PATIENCE) as client:
        yield client


@pytest.fixture(scope="module")
def browser() -> Iterator:
    with sync_api.sync_playwright() as playwright:
        launched = launch(playwright, NO_OTHER_HOST)
        yield launched
        launched.close()


@pytest.fixture
def page(browser, address) -> Iterator:
    """A page that may reach the server and nothing else; at the end it must have nothing to complain of."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, accept_downloads=True)
    complaints: list[str] = []

    def watch(request) -> None:
        if not request.url.startswith((address, "data:")):
            complaints.append(f"asked for {request.url}")

    def hear(message) -> None:
        refused = message.text.startswith("Failed to load resource") and "status of 4" in message.text
        if message.type in ("error", "warning") and not refused:
            complaints.append(message.text)

    opened = context.new_page()
    opened.set_default_timeout(1000 * PATIENCE)
    opened.on("request", watch)
    opened.on("console", hear)
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    yield opened
    context.close()
    assert complaints == []


def visit(page, address: str, view: str, *, until: str = DONE) -> None:
    page.goto(address + view)
    page.wait_for_selector(until)


def plotted(page, variable: str) -> dict:
    """The curves that a chart has drawn, by kind and line, as pairs of a time and a value."""
    page.locator("details.variables").evaluate("node => (node.open = true)")
    page.wait_for_selector(f"[data-variable={variable}] canvas")
    drawn = page.evaluate("name => document.querySelector(`[data-variable=${name}]`).plotted()", variable)
    assert not drawn["stale"]
    times, *columns = drawn["columns"]
    return {
        (curve["kind"], curve["line"]): [
            (t, value) for t, value in zip(times, column, strict=True) if value is not None
        ]
        for curve, column in zip(drawn["curves"], columns, strict=True)
    }


def expected(answer: dict, variable: str) -> dict:
    """The same curves as the server has them, without time zero, which an axis of powers of ten cannot show."""
    return {
        one["line"]: [(t, value) for t, value in zip(answer["times"], one["values"], strict=True) if t > 0]
        for one in answer["series"]
        if one["variable"] == variable
    }


def compare_views(page, answers: dict) -> None:
    """The first picture holds the numbers of the server's scenes."""
    lines = page.evaluate("document.querySelector('.view[data-kind=curves]').plotted().lines")
    for source, answer in answers.items():
        scene = answer["scenes"][0]
        drawn = [line for line in lines if line["source"] == source]
        assert [line["group"] for line in drawn] == [scene["groups"][line["group"]] for line in scene["lines"]]
        for line, said in zip(drawn, scene["lines"], strict=True):
            assert line["x"] == scene["grids"][said["grid"]]
            np.testing.assert_allclose(line["y"], said["y"], rtol=1e-12, atol=1e-14)


def test_gallery_leads_to_an_experiment(page, address):
    visit(page, address, "#/", until=".card")
    assert page.locator(".card").count() >= 44
    page.get_by_label("Filter").fill("chain plateau")
    shown = page.locator(".card:visible")
    assert shown.count() == 1
    shown.get_by_role("link").click()
    page.wait_for_selector(DONE)
    assert page.url.startswith(address + CHAIN)
    assert "saddle" in page.locator("h1").inner_text()
    assert page.locator(".equation .katex").count() >= 1
    assert page.locator("td.verdict.reproduced").count() == 5


def test_slider_redraws_what_the_server_says(page, address, server):
    visit(page, address, CHAIN)
    slider = page.get_by_label("strength, slider")
    before = page.get_by_label("strength", exact=True).input_value()
    slider.focus()
    for _ in range(40):
        page.keyboard.press("ArrowRight")
    page.wait_for_selector(DONE)
    strength = float(page.get_by_label("strength", exact=True).input_value())
    assert strength > float(before)
    assert f"strength={strength:g}" in page.url

    question = {"experiment": "linear/chain", "budget": "quick", "fields": {"strength": strength}}
    run = server.post("/api/runs", json=question | {"seeds": 1, "confirmed": False}).json()["id"]
    told = dict(events(server, f"/api/runs/{run}/events"))  # the last of each; theory at the records of the run
    simulation, theory = told["points"], told["theory"]
    compare_views(page, {"simulation": simulation, "theory": theory})
    for variable in ("product", "loss"):
        drawn = plotted(page, variable)
        for line, values in expected(simulation, variable).items():
            assert drawn["simulation", line] == values
        for line, values in expected(theory, variable).items():
            np.testing.assert_allclose(drawn["theory", line], values, rtol=1e-12, atol=1e-14)


def test_theory_comes_before_the_simulation(page, address):
    """It is drawn while the request for a run is still under way, here for as long as it takes."""
    visit(page, address, CHAIN)
    held, waits = [], True
    page.route("**/api/runs", lambda request: held.append(request) if waits else request.continue_())
    seen = page.evaluate(
        """async patience => {
          const slider = document.querySelector('[data-field=strength] input[type=range]');
          const chart = document.querySelector('.view[data-kind=curves]');
          const last = () => chart.plotted().lines.filter(c => c.source === 'theory').map(c => c.y.at(-1)).join();
          const [before, latest] = [last(), performance.now() + patience];
          slider.value = 900;
          slider.dispatchEvent(new Event('input', { bubbles: true }));
          while (last() === before && performance.now() < latest) await new Promise(done => setTimeout(done, 1));
          return { moved: last() !== before, stale: chart.plotted().stale };
        }""",
        1000 * PATIENCE,
    )
    assert seen == {"moved": True, "stale": True}  # the old simulation is still there, but faded
    waits = False
    for request in held:
        request.continue_()
    page.wait_for_selector(DONE)


def test_preset_sets_the_fields(page, address, server):
    visit(page, address, CHAIN)
    presets = server.get("/api/experiments/linear/chain").json()["presets"]
    preset = next(one for one in presets if one["fields"])
    button = page.get_by_role("button", name=preset["name"], exact=True)
    button.click()
    page.wait_for_selector(DONE)
    assert button.get_attribute("aria-pressed") == "true"
    for name, value in preset["fields"].items():
        assert f"{name}=" in page.url
        assert float(page.locator(f"[data-field={name}] input[type=number]").input_value()) == value


def test_long_run_asks_first_and_can_be_cancelled(page, address):
    long = "records=100000&seeds=10&depth=1,2,3,4,5,6,7,8"  # minutes, so that it is not over before it is cancelled
    visit(page, address, f"{CHAIN}?{long}", until="dialog[open]")
    page.get_by_role("button", name="Do not run").click()
    page.wait_for_selector('.status[data-state="declined"]')
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_role("button", name="Run it").click()
    page.wait_for_selector('.status[data-state="compiling"], .status[data-state="running"]')
    with page.expect_response(lambda answer: answer.request.method == "DELETE") as cancelled:
        page.get_by_role("button", name="Cancel").click()
    assert cancelled.value.ok
    page.wait_for_selector('.status[data-state="cancelled"]')
    assert page.locator(".takeaway .button[href]").count() == 0


def test_link_shows_the_same_picture(page, address):
    visit(page, address, f"{CHAIN}?budget=quick&seeds=2&initial=0.001&depth=2,3")
    assert page.get_by_label("seeds").input_value() == "2"
    assert page.locator("[data-field=initial] input[type=number]").input_value() == "0.001"
    assert page.locator("[data-field=depth] .chip-value").all_inner_texts() == ["2", "3"]
    before = plotted(page, "product")
    assert {line for kind, line in before if kind == "simulation"} == {"depth 2", "depth 3"}
    visit(page, address, page.url.removeprefix(address))
    page.reload()
    page.wait_for_selector(DONE)
    assert plotted(page, "product") == before


def test_unknown_experiment_is_said(page, address):
    visit(page, address, "#/linear/chian", until="[role=alert]")
    assert "chian" in page.locator("[role=alert]").inner_text()


def test_downloads(page, address):
    visit(page, address, CHAIN)
    for name, start in {"PNG": b"\x89PNG", "SVG": b"<?xml", "CSV": b"", "NetCDF": b"", "Zarr": b"PK"}.items():
        with page.expect_download() as waiting:
            page.get_by_role("link", name=name, exact=True).click()
        content = Path(waiting.value.path()).read_bytes()
        assert len(content) > 1000
        assert content.startswith(start)


def test_bad_input_is_explained_beside_its_field(page, address):
    visit(page, address, CHAIN)
    field = page.locator("[data-field=strength]")
    box = field.locator("input[type=number]")
    box.fill("-1")
    box.press("Enter")
    field.locator(".field-error:not(:empty)").wait_for()
    assert "greater than or equal to 0.001" in field.locator(".field-error").inner_text()
    assert box.get_attribute("aria-invalid") == "true"
    box.fill("2")
    box.press("Enter")
    page.wait_for_selector(DONE)
    assert field.locator(".field-error").inner_text() == ""
    assert box.get_attribute("aria-invalid") is None


def test_map_opens_a_run_by_keyboard(page, address):
    visit(page, address, f"{CHAIN}/map?x=initial&y=strength&variable=product", until=CELLS)
    field = page.locator(".heatmap")
    field.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    cells = page.evaluate("document.querySelector('.map-figure').plotted()")
    assert "initial = " in page.locator(".readout").inner_text()
    page.keyboard.press("Enter")
    page.wait_for_selector(DONE)
    strength = float(page.locator("[data-field=strength] input[type=number]").input_value())
    assert strength == pytest.approx(cells["y"][0])
    assert "initial=" in page.url


def test_theme_is_kept(page, address):
    visit(page, address, "#/", until=".card")
    page.get_by_role("button", name="Use dark colours").click()
    page.reload()
    page.wait_for_selector(".card")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(22, 24, 27)"


def test_copies_the_command(page, address):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    visit(page, address, f"{CHAIN}?strength=2")
    page.get_by_role("button", name="Copy command").click()
    page.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == "festina run linear/chain --budget quick --strength 2"


VIEWS = {"gallery": ("#/", ".card"), "experiment": (CHAIN, DONE), "map": (f"{CHAIN}/map", CELLS)}


@pytest.mark.parametrize("view", VIEWS)
def test_accessible_at_every_width(page, address, view):
    """No serious finding of axe in either theme, and nothing wider than the window, at 360 pixels and up."""
    hash, until = VIEWS[view]
    visit(page, address, hash, until=until)
    accessible.check(page)
