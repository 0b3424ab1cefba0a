"""coding/ten_digits: images of MNIST wherever they are at hand, and ten classes in all that is measured."""

import pytest

import festina as fs
from festina.experiments.coding.digits import codings
from festina.experiments.coding.ten_digits import TenDigits
from shared import outcomes, quick


@pytest.mark.parametrize(("there", "images", "tests"), [(True, "mnist", 100), (False, "digits", 25)])
def test_mnist_is_used_wherever_it_is_at_hand(there, images, tests, monkeypatch):
    monkeypatch.setattr(fs.worlds.images, "has_images", lambda name: there or name == "digits")
    config = TenDigits().configure("full")
    assert (config.images, config.tests, sum(config.counts)) == (images, tests, 500)
    assert TenDigits().configure("full", images="digits", tests=10).tests == 10


@pytest.mark.full
def test_ten_classes_are_ten_groups_of_readouts():
    """Each digit has rectified neurons of its own; sigmoidal neurons have more codes than there are digits."""
    result = quick("coding/ten_digits")
    missed = {name for name, outcome in outcomes(result).items() if "not reproduced" in outcome}
    assert missed == {"mean-sigmoidal", "mean-rectified"}
    for found in codings(result, "rectified"):
        strongest = found.means[found.contributions.argsort()[-30:]].argmax(axis=1)
        assert set(strongest) == set(range(10))
    redundant = [found for found in codings(result, "sigmoidal") if found.codes]
    assert redundant and all(len(found.codes) > 30 for found in redundant)
