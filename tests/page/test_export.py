"""An exported run: one file that holds everything, and shows it from a disk with nothing else around."""

import json
import re
from base64 import b64decode

import numpy as np
import pytest
from serving import launch, needs_browser

import festina
from festina.cli import main
from festina.page.export import content_of, modules, page_of, write_page
from patience import PATIENCE

NAMES = re.compile(r'(?:from|import) "([^"]+)"')
OUTSIDE = re.compile(r"""(?:src|href)=["'](?!data:|#)|url\((?!["']?data:)|@import""")


@pytest.fixture(scope="module")
def result():
    return festina.run("linear/chain", budget="quick", records=60, strength=2.0)


def embedded(page: str) -> dict:
    found = re.search(r'<script type="application/json" id="run">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


@pytest.mark.full
def test_holds_the_numbers_of_the_run(result):
    run = embedded(page_of(result))
    assert run == json.loads(json.dumps(content_of(result)))
    assert run["settings"]["strength"] == "2"
    assert run["command"] == "festina run linear/chain --budget quick --strength 2 --records 60"
    assert [verdict["outcome"] for verdict in run["claims"]["verdicts"]] == [v.outcome for v in result.verdicts]
    for kind, data in {"simulation": result.data, "theory": result.theory}.items():
        np.testing.assert_array_equal(run[kind]["times"], data["time"].values)
        lines = [one for one in run[kind]["series"] if one["variable"] == "product"]
        assert [one["line"] for one in lines] == ["depth 1", "depth 2", "depth 4", "depth inf"]
        for k, one in enumerate(lines):
            np.testing.assert_array_equal(one["values"], data["product"].isel(run=0, depth=k).values)


def test_needs_nothing_from_outside(result):
    page = page_of(result)
    markup = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert OUTSIDE.findall(markup) == []
    assert page.count("</script>") == page.count("<script")
    assert "api.js" not in "".join(modules())  # what talks to a server is left at home


def test_modules_of_a_folder_find_those_above_it():
    found = modules()
    assert "festina/views/plane.js" in found
    text = b64decode(found["festina/views/plane.js"].split(",", 1)[1]).decode()
    assert 'from "festina/colours.js"' in text
    assert 'from "festina/views/axes.js"' in text
    imported = {name for text in found.values() for name in NAMES.findall(b64decode(text.split(",", 1)[1]).decode())}
    assert imported <= set(found)
    assert not any(name.startswith(".") for name in imported)


def test_text_cannot_break_out_of_the_page(result):
    class Hostile(type(result.experiment)):
        __doc__ = "</script><script>alert(1)</script> & <b>bold</b>"

    hostile = festina.experiment.Result(Hostile(), result.config, result.data, result.theory, result.verdicts)
    page = page_of(hostile)
    assert "<script>alert(1)" not in page
    assert embedded(page)["experiment"]["summary"] == Hostile.__doc__


@pytest.mark.full
def test_command_writes_the_file(tmp_path, capsys):
    path = tmp_path / "new" / "chain.html"
    words = ["export", "linear/chain", "--html", str(path), "--budget", "quick", "--records", "60", "--strength", "2"]
    assert main([*words, "--out", str(tmp_path / "runs")]) == 0
    assert str(path) in capsys.readouterr().out
    assert embedded(path.read_text(encoding="utf-8"))["settings"]["strength"] == "2"


def test_command_needs_a_format_and_good_fields(capsys):
    assert main(["export", "linear/chain"]) == 2
    assert "--html" in capsys.readouterr().err
    assert main(["export", "linear/chain", "--html", "--strength", "-1"]) == 2
    assert "`strength` must be greater than or equal to 0.001" in capsys.readouterr().err


@needs_browser
@pytest.mark.full
def test_opens_from_a_disk(result, tmp_path):
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright to drive a browser")
    path = write_page(result, tmp_path / "chain.html")
    complaints: list[str] = []
    asked: list[str] = []
    with sync_api.sync_playwright() as playwright:
        browser = launch(playwright)
        page = browser.new_page(viewport={"width": 360, "height": 800})
        page.set_default_timeout(1000 * PATIENCE)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        page.wait_for_selector("figure.view canvas")
        pictured = page.evaluate("document.querySelector('.view[data-kind=curves]').plotted()")
        page.get_by_text("All recorded variables").click()
        page.wait_for_selector("figure.chart canvas")
        drawn = page.evaluate("document.querySelector('[data-variable=product]').plotted()")
        verdicts = page.locator("td.verdict.reproduced").count()
        equations = page.locator(".equation .katex").count()
        overflow = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        with page.expect_download() as waiting:
            page.get_by_role("button", name="Save the charts' data").click()
        table = waiting.value.path().read_text(encoding="utf-8")
        browser.close()
    assert complaints == []
    assert [address for address in asked if not address.startswith(("data:", "blob:", path.as_uri()))] == []
    assert (verdicts, overflow) == (sum(v.outcome == "reproduced" for v in result.verdicts), 0)
    assert equations >= len(result.experiment.equations)
    told = content_of(result)["simulation"]["scenes"][0]["lines"]
    simulated = [line["y"] for line in pictured["lines"] if line["source"] == "simulation"]
    assert simulated == [line["y"] for line in told]
    np.testing.assert_array_equal(drawn["columns"][1], result["product"].isel(run=0, depth=0).values[1:])
    assert len(table.splitlines()) == 1 + 2 * 2 * 4 * result.data.sizes["time"]
