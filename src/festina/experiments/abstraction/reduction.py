"""A network of hundreds of weights and its model in the plane: when the reduction is exact, and when it is not."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import festina as fs
from festina import claims, models
from festina._lazy import np, xr
from festina.experiment import Arms, Experiment, Preset, Result, named, use
from festina.experiments.abstraction._common import block_edges, need_blocks
from festina.experiments.abstraction._panels import shade_blocks, task_color
from festina.figures.panels import Page, curves, looks_of
from festina.sources import SANDBRINK_2024
from festina.style import BLACK, BLUE, GREEN, VERMILLION

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

EXACT = 1e-10
PLANE: dict[str, Any] = {"described": "plane", "data": "closure"}
NOTEBOOK = SANDBRINK_2024.at("repository aproca/neural_task_abstraction, figA1_full_vs_toy.ipynb")
COURSE, SPECIALISED = 12, 20  # blocks in which most networks specialise, and within which the source's do
OUTSIDE = "likely the source's scope: weights outside the teachers' span matter, see the experiment's description"
UNRELATED = "likely the source: its reduced model starts from fixed vectors, see the experiment's description"
SHOWN = looks_of(("full", "reduced", "rows", "published"), (BLACK, BLUE, GREEN, VERMILLION))
LOOKS = {model: look | {"lw": 1.0} for model, look in SHOWN.items()}


class Reduction(Experiment):
    """A network in the span of its teachers reduces to two vectors in a plane; from random weights, only roughly.

    With infinitely many inputs, row β of path p of y = Σ_p c^p W^p x feels only the error of its own row. Once its
    weights are w_1 w*1_β + w_2 w*2_β, two numbers describe it, and if all rows have the same two numbers the network
    is the reduced model (eqs 15, 16), with constants as given by `festina.theory.abstraction.reduced_scales`: for sizes
    20 → 10 gates are twice as slow (τ_c = .06) and bounds twice as strong (2λ). Seven models are compared:

    - `full` from small random weights, and `closed`, the same in P + M coordinates for each row: always exact;
    - `spanned`, the full network with every row projected on its teachers, and `rows`, the coordinates of all rows;
    - `aligned`, the full network with the mean of these coordinates in every row, and `reduced`, that mean alone;
    - `published`, the reduced model of the published code: weights of size .01 in fixed directions, 45 radians (for
      degrees) to either side of the diagonal, and bounds that are not doubled.

    The reduction is exact in the last two pairs. Of the full network from random weights it is not: what a row has
    outside of the span of its teachers, and what rows do not have in common, decays, but not before it has influenced
    which path goes where, and when. Started from the mean of the rows, the reduced model has nearly the full one's
    learning curve. The published one does not start from the network that it is compared with: it specialises at one
    and the same time for all seeds, mostly too early, and its paths may be the other way round.
    """

    name = "abstraction/reduction"
    sources = (SANDBRINK_2024,)
    arms = Arms(
        use(models.ProjectedAbstraction, tasks=2, rank=0, begin="random", described="whole", recorded="courses"),
        model=named(
            full={},
            spanned={"begin": "spanned"},
            aligned={"begin": "aligned"},
            closed={"data": "closure"},
            rows={"described": "rows", "data": "closure"},
            reduced=PLANE,
            published=PLANE | {"begin": "mirrored", "scale": 0.01, "strength": lambda it: it.strength * drive(it)},
        ),
    )
    base = {"data": "population", "angle": 45.0}
    seeds = 10
    quick = {"seeds": 3, "until": 12.0, "records": 600}
    presets = (
        Preset("Figure A.1", "The reduction is exact from aligned rows, and nearly so from random weights."),
        Preset("tiny start", "From smaller weights the reduced model is right to a per cent.", {"scale": 1e-3}),
    )

    @claims.theory(claims.below(EXACT), source=SANDBRINK_2024.at("app. A.1, eqs 15 and 16"))
    def aligned_exact(self, result: Result) -> xr.DataArray:
        """From equal coordinates in all rows gates and loss are those of the reduced model (largest difference)."""
        return without_noise(result, "reduced", "aligned")

    @claims.theory(claims.below(EXACT), source=SANDBRINK_2024.at("app. A.1.1, eq. 17"))
    def rows_exact(self, result: Result) -> xr.DataArray:
        """If every row lies in the span of its teachers, two numbers for each row and path are enough (largest
        difference of gates or loss).
        """
        return without_noise(result, "rows", "spanned")

    @claims.theory(claims.below(EXACT))
    def closed_exact(self, result: Result) -> xr.DataArray:
        """From any start P + M coordinates for each row are enough (largest difference of gates or loss)."""
        return without_noise(result, "closed", "full")

    @claims.paper(SANDBRINK_2024.at("section 5.1"), claims.below(0.01), reason=OUTSIDE)
    def exact(self, result: Result) -> xr.DataArray:
        """From random weights the reduced model is exact, if gradients are those of many samples (largest difference of
        gates or loss; our threshold).
        """
        need_blocks(result, COURSE, "the course up to specialisation")
        return without_noise(result, "reduced", "full")

    @claims.paper(SANDBRINK_2024.at("fig. A.1"), claims.above(0.99), loosely=claims.above(0.9), reason=OUTSIDE)
    def captured(self, result: Result) -> xr.DataArray:
        """From random weights the reduced model captures the full one's learning curve (correlation of losses; our
        threshold).
        """
        return correlation(result, "reduced")

    @claims.code(NOTEBOOK, claims.above(0.99), loosely=claims.above(0.9), reason=UNRELATED)
    def captured_as_published(self, result: Result) -> xr.DataArray:
        """The reduced model with the published start and bounds captures the full one's learning curve (correlation of
        losses; our threshold).
        """
        return correlation(result, "published")

    @claims.paper(SANDBRINK_2024.at("fig. A.1"), claims.below(0.5), reason=OUTSIDE)
    def on_time(self, result: Result) -> xr.DataArray:
        """The reduced model specialises within half a block of the full one (|blocks ahead|; our threshold)."""
        return abs(lead(result, "reduced"))

    @claims.code(NOTEBOOK, claims.below(0.5), reason=UNRELATED)
    def on_time_as_published(self, result: Result) -> xr.DataArray:
        """The reduced model with the published start and bounds specialises within half a block of the full one
        (|blocks ahead|; our threshold).
        """
        return abs(lead(result, "published"))

    def figure(self, result: Result) -> Figure:
        """One run of the full network and its reduced model; differences of all models; when they specialise."""
        edges, shown = block_edges(result.config), result.data.sel(model=["full", "reduced", "published"])
        run = int(gap(result, "reduced", "full").max("time").argsort()[result.data.sizes["run"] // 2])  # the middle one
        with Page(2, 3, height=4.5) as page:
            for axis, name, which in ((page[0], "share", run), (page[3], "specialization", None)):
                curves(axis, replace(result, data=shown), name, by="model", looks=LOOKS, run=which)
            page[0].set(ylabel="loss / untrained", ylim=(0, 2.9), yticks=[0, 1, 2])
            page[3].set(ylabel=r"specialisation $|\bar{w}|$", ylim=(0, 1.05), yticks=[0, 0.5, 1])
            gates = result["gates"].isel(run=run).rename(path="of").expand_dims("path")
            _draw_pair(page[1], gates, "full, $c^{}$", (1, 2))
            page[1].set(ylabel="gates", ylim=(-0.15, 1.95), yticks=[0, 0.5, 1])
            _draw_pair(page[2], result["weights"].isel(run=run).rename(teacher="of"), "along {}", "AB")
            page[2].set(ylabel="weights (path 1 thick)", ylim=(-0.15, 1.75), yticks=[0, 0.5, 1])
            _draw_gaps(page[4], result)
            for axis, blocks in zip(page.axes.ravel()[:5], (*(edges[: COURSE + 1],) * 3, edges, edges), strict=True):
                shade_blocks(axis, blocks, (0, 1))
                axis.set(xlabel="time t", xlim=(0, blocks[-1]))
            for axis, size in zip(page.axes.ravel()[[0, 1, 2, 4]], (6.5, 6.5, 6.5, 5.6), strict=True):
                axis.legend(loc="upper right", fontsize=size, ncols=2, columnspacing=0.8, handlelength=1.4)
            page[3].legend(loc="lower right", fontsize=6.5)
            _draw_times(page[5], result)
        return page.figure


def drive(config: Any) -> float:
    """κ d_out r², by which gates of the full network feel more than those of the reduced model in its own units."""
    return config.outputs / config.inputs if config.convention == "sum" else 1.0


def gap(result: Result, one: str, other: str) -> xr.DataArray:
    """The largest difference of gates and loss (as a share) between two models at each moment."""
    gates, loss = (abs(result[of].sel(model=one) - result[of].sel(model=other)) for of in ("gates", "share"))
    return xr.ufuncs.maximum(gates.max("path"), loss)


def without_noise(result: Result, one: str, other: str) -> xr.DataArray:
    """The same at any time for full networks that see all inputs, in which the reduction can be exact."""
    if result.config.data != "population":
        raise claims.NotApplicable("needs infinitely many inputs, --data population")
    return gap(result, one, other).max("time")


def correlation(result: Result, model: str) -> xr.DataArray:
    """The correlation over time of a model's loss with that of the full network, in each run."""
    need_blocks(result, COURSE, "the course up to specialisation")
    return xr.corr(result["loss"].sel(model=model), result["loss"].sel(model="full"), "time")


def specialised_at(result: Result, model: str) -> xr.DataArray:
    """When |w̄| reaches ½, in blocks; NaN where it never does."""
    values = result["specialization"].sel(model=model).transpose("run", "time").values
    times = fs.measures.crossing_time(result["time"].values, values, 0.5)
    return xr.DataArray(times / result.config.block_length, dims="run")


def lead(result: Result, model: str) -> xr.DataArray:
    """By how many blocks a model specialises earlier than the full network."""
    ahead = specialised_at(result, "full") - specialised_at(result, model)
    if not np.isfinite(ahead).all():
        need_blocks(result, SPECIALISED, "the time at which networks specialise")
        raise claims.NotApplicable("needs networks that all specialise")
    return ahead


def _draw_pair(axis: Axes, values: xr.DataArray, label: str, names: Any) -> None:
    """The full network in colours, of which the second path is thinner, and the reduced model in black."""
    for path, of in product(range(values.sizes["path"]), range(2)):
        own, text = values.isel(path=path, of=of), label.format(names[of]) if path == 0 else None
        look = {"color": task_color(of), "alpha": 0.6, "lw": 2.5 - 1.2 * path, "label": text}
        axis.plot(own["time"], own.sel(model="full"), **look)
        black = {"color": "k", "ls": (0, (3, 1.5)), "lw": 0.9, "label": "reduced" if (path, of) == (0, 1) else None}
        axis.plot(own["time"], own.sel(model="reduced"), **black)


def _draw_gaps(axis: Axes, result: Result) -> None:
    """Differences of gates and loss; medians over runs."""
    pairs: dict[tuple[str, str], Any] = {(model, "full"): LOOKS[model] for model in ("published", "rows", "reduced")}
    pairs |= looks_of((("reduced", "aligned"), ("rows", "spanned"), ("closed", "full")), ("0", "0.4", "0.65"))
    for (one, other), look in pairs.items():
        median = gap(result, one, other).median("run").isel(time=slice(1, None))
        axis.plot(median["time"], np.maximum(median, 1e-17), label=f"{one} − {other}", **look | {"lw": 0.9})
    axis.axhline(EXACT, color="0.8", lw=0.7, zorder=0)
    axis.set(yscale="log", ylim=(1e-17, 1e9), yticks=[1e-15, 1e-10, 1e-5, 1], ylabel="|difference|, median")


def _draw_times(axis: Axes, result: Result) -> None:
    """When each run specialises, by the full network and by its models."""
    full = specialised_at(result, "full")
    for model, mark in (("reduced", "o"), ("rows", "^"), ("published", "s")):
        axis.plot(full, specialised_at(result, model), mark, color=LOOKS[model]["color"], mfc="none", label=model)
    axis.plot(axis.get_xlim(), axis.get_xlim(), color="0.6", lw=0.8, zorder=0)
    axis.set(xlabel="full network specialises (block)", ylabel="model specialises (block)")
    axis.legend(loc="upper left", fontsize=6.5)
