"""The three coding schemes on images of all ten digits."""

from __future__ import annotations

from typing import Any

from festina import claims
from festina.experiment import Budget, Preset, Result
from festina.experiments._at_hand import is_there
from festina.experiments.coding.digits import Digits, Images
from festina.models._wide import KINDS
from festina.sources import VAN_MEEGEN_2024

SEVERAL = (
    "our sizes: ten classes with several outliers each are more than the tenth of all neurons by which the analyser "
    "knows a sparse code, and a chain of sigmoidal neurons as short as the quick one is now and then read as another; "
    "see the experiment's description"
)
TESTS = {"digits": 25, "mnist": 100}  # of each class; scikit-learn's digits have no more for all ten


class TenDigits(Digits):
    """Whether the three codes are those of three classes, too, if there are ten.

    As `coding/digits`, with all ten digits, 500 images to learn from and four chains. MNIST is used wherever it is at
    hand, with a thousand test images (`festina data fetch mnist`); elsewhere scikit-learn's digits stand in, of which
    250 are left to test with.
    """

    name = "coding/ten_digits"
    arms = Digits.arms
    Config = Images
    base = {"width": 200, "counts": (50,) * 10, "digits": tuple(range(10)), "temperature": 0.03}
    base |= {"warm_up": 200, "draws": 200, "records": 100, "tests": TESTS["digits"]}
    seeds = 4
    quick = {"width": 100, "counts": (5,) * 10, "tests": 5, "temperature": 0.05, "seeds": 2}
    quick |= {"warm_up": 100, "draws": 60, "records": 40}
    presets = (Preset("all ten", "Linear, sigmoidal and rectified networks that learn ten classes at once."),)

    def configure(self, budget: Budget = "full", **fields: Any) -> Any:
        images = fields.get("images", "mnist" if is_there("mnist") else "digits")
        tests = {"tests": TESTS[images]} if budget == "full" and images in TESTS else {}
        return super().configure(budget, **{"images": images} | tests | fields)

    @claims.paper(
        VAN_MEEGEN_2024.at("coding schemes on MNIST"),
        claims.near(1.0, 0.0),
        reason=SEVERAL,
        each={"kind": KINDS},
        budget="full",
    )
    def scheme(self, result: Result, kind: str) -> float:
        """The coding scheme of {kind} networks on images of all ten digits is that of the toy task (share of runs in
        which the analyser says so).
        """
        return super().scheme(result, kind)
