"""What to look at in many domains joined by one hidden layer: pairs that are trained, and pairs that are not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from festina._lazy import np, xr
from festina.views._parts import at, beside, few, first_run, largest, panel, some
from festina.views.vocabulary import Curves, Heat, Mark, Quantity

FRAMES = 40
MATRIX: dict[str, Any] = {"rows": "output", "columns": "input", "diverging": True, "low": -1.0, "high": 1.0}
ANSWERED = "answered, 1 − error/½|Y|²"


def _shown(array: xr.DataArray) -> xr.DataArray:
    """What a heat map has room for: some moments of the first run."""
    return first_run(few(array, FRAMES))


def _strengths(config: Any, mode: xr.DataArray) -> xr.DataArray:
    from festina.worlds.routing import hierarchy_modes

    return xr.DataArray(
        np.asarray(hierarchy_modes(config.common, config.group, config.single).strengths), {"mode": mode}
    )


def _answered(learned: xr.DataArray, config: Any) -> xr.DataArray:
    """1 − |Y − W|²/|Y|² of a map that has learned these shares of the modes of Y, and nothing beside them."""
    energy = _strengths(config, learned["mode"]) ** 2
    return 1.0 - (energy * (1.0 - learned) ** 2).sum("mode", skipna=False) / energy.sum()


def _matrix(trained: xr.DataArray, untrained: xr.DataArray, domains: int, count: int) -> xr.DataArray:
    """One value for pairs that are trained and one for those that are not, as a table of outputs and inputs."""
    from festina.worlds.routing import trained_pairs

    numbers = np.arange(1, domains + 1)
    pairs = xr.DataArray(trained_pairs(domains, count), {"output": numbers, "input": numbers})
    return xr.where(pairs > 0, trained, untrained)


def _shared_pairs(data: xr.Dataset, config: Any) -> xr.DataArray:
    """Every pair of a network of decoupled weights: private pathways learn on trained pairs alone."""
    shared, private = (_shown(data[name]) for name in ("shared", "private"))
    trained, untrained = shared + private, shared + private.isel(time=0, drop=True)
    return _matrix(_answered(trained, config), _answered(untrained, config), config.domains, config.trained)


def _most(config: Any) -> tuple[int, int]:
    """M of the largest network, and the smallest K above one that it has; one, if there is none."""
    domains = max(config.domains)
    return domains, min((count for count in config.trained if 1 < count <= domains), default=min(config.trained))


def _balanced(data: xr.Dataset, config: Any, variable: str) -> xr.DataArray:
    """The largest shared network, from balanced layers."""
    return panel(data, config, "race/routing", "shared", variable).sel(
        start="balanced", domains=max(config.domains), drop=True
    )


def _separate(data: xr.Dataset, config: Any) -> xr.DataArray:
    return panel(data, config, "race/routing", "separate", "learned").sel(domains=max(config.domains), drop=True)


def _two_networks(data: xr.Dataset, config: Any) -> xr.DataArray:
    """Pairs of a shared network, and those of a network for every pair, of which untrained ones stay as they are."""
    domains, count = _most(config)
    shared = _answered(_shown(_balanced(data, config, "learned").sel(trained=count, drop=True)), config)
    alone = _shown(_separate(data, config))
    begun = _answered(alone.isel(time=0, drop=True), config)
    parts = {
        f"one shared matrix, K = {count}": _matrix(shared, shared, domains, count),
        f"a network for every pair, K = {count}": _matrix(_answered(alone, config), begun, domains, count),
    }
    return beside("network", parts)


def _speeds(data: xr.Dataset, config: Any) -> xr.DataArray:
    """What is answered on trained pairs, by the shared network for every K, and by a network for every pair."""
    shared, domains = _balanced(data, config, "learned"), max(config.domains)
    counts = [count for count in shared["trained"].values.tolist() if count <= domains]
    parts = {f"shared, K = {count}": _answered(shared.sel(trained=count, drop=True), config) for count in counts}
    return beside("network", parts | {"a network for every pair": _answered(_separate(data, config), config)})


def _race(data: xr.Dataset, config: Any) -> xr.DataArray:
    """Shared and private pathways of the weakest mode, from the smallest and the largest start."""

    def of(name: str) -> xr.DataArray:
        found = panel(data, config, "race/routing", "race", name).isel(mode=-1, drop=True)
        most = at(found, "trained", lambda counts: np.argmax(np.where(counts <= config.race_domains, counts, -1)))
        starts = most["race_initial"].values
        return some(most, "race_initial", (starts.min(), starts.max()))

    return beside("pathway", {name: of(name) for name in ("shared", "private")})


ROUTING = (
    Heat(
        "Pairs fill in, trained or not",
        Quantity("learned", ANSWERED, of=_two_networks),
        panels=("network",),
        note="One shared matrix answers pairs that were never trained; a network for every pair learns only its own.",
        **MATRIX,
    ),
    Curves(
        "Sharing is faster, the more pairs are trained",
        Quantity("learned", ANSWERED, of=_speeds),
        by=("network",),
        x="log",
        note="On trained pairs: the shared matrix learns from K·M of them, and is faster by K·M^(1/3).",
    ),
    Curves(
        "The shared pathway wins the race",
        Quantity("shared", "share of the weakest mode", of=_race),
        by=("race_initial", "pathway"),
        x="log",
        note="From a small start the shared pathway takes nearly all; from a large one private pathways keep a part.",
    ),
)


def _both(data: xr.Dataset, config: Any) -> xr.DataArray:
    return beside("pathway", {name: data[name] for name in ("shared", "private")}).mean("mode")


ROUTING_MODEL = (
    Heat(
        "Pairs fill in, trained or not",
        Quantity("shared", ANSWERED, of=_shared_pairs),
        note="Shared pathways answer pairs that were never trained; private ones only those that were.",
        **MATRIX,
    ),
    Curves("Modes are learned one after the other", "learned", by=("mode",), x="log"),
    Curves(
        "Shared and private pathways",
        Quantity("shared", "share of s, mean over the modes", of=_both),
        by=("pathway",),
        x="log",
    ),
)


def _energy(config: Any, mode: xr.DataArray) -> float:
    return 0.5 * float((_strengths(config, mode) ** 2).sum())


def _pairs_of(data: xr.Dataset, config: Any) -> tuple[xr.DataArray, xr.DataArray]:
    """The errors on trained and on untrained pairs, both in ½|Y|²."""
    return data["loss"] / _energy(config, data["mode"]), data["untrained_error"]


def _random_pairs(data: xr.Dataset, config: Any) -> xr.DataArray:
    """Pairs of the network; of several, those of the smallest and the largest gain with every K."""
    trained, untrained = (_shown(1.0 - error) for error in _pairs_of(data, config))
    if "gain" not in trained.dims:
        return _matrix(trained, untrained, config.domains, config.trained)
    gains = trained["gain"].values
    ends = (gains.min(), gains.max())
    trained, untrained = (some(error, "gain", ends) for error in (trained, untrained))
    counts = trained["trained"].values.tolist()
    tables = {}
    for count in counts:
        seen, unseen = (errors.sel(trained=count, drop=True) for errors in (trained, untrained))
        tables[str(count)] = _matrix(seen, unseen, config.domains, count)
    return beside("trained", tables).assign_coords(trained=counts)


def _errors(data: xr.Dataset, config: Any) -> xr.DataArray:
    """Of trained and untrained pairs; of several networks, those of the largest K and either end of the gains."""
    trained, untrained = _pairs_of(data, config)
    both = at(beside("pairs", {"trained": trained, "untrained": untrained}), "trained", largest)
    gains = both["gain"].values if "gain" in both.dims else np.ones(1)
    return some(both, "gain", (gains.min(), gains.max()))


def _zero(config: Any) -> Sequence[Mark]:
    return (Mark("answering zero", y=1.0),)


def _filling(panels: tuple[str, ...]) -> Heat:
    return Heat(
        "Pairs fill in, trained or not",
        Quantity("untrained_error", ANSWERED, of=_random_pairs),
        panels=panels,
        note="Trained pairs, and pairs that were never trained, each by their mean; below zero an answer is worse than "
        "none.",
        **MATRIX,
    )


SYSTEMATIC = (
    _filling(("trained", "gain")),
    Curves(
        "A small start answers what was never trained",
        Quantity("untrained_error", "error on untrained pairs, in ½|Y|²"),
        by=("trained",),
        along="gain",
        x="log",
        y="log",
        marks=_zero,
        note="From K = 3 on a small start makes all domains share one representation; a large one does not.",
    ),
    Curves(
        "Trained and untrained pairs while learning",
        Quantity("untrained_error", "error, in ½|Y|²", of=_errors),
        by=("gain", "pairs"),
        marks=_zero,
        note="At the largest K: a small start learns both together, a large one only what is trained.",
    ),
)

RANDOM = (
    _filling(()),
    Curves(
        "Trained and untrained pairs while learning",
        Quantity("untrained_error", "error, in ½|Y|²", of=_errors),
        by=("pairs",),
        marks=_zero,
    ),
    Curves("Modes are learned one after the other", "learned", by=("mode",)),
)

VIEWS = {
    "race/routing": ROUTING,
    "race/systematic": SYSTEMATIC,
    "model/routing": ROUTING_MODEL,
    "model/random-routing": RANDOM,
}
HEADLINES = {
    "race/routing": ("trained", "initial", "race_initial"),
    "race/systematic": ("gain", "trained"),
    "model/routing": ("pathways", "trained", "initial"),
    "model/random-routing": ("gain", "trained"),
}
MATTERS = {"model/routing": {"balance": {"pathways": ["shared", "both"]}}}
