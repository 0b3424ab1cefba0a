"""What to look at in rectified Bayesian networks: the few neurons that stand out."""

from __future__ import annotations

from typing import Any

from festina._lazy import np, xr
from festina.views import _neurons as neurons
from festina.views._entries import model_of
from festina.views._parts import panel_of
from festina.views.vocabulary import Curves, Mark, Quantity


def _outliers(panel: str, name: str) -> Quantity:
    """How many neurons have a readout |a| > 8√s, in networks of one panel."""

    def of(data: xr.Dataset, config: Any) -> xr.DataArray:
        import festina as fs

        arms: Any = fs.lab.find("coding/outliers").arms_at(config)
        variance = xr.DataArray([float(arm.model.readout_variance) for arm in arms], dims="arm")
        readout = data["readout"]
        known = readout.notnull().any(["neuron", "output"])
        large = (readout.fillna(0.0) ** 2).sum("output") > 64 * variance
        own = panel_of(large.sum("neuron").where(known), config, "coding/outliers", panel)
        return own.sel(counts="/".join(map(str, config.counts[0])), drop=True) if "counts" in own.dims else own

    return Quantity("readout", name, of=of)


STRONGEST = 24  # neurons of a ranking


def _ranked(data: xr.Dataset, config: Any) -> xr.DataArray:
    """Lengths of the longest readouts over √N, of the first task at each width; in theory those of one outlier each."""
    if "readout" not in data:
        return _predicted_ranks(config)
    own = panel_of(data["readout"], config, "coding/outliers", "own")
    own = own.sel(counts="/".join(map(str, config.counts[0])), drop=True)
    length = (own**2).sum("output", skipna=True, min_count=1) ** 0.5 / own["width"] ** 0.5
    ordered = -np.sort(-np.nan_to_num(length.transpose(..., "neuron").values, nan=0.0), axis=-1)[..., :STRONGEST]
    ranked = length.transpose(..., "neuron").isel(neuron=slice(ordered.shape[-1])).copy(data=ordered)
    return ranked.rename(neuron="rank").assign_coords(rank=np.arange(1, ordered.shape[-1] + 1))


def _predicted_ranks(config: Any) -> xr.DataArray:
    found = {}
    for width in sorted(config.width):
        theory = neurons.theory_of(model_of("coding/outliers", config, width=width, counts=config.counts[0]))
        lengths = [] if theory is None else np.sort(np.linalg.norm(theory.outliers, axis=1))[::-1]
        found[width] = np.concatenate([lengths, np.zeros(STRONGEST)])[:STRONGEST]
    coords = {"width": list(found), "rank": np.arange(1, STRONGEST + 1)}
    return xr.DataArray(list(found.values()), coords, ("width", "rank"))


OUTLIERS = (
    Curves(
        "Outliers appear as networks cool, and merge",
        _outliers("own", "number of outliers"),
        by=("width",),
        marks=lambda config: (Mark("one for each class", y=float(len(config.counts[0]))),),
        note="Neurons with readouts beyond eight standard deviations of the prior; of the first task.",
    ),
    Curves(
        "How long readouts are, by rank",
        Quantity("class_kernel", "|a|/√N", of=_ranked),
        by=("width",),
        along="rank",
        note="Few neurons stand out, all others stay as they were.",
    ),
    Curves("Cooling that dwells where codes condense", _outliers("dwelling", "number of outliers"), by=("dwelling",)),
)
