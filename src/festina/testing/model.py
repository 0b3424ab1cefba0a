"""Models: what can be checked of every one of them, by running small versions of it."""

from collections.abc import Iterator, Mapping
from typing import Any

from festina._lazy import np
from festina.config import notes
from festina.lab.registry import experiment_of
from festina.model import Model
from festina.testing.fields import field_findings
from festina.testing.findings import demand
from festina.testing.words import word_findings

SAME = {"float32": 1e-5, "float64": 1e-9}  # a batch and its runs alone, relative to the largest value, by precision
STEP = (
    1e-4  # of a finite difference, relative to the field, which counts as no less than LEAST unless it is logarithmic
)
LEAST = 0.1
SLOPES_AGREE = 1e-2  # of a derivative and a finite difference, relative to the largest slope


def check_model(model: type[Model], *, budget: str = "quick", differentiate: bool = True, **fields: Any) -> None:
    """Everything a model must be: fields with bounds and help, words, a run that ends, a figure, a theory under the
    same names, derivatives that are those of finite differences, runs that are the same alone and in a batch.

    Args:
        model: the class.
        budget: at which it is run, `quick` unless given.
        differentiate: whether its processes can be differentiated; a sampler's cannot.
        **fields: that make it smaller.

    Raises:
        Nonconforming: with one sentence for each finding.
    """
    demand(f"model/{model.name}", model_findings(model, budget, differentiate, fields))


def model_findings(model: type[Model], budget: str, differentiate: bool, fields: Mapping[str, Any]) -> Iterator[str]:
    if not model.summary().endswith("."):
        yield "its docstring must begin with one sentence on one line"
    if not model.variables:
        yield "it declares no variables"
    if not model.fields_of_kind("continuous"):
        yield "it has no continuous field: nothing can be turned"
    yield from field_findings(model, lambda **given: model.checked(model.name, given))
    yield from word_findings(model.equations, model.presets)
    quick = model.quick if budget == "quick" else {}
    small = model(**(quick | dict(fields)))
    yield from _run_findings(small)
    if differentiate:
        yield from _slope_findings(small)


def _run_findings(model: Model) -> Iterator[str]:
    """A run that ends, its theory, its figure, and the same runs alone."""
    from festina._lazy import plt

    result = model.run(seeds=2)
    if result.failures:
        yield f"runs failed: {result.failures[0]}"
    missing = [name for name in model.variables if name not in result.data and name not in (result.theory or ())]
    if missing:
        yield f"neither simulation nor theory has {missing}"
    if type(model).has_theory() and result.theory is None:
        yield "it has a theory that says nothing at its quick settings"
    alone = model.run(seeds=1, first_seed=1)
    for name in alone.data.data_vars:
        one, both = alone.data[name].isel(run=0).values, result.data[name].isel(run=1).values
        size = max(1e-300, float(np.nanmax(np.abs(both), initial=0.0)))
        same = SAME.get(str(one.dtype), 0.0)
        if one.shape != both.shape or not np.allclose(one, both, rtol=0, atol=same * size, equal_nan=True):
            yield f"`{name}` of a run alone is not that of the run in a batch"
    plt.close(experiment_of(type(model)).figure(result))


def _slope_findings(model: Model) -> Iterator[str]:
    """One derivative by every continuous field, against finite differences of the simulation.

    Where a variable has a kink, as at a field that is just as large as a bound on something, its derivative lies
    between the differences to either side.
    """
    fields = [name for name in model.fields_of_kind("continuous") if name != "until"]
    variable = next(name for name, kind in model.variables.items() if not kind.final)

    def simulated(**changed: float) -> Any:
        return model.model_copy(update=changed).run().data[variable].isel(run=0).values

    here = simulated() if fields else None  # the same beside every field
    for field in fields:
        value = float(getattr(model, field))
        logarithmic = notes(type(model).model_fields[field])["scale"] == "log"
        step = STEP * (value if logarithmic else max(abs(value), LEAST))
        slope = model.derivative(variable, field).values
        below, above = (simulated(**{field: value + shift}) for shift in (-step, step))
        sides = (here - below) / step, (above - here) / step
        size = float(np.max(np.abs(sides)))
        slack = SLOPES_AGREE * size + 1e-8
        if not (np.all(slope >= np.minimum(*sides) - slack) and np.all(slope <= np.maximum(*sides) + slack)):
            yield f"∂{variable}/∂{field} is not that of a finite difference (largest difference {size:.2g})"
