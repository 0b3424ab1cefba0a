"""What `linear/depth` measures: training times, how they grow with depth, and which square networks get stuck."""

from typing import Any

import festina as fs
from festina import claims
from festina._lazy import np, xr
from festina.experiments.linear._depth_networks import LONGEST

TRAINED = 0.01  # of the loss at zero weights: a network below it is trained
JUDGED = 30.0  # τ/s; at depth 2 rounding errors free square networks from their saddle after more than twice that
ENOUGH = 40  # networks, for a share with a standard error below .08


def time_to_loss(data: Any, level: float = TRAINED) -> Any:
    """When each network's loss falls to a level, from the beginning of learning; NaN if it does not."""
    loss = data["loss"].transpose("run", "start", "depth", "time")
    clock = (data["clock"] if "clock" in data else data["time"]).broadcast_like(loss.isel(start=0, depth=0, drop=True))
    times = [
        fs.measures.crossing_time(time, curves, -np.log(level))
        for time, curves in zip(clock.transpose("run", "time").values, -np.log(1e-300 + loss.values), strict=True)
    ]
    return loss.isel(time=0, drop=True).copy(data=np.stack(times))


def training_time(data: Any) -> Any:
    """The same, with the pretraining of all layers but the last."""
    stages = data["pretraining"].isel(time=0, drop=True)
    before = stages.where(stages < 0.999 * LONGEST).cumsum("layer", skipna=False)
    before = before.sel(layer=data["depth"] - 1).drop_vars("layer").where(data["start"] == "pretrained", 0.0)
    times = (time_to_loss(data) + before).transpose("run", "start", "depth")
    return times.assign_attrs(long_name="training time", units="τ")


def law(config: Any, depth: Any) -> Any:
    """The lecture's law with its prefactor, b^(2−D)/(s(1−2/D)), for D > 2."""
    return config.small ** (2.0 - depth) / (config.strength * (1 - 2 / depth))


def _late(times: Any) -> Any:
    """The median over runs; a network that is not there yet counts as infinitely late."""
    return times.fillna(np.inf).median("run")


def over_law(result: Any) -> float:
    """Training time from small weights over that of the law, at the largest depth trained."""
    times = _late(result["training_time"].sel(start="small"))
    trained = times.where(np.isfinite(times) & (times["depth"] > 2), drop=True)
    if trained.size == 0:
        raise claims.NotApplicable("needs a depth above 2 that gets trained from small weights")
    deepest = trained.sel(depth=trained["depth"].max())
    return float(deepest / law(result.config, deepest["depth"]))


def growth(result: Any) -> float:
    """The slope of ln t over the depths from 4 on, from Gaussian weights; what takes too long is left out."""
    times = _late(result["training_time"].sel(start="gaussian"))
    seen = _from_four(times.where(np.isfinite(times), drop=True), "that get trained from Gaussian weights")
    return float(np.polyfit(seen["depth"], np.log(seen), 1)[0])


def exponent(times: Any) -> float:
    """The slope of ln t over ln D, from 4 on, of one time for each depth; NaN if one is missing."""
    seen = _from_four(times, "")
    slope, _ = np.polyfit(np.log(seen["depth"]), np.log(seen), 1) if np.all(np.isfinite(seen)) else (np.nan, 0.0)
    return float(slope)


def _from_four(times: Any, which: str) -> Any:
    """The times at depths from 4 on: at 2, where 1 − 2/D is zero, laws for deep networks do not hold."""
    seen = times.where(times["depth"] >= 4, drop=True)
    if seen.size < 2:
        raise claims.NotApplicable(f"needs two depths at least, from 4 on {which}".strip())
    return seen


def orthogonal_times(result: Any) -> Any:
    """Training times from random orthogonal weights, if there are fewer outputs than units."""
    if result.config.outputs == result.config.width:
        raise claims.NotApplicable("needs fewer outputs than units")
    return result["training_time"].sel(start="orthogonal")


def cost_of_a_layer(result: Any) -> Any:
    """What one more layer costs a pretrained network, between the two largest depths over the two smallest, by run."""
    times = result["training_time"].sel(start="pretrained").sortby("depth")
    if times.sizes["depth"] < 3:
        raise claims.NotApplicable("needs three depths at least")
    costs = times.diff("depth") / times["depth"].diff("depth")
    return costs.isel(depth=-1, drop=True) / costs.isel(depth=0, drop=True)


def square_is_trained(result: Any) -> Any:
    """Which square networks get trained, those of depth 2 before rounding errors matter."""
    times = result["training_time"].sel(start="square", drop=True)
    return np.isfinite(times) & ((times["depth"] > 2) | (times < JUDGED / result.config.strength))


def has_right_sign(result: Any) -> Any:
    """Which of them start with a determinant of the sign of the target's."""
    return result["determinant"].isel(time=0, drop=True) > 0


def enough(networks: Any) -> Any:
    """The values, if they are of networks enough for a share of them."""
    if networks.size < ENOUGH:
        raise claims.Undecided(
            f"too few networks for a share of them: needs --seeds {-(-ENOUGH // networks['depth'].size)}"
        )
    return networks


def errors(result: Any) -> Any:
    """The largest |simulation − theory| of each run, over loss and determinant of what has a theory."""
    loss, determinant = (abs(result[name] - result.theory[name]) for name in ("loss", "determinant"))
    sound = (result["depth"] > 2) | (result["time"] < JUDGED / result.config.strength)
    known = loss.sel(start=["small", "aligned", "orthogonal"]).max(["time", "start", "depth"], skipna=False)
    square = xr.ufuncs.maximum(loss.sel(start="square", drop=True), determinant).where(sound, 0.0)
    return np.maximum(known, square.max(["time", "depth"], skipna=False))
