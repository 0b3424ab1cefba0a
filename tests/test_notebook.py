"""What results show in a notebook, and a real Jupyter kernel: bars are widgets, and an interrupt keeps what is done."""

import asyncio
import sys
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest

import festina as fs
from festina.learning.progress import Progress
from festina.notebook import in_kernel, table, told
from festina.watching.verdict import Verdict
from patience import PATIENCE


def test_text_is_a_paragraph_and_a_list_with_nothing_of_html_in_it():
    assert told("a < b\n  one\n\n  two & three\nthen") == (
        "<p>a &lt; b</p><ul><li>one</li><li>two &amp; three</li></ul><p>then</p>"
    )
    assert told("") == ""
    assert table(["<"], []) == "<table><tr><th>&lt;</th></tr></table>"


def shown() -> dict[str, tuple[object, str]]:
    """Things that a user gets, with what must be seen of each."""
    random = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 20)
    activity = (random.random((3, 90)) < 0.5)[labels] + 0.05 * random.normal(size=(60, 90))
    gates = fs.measures.gates(np.maximum(activity - 0.3, 0.0), labels)
    inputs = random.normal(size=(400, 6))
    rule = fs.learning.stream_rule(inputs, inputs[:, :2])
    arms = {"flexible": rule, "forgetful": rule.forgetful()}
    watch = fs.watch(
        (lambda weights, probes: probes @ weights["w"], {"w": np.zeros((2, 1))}), np.eye(2), np.ones((2, 1))
    )
    watch(1, {"w": np.ones((2, 1))})
    graph = fs.networks.Graph.of("x -> a -> y", "x -> b -> y", widths={"x": 1, "a": 1, "b": 1, "y": 1})
    world = fs.worlds.GatedDataset({"x": [[1.0], [1.0]]}, {"y": [[2.0], [1.0]]}, {"a": [1.0, 0.0], "b": [0.0, 1.0]})
    return {
        "gates": (gates, "<th>shuffled (95 %)</th>"),
        "effective": (gates.effective(activity, np.eye(3)[labels]), "<p>effective gated linear network of"),
        "coding": (fs.measures.coding(activity, labels), "<p>redundant code of 3 classes"),
        "collapse": (fs.measures.neural_collapse(activity, labels), "<p>neural collapse of 3 classes"),
        "switching": (fs.measures.switching([1, 1, 0, 0], [0, 0, 1, 1]), "<p>right in 100.0% of steps"),
        "abstracted": (fs.abstract(inputs, inputs[:, :2], batch=10), "<p>40 steps of 10 examples"),
        "arms": (fs.abstract(inputs, inputs[:, :2], batch=10, arms=arms), "<li>forgetful: 40 steps"),
        "report": (watch.report(), "<p>lazy</p><ul><li>because"),
        "verdict": (Verdict("lazy", ("it is linear",), (), {}), "<p>lazy</p><ul><li>because it is linear</li></ul>"),
        "reduction": (fs.theory.reduction(graph, world), "<p>race of 2 paths in"),
        "race": (
            fs.theory.gated_race({"all": np.ones(4), "one": np.eye(4)[0]}, fs.worlds.margin(1.2)),
            "<th>half-time</th>",
        ),
        "experiments": (fs.list_experiments(), "<td>linear/chain</td>"),
    }


@pytest.mark.full
def test_everything_that_is_found_shows_itself():
    for name, (result, seen) in shown().items():
        html = result._repr_html_()  # pyright: ignore[reportAttributeAccessIssue]
        assert seen in html, f"{name}: {html[:400]}"


def test_runs_and_comparisons_show_themselves():
    world = fs.worlds.tree(branching=(2, 2), features=10)
    run = fs.flow(fs.networks.DeepLinear.init(jax.random.key(0), (4, 64, 10), scale=1e-4), world, until=10.0)
    comparison = fs.compare(run, fs.theory.modes(world, initial=run.initial))
    assert "<p>Trajectory(flow, Dopri8, until t = 10" in run._repr_html_() and "xr-wrap" in run._repr_html_()
    assert "<th>variable</th>" in comparison._repr_html_()


@pytest.mark.full
def test_results_and_sweeps_show_themselves(tmp_path):
    result = fs.run("model/chain", records=20)
    assert '<section class="festina">' in result._repr_html_()
    swept = fs.sweep("linear/chain", {"initial": [1e-3, 1e-2]}, budget="quick", records=20, store=tmp_path)
    html = swept._repr_html_()
    assert "<p>linear/chain over initial (2): 2 of 2 runs done</p>" in html and "xr-wrap" in html
    assert "<td>exact</td>" in swept.verdicts._repr_html_()
    assert "reproduced at 2 of 2 points" in swept.verdicts["exact"]._repr_html_()
    assert "<p>" in fs.run("linear/chain", budget="quick", records=20).verdicts[0]._repr_html_()


def test_a_bar_is_shown_in_a_kernel_though_it_is_no_terminal(monkeypatch, capsys):
    assert not in_kernel()
    with Progress("learning", total=3) as bar:
        bar.advance(3)
    assert capsys.readouterr().err == ""
    kernel = SimpleNamespace(get_ipython=lambda: SimpleNamespace(config={"IPKernelApp": {}}))
    monkeypatch.setitem(sys.modules, "IPython", kernel)
    assert in_kernel()
    with Progress("learning", total=3) as bar:
        bar.advance(3)
    assert "learning" in capsys.readouterr().err
    with Progress("learning", total=3, silent=True) as bar:
        bar.advance(3)
    assert capsys.readouterr().err == ""


SETUP = """
import jax
import festina as fs

world = fs.worlds.tree(branching=(2, 2), features=10)
network = fs.networks.DeepLinear.init(jax.random.key(0), (4, 5, 10), scale=1e-3)
run = fs.flow(network, world, until=10.0)
run
"""
LONG = "fs.descent(network, world, steps=40_000_000, records=1000)"
KEPT = """
import sys
kept = sys.last_value.trajectory
print(kept.interrupted, len(kept.time) > 1, kept["loss"].sizes["time"] == len(kept.time))
fs.flow(network, world, until=1.0)
"""


@pytest.mark.full
def test_a_kernel_shows_bars_and_results_and_keeps_what_was_done_before_an_interrupt():
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    cells = [nbformat.v4.new_code_cell(code) for code in (SETUP, LONG, KEPT)]
    notebook = nbformat.v4.new_notebook(cells=cells)
    client = nbclient.NotebookClient(notebook, timeout=PATIENCE, kernel_name="python3", allow_errors=True)
    hear, bars, interrupts = client.process_message, [], []

    def listen(message: dict[str, Any], cell: Any, number: int) -> Any:
        """Bars are widgets, whose values come as messages: when that of the long run has moved, interrupt it."""
        data = message["content"].get("data", {})
        moved = data.get("state", {}).get("value") if message["msg_type"] == "comm_msg" else None
        if isinstance(moved, float | int) and moved > 0:
            bars.append(number)
            if number == 1 and not interrupts:
                interrupts.append(asyncio.ensure_future(client.km.interrupt_kernel()))
        return hear(message, cell, number)

    client.process_message = listen
    client.execute()
    said = ["".join(part.get("text", "") for part in cell.outputs if part.output_type == "stream") for cell in cells]
    page = [part.data["text/html"] for part in cells[0].outputs if "text/html" in part.get("data", {})]
    assert any("<p>Trajectory(flow, " in html for html in page)
    assert {0, 1} <= set(bars), "no bar was shown"
    errors = [part.ename for part in cells[1].outputs if part.output_type == "error"]
    assert len(interrupts) == 1 and errors == ["Interrupted"], cells[1].outputs
    assert said[2] == "True True True\n", cells[2].outputs
