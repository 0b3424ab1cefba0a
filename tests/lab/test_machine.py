"""What the command line arranges before heavy work."""

import gc
import warnings

from festina.lab import machine


def test_only_what_the_libraries_made_is_left_out_of_collections(monkeypatch):
    monkeypatch.setenv("FESTINA_CACHE", "")
    thresholds = gc.get_threshold()
    gc.unfreeze()
    try:
        with warnings.catch_warnings():
            machine.prepare()
            frozen = gc.get_freeze_count()
            made_later = [[] for _ in range(1000)]
            machine.prepare()
        assert 0 < gc.get_freeze_count() <= frozen  # and those that were made later may be collected
        assert gc.get_threshold() == machine.COLLECT_AFTER and made_later
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()
