"""Pictures in a real browser: each kind draws what its scene says, and legend, time, pins and controls act on them."""

from collections.abc import Iterator

import accessible
import legible
import numpy as np
import pytest
from examples import KINDS, RATES, TIMES, Answers, example
from serving import needs_browser, real_server

from patience import PATIENCE

pytest.importorskip("playwright.sync_api", reason="needs playwright to drive a browser")

pytestmark = [needs_browser, pytest.mark.full]

DONE = '.status[data-state="done"]'
LIVE = ".view-column:first-child"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Where the page's own files are; questions about experiments never get there."""
    with real_server() as client:
        yield str(client.base_url)


@pytest.fixture
def page(browser) -> Iterator:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    complaints: list[str] = []
    opened = context.new_page()
    opened.set_default_timeout(1000 * PATIENCE)
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    yield opened
    context.close()
    assert complaints == []


def visit(page, address: str, kinds: str, query: str = "") -> Answers:
    """The page of an experiment with views of some kinds, such as "curves-plane", when its run is done."""
    answers = Answers(page)
    page.goto(f"{address}#/example/{kinds}{query}")
    page.wait_for_selector(DONE)
    return answers


def plotted(page, kind: str, column: str = LIVE) -> dict:
    return page.evaluate("where => document.querySelector(where).plotted()", f"{column} [data-kind={kind}]")


def drag(page, value: int) -> None:
    """Move the time slider to a frame."""
    page.evaluate(
        """value => {
          const slider = document.querySelector('.timeline input');
          slider.value = value;
          slider.dispatchEvent(new Event('input', { bubbles: true }));
        }""",
        value,
    )


def by_source(parts: list[dict], source: str) -> list[dict]:
    return [part for part in parts if part["source"] == source]


def test_curves_are_what_the_scene_says(page, address):
    visit(page, address, "curves")
    drawn = plotted(page, "curves")
    for source, shift in (("simulation", 0.01), ("theory", 0.0)):
        said = example("curves", shift)["lines"]
        lines = by_source(drawn["lines"], source)
        assert [line["group"] for line in lines] == ["slow", "fast", "fast"]
        for line, expected in zip(lines, said, strict=True):
            assert line["x"] == TIMES.tolist()
            assert (line["y"], line["low"], line["high"]) == (expected["y"], expected["low"], expected["high"])
    slow, fast, quiet = by_source(drawn["lines"], "simulation")
    for line in (slow, fast):
        assert not line["stroked"]  # theory's line is there already
        assert 12 <= len(line["dots"]) <= 40
        assert all([x, y] in [list(pair) for pair in zip(line["x"], line["y"], strict=True)] for x, y in line["dots"])
    assert quiet["dots"] == []
    assert quiet["stroked"]
    assert all(line["dots"] == [] for line in by_source(drawn["lines"], "theory"))
    assert drawn["x"]["range"] == [0, 8]
    assert drawn["y"]["range"][0] < -0.09 < 1.11 < drawn["y"]["range"][1]
    assert len(drawn["marks"]) == 2


def test_a_simulation_without_theory_is_a_line_with_dots(page, address):
    answers = Answers(page)
    page.route("**/api/theory", lambda route: route.fulfill(status=204))
    page.goto(f"{address}#/example/curves")
    answers.kinds = ["curves"]
    page.wait_for_selector(DONE)
    lines = plotted(page, "curves")["lines"]
    assert {line["source"] for line in lines} == {"simulation"}
    assert all(line["stroked"] for line in lines)
    assert len(lines[0]["dots"]) >= 12


@pytest.mark.parametrize("kind", ["heat", "raster"])
def test_panels_show_the_frame_of_the_moment(page, address, kind):
    visit(page, address, kind)
    for frame in (2, 0, 1):
        drag(page, frame)
        drawn = plotted(page, kind)
        assert [panel["source"] for panel in drawn["panels"]] == ["simulation", "theory"]
        for panel, shift in zip(drawn["panels"], (0.01, 0.0), strict=True):
            said = example(kind, shift)["panels"][0]
            rows = said["frames"][frame]
            order = said["orders"][frame] if "orders" in said else range(len(rows))
            assert panel["rows"] == [rows[row] for row in order]
    most = max(np.max(example(kind, 0.01)["panels"][0]["frames"]), 0)
    assert drawn["range"] == pytest.approx([0.0, most])


def test_plane_draws_paths_up_to_now(page, address):
    visit(page, address, "plane")
    said = example("plane", 0.01)
    for frame in (40, 10):
        drag(page, frame)
        drawn = plotted(page, "plane")
        slow, fast = by_source(drawn["paths"], "simulation")
        assert slow["x"] == said["paths"][0]["x"][: frame + 1]
        assert fast["y"] == said["paths"][1]["y"][: frame + 1]
        for path, expected in zip(by_source(drawn["paths"], "theory"), example("plane", 0.0)["paths"], strict=True):
            assert path["x"] == expected["x"]  # all of it, pale where it has not been
            assert path["head"] == [expected["x"][frame], expected["y"][frame]]
        cloud = by_source(drawn["clouds"], "simulation")[0]
        assert {"x": cloud["x"], "y": cloud["y"]} == said["clouds"][0]["frames"][frame]
    assert [mark["shape"] for mark in drawn["marks"]] == ["saddle", "minimum"]
    box, x, y = drawn["box"], drawn["x"]["range"], drawn["y"]["range"]
    assert box["width"] / (x[1] - x[0]) == pytest.approx(box["height"] / (y[1] - y[0]), rel=0.01)  # equal aspect


def test_graph_edges_are_as_wide_as_they_are_strong(page, address):
    visit(page, address, "graph")
    drag(page, 4)
    drawn = plotted(page, "graph")
    edges = {edge["name"]: edge for edge in drawn["edges"]}
    assert edges["shared"]["simulation"] == pytest.approx(1.01)
    assert edges["shared"]["theory"] == pytest.approx(1.0)
    assert edges["direct"]["simulation"] == 0
    assert edges["shared"]["width"] > 5 * edges["direct"]["width"]
    drag(page, 0)
    assert plotted(page, "graph")["edges"][0]["simulation"] == pytest.approx(0.21)


def test_bars_stand_beside_what_theory_says(page, address):
    visit(page, address, "bars")
    for frame in (0, 1):
        drag(page, frame)
        drawn = plotted(page, "bars")["bars"]
        simulated, predicted = (example("bars", shift)["bars"] for shift in (0.01, 0.0))
        assert [bar["name"] for bar in drawn] == ["colour", "colour", "shape", "shape"]
        for bar, one, other in zip(drawn, simulated, predicted, strict=True):
            assert bar["simulation"] == {"value": one["frames"][frame], "error": one["errors"][frame]}
            assert bar["theory"]["value"] == other["frames"][frame]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_painted_read_and_described(page, address, kind):
    """The canvas is not empty, arrow keys read a number, and the words for those who do not see it hold numbers."""
    visit(page, address, kind)
    picture = page.locator(f"{LIVE} [data-kind={kind}] .picture")
    page.wait_for_function(
        """where => {
          const canvas = document.querySelector(where);
          const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
          let painted = 0;
          for (let k = 3; k < data.length; k += 4) if (data[k] > 0) painted += 1;
          return painted > 1500;
        }""",
        arg=f"{LIVE} [data-kind={kind}] canvas",
    )
    assert any(letter.isdigit() for letter in picture.get_attribute("aria-label"))
    picture.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    said = page.locator(f"{LIVE} [data-kind={kind}] .view-readout").inner_text()
    assert any(letter.isdigit() for letter in said)
    page.keyboard.press("ArrowDown")
    assert page.locator(f"{LIVE} [data-kind={kind}] .view-readout").inner_text() != said


def test_time_is_one_for_all_pictures(page, address):
    visit(page, address, "plane-heat-curves")
    assert page.locator(".timeline .moment").inner_text() == "time (τ) 8"
    slider = page.get_by_role("slider", name="time")
    slider.focus()
    page.keyboard.press("Home")
    assert plotted(page, "plane")["paths"][0]["x"] == [0]
    assert plotted(page, "heat")["panels"][0]["rows"] == example("heat", 0.01)["panels"][0]["frames"][0]
    assert plotted(page, "curves")["now"] == 0
    for _ in range(5):
        page.keyboard.press("ArrowRight")  # to τ = 1, a frame of the plane and of the heat map
    assert plotted(page, "heat")["panels"][0]["rows"] == example("heat", 0.01)["panels"][0]["frames"][1]
    assert slider.get_attribute("aria-valuetext") == "time (τ) 1"


def test_time_plays_and_pauses(page, address):
    visit(page, address, "plane")
    page.get_by_role("slider", name="time").focus()
    page.keyboard.press("Space")
    assert page.get_by_role("button", name="Pause").count() == 1
    start = page.evaluate("document.querySelector('.timeline input').value")
    page.wait_for_function("start => document.querySelector('.timeline input').value !== start", arg=start)
    page.keyboard.press("Space")
    assert page.get_by_role("button", name="Play", exact=True).count() == 1


def test_legend_hides_a_group_everywhere(page, address):
    visit(page, address, "curves-plane-bars")
    button = page.locator(".view-legend button", has_text="fast")
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    for kind, parts in (("curves", "lines"), ("plane", "paths"), ("bars", "bars")):
        assert {part["group"] for part in plotted(page, kind)[parts]} == {"slow"}
    button.click()
    assert {part["group"] for part in plotted(page, "curves")["lines"]} == set(RATES)


def test_the_same_name_has_the_same_colour(page, address):
    visit(page, address, "curves-graph")
    colours = {line["group"]: line["colour"] for line in plotted(page, "curves")["lines"]}
    assert colours == {"slow": "#0072B2", "fast": "#D55E00"}
    assert page.locator(".view-legend .groups").count() == 2  # a family of names for each picture
    assert page.locator("[data-kind=graph] .view-legend .groups").count() == 1  # the second's stands with it


def test_names_are_said_shortly_and_as_they_are_printed(page, address):
    ask = "([file, name, said]) => import(`/static/js/${file}.js`).then(module => module[name](said))"
    page.goto(address)
    for names, stem, words in (
        (["depth 1", "depth inf"], "depth", ["1", "inf"]),
        (["wide, rank 1", "deep, rank 15"], "rank", ["wide, 1", "deep, 15"]),
        (["no cost, rank 1", "no cost, weak bounds, rank 2"], "rank", ["no cost, 1", "no cost, weak bounds, 2"]),
        (["imbalance 0, mode 1", "imbalance -2, mode 2"], "", ["imbalance 0, mode 1", "imbalance -2, mode 2"]),
        (["slow", "fast gates"], "", ["slow", "fast gates"]),
    ):
        assert page.evaluate(ask, ["viewlegend", "shortened", names]) == {"stem": stem, "words": words}
    for name, printed in (("depth inf", "depth ∞"), ("scale -1e-08", "scale −10⁻⁸"), ("task1", "task 1"), ("z2", "z₂")):
        assert page.evaluate(ask, ["numbers", "typeset", name]) == printed
    parts = page.evaluate(ask, ["equations", "partsOf", r"a = \text{b \quad c},\qquad d = \left( e \quad f \right)"])
    assert [part.strip() for part in parts] == [r"a = \text{b \quad c},", r"d = \left( e \quad f \right)"]


@pytest.mark.parametrize("kinds", ["curves-plane-bars", "heat-raster-graph"])
def test_words_stand_apart_in_all_widths(page, address, kinds):
    legible.listen(page)
    visit(page, address, kinds)
    legible.check(page)


def test_an_axis_has_numbers_and_begins_at_zero_where_nothing_is_below(page, address):
    page.goto(address)
    ask = """async ([name, ...said]) => (await import('/static/js/views/axes.js'))[name](...said)"""
    for ends in ([0.07, 0.98], [0.0, 1.04], [-3.0, 11.0], [0.51, 0.58]):
        assert len(page.evaluate(ask, ["ticksOf", ends, 2])) >= 3
    assert page.evaluate(ask, ["rangeOf", [0.01, 1.0], {"floor": True}]) == pytest.approx([0.0, 1.0396])
    assert page.evaluate(ask, ["rangeOf", [-0.01, 1.0], {"floor": True}])[0] < -0.01
    assert page.evaluate(ask, ["rangeOf", [0.5, 1.0], {"floor": True}])[0] == pytest.approx(0.48)


def test_pin_keeps_a_copy_with_the_same_axes(page, address):
    answers = visit(page, address, "curves")
    page.get_by_role("button", name="Pin this run and compare").click()
    answers.shift = {"simulation": 2.01, "theory": 2.0}
    page.get_by_label("strength", exact=True).fill("2")
    page.get_by_label("strength", exact=True).press("Enter")
    page.wait_for_function("where => document.querySelector(where).plotted().lines[0].y[0] > 3", arg=f"{LIVE} .view")
    page.wait_for_selector(DONE)
    now, kept = plotted(page, "curves"), plotted(page, "curves", ".view-column:last-child")
    assert now["lines"][0]["y"][0] == pytest.approx(3.01)
    assert kept["lines"][0]["y"][0] == pytest.approx(1.01)
    assert now["y"]["range"] == kept["y"]["range"]
    heads = page.locator(".column-head")
    assert "strength = 2" in heads.first.inner_text()
    assert "strength = 1" in heads.last.inner_text()
    page.get_by_role("button", name="Unpin").click()
    assert page.locator(".view-column:visible").count() == 1
    assert plotted(page, "curves")["y"]["range"][0] > kept["y"]["range"][0]


def test_chips_move_one_of_several_values(page, address):
    answers = visit(page, address, "curves")
    control = page.locator("[data-field=imbalance]")
    values = control.locator(".chip-value")
    assert values.all_inner_texts() == ["−5", "0", "5"]
    values.nth(2).click()
    slider = control.locator("input[type=range]")
    assert slider.get_attribute("aria-label") == "imbalance 5, slider"
    slider.focus()
    page.keyboard.press("End")
    page.wait_for_selector(DONE)
    assert "imbalance=-5,0,10" in page.url
    assert answers.last("theory")["fields"] == {"imbalance": "-5,0,10"}
    assert answers.last("runs")["fields"] == {"imbalance": "-5,0,10"}
    values.nth(0).click()
    control.get_by_role("button", name="add a value").click()
    assert values.all_inner_texts() == ["−5", "−2.5", "0", "10"]
    control.get_by_role("button", name="Remove imbalance 0").click()
    assert values.all_inner_texts() == ["−5", "−2.5", "10"]
    page.wait_for_function("location.hash.includes('imbalance=-5,-2.5,10')")
    for _ in range(2):
        control.get_by_role("button", name="add a value").click()
    assert control.get_by_role("button", name="add a value").is_disabled()  # five at most


def test_the_headline_comes_first(page, address):
    visit(page, address, "curves")
    fields = page.locator(".controls [data-field]").evaluate_all("nodes => nodes.map(node => node.dataset.field)")
    assert fields[0] == "imbalance"
    assert page.locator(".headline [data-field=imbalance]").count() == 1
    assert fields.index("strength") < fields.index("world")


def test_fields_without_effect_are_hidden(page, address):
    answers = visit(page, address, "curves")
    page.get_by_text("Advanced").click()
    shown = {name: page.locator(f"[data-field={name}]") for name in ("branching", "items")}
    assert shown["branching"].is_visible()
    assert not shown["items"].is_visible()
    page.get_by_role("radio", name="tree").focus()
    page.keyboard.press("ArrowRight")
    assert not shown["branching"].is_visible()
    assert shown["items"].is_visible()
    page.wait_for_function("location.hash.includes('world=ring')")
    page.wait_for_selector(DONE)
    assert answers.last("runs")["fields"] == {"world": "ring"}


def test_small_numbers_are_stepped(page, address):
    answers = visit(page, address, "curves", "?branching=5")
    more = page.get_by_role("button", name="branching: one more")
    more.click()
    more.click()  # six is the most
    assert page.locator("[data-field=branching] input").input_value() == "6"
    page.wait_for_function("location.hash.includes('branching=6')")
    page.wait_for_selector(DONE)
    assert answers.last("runs")["fields"] == {"branching": 6}


def test_variables_are_drawn_when_they_are_opened(page, address):
    visit(page, address, "curves")
    assert page.locator(".chart").count() == 0
    page.get_by_text("All recorded variables").click()
    page.wait_for_selector("[data-variable=loss] canvas")
    drawn = page.evaluate("document.querySelector('[data-variable=loss]').plotted()")
    assert drawn["columns"][1] == [1.0, 0.5]


def test_without_views_the_charts_are_in_the_open(page, address):
    visit(page, address, "none")
    assert page.locator(".views").count() == 0
    page.wait_for_selector("[data-variable=loss] canvas")


def test_published_figure(page, address):
    answers = visit(page, address, "curves")
    page.get_by_role("button", name="Draw the published figure").click()
    figure = page.get_by_role("img", name="The published figure of example/curves")
    figure.wait_for()
    assert figure.evaluate("image => image.naturalWidth") == 80
    answers.figure = (409, '{"error": {"message": "It is gone.", "field": null}}')
    page.get_by_label("strength", exact=True).fill("3")
    page.get_by_label("strength", exact=True).press("Enter")
    page.wait_for_function("document.querySelector('.published img') === null")
    page.wait_for_selector(DONE)
    page.get_by_role("button", name="Draw the published figure").click()
    page.get_by_text("The figure could not be drawn: It is gone.").wait_for()


def test_on_a_phone_the_picture_comes_before_the_sliders(page, address):
    page.set_viewport_size({"width": 390, "height": 844})
    visit(page, address, "curves-heat-raster-graph")
    top = page.evaluate(
        "['.views', '.controls', '.published'].map(one => document.querySelector(one).getBoundingClientRect().top)"
    )
    assert top == sorted(top)
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_all_kinds_beside_a_pinned_run_are_accessible(page, address):
    """No serious finding of axe in either theme, and nothing wider than the window."""
    visit(page, address, "-".join(KINDS))
    page.get_by_role("button", name="Pin this run and compare").click()
    for details in page.locator("details").all():
        details.evaluate("node => (node.open = true)")
    accessible.check(page)


SAID = """
  window.said = [];
  const note = () => said.push(document.querySelector('.status-text')?.textContent);
  new MutationObserver(note).observe(document, { subtree: true, childList: true });
"""


def test_what_is_compiled_is_said(page, address):
    page.add_init_script(SAID)
    visit(page, address, "curves")
    assert "Compiling: the training loop" in page.evaluate("said")
