"""The number that a paper is about is a field of a model, and sweeping it compiles once."""

from typing import Any

import jax
import numpy as np
import pytest

import festina as fs
from festina.config import notes
from festina.lab import registry
from festina.lab.sweeps.executors import InProcess

HEADLINES: dict[str, tuple[str, str, tuple[float, float], dict[str, Any]]] = {
    "the balance λ": ("TwoLayer", "imbalance", (-2.0, 2.0), {"until": 2.0, "records": 10}),
    "the margin Δ": ("Margin", "separation", (0.2, 1.2), {"until": 2.0, "records": 10, "step_size": 0.05, "width": 8}),
    "the cosine of targets": ("SimilarTasks", "mean_target", (0.3, 0.9), {"until": 2.0, "records": 10, "width": 4}),
    "the probability p of views": ("Views", "together", (0.1, 0.9), {"until": 2.0, "records": 10}),
    "the cosine ρ of teachers": (
        "TaskAbstraction",
        "similarity",
        (0.0, 0.9),
        {"until": 1.0, "step_size": 0.1, "records": 5, "inputs": 4, "outputs": 2, "batch": 4},
    ),
    "the temperature T": (
        "WideBayesian",
        "temperature",
        (0.1, 0.9),
        {"width": 10, "warm_up": 8, "draws": 8, "records": 4},
    ),
}


@pytest.mark.full
@pytest.mark.parametrize("name", HEADLINES)
def test_a_sweep_compiles_once(name, tmp_path, monkeypatch):
    """As many programs for eight values in four tiles as for one alone: start, chunk, end and, of some, conclusion."""
    kind, field, ends, fixed = HEADLINES[name]
    model = getattr(fs.models, kind)
    traced, original = [], model.process
    monkeypatch.setattr(model, "process", lambda self, start: traced.append(self) or original(self, start))
    jax.clear_caches()
    values = np.linspace(*ends, 8).tolist()
    data = fs.sweep(f"model/{model.name}", {field: values}, store=tmp_path, tile=2, executor=InProcess(), **fixed)
    assert data["done"].all() and not data["failed"].any()
    assert len(traced) <= 3 + any(kind.final for kind in model.variables.values())


@pytest.mark.parametrize("name", registry.names())
def test_every_experiment_has_a_slider(name):
    """A number to turn, or several of them along a dimension."""
    fields = registry.find(name).Config.model_fields.values()
    kinds = {notes(info).get("several", notes(info)["kind"]) for info in fields}
    assert "continuous" in kinds
