"""How long networks of growing depth train, from five kinds of initial weights."""

from math import log
from typing import Annotated, Any

from pydantic import Field, ValidationInfo, field_validator

import festina as fs
from festina import claims
from festina._lazy import jax, jnp, np
from festina.config import Distinct
from festina.experiment import Equation, Experiment, ExperimentConfig, Preset, Variable, continuous, structural
from festina.experiments._side_by_side import side_by_side
from festina.experiments.linear import _depth_exact as exact
from festina.experiments.linear import _depth_measures as measures
from festina.experiments.linear import _depth_networks as networks
from festina.experiments.linear._depth_networks import SQUARE, STARTS
from festina.ranges import LogDuration
from festina.sources import BRAUN_2022, LECTURE, SAXE_2013

FIRST = 1e-3  # time of the first recording after the start
Layers = Annotated[int, Field(ge=2, le=64)]


class Depth(Experiment):
    """Training time is exponential in depth from small weights, linear with pretraining, constant from orthogonal ones.

    A network W_D ⋯ W_1 with fewer outputs than units learns S = U diag(s) Vᵀ from white inputs:
    τ dW_l/dt = (1/D) (W_D⋯W_{l+1})ᵀ (S − W_D⋯W_1) (W_{l−1}⋯W_1)ᵀ. The rate is ∝ 1/D, so that depth as such buys no
    speed. A network is trained when |S − W_D⋯W_1|² has fallen to 1 % of |S|². Starts are compared in networks that
    share target and layers: one of depth D uses the first D − 1 layers drawn, and the same last one.

    small: layers are b times orthogonal ones that hand each mode of S on, and the product is b^D UVᵀ. Each mode is a
        chain, τȧ = a^(2−2/D) (s − a), and takes b^(2−D)/(s(1−2/D)) if b^D is small: the lecture's O(1/(s b^D)) with its
        prefactor.
    gaussian: normal weights, with singular values of mean square b² in every layer. Modes are learned one after the
        other, the last of them later than the law has it; that time grows by 1/b per layer only from some depth on.
    aligned: as small, but with a gain near 1. Training time falls a little with depth towards a limit, as the speed
        s^(2−2/D) at the end rises.
    orthogonal: random orthogonal layers of the same gain. Those between the ends stay balanced, which reduces the flow
        to that of three matrices for any depth; with D → ∞ it has a limit, and so has the training time.
    pretrained: from Gaussian weights every layer but the last, one after the other, learns to reproduce its inputs h
        as the encoder of an autoencoder with decoder Wᵀ, until ⟨|h − WᵀWh|²⟩ is a given share of ⟨|h|²⟩; then
        all layers learn S. Durations of both parts are measured, and the training time is their sum. Each layer shrinks
        what it hands on, the more the earlier it stops; a deep stack that stops early slows itself down.
    square: random orthogonal networks in which all layers are square and S = sO, O orthogonal. Each eigenvalue z of
        OᵀW_D⋯W_1 goes straight to s in the complex plane, τż = |z|^(2−2/D) (s − z). If the determinants of S and of the
        product differ in sign, one z is real and negative and ends in the saddle at zero: a balanced product cannot
        change the sign of its determinant. So half of all starts never get trained. One output less than there are
        units, and no sign is left to be wrong. (At D = 2 rounding errors let a simulation escape that saddle after
        about 75 τ/s; it is judged, and compared with theory, before.)

    Time counts from the beginning of learning S. The training time of a network that is not trained when last seen,
    or of which a layer was not pretrained after 1000 τ, is NaN.
    """

    name = "linear/depth"
    sources = (SAXE_2013, LECTURE, BRAUN_2022)
    variables = {
        "loss": Variable("loss, relative to that of zero weights", ("start", "depth")),
        "determinant": Variable("det(W_D⋯W_1)/det S of square networks", ("depth",)),
        "pretraining": Variable("duration of the pretraining of a layer", ("layer",), "τ"),
    }
    seeds = 8
    quick = {"seeds": 3, "depths": (2, 4, 8), "until": 40.0, "records": 100}

    class Config(ExperimentConfig):
        depths: Annotated[tuple[Layers, ...], Distinct] = structural(
            (2, 4, 8, 16, 32, 64), min_length=1, help="numbers of layers D, one or several"
        )
        width: int = structural(32, ge=1, le=256, help="units N of every hidden layer")
        inputs: int = structural(24, ge=1, le=256, help="inputs, no more than units")
        outputs: int = structural(4, ge=1, le=64, help="outputs, no more than inputs; also the size of square networks")
        strength: float = continuous(2.0, ge=0.01, le=10, help="smallest singular value s of the target")
        spread: float = continuous(1.5, ge=1, le=3, help="largest over smallest singular value; the others lie between")
        small: float = continuous(0.75, ge=0.2, le=0.99, help="gain b of a layer with small or with Gaussian weights")
        large: float = continuous(1.0, ge=0.1, le=2, help="gain of a layer with aligned or random orthogonal weights")
        level: float = continuous(
            1e-3,
            ge=1e-8,
            le=0.1,
            scale="log",
            help="reconstruction error, as a share of the variance, that ends a stage",
        )
        until: LogDuration = continuous(150.0, unit="τ", help="when to stop")
        records: int = structural(160, ge=20, le=10_000, help="recordings, evenly spaced in log time")

        @field_validator("inputs", "outputs")
        @classmethod
        def _narrower(cls, count: int, info: ValidationInfo) -> int:
            wider = "width" if info.field_name == "inputs" else "inputs"
            if count > info.data.get(wider, count):
                raise ValueError(f"not be above `{wider}`, {info.data[wider]}")
            return count

    def coordinates(self, config: Any) -> dict[str, Any]:
        layers = list(range(1, max(config.depths)))
        return {"start": list(STARTS), "depth": list(config.depths), "layer": layers}

    def simulate(self, config: Any, key: Any) -> Any:
        targets, starts = networks.draw(config, key)
        starts["pretrained"], durations = networks.pretrain(starts["pretrained"], config.level)
        goals = jnp.stack([targets[start] for start in STARTS])
        later = jnp.exp(jnp.linspace(log(FIRST), jnp.log(config.until), config.records))
        times = jnp.concatenate([jnp.zeros(1), later])

        def observe(state: Any) -> dict[str, Any]:
            learning, durations = state.parameters
            square = networks.product(jax.tree.map(lambda weights: weights[SQUARE], learning))
            return {
                "loss": jax.vmap(networks.relative_loss)(learning, goals),
                "determinant": networks.determinant(square) / networks.determinant(goals[SQUARE]),
                "pretraining": durations,
            }

        def rate(parameters: Any, stage: Any) -> Any:
            return jax.vmap(networks.rate)(parameters[0], goals), jnp.zeros_like(parameters[1])

        def process(depth: int) -> Any:
            import diffrax

            shallow = [networks.shortened(starts[start], depth) for start in STARTS]
            stacked = jax.tree.map(lambda *weights: jnp.stack(weights), *shallow)
            tolerance = fs.learning.Tolerance(relative=1e-9, absolute=1e-11)
            return fs.learning.flow_process(
                rate, (stacked, durations), times, observe, None, tolerance, diffrax.Tsit5()
            )

        def join(seen: list[Any]) -> dict[str, Any]:
            joined = {name: jnp.stack([one[name] for one in seen], axis=-1) for name in ("loss", "determinant")}
            return joined | {"pretraining": seen[0]["pretraining"]}

        return side_by_side([process(depth) for depth in config.depths], join)

    def theory(self, config: Any, key: Any) -> Any:
        """Exact but for Gaussian and for pretrained networks, whose loss is NaN, and for all layers but the first."""
        targets, starts = networks.draw(config, key)

        def losses(depth: int, time: Any) -> dict[str, Any]:
            turned = networks.shortened(starts["orthogonal"], depth)
            eigenvalues = exact.eigenvalues(networks.shortened(starts["square"], depth), targets["square"])
            lines = exact.straight_lines(depth, config.strength, eigenvalues, time)
            return {
                "small": exact.aligned_loss(depth, networks.strengths(config), config.small, time),
                "aligned": exact.aligned_loss(depth, networks.strengths(config), config.large, time),
                "orthogonal": exact.orthogonal_loss(turned, targets["orthogonal"], time),
                "square": np.mean(np.abs(1 - lines / config.strength) ** 2, axis=-1),
                "determinant": np.prod(lines / config.strength, axis=-1).real,
            }

        def curves(time: Any) -> dict[str, Any]:
            found = [losses(depth, time) for depth in config.depths]
            loss = [[one.get(start, np.full(len(time), np.nan)) for one in found] for start in STARTS]
            durations = np.full((len(time), max(config.depths) - 1), np.nan)
            durations[:, 0] = exact.first_duration(starts["pretrained"].first, config.level)
            determinants = np.stack([one["determinant"] for one in found], axis=-1)
            return {"loss": np.moveaxis(np.asarray(loss), -1, 0), "determinant": determinants, "pretraining": durations}

        return curves

    def measure(self, data: Any) -> dict[str, Any]:
        return {"training_time": measures.training_time(data)}

    equations = (
        Equation(
            r"t_D \simeq \frac{\tau\, b^{2 - D}}{s\, (1 - 2/D)} \qquad (D > 2)",
            "From small weights of gain b the training time is exponential in the depth D, though the rate is scaled "
            "by 1/D.",
        ),
        Equation(
            r"\tau \dot W = \tfrac{1}{2} W (R + R^\top), \qquad R = (1 - W^\top W) \langle h h^\top \rangle",
            "Pretraining: each layer W in turn learns to reproduce its inputs h, until the error is small enough.",
        ),
        Equation(
            r"\tau \dot z = |z|^{2 - 2/D}\, (s - z)",
            "In a square network each eigenvalue z of an orthogonal start goes straight to s in the complex plane; a "
            "negative one stops at zero.",
        ),
    )
    presets = (
        Preset(
            "five starts",
            "Small weights take exponentially long, pretrained ones a time linear in depth, orthogonal ones a constant "
            "time.",
        ),
        Preset(
            "smaller weights", "At a gain of 0.5 each further layer nearly doubles the training time.", {"small": 0.5}
        ),
        Preset(
            "pretraining cut short",
            "Layers that stop at a reconstruction error of 10 % hand on less and less: each takes longer than the "
            "last, and the total is no longer linear.",
            {"level": 0.1, "depths": (2, 8, 32)},
        ),
    )

    @claims.theory(claims.below(1e-6))
    def exact(self, result: Any) -> Any:
        """Aligned networks follow chains, random orthogonal ones a flow of three matrices, and square ones straight
        lines: largest error of loss and determinant.
        """
        return measures.errors(result)

    @claims.theory(claims.near(1.0, 0.15), source=LECTURE.at("Training speed"), loosely=claims.between(0.7, 1.3))
    def small(self, result: Any) -> Any:
        """From small aligned weights training takes b^(2−D)/(s(1−2/D)), exponential in depth: measured over predicted
        time of the deepest network trained.
        """
        return measures.over_law(result)

    @claims.paper(
        LECTURE.at("Effect of initialization, small random weights"),
        claims.near(1.0, 0.3),
        loosely=claims.between(0.5, 2.0),
        reason="the source's scope: it is a law for large depths; see the experiment's description",
    )
    def gaussian(self, result: Any) -> Any:
        """From small random weights training time scales as b^(−D): growth of ln t per layer from D = 4 on, over
        ln(1/b) (our tolerance).
        """
        return measures.growth(result) / log(1 / result.config.small)

    @claims.paper(LECTURE.at("Effect of initialization, orthogonal"), claims.near(0.0, 0.25))
    def aligned(self, result: Any) -> Any:
        """From aligned orthogonal weights training time does not depend on depth: exponent of its growth as a power of
        D, from D = 4 on (our tolerance; linear would be 1).
        """
        return measures.exponent(result["training_time"].sel(start="aligned").median("run", skipna=False))

    @claims.paper(LECTURE.at("Effect of initialization, orthogonal"), claims.between(0.95, 1.0))
    def orthogonal(self, result: Any) -> Any:
        """From random orthogonal weights networks with fewer outputs than units get trained at every depth: share of
        networks, .95 at least (our threshold).
        """
        return np.isfinite(measures.orthogonal_times(result))

    @claims.paper(LECTURE.at("Effect of initialization, orthogonal"), claims.near(0.0, 0.25))
    def orthogonal_median(self, result: Any) -> Any:
        """From random orthogonal weights, with fewer outputs than units, median training time does not depend on depth:
        exponent of D, from D = 4 on (our tolerance; linear would be 1).
        """
        return measures.exponent(measures.orthogonal_times(result).median("run", skipna=False))

    @claims.paper(LECTURE.at("Effect of initialization, orthogonal"), claims.near(0.0, 0.25))
    def orthogonal_mean(self, result: Any) -> Any:
        """From random orthogonal weights, with fewer outputs than units, mean training time does not depend on depth:
        exponent of D, from D = 4 on (our tolerance; linear would be 1).
        """
        return measures.exponent(measures.orthogonal_times(result).mean("run", skipna=False))

    @claims.paper(LECTURE.at("Effect of initialization, pretraining + fine-tuning"), claims.near(1.0, 0.25))
    def pretrained(self, result: Any) -> Any:
        """Pretraining + fine-tuning scales linearly with depth: time for one more layer, between the two largest depths
        over the two smallest (our tolerance).
        """
        return measures.cost_of_a_layer(result)

    @claims.theory(claims.below(1e-5))
    def stage(self, result: Any) -> Any:
        """Pretraining the first layer is a sum of sigmoids, and takes a logarithm of its weights: relative error of its
        duration.
        """
        seen, known = (data["pretraining"].isel(time=0, layer=0) for data in (result.data, result.theory))
        return abs(seen / known - 1)

    @claims.theory(claims.between(0.95, 1.0), source=BRAUN_2022)
    def determinant(self, result: Any) -> Any:
        """A square random orthogonal network gets trained if, and only if, its determinant has the sign of the target's
        (share of networks).
        """
        return measures.has_right_sign(result) == measures.square_is_trained(result)

    @claims.theory(claims.near(0.5, 0.15), budget="full")
    def half(self, result: Any) -> Any:
        """Half of all random orthogonal starts of square networks have the wrong determinant sign, and never get
        trained.
        """
        return ~measures.enough(measures.square_is_trained(result))

    def figure(self, result: Any) -> Any:
        from festina.experiments.linear._depth_figure import draw

        return draw(result)
