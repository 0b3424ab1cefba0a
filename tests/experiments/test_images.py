"""abstraction/images: its claims, and what they cannot check."""

import gzip
import hashlib
import struct
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

import festina as fs
from festina.errors import FestinaWarning
from festina.experiment import Result
from festina.experiments._at_hand import what_is_seen
from festina.experiments.abstraction.clothes import Clothes
from festina.experiments.abstraction.images import Images, recovery_times, selectivity
from festina.worlds import images
from shared import quick

OTHERS = {
    "pretrained": "needs the full budget",
    "original-accuracy": "needs the full budget",
    "digits-accuracy": "needs the full budget",
} | dict.fromkeys(("recovers", "accelerating", "relearns", "selective", "shared-structure"), "not applicable")
ARMS = ["flexible", "forgetful"]


@pytest.fixture(scope="module")
def result():
    return quick("abstraction/images", images="digits")


@pytest.mark.full
def test_quick_claims_hold(result):
    outcomes = {verdict.claim: verdict.outcome for verdict in result.verdicts}
    assert outcomes == {claim: OTHERS.get(claim, "reproduced") for claim in outcomes}, result
    features = result["pretrained"].values
    assert 0.85 < features.min() == features.max() < 0.95  # one network's, for all seeds and arms


@pytest.mark.full
def test_the_figure_is_drawn_without_a_warning_and_says_what_was_seen(result, recwarn):
    figure = result.figure()
    figure.canvas.draw()
    assert "digits of scikit-learn" in figure.get_suptitle()
    assert len(figure.axes) == 6 and not recwarn.list


def test_images_that_are_not_there_are_replaced_and_the_result_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("FESTINA_DATA", str(tmp_path))
    with pytest.warns(FestinaWarning, match="MNIST is not in .*; `festina data fetch mnist` gets it"):
        config = Images().configure("quick", images="mnist")
    assert (config.images, config.instead_of) == ("digits", "mnist")
    assert {arm.model.settings()["images"] for arm in Images().arms_at(config)} == {"digits"}
    assert what_is_seen(config) == "8×8 digits of scikit-learn (instead of MNIST, not found)"
    stored: Any = Images.Config.checked("abstraction/images", {"images": "mnist"})  # of a result, whatever is there now
    assert stored.images == "mnist" and stored.instead_of == "nothing" and what_is_seen(stored) == "MNIST"


def test_forgetful_gates_are_free_and_as_slow_as_weights():
    flexible, forgetful = (arm.model.settings() for arm in Images().arms_at(Images().configure(images="digits")))
    assert {name for name in flexible if flexible[name] != forgetful[name]} == {"strength", "gate_timescale"}
    assert forgetful["strength"] == 0.0 and forgetful["gate_timescale"] == forgetful["weight_timescale"] == 10.0


@pytest.fixture
def published(tmp_path, monkeypatch):
    """Tiny sets in the place of MNIST and Fashion-MNIST, in their format: sixty images of noise, and ten for tests."""
    random = np.random.default_rng(0)
    for name in ("mnist", "fashion"):
        arrays = [random.integers(0, 256, (60, 28, 28)), np.arange(60) % 10]
        arrays += [random.integers(0, 256, (10, 28, 28)), np.arange(10)]
        contents = [idx(array.astype(np.uint8)) for array in arrays]
        monkeypatch.setitem(images.CHECKSUMS, name, tuple(hashlib.sha256(one).hexdigest() for one in contents))
        (tmp_path / name).mkdir()
        for part, content in zip(images.PARTS, contents, strict=True):
            (tmp_path / name / f"{part}.gz").write_bytes(gzip.compress(content))
    monkeypatch.setenv("FESTINA_DATA", str(tmp_path))
    return tmp_path


def idx(values):
    return bytes([0, 0, 8, values.ndim]) + struct.pack(f">{values.ndim}I", *values.shape) + values.tobytes()


def test_images_of_the_paper_are_the_default_where_they_are_at_hand(published):
    config = Images().configure("quick")
    assert (config.images, config.instead_of) == ("mnist", "nothing") and what_is_seen(config) == "MNIST"
    assert Clothes().configure("quick").shown == "clothes"
    assert Images().configure("quick", images="digits").images == "digits"  # unless others are asked for
    for part in images.PARTS:
        (published / "fashion" / f"{part}.gz").unlink()
    assert Clothes().configure("quick").shown == "digits"


def test_packages_of_the_system_are_looked_into(published, tmp_path, monkeypatch):
    monkeypatch.setitem(images.SYSTEM, "fashion", (tmp_path / "nowhere", tmp_path / "fashion"))
    monkeypatch.setenv("FESTINA_DATA", str(tmp_path / "empty"))
    assert images.folder_of("fashion") == tmp_path / "fashion" and images.has_images("fashion")
    assert images.load_images("fashion").test_images.shape == (10, 28, 28)
    assert images.folder_of("mnist") == tmp_path / "empty" / "mnist" and not images.has_images("mnist")


@pytest.mark.full
def test_claims_of_the_paper_apply_to_its_images_and_those_of_the_digits_do_not(published):
    brief = {"budget": "quick", "seeds": 1, "until": 0.06, "records": 30, "block_length": 0.01, "pretraining": 1}
    for result in (fs.run("abstraction/images", **brief), fs.run("abstraction/clothes", **brief)):
        found = {verdict.claim: verdict for verdict in result.verdicts if verdict.outcome != "needs the full budget"}
        for claim, verdict in found.items():
            stands_in = claim.startswith("digits") or claim == "shared-structure"
            assert (verdict.outcome == "not applicable") == stands_in, verdict
            assert verdict.outcome != "broken", verdict
        figure = result.figure()
        assert "MNIST" in figure.get_suptitle()
        plt.close(figure)


def made_up(name, values, until, dims=()):
    """A result with one variable: (run, time, arm, …), ten recordings in each block."""
    fields = {"until": until, "step_size": 0.01, "records": round(10 * until)}
    config = Images().configure(images="digits", **fields)
    time = np.linspace(0, until, config.records + 1)
    return Result(
        Images(), config, xr.Dataset({name: (("run", "time", "arm", *dims), values)}, {"time": time, "arm": ARMS})
    )


def test_recovery_takes_at_most_a_block():
    accuracy = np.full((1, 31, 2), 0.8)
    accuracy[0, 10:13, 0] = 0.2  # .3 after the first switch it is back
    accuracy[0, 20:, 1] = 0.1  # never back after the second
    times = recovery_times(made_up("accuracy", accuracy, 3.0)).transpose("run", "arm", "block")
    np.testing.assert_allclose(times, [[[0.3, 0.0], [0.0, 1.0]]], atol=1e-12)
    assert times["block"].values.tolist() == [1, 2]


def test_a_run_without_a_switch_decides_nothing():
    found = made_up("accuracy", np.full((1, 11, 2), 0.8), 1.0)
    for claim in (
        claim for claim in Images.claims if claim.id in ("digits-recover", "digits-accelerate", "digits-relearned")
    ):
        assert claim.judge(found, "quick").outcome == "undecided", claim.id


def test_selectivity_is_that_of_late_blocks():
    """The flexible gates of each task are open at the ends of its blocks alone; one forgetful gate opens a bit in B."""
    block = np.minimum(np.arange(61) // 10, 5)
    gates = np.empty((1, 61, 2, 2))
    gates[0, :, 0] = np.stack([block % 2 == 0, block % 2 == 1], axis=-1)
    gates[0, :, 1] = np.stack([np.full(61, 0.5), np.where(block % 2, 0.75, 0.25)], axis=-1)
    gates[0, :20] = 0.3  # early blocks do not count
    found = made_up("sorted_gates", gates, 6.0, ("student",))
    np.testing.assert_allclose([selectivity(found, arm).item() for arm in ARMS], [1.0, 0.25])
