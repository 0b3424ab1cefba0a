"""How long networks of growing depth train, from five kinds of initial weights."""

from functools import cache, reduce
from typing import Annotated, Any

from pydantic import Field

import festina as fs
from festina import claims
from festina._lazy import jax, jnp, np, xr
from festina.experiment import Equation, Experiment, ExperimentConfig, Preset, Variable, continuous, structural
from festina.experiments._fields import Distinct
from festina.experiments.linear import _depth_stack as stack
from festina.experiments.linear._depth_stack import EXACT, PATIENCE, PRETRAINED, STARTS, TRAINED
from festina.sources import BRAUN_2022, LECTURE, SAXE_2013

ENOUGH = 40  # networks, for a share with a standard error below .08
Layers = Annotated[int, Field(ge=2, le=64)]


class Depth(Experiment):
    """Training time explodes with depth from small weights, not from aligned ones; half of random rotations get stuck.

    A network W_D ⋯ W_1 of square N×N layers learns S = sO from white inputs, O a random rotation or reflection:
    τ dW_l/dt = (1/D) (W_D⋯W_{l+1})ᵀ (S − W_D⋯W_1) (W_{l−1}⋯W_1)ᵀ. The rate is ∝ 1/D, so that depth as such buys no
    speed. A network is trained when |S − W_D⋯W_1|² has fallen to 1 % of |S|². Five starts are compared.

    small: every layer is b times a rotation, and the product is b^D O. Each mode is a chain, τȧ = a^(2−2/D) (s − a),
        and takes b^(2−D)/(s(1−2/D)) if b^D is small: the lecture's O(1/(s b^D)) with its prefactor.
    random: normal weights of standard deviation b/√N, as in practice. With depth the gains of the modes drift apart.
    aligned: as small, but with a gain near 1.
    orthogonal: every layer is a random rotation or reflection. Each eigenvalue z of OᵀW_D⋯W_1 goes straight to s in
        the complex plane, τż = |z|^(2−2/D) (s − z), and lingers where it passes zero closely. If the determinants of
        S and of the product differ in sign, one z is real and negative, and ends in the saddle at zero: layers that
        start balanced stay so, and a balanced product cannot change the sign of its determinant. (At D = 2 rounding
        errors let a simulation escape that saddle after about 75 τ/s; ours stops before.)
    pretrained: W_1 to W_{D−1}, one after the other, learn to reproduce their inputs h as the encoder of a two-layer
        autoencoder with decoder Wᵀ, τ dW/dt = ½ W (1 − WᵀW) ⟨hhᵀ⟩, from b times a rotation until WᵀW = 0.99: a sigmoid
        of duration τ ln(99(1 − b²)/b²). Then all layers learn S, with a readout W_D that starts from zero; the time
        counted is that of both parts. The first is linear in D by construction; what can fail is the second. A random
        readout of gain b spoils it: in half of the networks W_D must cross zero, where the other layers have shrunk to
        √(1 − b²), and the time is exponential in D again.

    Every network has its own clock, `elapsed`; the dimension time only counts progress, pretraining from 0 to 1 and
    learning from 1 to 2. The training time of a network that is not trained when last seen is NaN.
    """

    name = "linear/depth"
    sources = (SAXE_2013, LECTURE, BRAUN_2022)
    variables = {
        "loss": Variable("loss, relative to that of zero weights", ("start", "depth")),
        "determinant": Variable("det(W_D⋯W_1)/det S", ("start", "depth")),
        "elapsed": Variable("time on the network's own clock", ("start", "depth"), "τ"),
        "reconstruction": Variable("loss of the autoencoder of a layer", ("layer",)),
    }
    seeds = 10
    quick = {"seeds": 8, "depths": (2, 3, 4, 6, 8)}

    class Config(ExperimentConfig):
        depths: Annotated[tuple[Layers, ...], Distinct] = structural(
            (2, 3, 4, 6, 8, 12, 16), min_length=1, help="numbers of layers D, one or several"
        )
        width: int = structural(3, ge=1, le=64, help="inputs, outputs and neurons of every layer N")
        strength: float = continuous(2.0, ge=0.01, le=30, help="input-output correlation s of every mode")
        small: float = continuous(0.7, ge=0.2, le=0.99, help="gain b of a layer with small weights")
        large: float = continuous(1.0, ge=0.1, le=10, help="gain of a layer with aligned or random orthogonal weights")
        readout: float = continuous(0.0, ge=0, le=10, help="gain of the last layer when pretraining ends")
        records: int = structural(160, ge=20, le=10_000, help="recordings, evenly spaced in log time")

    def coordinates(self, config: Any) -> dict[str, Any]:
        layers = list(range(1, max(config.depths)))
        return {"start": list(STARTS), "depth": list(config.depths), "layer": layers, "time": stack.progress(config)}

    def simulate(self, config: Any, key: Any) -> Any:
        import diffrax

        target, starts = stack.starts(config, key)
        stages = max(config.depths) - 1
        clocks, stage_clock = stack.horizons(config), stack.stage_time(config.small) * stages

        def rate(weights: Any, stage: Any) -> Any:
            layers = stack.unfolded(config, weights)
            slopes, befores = stack.downhill(config, layers, target)
            learning = slopes * jnp.where(stage == stages, clocks, 0.0)[None, None, None]
            encoders = stack.encoder_slopes(config, layers[..., PRETRAINED, :], befores[..., PRETRAINED, :], stage)
            return stack.folded(config, learning.at[..., PRETRAINED, :].add(stage_clock * encoders))

        def observe(state: Any) -> dict[str, Any]:
            layers = stack.unfolded(config, state.parameters)
            product, _ = stack.forward(layers)
            deepest = layers[:-1, ..., PRETRAINED, int(np.argmax(config.depths))]
            return {
                "loss": jnp.sum((product - target) ** 2, axis=(0, 1)) / jnp.sum(target**2, axis=(0, 1)),
                "determinant": stack.determinant(product) / stack.determinant(target),
                "elapsed": stack.elapsed(config, state.time),
                "reconstruction": jax.vmap(stack.reconstruction)(deepest),
            }

        switches = jnp.arange(1, stages + 1) / stages
        return fs.learning.flow_process(
            rate,
            starts,
            jnp.asarray(stack.progress(config)),
            observe,
            switches,
            fs.learning.Tolerance(relative=1e-9, absolute=1e-11),
            diffrax.Tsit5(),
        )

    def theory(self, config: Any, key: Any) -> Any:
        """Exact where every eigenvalue goes straight to s; NaN for random and for pretrained networks."""
        target, weights = (np.asarray(values) for values in jax.jit(stack.starts, static_argnums=0)(config, key))
        products = [
            reduce(lambda product, layer: layer @ product, network) for network in stack.networks(config, weights)
        ]
        eigenvalues = np.linalg.eigvals(target[..., 0, 0].T @ np.stack(products, axis=1)[EXACT] / config.strength)
        clocks = np.asarray(stack.horizons(config))[EXACT]

        def curves(time: Any) -> dict[str, Any]:
            shares = np.full((len(time), len(STARTS), len(config.depths), config.width), np.nan, complex)
            shares[:, EXACT] = (
                stack.straight_lines(config, eigenvalues, clocks, np.maximum(time - 1, 0)) / config.strength
            )
            return {"loss": np.mean(np.abs(1 - shares) ** 2, axis=-1), "determinant": np.prod(shares, axis=-1).real}

        return curves

    def measure(self, data: Any) -> dict[str, Any]:
        return {"training_time": time_to_loss(data, TRAINED)}

    equations = (
        Equation(
            r"t_D \simeq \frac{\tau\, b^{2 - D}}{s\, (1 - 2/D)} \qquad (D > 2)",
            "From small weights of gain b the training time is exponential in the depth D, though the rate is scaled "
            "by 1/D.",
        ),
        Equation(
            r"\tau \dot z = |z|^{2 - 2/D}\, (s - z)",
            "Each eigenvalue z of an orthogonal start goes straight to s in the complex plane; a negative one stops at "
            "zero.",
        ),
    )
    presets = (
        Preset(
            "five starts",
            "Small weights take exponentially long, aligned ones do not; about half of the random rotations fail.",
        ),
        Preset(
            "smaller weights", "At a gain of 0.5 each further layer nearly doubles the training time.", {"small": 0.5}
        ),
        Preset(
            "spoiled pretraining",
            "With a random readout many deep networks are late, or not trained when last seen, despite pretraining.",
            {"readout": 0.7},
        ),
    )

    @claims.theory(claims.below(1e-6))
    def exact(self, result: Any) -> Any:
        """Aligned networks follow the closed form of chains and random rotations straight lines: loss and determinant
        are those of theory.
        """
        return _errors(result)

    @claims.theory(claims.near(1.0, 0.15), source=LECTURE.at("Training speed"), loosely=claims.between(0.7, 1.3))
    def small(self, result: Any) -> Any:
        """From small aligned weights training takes b^(2−D)/(s(1−2/D)), exponential in depth: growth of ln t with D,
        relative to this law.
        """
        return _growth(result, median(result, TRAINED).sel(start="small"))

    @claims.theory(
        claims.near(1.0, 0.3),
        source=LECTURE.at("Training speed"),
        loosely=claims.between(0.5, 2.0),
        reason="the law's scope: random layers have no single gain b; see the experiment's description",
    )
    def random_first(self, result: Any) -> Any:
        """From small random weights the time to the first mode grows with D as b^(2−D)/(s(1−2/D)) does: growth of ln t,
        relative to this law.
        """
        return _growth(result, median(result, 1 - 0.9 / result.config.width).sel(start="random"))

    @claims.paper(
        LECTURE.at("Effect of initialization, small random weights"),
        claims.between(0.9, 1.0),
        reason="the source's scope: random layers have no single gain b, and their modes drift apart with depth; "
        "see the experiment's description",
    )
    def random_all(self, result: Any) -> Any:
        """The law for small random weights tells when every mode is learned: the share of the deepest networks trained
        by ten times it (our allowance).
        """
        return _share_in_time(result, 10.0)

    @claims.paper(LECTURE.at("Effect of initialization, orthogonal"), claims.below(1.5))
    def aligned(self, result: Any) -> Any:
        """From aligned orthogonal weights training time does not depend on depth: the longest is below 1.5 times (our
        threshold) the shortest.
        """
        return _spread(median(result, TRAINED).sel(start="aligned"))

    @claims.paper(
        LECTURE.at("Effect of initialization, orthogonal"),
        claims.between(0.95, 1.0),
        reason="the source's scope: half of all orthogonal starts of square networks have the wrong determinant sign; "
        "see the experiment's description",
    )
    def orthogonal(self, result: Any) -> Any:
        """Random orthogonal weights serve as well as aligned ones: the share of square networks that get trained, .95
        at least (our threshold).
        """
        return _enough(_labelled(is_trained(result), result))

    @claims.paper(LECTURE.at("Effect of initialization, orthogonal"), claims.between(1 / 1.5, 1.5))
    def orthogonal_median(self, result: Any) -> Any:
        """From random orthogonal weights of the right determinant sign the median time does not depend on depth:
        deepest over shallowest, by theory (our bounds).
        """
        return _deepest_over_shallowest(result, np.median)

    @claims.paper(
        LECTURE.at("Effect of initialization, orthogonal"),
        claims.between(1 / 1.5, 1.5),
        reason="the source's scope: some products pass close to zero and linger there, the longer the deeper; "
        "see the experiment's description",
    )
    def orthogonal_mean(self, result: Any) -> Any:
        """From random orthogonal weights of the right determinant sign the mean time does not depend on depth: deepest
        over shallowest, by theory (our bounds).
        """
        return _deepest_over_shallowest(result, np.mean)

    @claims.theory(claims.between(0.95, 1.0), source=BRAUN_2022)
    def determinant(self, result: Any) -> Any:
        """A random orthogonal network gets trained if, and only if, its determinant has the sign of the target's (share
        of networks).
        """
        return _labelled(has_right_sign(result) == is_trained(result), result)

    @claims.theory(claims.near(0.5, 0.15))
    def coin(self, result: Any) -> Any:
        """Half of all random orthogonal starts have the wrong determinant sign, and are stuck."""
        return _enough(_labelled(~is_trained(result), result))

    @claims.paper(
        LECTURE.at("Effect of initialization, pretraining + fine-tuning"),
        claims.below(1.0),
        reason="the source's scope: it needs a readout that starts from zero; see the experiment's description",
    )
    def pretrained(self, result: Any) -> Any:
        """Pretraining + fine-tuning scales linearly with depth: fine-tuning, too, grows by no more than the depth
        (deepest over shallowest, in units of the depths' ratio).
        """
        return _growth_of_tuning(result)

    @claims.theory(claims.below(1e-3))
    def logarithm(self, result: Any) -> Any:
        """Pretraining a layer takes no longer than τ ln(99(1 − b²)/b²), a logarithm of b: loss of its autoencoder
        after that time.
        """
        return result["reconstruction"].sel(time=1.0).max("layer")

    def figure(self, result: Any) -> Any:
        from festina.experiments.linear._depth_figure import draw

        return draw(result)


def time_to_loss(data: Any, level: float) -> Any:
    """When each network's loss falls to a level, on its own clock; NaN if it does not."""
    curves = -np.log(1e-300 + data["loss"].transpose("run", "start", "depth", "time").values)
    clock = data["elapsed"].transpose("run", "start", "depth", "time").values
    at = fs.measures.crossing_time(data["time"].values, curves, -np.log(level))
    times = np.full(at.shape, np.nan)
    for place in np.argwhere(np.isfinite(at)):
        times[tuple(place)] = np.interp(at[tuple(place)], data["time"].values, clock[tuple(place)])
    notes = {"long_name": "training time", "units": "τ"}
    return xr.DataArray(times, dims=("run", "start", "depth"), attrs=notes).assign_coords(
        start=data["start"], depth=data["depth"]
    )


def median(result: Any, level: float) -> Any:
    """The median over runs; a network that is not there yet counts as infinitely late."""
    return time_to_loss(result.data, level).fillna(np.inf).median("run")


def asymptote(config: Any, depth: Any) -> Any:
    """The lecture's law with its prefactor, b^(2−D)/(s(1−2/D)), for D > 2."""
    return config.small ** (2.0 - depth) / (config.strength * (1 - 2 / depth))


def _growth(result: Any, times: Any) -> float:
    """The slope of ln t over the depths from 4 on, relative to that of the law; what takes too long is left out."""
    seen = times.where((times["depth"] >= 4) & np.isfinite(times), drop=True)
    if seen.sizes["depth"] < 2:
        raise claims.NotApplicable("needs two depths at least, from 4 on, that are learned while they are watched")
    depths = seen["depth"].values.astype(float)
    slopes = [np.polyfit(depths, np.log(t), 1)[0] for t in (seen.values, asymptote(result.config, depths))]
    return slopes[0] / slopes[1]


def _share_in_time(result: Any, factor: float) -> Any:
    """Which random networks are trained by a multiple of the law, at the largest depth watched for that long."""
    depths = np.asarray([depth for depth in result.config.depths if depth > 2])
    limits = factor * asymptote(result.config, depths)
    if not np.any(limits <= PATIENCE / result.config.strength):
        raise claims.NotApplicable("needs a depth above 2 that is watched for ten times its training time")
    depth = depths[limits <= PATIENCE / result.config.strength].max()
    limit = factor * asymptote(result.config, depth)
    return result["training_time"].sel(start="random", depth=depth).values <= limit


def is_trained(result: Any) -> Any:
    """Which random orthogonal networks get there, of shape (run, depth)."""
    return np.isfinite(result["training_time"].sel(start="orthogonal").values)


def has_right_sign(result: Any) -> Any:
    """Which of them start with a determinant of the sign of the target's."""
    return result["determinant"].sel(start="orthogonal", time=0.0).transpose("run", "depth").values > 0


@cache
def population(config: Any, count: int = 400) -> Any:
    """Training times by theory, of shape (rotation, depth), of many random rotations with the right determinant."""
    factor, triangle = np.linalg.qr(np.random.default_rng(0).normal(size=(count, config.width, config.width)))
    rotations = factor * np.sign(np.diagonal(triangle, axis1=1, axis2=2))[:, None]
    rotations[..., 0] *= np.sign(np.linalg.det(rotations))[:, None]
    depths = np.asarray(config.depths)
    starts = np.linalg.eigvals(rotations)[:, None] * config.large ** depths[:, None]
    times, horizon = np.geomspace(1e-4, 1, 400), 20 * PATIENCE / config.strength
    shares = stack.straight_lines(config, starts, np.full((1, 1), horizon), times) / config.strength
    curves = -np.log(1e-300 + np.mean(np.abs(1 - shares) ** 2, axis=-1))
    share = fs.measures.crossing_time(times, np.moveaxis(curves, 0, -1), -np.log(TRAINED))
    return horizon * np.nan_to_num(share, nan=1.0)


def _ends(result: Any) -> tuple[int, int]:
    """The smallest and the largest depth."""
    least, most = min(result.config.depths), max(result.config.depths)
    if least == most:
        raise claims.NotApplicable("needs two depths at least")
    return least, most


def _deepest_over_shallowest(result: Any, average: Any) -> float:
    least, most = (result.config.depths.index(depth) for depth in _ends(result))
    times = average(population(result.config), axis=0)
    return times[most] / times[least]


def _growth_of_tuning(result: Any) -> float:
    """Median time of fine-tuning, deepest over shallowest, relative to the ratio of depths; NaN if it never ends.

    The other part of the training time, D − 1 stages of pretraining, is linear in D by construction.
    """
    least, most = _ends(result)
    stage = float(stack.stage_time(result.config.small))
    times = median(result, TRAINED).sel(start="pretrained")
    tuning = [float(times.sel(depth=depth)) - (depth - 1) * stage for depth in (least, most)]
    return tuning[1] / tuning[0] * least / most if np.all(np.isfinite(tuning)) else np.nan


def _enough(networks: Any) -> Any:
    """The values, if they are of networks enough for a share of them."""
    if networks.size < ENOUGH:
        raise claims.Undecided(f"too few networks for a share of them: needs --seeds {-(-ENOUGH // networks.shape[1])}")
    return networks


def _labelled(values: Any, result: Any) -> Any:
    return xr.DataArray(values, dims=("run", "depth"), coords={"depth": list(result.config.depths)})


def _errors(result: Any) -> Any:
    """The largest |simulation − theory| of each run, over loss and determinant of the starts that have a theory."""
    gaps = [abs(result[name] - result.theory[name]).isel(start=EXACT) for name in result.theory.data_vars]
    return np.max([gap.max(["time", "start", "depth"], skipna=False).values for gap in gaps], axis=0)


def _spread(times: Any) -> float:
    if times.size < 2:
        raise claims.NotApplicable("needs two depths at least")
    return float(np.max(times) / np.min(times))
