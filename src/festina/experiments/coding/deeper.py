"""One to four hidden layers: how sharp the code is in each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import festina as fs
from festina import claims, models
from festina._lazy import np, xr
from festina.experiment import Arms, Equation, Experiment, Preset, Result, over, use
from festina.experiments._needs import require_case
from festina.experiments.coding import _comparison as compare
from festina.figures.panels import Page, marks_of
from festina.models._wide import KINDS
from festina.sources import VAN_MEEGEN_2024
from festina.style import THEORY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from festina.models.prior_scaling import PriorScaling

SHARPENED = VAN_MEEGEN_2024.at("coding schemes sharpen across layers; open question 2: beyond two")
OWN = "our expectation, from linear networks; see the experiment's description"
FROZEN = "our chains: cold sigmoidal and rectified ones keep their codes; see the experiment's description"


class Deeper(Experiment):
    """Codes sharpen from layer to layer in networks of up to four, the last layer being sharp at any depth.

    The source has networks of one and two hidden layers and asks how codes change beyond. Here networks of one to four
    layers learn the toy task, with the prior variance σ_a²/P^(1/L) of readouts at each depth. The sharpness η² of a
    layer is the share of the variance of its activity over examples that lies between classes (see `coding/depth`).

    Linear networks have theory in every layer, at any temperature (`fs.theory.coding.deep_analog`): K_l = K_{l−1} +
    f U_l⁻¹ fᵀ with U_l = s u^(L−l+1), so that what each layer adds grows by the factor u from layer to layer, up to the
    last. Nonlinear networks of three layers have none.

    Expected before the first full run, from this theory: η² rises from layer to layer at every depth and for every
    nonlinearity; in the last layer it hardly depends on the depth (linear: .60, .62, .65, .67); in the first it falls
    with depth; and linear kernels of all layers agree with theory to 5 %.

    Found at the full budget, η² from the first to the last of four layers: .09, .26, .50, .72 (linear), .28, .81, .98,
    1.00 (sigmoidal) and .17, .51, .82, .95 (rectified). Codes sharpen with every layer at every depth. But the last
    layer gets sharper with depth too: by .13, .14 and .19 from one layer to four, more than the .1 expected; theory of
    linear networks of this width has .11 of it, and says that it is an effect of finite P, since P^(1/L) is not large.
    Linear kernels of all layers agree with theory to .2, .8, 1.4 and 2.0 % at depths one to four. Linear chains agree,
    with effective sample sizes of 56 or more; sigmoidal ones are frozen (R̂ 3.9), rectified ones nearly agree (1.08).
    """

    name = "coding/deeper"
    sources = (VAN_MEEGEN_2024,)
    arms = Arms(
        use(models.PriorScaling, exponent=1.0, origin="prior"), nonlinearity=KINDS, depth=over("layers", 1, 2, 3, 4)
    )
    base = {"width": 80, "temperature": 0.1, "warm_up": 150, "draws": 150, "records": 60}
    seeds = 3
    quick = {"seeds": 2, "nonlinearity": ("linear", "sigmoidal"), "depth": (1, 3), "width": 50, "warm_up": 60}
    quick |= {"draws": 60, "records": 30}

    equations = (
        Equation(
            r"K_l = K_{l-1} + \langle f \rangle\, U_l^{-1} \langle f \rangle^\top, \qquad U_l = s\, u^{L-l+1}",
            "Kernels of linear layers: each adds more of the answers than the one before, by a factor u.",
        ),
    )
    presets = (Preset("four layers", "Each layer has the classes sharper than the one before."),)

    @claims.paper(SHARPENED, claims.above(0.0), each={"kind": KINDS})
    def sharpens(self, result: Result, kind: str) -> xr.DataArray:
        """Codes of {kind} networks sharpen from each layer to the next, at every depth (smallest step of η²)."""
        steps = sharpness(result, kind).diff("layer")
        require_case(steps.sizes["layer"] > 0, "--depth with 2 or more")
        return steps.min("layer").min("depth")

    @claims.theory(claims.below(0.1), reason=OWN, each={"kind": KINDS})
    def last(self, result: Result, kind: str) -> xr.DataArray:
        """The last layer of {kind} networks is as sharp at any depth (largest η² less smallest; our threshold)."""
        found = last_layer(sharpness(result, kind))
        require_case(found.sizes["depth"] > 1, "--depth with two values or more")
        return found.max("depth") - found.min("depth")

    @claims.theory(claims.below(0.0), each={"kind": KINDS})
    def first(self, result: Result, kind: str) -> xr.DataArray:
        """The first layer of {kind} networks is the less sharp the deeper they are (largest step of η² with depth)."""
        found = sharpness(result, kind).sel(layer=1).diff("depth")
        require_case(found.sizes["depth"] > 0, "--depth with two values or more")
        return found.max("depth")

    @claims.theory(claims.below(0.05), loosely=claims.below(0.1), each={"depth": (1, 2, 3, 4)})
    def kernels(self, result: Result, depth: int) -> xr.DataArray:
        """Kernels of all layers of linear networks with {depth} of them are those of our closed form (largest relative
        difference of kernels between classes; .05 is our threshold).
        """
        require_case(depth in result.config.depth, f"--depth with {depth}")
        ours, theirs = (
            compare.picked(each["between"], nonlinearity="linear", depth=depth).sel(layer=range(1, depth + 1))
            for each in (compare.long_enough(result).data, result.solved)
        )
        return compare.class_kernel_difference(ours, theirs).max("layer")

    checks = tuple(
        check
        for kind in KINDS
        for check in compare.sampling_checks(
            f"-{kind}", "class_kernels", f"kernels of all {kind} layers", FROZEN, nonlinearity=kind
        )
    )

    def figure(self, result: Result) -> Figure:
        """η² of every layer at every depth for each nonlinearity, with theory if linear; of the first and the last."""
        kinds = [kind for kind in KINDS if kind in result.config.nonlinearity]
        with Page(1, len(kinds) + 1, height=2.6) as page:
            marks = marks_of(result.config.depth, ms=4)
            for number, kind in enumerate(kinds):
                _draw_layers(page[number], result, kind, marks)
            _draw_ends(page[len(kinds)], result, kinds)
            page.legend({f"L = {depth}": look for depth, look in marks.items()} | {"theory": THEORY})
        return page.figure


def sharpness_of(result: Result, data: xr.Dataset, kind: str) -> xr.DataArray:
    """η² of every layer: (run, depth, layer); not a number in layers that a network does not have."""
    own = compare.picked(data[["between", "excess"]], nonlinearity=kind)
    counts = np.asarray(result.config.counts, float)
    between = own["between"].transpose("run", "depth", "layer", "class", "other_class")
    excess = own["excess"].transpose("run", "depth", "layer", "class")
    variance = fs.measures.class_variance(between.values, result.config.counts)
    return excess.isel({"class": 0}, drop=True).copy(data=variance / (variance + excess.values @ counts / counts.sum()))


def sharpness(result: Result, kind: str) -> xr.DataArray:
    """η² of sampled networks."""
    return sharpness_of(result, compare.long_enough(result).data, kind)


def last_layer(values: xr.DataArray) -> xr.DataArray:
    """Of each depth its last layer: (run, depth)."""
    ends = [values.sel(depth=depth, layer=depth).drop_vars("layer") for depth in values["depth"].values]
    return xr.concat(ends, "depth", coords="minimal")


def network(result: Result, kind: str, depth: int) -> PriorScaling:
    found: Any = compare.network_of(result, nonlinearity=kind, depth=depth)
    return found


def _draw_layers(axis: Axes, result: Result, kind: str, marks: dict[Any, dict[str, Any]]) -> None:
    """η² along the layers, a mark for every chain, a line for the mean or for theory."""
    found = sharpness_of(result, result.data, kind)
    for depth, mark in marks.items():
        own = found.sel(depth=depth, layer=range(1, depth + 1))
        axis.plot(own["layer"], own.transpose("layer", "run"), ls="none", **mark)
        if kind == "linear" and result.theory is not None:
            theirs = sharpness_of(result, result.theory, kind).isel(run=0).sel(depth=depth, layer=own["layer"])
            axis.plot(own["layer"], theirs, **THEORY)
        else:
            axis.plot(own["layer"], own.mean("run"), color=mark["color"], lw=0.6)
    axis.set(title=kind, xlabel="hidden layer l", ylabel="sharpness of the code η²", ylim=(-0.03, 1.05))
    axis.set_xticks(range(1, max(result.config.depth) + 1))


def _draw_ends(axis: Axes, result: Result, kinds: list[str]) -> None:
    """η² of the first layer and of the last against depth, mean over chains."""
    for kind, look in zip(kinds, marks_of(kinds, ms=4).values(), strict=True):
        found = sharpness_of(result, result.data, kind).mean("run")
        axis.plot(found["depth"], last_layer(found), lw=1.0, **look | {"mfc": look["color"]}, label=f"{kind}, last")
        axis.plot(found["depth"], found.sel(layer=1), lw=1.0, ls=":", **look, label="first")
    axis.set(title="first and last", xlabel="hidden layers L", ylabel="sharpness of the code η²", ylim=(-0.03, 1.05))
    axis.set_xticks(result.config.depth)
    axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=6)
