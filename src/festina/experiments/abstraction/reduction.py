"""A network of hundreds of weights and its model in the plane: when the reduction is exact, and when it is not."""

from math import pi
from typing import Any, Literal

import festina as fs
from festina import claims
from festina._lazy import jnp, np, xr
from festina.experiment import Equation, Experiment, Preset, Variable, structural
from festina.experiments._labelled import labelled
from festina.experiments._side_by_side import side_by_side
from festina.experiments.abstraction._common import AbstractionConfig, keys, need_blocks, process, rule
from festina.experiments.abstraction._equations import REDUCED
from festina.experiments.abstraction._reduced import arms_of, plane
from festina.sources import SANDBRINK_2024

MODELS = ("full", "spanned", "aligned", "closed", "rows", "reduced", "published")
EXACT = 1e-10
HALF = 0.5  # a network counts as specialised from this |w̄| on
PUBLISHED = 0.01  # size of the weights from which the published reduced model starts
NOTEBOOK = SANDBRINK_2024.at("repository aproca/neural_task_abstraction, figA1_full_vs_toy.ipynb")
COURSE = 12  # blocks in which most networks specialise
SPECIALISED = 20  # blocks within which the source's networks specialise
OUTSIDE = (
    "likely the scope of the source: what random weights have outside the span of the teachers has a say in the "
    "course, see the experiment's description"
)
UNRELATED = (
    "likely the source: its reduced model starts from fixed vectors and not from the network that it is compared with, "
    "see the experiment's description"
)


class Reduction(Experiment):
    """A network that starts in the span of its teachers is two vectors in a plane; from random weights, only roughly.

    With infinitely many inputs, row β of path p of y = Σ_p c^p W^p x feels only the error of its own row. Once its
    weights are w_1 w*1_β + w_2 w*2_β, two numbers describe it, and if all rows have the same two numbers the network
    is the reduced model τ_w dw^p/dt = c^p ε, τ_c dc^p/dt = w^p·ε − ∂R/∂c^p (eqs 15, 16), with constants as given by
    `festina.theory.abstraction.reduced_scales`: for sizes 20 → 10 gates are twice as slow (τ_c = .06) and bounds twice
    as strong (2λ). Seven models learn side by side:

    - `full` from small random weights, and `closed`, the same in P + M coordinates for each row: always exact;
    - `spanned`, the full network with every row projected on its teachers, and `rows`, the coordinates of all rows;
    - `aligned`, the full network with the mean of these coordinates in every row, and `reduced`, that mean alone;
    - `published`, the reduced model as the published code has it: weights of size .01 in fixed directions (degrees
      were taken for radians), and bounds that are not doubled.

    The reduction is exact in the last two pairs, to rounding. Of the full network from random weights it is not: what
    a row has outside of the span of its teachers, and what rows do not have in common, decays, but not before it has a
    say in which path goes where, and when. Started from the mean of the rows, the reduced model nevertheless has nearly
    the full one's course. The published one does not start from the network that it is compared with: it specialises
    at one and the same time for all seeds, mostly too early, and its paths may be the other way round.
    """

    name = "abstraction/reduction"
    sources = (SANDBRINK_2024,)
    time_unit = "t"
    variables = {
        "loss": Variable("loss over that of an untrained network", ("model",)),
        "gates": Variable("gates c", ("model", "path")),
        "weights": Variable("mean over rows of weights along each teacher", ("model", "path", "teacher")),
    }
    seeds = 10
    quick = {"seeds": 3, "until": 12.0, "records": 600}

    class Config(AbstractionConfig):
        data: Literal["sampled", "wishart", "population"] = structural(
            "population",
            help="what a step of full networks sees: a `sampled` batch, its law (`wishart`), all inputs (`population`)",
        )

    def coordinates(self, config: Any) -> dict[str, Any]:
        return {"model": list(MODELS)}

    def simulate(self, config: Any, key: Any) -> Any:
        def joined(seen: list[Any]) -> dict[str, Any]:
            return {name: jnp.concatenate([one[name] for one in seen]) for name in self.variables}

        return side_by_side(_models(config, key), joined)

    def measure(self, data: Any) -> dict[str, Any]:
        axes = ("run", "model", "time")
        weights = data["weights"].transpose(*axes, "path", "teacher").values
        gates = data["gates"].transpose(*axes, "path").values
        overall = fs.theory.abstraction.specialization(weights, gates).overall
        return {"specialization": xr.DataArray(np.abs(overall), dims=axes)}

    equations = (
        REDUCED,
        Equation(
            r"\tau_w \to \frac{\tau_w}{\kappa}, \qquad \tau_c \to \frac{\tau_c}{\kappa\, d_{\text{out}}\, r^2}, "
            r"\qquad \lambda \to \frac{\lambda}{\kappa\, d_{\text{out}}\, r^2}",
            "These constants make it stand for a full network with teacher rows of norm r and a factor κ before its "
            "loss.",
        ),
    )
    presets = (
        Preset(
            "Figure A.1", "From aligned rows the reduction is exact; from random weights it has nearly the same course."
        ),
        Preset(
            "tiny start",
            "From weights ten times smaller specialisation comes later, and the reduced model is right to a per cent.",
            {"scale": 1e-3},
        ),
    )

    @claims.theory(claims.below(EXACT), source=SANDBRINK_2024.at("app. A.1, eqs 15 and 16"))
    def aligned_exact(self, result: Any) -> Any:
        """From equal coordinates in all rows gates and loss are those of the reduced model (largest difference)."""
        return without_noise(result, "reduced", "aligned")

    @claims.theory(claims.below(EXACT), source=SANDBRINK_2024.at("app. A.1.1, eq. 17"))
    def rows_exact(self, result: Any) -> Any:
        """If every row lies in the span of its teachers, two numbers for each row and path are enough (largest
        difference of gates or loss).
        """
        return without_noise(result, "rows", "spanned")

    @claims.theory(claims.below(EXACT))
    def closed_exact(self, result: Any) -> Any:
        """From any start P + M coordinates for each row are enough (largest difference of gates or loss)."""
        return without_noise(result, "closed", "full")

    @claims.paper(SANDBRINK_2024.at("section 5.1"), claims.below(0.01), reason=OUTSIDE)
    def exact(self, result: Any) -> Any:
        """From random weights the reduced model is exact, if gradients are those of many samples (largest difference of
        gates or loss; our threshold).
        """
        need_blocks(result, COURSE, "the course up to specialisation")
        return without_noise(result, "reduced", "full")

    @claims.paper(SANDBRINK_2024.at("fig. A.1"), claims.above(0.99), loosely=claims.above(0.9), reason=OUTSIDE)
    def captured(self, result: Any) -> Any:
        """From random weights the reduced model captures the full one's course (correlation of losses; our
        threshold).
        """
        return correlation(result, "reduced")

    @claims.code(NOTEBOOK, claims.above(0.99), loosely=claims.above(0.9), reason=UNRELATED)
    def captured_as_published(self, result: Any) -> Any:
        """The reduced model with the published start and bounds captures the full one's course (correlation of losses;
        our threshold).
        """
        return correlation(result, "published")

    @claims.paper(SANDBRINK_2024.at("fig. A.1"), claims.below(0.5), reason=OUTSIDE)
    def on_time(self, result: Any) -> Any:
        """The reduced model specialises within half a block of the full one (|blocks ahead|; our threshold)."""
        return np.abs(lead(result, "reduced"))

    @claims.code(NOTEBOOK, claims.below(0.5), reason=UNRELATED)
    def on_time_as_published(self, result: Any) -> Any:
        """The reduced model with the published start and bounds specialises within half a block of the full one
        (|blocks ahead|; our threshold).
        """
        return np.abs(lead(result, "published"))

    def figure(self, result: Any) -> Any:
        from festina.experiments.abstraction._reduction_figure import draw

        return draw(result)


def _models(config: Any, key: Any) -> tuple[Any, ...]:
    """Four processes whose arms, in this order, are `MODELS`."""
    for_teachers, for_weights, for_data = keys(key)
    convention = fs.worlds.convention(config.convention)
    tasks = fs.worlds.Tasks.orthogonal(for_teachers, 2, config.outputs, config.inputs, convention)
    network = fs.networks.PathGated.init(for_weights, 2, config.outputs, config.inputs, config.scale)
    row_norm = convention.row_norm(config.inputs)
    by_row = jnp.einsum("moi,poi->pom", tasks.maps, jnp.stack(network.students)) / row_norm**2
    mean = jnp.mean(by_row, axis=1)
    exact = config.model_copy(update={"data": "population"})
    plane_by_row = row_norm * jnp.broadcast_to(jnp.eye(2)[:, None, :], (2, config.outputs, 2))

    def learning(settings: Any, goals: Any, rules: tuple[Any, ...], *starts: Any) -> Any:
        how = arms_of(config, (0, 1), *rules)
        return process(settings, for_data, starts[0], how, goals, _observe, starts)

    def at(students: Any) -> Any:
        return network.rebuilt(tuple(students), network.gates)

    flexible = rule(config)
    spanned = at(jnp.einsum("pom,moi->poi", by_row, tasks.maps))
    aligned = at(jnp.einsum("pm,moi->poi", mean, tasks.maps))
    small, goals = fs.learning.compressed_by_row(network, tasks)
    in_plane = (at(mean[:, None]), at(_published_start()[:, None]))
    plane_of_rows = fs.worlds.Tasks(plane_by_row, tasks.loss_share)
    return (
        learning(config, tasks, (flexible,) * 3, network, spanned, aligned),
        learning(exact, goals, (flexible,), small),
        learning(exact, plane_of_rows, (flexible,), at(row_norm * by_row)),
        learning(exact, plane(), _reduced_rules(config, row_norm, tasks.loss_share), *in_plane),
    )


def _reduced_rules(config: Any, row_norm: float, loss_share: float) -> tuple[Any, Any]:
    """How the reduced model learns, with bounds that stand for the full network's and with the published ones."""
    scales = fs.theory.abstraction.reduced_scales(
        config.weight_timescale, config.gate_timescale, config.outputs, row_norm, loss_share
    )
    strengths = jnp.asarray([config.nonnegativity, config.normalization])
    full, same = (fs.networks.Regularizer(*(factor * strengths)) for factor in (scales.regularization, 1.0))
    return fs.learning.JointDescent(*scales[:2], full), fs.learning.JointDescent(*scales[:2], same)


def _published_start() -> Any:
    angles = pi / 4 + np.asarray([-45.0, 45.0])
    return jnp.asarray(PUBLISHED * np.stack([np.cos(angles), np.sin(angles)], axis=-1))


def _observe(view: Any) -> dict[str, Any]:
    """What means the same in all models: the loss as a share, gates, and mean coordinates."""
    sizes = jnp.sqrt(jnp.sum(view.tasks.maps**2, axis=(1, 2)))
    untrained = 0.5 * view.tasks.loss_share * jnp.sum(view.target**2)
    return {"loss": view.loss / untrained, "gates": view.gates, "weights": (view.components / sizes[:, None]).T}


def gap(result: Any, one: str, other: str) -> Any:
    """The largest difference of gates and loss between two models at each moment: (run, time)."""
    data = result.data
    gates, loss = (np.abs(data[of].sel(model=one) - data[of].sel(model=other)) for of in ("gates", "loss"))
    return np.maximum(gates.max("path"), loss).transpose("run", "time").values


def largest_gap(result: Any, one: str, other: str) -> Any:
    """The largest difference of gates and loss between two models in each run."""
    return gap(result, one, other).max(axis=1)


def without_noise(result: Any, one: str, other: str) -> Any:
    """The same for full networks that see all inputs, in which the reduction can be exact."""
    if result.config.data != "population":
        raise claims.NotApplicable("needs infinitely many inputs, --data population")
    return labelled(largest_gap(result, one, other), "run")


def correlation(result: Any, model: str) -> Any:
    """The correlation over time of a model's loss with that of the full network, in each run."""
    need_blocks(result, COURSE, "the course up to specialisation")
    losses = (result["loss"].sel(model=name).transpose("run", "time").values for name in (model, "full"))
    return labelled([np.corrcoef(*pair)[0, 1] for pair in zip(*losses, strict=True)], "run")


def specialised_at(result: Any, model: str) -> Any:
    """When |w̄| reaches ½, in blocks; NaN where it never does."""
    values = result["specialization"].sel(model=model).transpose("run", "time").values
    return fs.measures.crossing_time(result["time"].values, values, HALF) / result.config.block_length


def lead(result: Any, model: str) -> Any:
    """By how many blocks a model specialises earlier than the full network."""
    ahead = specialised_at(result, "full") - specialised_at(result, model)
    if not np.isfinite(ahead).all():
        need_blocks(result, SPECIALISED, "the time at which networks specialise")
        raise claims.NotApplicable("needs networks that all specialise")
    return labelled(ahead, "run")
