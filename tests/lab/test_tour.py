"""The last stop of the tour in the report; the whole tour is in the tests of the command line."""

import numpy as np
import xarray as xr

import festina as fs
from festina.lab.tour import OWN, OwnNetwork, section


def test_a_network_of_ones_own_is_shown_with_its_theory_or_with_what_went_wrong():
    time = np.linspace(0.0, 1.0, 5)
    run = xr.Dataset({"map": ("time", 4.0 * time)}, {"time": time})
    shown = section(OwnNetwork(fs.compare(run, lambda time: {"map": 5.0 * time})))
    assert shown.name == OWN and "theory within 25.0% of it" in shown.summary
    assert "data:image/png" in shown.body and "Failed." not in shown.body
    failed = section(OwnNetwork(error="no <room>"))
    assert "<strong>Failed.</strong> no &lt;room&gt;" in failed.body and "data:image/png" not in failed.body
    assert "def learn_tree" in shown.body and "def learn_tree" in failed.body
