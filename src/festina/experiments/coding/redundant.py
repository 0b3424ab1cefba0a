"""Sigmoidal neurons: a redundant code, in and out of equilibrium."""

from dataclasses import replace
from typing import Any

import festina as fs
from festina import claims
from festina._lazy import jax, jnp, np
from festina.experiment import Experiment, Preset, structural
from festina.experiments._fields import Temperature
from festina.experiments.coding._common import (
    VARIABLES,
    CodingConfig,
    chain,
    constant_in_time,
    coordinates,
    from_prior,
    in_turn,
    planted,
    predicted,
    readout_variance,
    world,
)
from festina.experiments.coding._comparison import (
    kernel_difference,
    of_three_classes,
    sampling_checks,
    top_share,
    worth,
)
from festina.experiments.coding._equations import NEURON, POSTERIOR
from festina.experiments.coding._redundant_measures import (
    FEW,
    EvenDraw,
    code_shares,
    distance_to_branches,
    frozen_difference,
    predictions,
    several_codes,
    share_difference,
    turnover,
)
from festina.sources import VAN_MEEGEN_2024

PHASES = ("equilibrium", "cooled", "planted")


class Redundant(Experiment):
    """Sigmoidal neurons of a network that learns classes fall into few groups, each on for some of the classes.

    A network of N neurons φ(z) = ½(1 + erf(√π z/2)), f = aφ/N, is sampled from its posterior at temperature T/N. In the
    limit of many neurons each of them is independent, p(a, z) ∝ N(a|0, s) N(z|0, K_0) exp(a·tᵀφ(z)), and the residual
    t = (Y − ⟨f⟩)/T is the minimum of a convex function. At low T the density of readouts a has several peaks: *codes*,
    sets of classes for which a neuron is on, with a mean activity above ½. Many neurons share each of them.

    *equilibrium*: chains that start from the prior and cool down to a temperature at which neurons still change their
    code. *planted*: chains at a low temperature, where they no longer do, that start from neurons drawn from theory,
    as many of each code as theory says: an independent draw would be off by 1/√N, and neurons that keep their code
    could not mend that. *cooled*: chains that reach the same low temperature from the prior. They freeze on the way:
    every neuron keeps the code it has, nearly, and the shares of the codes, and with them the kernel, are not those of
    equilibrium, to which they drift slowly at best. Theory that takes these shares from the chain, instead of computing
    them, gives its kernel. The equations were derived independently of the source.

    That codes are redundant and frozen is the source's. At what temperature they freeze, and how far a chain is then
    off, depends on how it is cooled: at the full budget cooled chains are .43 from the kernel of equilibrium and .0005
    from that at their own shares. Chains in equilibrium agree (split-R̂ 1.03) and are worth 83 independent draws. The
    full budget has 500 neurons, not 1000, so that three chains in each of three phases take minutes.
    """

    name = "coding/redundant"
    sources = (VAN_MEEGEN_2024,)
    time_unit = "draws"
    variables = {name: replace(each, dims=("phase", *each.dims)) for name, each in VARIABLES.items()}
    seeds = 3
    quick = {
        "seeds": 2,
        "width": 200,
        "counts": (20, 10, 10),
        "draws": 160,
        "warm_up": 160,
        "records": 40,
        "cold": 0.02,
    }

    class Config(CodingConfig):
        temperature: Temperature = structural(0.2, scale="log", help="temperature T of the chains in equilibrium")
        cold: Temperature = structural(0.01, scale="log", help="temperature of the planted and of the cooled chains")
        draws: int = structural(1700, ge=8, le=1_000_000, help="draws after warming up")
        records: int = structural(100, ge=2, le=10_000, help="recordings, evenly spaced; must divide all draws")

    def coordinates(self, config: Any) -> dict[str, Any]:
        return {"phase": list(PHASES)} | coordinates(config)

    def simulate(self, config: Any, key: Any) -> Any:
        data, variance = world(config), readout_variance(config)
        for_prior, for_planted, *for_draws = fs.draws.split(key, 2 + len(PHASES))
        prior = from_prior(config, for_prior, data, fs.networks.SIGMOIDAL)
        even = EvenDraw(predictions(config)["planted"])
        drawn = planted(config, for_planted, even, data, fs.networks.SIGMOIDAL, variance)
        starts = (prior.whitened, prior.whitened, drawn.whitened)
        cases = {
            "key": jnp.stack(for_draws),
            "start": jax.tree.map(lambda *each: jnp.stack(each), *starts),
            "temperature": jnp.array([config.temperature, config.cold, config.cold]),
            "hottest": jnp.array([config.hottest, config.hottest, config.cold]),
        }

        def one(case: dict[str, Any]) -> Any:
            own = config.model_copy(update={name: case[name] for name in ("temperature", "hottest")})
            return chain(own, case["key"], prior.having(case["start"]), data)

        return in_turn(one, cases)

    def theory(self, config: Any, key: Any) -> Any:
        data = world(config)
        each = [predicted(one, data) for one in predictions(config).values()]
        return constant_in_time(**{name: np.stack([one[name] for one in each]) for name in each[0]})

    def measure(self, data: Any) -> dict[str, Any]:
        return worth(data)

    equations = (POSTERIOR, NEURON)
    presets = (
        Preset(
            "above and below freezing",
            "Neurons fall into groups; chains that are cooled freeze with shares of their own.",
        ),
        Preset(
            "freezing",
            "At T = 0.1 the chains that were in equilibrium freeze as well: few of their neurons still change their "
            "group.",
            {"temperature": 0.1},
        ),
    )

    @claims.paper(VAN_MEEGEN_2024.at("sigmoidal networks: redundant coding"), claims.between(0.11, 0.24))
    def redundant(self, result: Any) -> Any:
        """Coding in sigmoidal networks is redundant: many neurons share each code (share of the class signal in the top
        tenth; .11 to .24 is our range for such codes).
        """
        several_codes(result.config)
        return top_share(result, phase="planted")

    @claims.paper(VAN_MEEGEN_2024.at("permutation symmetry breaking"), claims.below(0.01))
    def frozen(self, result: Any) -> Any:
        """Permutation symmetry is broken in cold sigmoidal networks: neurons keep their code (share that changed it, 1
        if codes were drawn anew; .01 is our threshold).
        """
        several_codes(result.config)
        return turnover(result, "planted")

    @claims.theory(claims.below(0.02))
    def kernel(self, result: Any) -> Any:
        """The mean kernel of a sigmoidal hidden layer is, in equilibrium, that of our theory (relative difference)."""
        return kernel_difference(result, phase="equilibrium")

    @claims.theory(claims.below(0.02))
    def shares(self, result: Any) -> Any:
        """Each code has, in equilibrium, the share of neurons that our theory gives it (largest difference)."""
        return share_difference(result)

    @claims.reference("our own earlier chains, which froze only near T = .15", claims.above(0.5))
    def mobile(self, result: Any) -> Any:
        """Sigmoidal neurons change their code in equilibrium, at a higher temperature (share that did, 1 if codes were
        drawn anew).
        """
        return turnover(result, "equilibrium")

    @claims.theory(claims.below(0.01))
    def planted_kernel(self, result: Any) -> Any:
        """Cold chains started from neurons drawn from our theory keep its kernel (relative difference)."""
        return kernel_difference(result, phase="planted")

    @claims.theory(claims.below(0.1), budget="full")
    def branches(self, result: Any) -> Any:
        """Readouts of cold sigmoidal networks split into branches (rms distance from the nearest one of our theory,
        relative to their rms size).
        """
        several_codes(result.config)
        return distance_to_branches(result)

    @claims.theory(claims.near(6.0, 0.0))
    def six(self, result: Any) -> Any:
        """Three classes have six codes in a cold sigmoidal network, as in our theory: all sets of classes but none and
        all (number of codes).
        """
        of_three_classes(result, None)
        several_codes(result.config, 6)
        return (code_shares(result, "planted") > FEW).sum(axis=1)

    @claims.reference(
        "our own earlier chain, cooled far into the frozen phase",
        claims.near(0.3, 0.1),
        loosely=claims.above(0.1),
        budget="full",
        reason="our schedule of cooling, on which it depends how far a frozen chain is off; see the experiment's "
        "description",
    )
    def out_of_equilibrium(self, result: Any) -> Any:
        """Sigmoidal chains cooled from the prior far below freezing miss the kernel of equilibrium (relative
        difference).
        """
        several_codes(result.config)
        return kernel_difference(result, phase="cooled")

    @claims.theory(claims.below(0.05))
    def own_shares(self, result: Any) -> Any:
        """Our theory at the cooled chains' own shares of codes has their kernel (relative difference)."""
        return frozen_difference(result)

    checks = sampling_checks(what="the kernel between classes in equilibrium", phase="equilibrium")

    def figure(self, result: Any) -> Any:
        from festina.experiments.coding._redundant_figure import draw

        return draw(result)
