"""abstraction/starts: its claims, and that its maps are those of abstraction/regimes where they have the same start."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from festina.experiments.abstraction.regimes import alignments, off_print
from festina.experiments.abstraction.starts import Starts, by_scale
from narrowing import there
from shared import outcomes, quick

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def result():
    return quick("abstraction/starts")


def test_claims_come_out_as_documented(result):
    expected = {"small-is-slow-speed": "reproduced", "small-is-slow-strength": "not reproduced"}
    assert outcomes(result) == expected | {"too-large": "reproduced"}, result


def test_maps_of_the_published_scale_are_those_of_the_regimes(result):
    regimes = quick("abstraction/regimes")
    for which in ("speed", "strength"):
        here, there = alignments(result, which).sel(scale=0.01), alignments(regimes, which).isel(run=slice(2))
        np.testing.assert_allclose(here, there.transpose(*here.dims), atol=1e-9)
        alike = np.sqrt(np.mean((by_scale(result, which).sel(scale=0.01) - here.mean()) ** 2))
        assert alike < 1e-12 and off_print(result, which).sizes == {"scale": 4}


def test_initial_gates_are_what_networks_begin_with():
    config = Starts().configure("quick")
    models = [arm.model for arm in Starts().arms_at(config) if "initial_gate" in arm.labels]
    assert {(m.settings()["initial_gate"], m.settings()["scale"]) for m in models} == {
        (gate, 0.01) for gate in (0.05, 0.25, 0.5, 1.0, 2.0)
    }
    begun = models[0].settings() | {"until": 0.01, "records": 1, "recorded": "courses", "initial_gate": 0.3}
    run = type(models[0])(**begun).run()
    np.testing.assert_allclose(run["gates"].isel(time=0), 0.3)
    np.testing.assert_allclose(run["gates"], there(run.theory)["gates"], atol=1e-12)


def test_the_figure_draws_without_a_warning(result, recwarn):
    figure = result.figure()
    figure.canvas.draw()
    assert len(figure.axes) == 6 and not recwarn.list
    plt.close(figure)
