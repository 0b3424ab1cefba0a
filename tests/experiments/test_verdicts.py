"""At the quick budget no claim of any experiment is broken, and what is not reproduced has its reason beside it."""

import pytest

from festina.lab import registry
from shared import quick


@pytest.mark.full
@pytest.mark.parametrize("name", registry.names())
def test_verdicts_are_sound_and_explained(name):
    for verdict in quick(name).verdicts:
        assert verdict.outcome != "broken", verdict
        assert verdict.outcome != "not reproduced" or verdict.reason, verdict
