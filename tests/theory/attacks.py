"""Every exact solution with an attack on it: parameters drawn at random, and an independent integration.

The table on the page "Checked against" is made from these entries, and the tests beside this file carry them out: the
agreement that the page states is the one that is tested.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from theory import attacks_on_abstraction as abstraction
from theory import attacks_on_classes as classes
from theory import attacks_on_coding as coding
from theory import attacks_on_linear as linear
from theory import attacks_on_races as races
from theory import attacks_on_steps as steps


@dataclass(frozen=True)
class Attack:
    """A solution, what it is held against, over which parameters, and the largest error that is allowed."""

    solution: str
    against: str
    over: str
    allowed: float
    unit: str
    error: Callable[[np.random.Generator], float]

    def row(self) -> str:
        """One row of the page's table."""
        return f"| {self.solution} | {self.against} | {self.over} | {self.allowed:g} ({self.unit}) |"


FLOW = "the flow of the product's logarithm"
SCALES = "strengths of .01 to 10, input variances and timescales of .1 to 10"
DEEP = f"{SCALES}; starts of {{}} to 5 times the end, some at rest, with nothing to learn{{}}"
WRONG = ", or of the wrong sign"
BALANCED = (
    "sizes 4, 3, 5; λ = 0, or of .001 to 4 and any sign; singular values of .001 to 1; strengths of .2 to 2, some "
    "equal or zero; input variances of .3 to 3"
)

ATTACKS = (
    Attack(
        "`chain`, depth 1", "the flow of its weight",
        f"{SCALES}; normal starts of standard deviation .001 to 5, some at rest or at zero",
        2e-12, "of the larger of start and end", linear.single_weight,
    ),
    Attack("`chain`, depth 1.5", FLOW, DEEP.format(".001", ""), 3e-11, "relative", linear.deep_chain(1.5)),
    Attack("`chain`, depth 2", FLOW, DEEP.format(".001", WRONG), 3e-11, "relative", linear.deep_chain(2.0)),
    Attack("`chain`, depth 3", FLOW, DEEP.format(".001", WRONG), 3e-11, "relative", linear.deep_chain(3.0)),
    Attack("`chain`, depth 5", FLOW, DEEP.format(".001", WRONG), 3e-11, "relative", linear.deep_chain(5.0)),
    Attack(
        "`chain`, infinite depth", FLOW, DEEP.format(".01", WRONG), 3e-11, "relative", linear.deep_chain(float("inf"))
    ),
    Attack(
        "`time_to_reach`, depths 2 to 5", "the product at that time, by the same flow",
        f"{SCALES}; levels of .05 to .95, starts of .001 to .9 times the level", 1e-11, "of the level",
        linear.time_of_chain,
    ),
    Attack(
        "`imbalanced`", "the flow of both weights",
        f"{SCALES}; weights of .0001 to 5 and any sign, some equal or zero, and some with nothing to learn",
        1e-11, "of the larger of start and end", linear.two_weights,
    ),
    Attack(
        "`balanced`", "the flow of both matrices", BALANCED, 1e-11,
        "of the largest entry of the map and of each Gram matrix", linear.balanced_network,
    ),
    Attack(
        "`sequence`", "the flow of both matrices through three tasks", f"{BALANCED}; some tasks of no duration",
        5e-12, "of the largest entry of the map and of each Gram matrix", linear.tasks_in_turn,
    ),
    Attack(
        "`modes`, two decoupled layers", "the flow of both matrices",
        "sizes 3, 6, 4; singular values of the map of .1 to 3, some equal; input variances of .3 to 3; normal weights "
        "of standard deviation .01 to 1, most not parallel",
        5e-12, "of the largest strength", linear.decoupled_layers,
    ),
    Attack(
        "`views.competition`", "the flow of the strengths' logarithms",
        "three pathways, depths 2, 3 and ∞; random Gram matrices, some singular; starts of .001 to 1",
        3e-11, "relative", races.competition,
    ),
    Attack(
        "`views.lotka_volterra`", "the flow of the strengths' logarithms",
        "three species; rates of .1 to 3, some equal; starts of .0001 to 2; capacities of .1 to 10",
        2e-10, "relative", races.species,
    ),
    Attack(
        "`views.vector_race`", "the flow of all weights",
        "three pathways, random gates and targets; starts of .0001 to .5, some with a pathway absent",
        5e-11, "of the largest entry", races.vectors,
    ),
    Attack(
        "`views.co_occurring_end`", "the flow of the strengths' logarithms until it rests",
        "three views, depths 2 to 4; amplitudes of .3 to 2, starts of .001 to 1",
        5e-13, "relative", races.end_of_co_occurring_views,
    ),
    Attack(
        "`margin.race`", "the flow of all weights of six gated units",
        "starts of .00001 to 2, margins of .1 to 2, some without a margin or without the linear kind",
        5e-9, "relative", races.at_the_margin,
    ),
    Attack(
        "`speeds.race`", "the flow of all weights of two to eight paths",
        "depths of 2 to 4, weights of .05 to .9, up to four paths through an edge, outputs their own or the same",
        1e-8, "relative", races.two_pathways,
    ),
    Attack(
        "`speeds.time_to_reach`", "the flow of all weights of two to eight paths, up to the time",
        "depths of 2 to 4, starts of .01 to .2, up to four paths through an edge, imbalances of .1 to 10 at depth 2",
        1e-9, "relative, of the level", races.speed_of_a_pathway,
    ),
    Attack(
        "`margin.xor`", "the flow of all weights of four gated units", "starts of .00001 to 2",
        1e-13, "relative", races.exclusive_or,
    ),
    Attack(
        "`reduction` of exclusive-or", "the flow of all weights of four pathways of three hidden units",
        "decoupled layers of .01 to 1, some balanced", 1e-9, "absolute, of the loss", races.gated_network,
    ),
    Attack(
        "`routing.reduction`", "the flow of the weights of all domains",
        "1 to 7 domains, any number trained; strengths of .3 to 5 and any sign; starts of .05 to 1, some equal",
        5e-11, "of the largest weight", races.routing_course,
    ),
    Attack(
        "`routing.time_to_reach`", "the product at that time, by the same flow",
        "1 to 7 domains; strengths of .3 to 5, levels of .1 to .95, starts of .05 to 1, some equal",
        5e-13, "of the level", races.routing_time,
    ),
    Attack(
        "`routing.race_outcome`", "the flow of both pathways until it rests",
        "1 to 5 domains; strengths of .3 to 3, starts of .01 to .4 of the strength",
        5e-13, "of the strength", races.shared_against_private,
    ),
    Attack(
        "`rectified.always_on`", "the flow of both matrices in a world with contexts",
        "4 objects, 2 to 4 contexts of scale .3 to 3; strengths of .3 to 3, starts of .001 to .3",
        5e-12, "of the loss at the start", races.path_that_is_always_on,
    ),
    Attack(
        "`structures.paths_but_one`", "the flow of both matrices of every path that is off in one context",
        "4 objects, 2 to 4 contexts of the same 3 to 5 random features; starts of .001 to .3",
        5e-12, "of the loss at the start", races.paths_off_in_one_context,
    ),
    Attack(
        "`saddles.expected_course`", "80 literal steps, stimulus by stimulus and choice by choice",
        "both kinds of error; weights of .001 to 1, β of .3 to 20, any share of blanks, one to three contrasts, graded "
        "or not, some with a tutor at rest",
        1e-14, "of the largest weight", steps.tutor_and_executor,
    ),
    Attack(
        "`stationary.points`", "the gradient of every weight, and the index of a Hessian of differences",
        "one to three pathways and choices, up to two stimuli more; normal inputs and rewards, any shares of choices",
        1e-12, "of the gradient without weights; 1 if an index differs", steps.stationary_points,
    ),
    Attack(
        "`closed_form` of a reduction", "the flow of all weights of two pathways",
        "two to three inputs of size .3 to 3, some equal; strengths of .3 to 3, balanced starts of .01 to .5",
        5e-13, "of the loss at the start", races.pathways_alone,
    ),
    Attack(
        "`closure`", "Euler steps of all matrices, 150 of them",
        "one to three teachers, some students equal, zero or a teacher; timescales of .1 to 3, blocks of 1 to 59 "
        "steps, with bounds on the gates and some without",
        5e-14, "of the largest loss, gate, norm and component", steps.euler_steps,
    ),
    Attack(
        "`abstraction.protected`", "the flow of both paths and gates through a block",
        "τ_w of .1 to 10, τ_c of .01 to 10; normal starts of any sign",
        2e-13, "of the squares that are subtracted", abstraction.protection,
    ),
    Attack(
        "`abstraction.co_specialized`, `adapted_separation`", "the flow of both paths and gates through a switch",
        "τ_w of .1 to 10, τ_c of .001 to 1.9 of it; from complete specialisation",
        2e-14, "of a student", abstraction.co_specialisation,
    ),
    Attack(
        "`abstraction.tangent_kernel`, `adaptation_speeds`", "slopes by complex steps",
        "1 to 4 paths of 1 to 5 coordinates, weights and timescales of .001 to 1000, some gates all closed",
        1e-14, "relative", abstraction.kernel_and_speeds,
    ),
    Attack(
        "`abstraction.reduced_rates`, `reduced_scales`, `gate_drive`", "the slopes of all matrices of the full model",
        "1 to 5 outputs, 1 to 3 paths; norms and shares of .1 to 3, timescales of .01 to 10",
        2e-14, "of the largest rate", abstraction.rates_of_rows,
    ),
    Attack(
        "`abstraction.block_gain`", "matrix exponentials of two blocks, extrapolated to no length",
        "timescales of .1 to 10, normal errors, blocks of .001 to 1000", 5e-11, "relative", abstraction.two_blocks,
    ),
    Attack(
        "`abstraction.specialization_growth`", "Euler steps of both paths from another start, with tiny differences",
        "τ_w of .5 to 2, τ_c of .05 to .5, bounds of .3 to 2 where steps are stable, blocks of 5 to 119 steps of .02",
        2e-10, "of the multiplier, and of errors", abstraction.onset_of_specialization,
    ),
    Attack(
        "`coding.units`, under a field", "sums over the preactivation",
        "fields up to 1000 (linear), 10⁵ (sigmoidal) and 10⁴ (rectified) of any sign, variances of .01 to 30",
        5e-8, "of each variance, of means in units of their width", coding.cumulants,
    ),
    Attack(
        "`coding.units`, Gaussian", "sums over one preactivation, and over two in the plane",
        "variances of .01 to 10, normal means, any correlation, some of ±1",
        5e-11, "of the largest", coding.gaussian_averages,
    ),
    Attack(
        "`coding.analog`", "a root of the equations, example by example",
        "2 to 6 examples, some equal or on a line, 1 to 3 outputs, some equal; T of .01 to 100, s of .01 to 1, widths "
        "of P + 1 and more, some infinite",
        2e-11, "of the largest entry of each matrix", coding.linear_code,
    ),
    Attack(
        "`coding.analog_at_zero`", "roots of a polynomial, and conditioning",
        "1 to 5 examples and layers, 1 to 3 outputs; s of .05 to 2", 5e-13, "of the largest entry of each matrix",
        coding.cold_linear_code,
    ),
    Attack(
        "`coding.deep_analog`", "descent of the action, with a factor for each layer",
        "2 to 6 examples, 1 to 4 layers, 1 to 3 outputs; T of .01 to 10, s of .05 to 2, widths of 2 and more, some "
        "infinite",
        1e-12, "of the largest entry of each matrix", coding.deep_linear_code,
    ),
    Attack(
        "`coding.lazy`", "conditioning in the joint covariance of all inputs",
        "1 to 6 examples, 1 to 3 layers, all units; T of .01 to 1000", 1e-13, "of the largest answer and variance",
        coding.lazy_network,
    ),
    Attack(
        "`coding.redundant`", "the minimum of its dual on a fine grid of readouts",
        "1 or 2 classes of 1 to 7 examples, some with equal targets; T of .1 to 30, s of .02 to .3",
        3e-9, "of the largest residual and entry of the kernel", classes.redundant_code,
    ),
    Attack(
        "`coding.sparse`, without outliers", "the same, on a grid that reaches as far as the density",
        "1 or 2 classes of 1 to 6 examples; T of .1 to 30, s of .02 to .3",
        1e-9, "of the largest residual and entry of the kernel", classes.sparse_code_in_the_bulk,
    ),
    Attack(
        "`coding.sparse`, with outliers", "sizes that follow where h = 1, and the bulk where it answers alone",
        "two opposite classes of 10 to 39 examples in the cold; s of .02 to .1", 2e-13,
        "of the largest outlier and residual", classes.sparse_code_with_outliers,
    ),
    Attack(
        "`coding.expectation_propagation`", "Gaussians, and sums over single preactivations",
        "1 to 5 examples: linear units in any kernel, others in diagonal ones of .1 to 10; fields of .01 to 10",
        2e-8, "of the largest", coding.propagation,
    ),
)  # fmt: skip
