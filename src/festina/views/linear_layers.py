"""What to look at in two-layer linear networks: unequal layers, a reversed world, kernels that align in silence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from festina._lazy import np, xr
from festina.views._parts import beside, first_run, grid_of, named, panel, some
from festina.views.vocabulary import Curves, Mark, Plane, Quantity, Surface

FUNNEL = {"architecture": "funnel"}
LATE_NOTE = (
    "Lazy networks are done first. Where the wide side holds the large weights, learning stops on a plateau while the "
    "visible part turns: late, but rich. Theory's second line is that turn alone. One run."
)


def _loss_and_turn(data: xr.Dataset, config: Any) -> xr.DataArray:
    """The loss; beside it, where theory has it, what remains of it while only the visible part turns."""
    loss = first_run(data["loss"])
    if "rotation" not in data:
        return loss
    return beside("curve", {"exact": loss, "rotation alone": first_run(data["rotation"])})


def _turned(data: xr.Dataset, config: Any) -> xr.DataArray:
    return first_run(data["distance"])


TWO_LAYER = (
    Curves(
        "Loss: rich, lazy or late",
        Quantity("loss", of=_loss_and_turn, label="loss ½|S − W₂W₁|²"),
        x="log",
        note=LATE_NOTE,
    ),
    Curves(
        "How far the kernel turns",
        "distance",
        x="log",
        note="1 − cos of the tangent kernel now and at the start: near zero is lazy.",
    ),
    Curves("Modes of the task", "learned", by=("mode",), x="log"),
)

REGIMES = (
    Curves(
        "Loss in a funnel: rich, lazy and late",
        Quantity("loss", of=_loss_and_turn, label="loss ½|S − W₂W₁|²", where=FUNNEL),
        by=("imbalance",),
        x="log",
        note=LATE_NOTE,
    ),
    Curves(
        "How far the kernel turns in a funnel",
        Quantity("distance", "1 − cos of the tangent kernel and its start", of=_turned, where=FUNNEL),
        by=("imbalance",),
        x="log",
        note="Near zero is lazy; the late network turns its kernel only as it leaves the plateau.",
    ),
    Curves(
        "Which imbalance is rich depends on the shape of the network",
        "movement",
        by=("architecture",),
        along="imbalance",
        y="log",
        low=1e-4,
        note="How far the tangent kernel has moved by now, over its size at the start.",
    ),
)


def _weights(product: xr.DataArray, imbalance: Any) -> tuple[xr.DataArray, xr.DataArray]:
    """w₁ and w₂ with w₁w₂ = a and w₂² − w₁² = λ, the larger one positive; without a difference of near numbers."""
    large = np.sqrt(np.maximum((np.sqrt(imbalance**2 + 4 * product**2) + abs(imbalance)) / 2, 1e-300))
    small, positive = product / large, imbalance >= 0
    return xr.where(positive, small, large), xr.where(positive, large, small)


def _strengths(config: Any, count: int) -> np.ndarray:
    return np.linspace(config.strongest, config.weakest, count)


def _two_weights(axis: int) -> Quantity:
    """One of the two weights, for imbalances that are not too large to be seen in one picture."""

    def of(data: xr.Dataset, config: Any) -> xr.DataArray:
        share = named(data["learned"], "network", ["two-weights"]).sel(network="two-weights", mode=1)
        near = np.abs(share["imbalance"].values) <= 4 * config.strongest
        share = share.isel(imbalance=np.flatnonzero(near) if near.any() else [0])
        return _weights(share * config.strongest, share["imbalance"])[axis]

    return Quantity("learned", ("first weight w₁", "second weight w₂")[axis], of=of)


def _transition_surface(config: Any) -> Surface:
    """The loss ½(s − w₂w₁)²."""
    side = grid_of(2.2 * float(np.sqrt(config.strongest)))
    return Surface(side, side, 0.5 * (config.strongest - np.outer(side, side)) ** 2, "loss")


def _transition_marks(config: Any) -> Sequence[Mark]:
    root = float(np.sqrt(config.strongest))
    return (Mark("saddle", 0.0, 0.0, "saddle"), Mark("balanced solution", root, root, "minimum"))


def _modes_of_ends(data: xr.Dataset, config: Any) -> xr.DataArray:
    """Modes of the whole network at the smallest and the largest |λ|."""
    share = data["learned"].sel(network="several-modes")
    sizes = np.abs(share["imbalance"].values)
    return share.isel(imbalance=list(dict.fromkeys([int(sizes.argmin()), int(sizes.argmax())])))


TRANSITION = (
    Curves(
        "From a sigmoid to an exponential",
        Quantity("learned", "share learned a/s", where={"network": "two-weights", "mode": 1}),
        by=("imbalance",),
        x="log",
        note="Balanced weights wait at the saddle and jump; very unequal ones learn at a constant rate.",
    ),
    Plane(
        "Unequal weights pass the saddle at a distance",
        _two_weights(0),
        _two_weights(1),
        by=("imbalance",),
        surface=_transition_surface,
        marks=_transition_marks,
        equal=True,
        note="Each path is a hyperbola w₂² − w₁² = λ; those with |λ| above 4s lie outside the picture.",
    ),
    Curves(
        "Modes of a whole network: in stages, or all together",
        Quantity("learned", "share of mode learned", of=_modes_of_ends),
        by=("imbalance", "mode"),
        x="log",
        note="Balanced layers learn strong modes first; very unequal ones learn all at the rate |λ|.",
    ),
)


def _ladder(data: xr.Dataset, config: Any) -> xr.DataArray:
    """The strongest mode of networks with other and other imbalances, as a share of s."""
    if "arm" in data.dims:
        return panel(data, config, "linear/reversal", "ladder", "strength").sel(mode=1) / config.strongest
    return data["strength"] / xr.DataArray(_strengths(config, data.sizes["mode"]), {"mode": data["mode"]})


def _reversed_weight(axis: int) -> Quantity:
    def of(data: xr.Dataset, config: Any) -> xr.DataArray:
        share = _ladder(data, config)
        share = share.sel(mode=1) if "mode" in share.dims else share
        imbalance = share["imbalance"] if "imbalance" in share.dims else config.imbalance
        return _weights(share * config.strongest, imbalance)[axis]

    return Quantity("strength", ("first weight w₁", "second weight w₂")[axis], of=of)


def _reversal_surface(config: Any) -> Surface:
    """The loss ½(s + w₂w₁)² after the reversal."""
    side = grid_of(1.5 * float(np.sqrt(config.strongest)))
    return Surface(side, side, 0.5 * (config.strongest + np.outer(side, side)) ** 2, "loss")


def _reversal_marks(config: Any) -> Sequence[Mark]:
    root = float(np.sqrt(config.strongest))
    return (
        Mark("saddle", 0.0, 0.0, "saddle"),
        Mark("learned before", root, root, "point"),
        Mark("asked for now", -root, root, "minimum"),
    )


def _escapes(data: xr.Dataset, config: Any) -> xr.DataArray:
    loss = panel(data, config, "linear/reversal", "balanced", "loss")
    return loss / loss.isel(time=0, drop=True)


def _ends_of_reversal(config: Any) -> Sequence[Mark]:
    return (Mark("zero", y=0.0), Mark("asked for", y=-1.0))


def _passing(by: tuple[str, ...]) -> Plane:
    return Plane(
        "Past the saddle on the new error surface",
        _reversed_weight(0),
        _reversed_weight(1),
        by=by,
        surface=_reversal_surface,
        marks=_reversal_marks,
        equal=True,
        note="The two weights of the strongest mode go to the saddle; only their imbalance leads them past it.",
    )


REVERSAL = (
    Curves(
        "The less imbalance, the longer the wait",
        Quantity("strength", "strongest mode a/s", of=_ladder),
        by=("imbalance",),
        marks=_ends_of_reversal,
        note="Each tenth of λ adds the same wait at zero before the opposite is learned.",
    ),
    _passing(("imbalance",)),
    Curves(
        "Balanced layers: escapes by rounding errors",
        Quantity("loss", "loss / loss at t = 0", of=_escapes),
        by=("arithmetic",),
        marks=lambda config: (Mark("saddle", y=0.25),),
        note="One network with λ = 0, computed in six ways: the exact flow stays at ¼, rounding errors let it escape.",
    ),
)

REVERSED = (
    Curves(
        "Each mode falls to zero, waits, and learns the opposite",
        Quantity("strength", "mode a/s", of=_ladder),
        by=("mode",),
        marks=_ends_of_reversal,
    ),
    _passing(()),
    Curves("What grows at the saddle", "growing", by=("mode",), y="log"),
)


def _course(array: xr.DataArray, loss: xr.DataArray, config: Any) -> xr.DataArray:
    """What is left of the loss, and the alignment as a share of 2/√(Ni + 3), where small weights end."""
    final = 2.0 / np.sqrt(config.inputs + 3.0)
    return beside("measure", {"loss left": loss / loss.isel(time=0, drop=True), "alignment": array / final})


def _mirrored(array: xr.DataArray) -> xr.DataArray:
    return array.sel(start="mirrored") if "start" in array.dims else array


def _silent(data: xr.Dataset, config: Any) -> xr.DataArray:
    """Loss and alignment from the smallest weights, and from those nearest to the target's size."""
    alignment, loss = (_mirrored(data[name]) for name in ("alignment", "loss"))
    if "scale" in alignment.dims:
        wanted = (float(alignment["scale"].min()), float(np.sqrt(config.strength)))
        alignment, loss = some(alignment, "scale", wanted), some(loss, "scale", wanted)
    return _course(alignment, loss, config)


def _gone(data: xr.Dataset, config: Any) -> xr.DataArray:
    loss = _mirrored(data["loss"])
    gone = 1.0 - loss / loss.isel(time=0, drop=True)
    return gone.where(gone > -0.2)  # theory is for small weights, and far off from large ones


def _alignment(data: xr.Dataset, config: Any) -> xr.DataArray:
    return _mirrored(data["alignment"]) * np.sqrt(config.inputs + 3.0) / 2.0


def _silence(by: tuple[str, ...]) -> tuple[Any, ...]:
    share = "alignment of the kernel, as a share of 2/√(Ni + 3)"
    return (
        Curves(
            "The kernel aligns in silence",
            Quantity("alignment", "share", of=_silent),
            by=(*by, "measure"),
            x="log",
            note="From small weights the kernel has turned to the target before the loss shows anything. Theory is "
            "that of small weights.",
        ),
        Plane(
            "From silent to simultaneous",
            Quantity("loss", "share of the loss gone", of=_gone),
            Quantity("alignment", share, of=_alignment),
            by=by,
            note="Small weights go up, and then across; large ones hardly turn at all. Theory is that of small "
            "weights.",
        ),
        Curves("When kernels align", Quantity("alignment", share, of=_alignment), by=by, x="log"),
    )


VIEWS = {
    "linear/regimes": REGIMES,
    "linear/transition": TRANSITION,
    "linear/reversal": REVERSAL,
    "linear/alignment": _silence(("scale",)),
    "model/two-layer": TWO_LAYER,
    "model/reversal": REVERSED,
    "model/single-output": _silence(()),
}
HEADLINES = {
    "linear/regimes": ("imbalance", "scale"),
    "linear/transition": ("imbalance", "scale"),
    "linear/reversal": ("imbalance", "strongest"),
    "linear/alignment": ("scale", "strength"),
    "model/two-layer": ("imbalance", "scale"),
    "model/reversal": ("imbalance", "basis"),
    "model/single-output": ("scale", "mirroring"),
}
MATTERS: dict[str, Any] = {}
