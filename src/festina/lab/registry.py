"""Which experiments there are: festina's own, and those other packages register."""

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from inspect import cleandoc, isclass
from pkgutil import iter_modules, walk_packages
from types import ModuleType

from festina import experiments, models
from festina.arms import Arms
from festina.errors import FestinaError, UnknownName
from festina.experiment import Experiment
from festina.figures.model import ModelExperiment
from festina.lab.own_files import is_file_name, kind_in_file
from festina.model import Model

GROUP = "festina.experiments"


@cache
def builtin_names() -> tuple[str, ...]:
    """The names of festina's own experiments, from the names of their files."""
    names = []
    for family in iter_modules(experiments.__path__):
        if family.ispkg:
            package = import_module(f"{experiments.__name__}.{family.name}")
            names += [f"{family.name}/{module.name}" for module in walk_packages(package.__path__)]
    return tuple(sorted(name for name in names if not name.split("/")[1].startswith("_")))


def find(name: str) -> Experiment:
    """The experiment of a name or of a file, or an error with the nearest names.

    Args:
        name: as `festina list` shows it, `model/` with the name of a model, or a file: `./mine.py` or `./mine.py:Name`.

    Returns:
        An `Experiment`, which `festina.run` takes; a model comes as an experiment of one arm.

    Example:
        >>> import festina as fs
        >>> experiment = fs.lab.find("linear/chain")
        >>> experiment.family(), experiment.configure("quick", until=50.0).until
        ('linear', 50.0)
    """
    if is_file_name(name):
        kind = kind_in_file(name)
        return experiment_of(kind) if issubclass(kind, Model) else kind()
    if name.startswith("model/"):
        return experiment_of(_model(name.removeprefix("model/")))
    if name in builtin_names():
        return _experiment_in(import_module(f"{experiments.__name__}.{name.replace('/', '.')}"))
    for entry in entry_points(group=GROUP):
        if entry.name == name:
            return _loaded(entry)
    raise UnknownName("experiment", name, runnable_names())


def is_known(experiment: Experiment) -> bool:
    """Whether the name of an experiment leads to it, here and so in any other process."""
    try:
        return type(find(experiment.name)) is type(experiment)
    except FestinaError:
        return False


@cache
def model_names() -> dict[str, str]:
    """The models there are: their names on the command line, and the names of their classes."""
    return {getattr(models, kind).name: kind for kind in dir(models)}


def all_models() -> list[Experiment]:
    """Every model, as what the lab runs."""
    return [find(f"model/{name}") for name in sorted(model_names())]


def _model(name: str) -> type[Model]:
    if name not in model_names():
        raise UnknownName("model", name, model_names())
    return getattr(models, model_names()[name])


@cache
def _kind_of(model: type[Model]) -> type[Experiment]:
    body = {
        "name": f"model/{model.name}",
        "sources": model.sources,
        "arms": Arms(model),
        "presets": model.presets,
        "quick": model.quick,
        "__doc__": cleandoc(model.__doc__ or "").partition("\n\nExample:")[0],  # which is for those who write code
        "__module__": model.__module__,
    }
    return type(f"{model.__name__}Experiment", (ModelExperiment,), body)


def experiment_of(model: type[Model]) -> Experiment:
    """A model by itself, as the lab runs it: one arm, and no claims but that simulation and theory agree."""
    return _kind_of(model)()


def names() -> tuple[str, ...]:
    """The names of all experiments, built in or registered."""
    return tuple(sorted({*builtin_names(), *(entry.name for entry in entry_points(group=GROUP))}))


def runnable_names() -> tuple[str, ...]:
    """The names of all that the lab runs: experiments and models."""
    return (*names(), *(f"model/{name}" for name in sorted(model_names())))


def all_experiments() -> list[Experiment]:
    """Every experiment, in the order of names: festina's own, and those other packages register.

    Example:
        >>> import festina as fs
        >>> "linear/chain" in [experiment.name for experiment in fs.lab.all_experiments()]
        True
    """
    return [find(name) for name in names()]


def _experiment_in(module: ModuleType) -> Experiment:
    found = [
        thing
        for thing in vars(module).values()
        if isclass(thing) and issubclass(thing, Experiment) and thing.__module__ == module.__name__
    ]
    if len(found) != 1:
        raise FestinaError(f"{module.__name__} must define one Experiment, but defines {len(found)}")
    return found[0]()


def _loaded(entry) -> Experiment:
    try:
        thing = entry.load()
    except Exception as error:  # another package's fault must not take festina down
        raise FestinaError(f"experiment {entry.name!r} of {entry.value} cannot be loaded: {error}") from error
    if not (isclass(thing) and issubclass(thing, Experiment)):
        raise FestinaError(f"experiment {entry.name!r} must be an Experiment class, but is {thing!r}")
    return thing()
