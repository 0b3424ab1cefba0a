"""Arms: which models an experiment compares, with which settings, along which dimensions.

    Arms(models.TwoLayer, imbalance=(-50, 0, 50), scale=(0.01, 0.1))           # a grid over fields of one model
    Arms(models.TwoLayer, architecture=named(funnel={"sizes": (8, 4, 4)}, square={"sizes": (5, 5, 5)}))
    Arms(network=named(shallow=use(models.Shallow), deep=use(models.Deep, depth=3)))          # several models
    Panels(speed=Arms(…), strength=Arms(use(models.Abstraction, gate_timescale=0.005), …))    # several grids
    Arms(models.Routing, domains=(2, 4), trained=(1, 4), only=lambda config, arm: arm["trained"] <= arm["domains"])

Each keyword is a dimension of all that is recorded. A tuple makes the dimension a field with several values; `named`
makes it a list of names, each with settings of its own, given as fields or as a function of the experiment's
configuration that gives fields. The value of a single field may be such a function, too:

    Arms(models.WideBayesian, phase=named(warm={"origin": "prior"}, cold={"temperature": lambda config: config.cold}))

What depends on several dimensions together is a function of the configuration and of an arm's labels:

    Arms(models.WideBayesian, layers=(1, 2), origin=("prior", "common"),
         also=lambda config, arm: {"method": "collapsed" if arm["layers"] == 1 else "hmc"})

A dimension may be over a field under a name of its own: `race_initial=over("initial", 1e-3, 1e-2)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Annotated, Any

from pydantic import Field, create_model
from pydantic.fields import FieldInfo

from festina.config import Distinct, ExperimentConfig, notes
from festina.errors import ArgumentError
from festina.model import Model

Fields = Mapping[str, Any]
Given = Fields | Callable[[Any], Fields]
Rule = Callable[[Any, Fields], bool]
Further = Callable[[Any, Fields], Fields]


@dataclass(frozen=True)
class Setting:
    """What an entry of a named dimension sets: fields, or functions of the configuration that give them."""

    fields: Given
    model: type[Model] | None = None

    def at(self, config: Any) -> dict[str, Any]:
        given = self.fields(config) if callable(self.fields) else self.fields
        return {name: value(config) if callable(value) else value for name, value in given.items()}


def use(model: type[Model], **fields: Any) -> Setting:
    """An arm with a model of its own.

    Args:
        model: the class.
        **fields: that differ from its defaults.

    Example:
        >>> import festina as fs
        >>> from festina.experiment import Arms, named, use
        >>> arms = Arms(network=named(linear=use(fs.models.GatedMargin), rectified=use(fs.models.Margin, width=50)))
        >>> [model.name for model in arms.models]
        ['gated-margin', 'margin']
    """
    return Setting(fields, model)


def named(**settings: Given | Setting) -> dict[str, Setting]:
    """A dimension of named settings; an underscore in a name stands for a hyphen.

    Args:
        **settings: by name: fields, a function of the configuration that gives fields, or `use` of a model.

    Example:
        >>> import festina as fs
        >>> list(fs.experiment.named(small_start={"initial": 1e-3}, large_start={"initial": 0.1}))
        ['small-start', 'large-start']
    """
    return {
        name.replace("_", "-"): given if isinstance(given, Setting) else Setting(given)
        for name, given in settings.items()
    }


@dataclass(frozen=True)
class Over:
    """Values of a field along a dimension that has a name of its own."""

    field: str
    values: tuple[Any, ...]


def over(field: str, *values: Any) -> Over:
    """A dimension over a field, which elsewhere in the experiment has other values.

    Args:
        field: of the model.
        *values: of the field along the dimension.

    Example:
        >>> import festina as fs
        >>> arms = fs.experiment.Arms(fs.models.Chain, start=fs.experiment.over("initial", 1e-3, 1e-2))
        >>> arms.dims, arms.along
        (('start',), {'start': 'initial'})
    """
    return Over(field, values)


@dataclass(frozen=True)
class Arm:
    """One model with its settings; ``labels`` says where it stands along the dimensions.

    Example:
        >>> import festina as fs
        >>> experiment = fs.lab.find("linear/chain")
        >>> arm = experiment.arms_at(experiment.configure(depth=(1, 2)))[1]
        >>> arm.model.name, arm.labels
        ('chain', {'depth': 2.0})
    """

    model: Model
    labels: dict[str, Any]


class Arms:
    """A grid of arms over any number of dimensions; ``model`` may be `use(...)`, with fields that all arms set.

    Args:
        model: the class, or `use` of it; None if all arms bring their own.
        only: arms for which ``only(config, labels)`` does not hold are left out.
        also: fields that an arm sets besides, ``also(config, labels)``; they come last.
        **dims: a dimension each: values of the field of that name, `over` a field, or `named` settings.

    Example:
        >>> import festina as fs
        >>> arms = fs.experiment.Arms(fs.models.Chain, depth=(1.0, 2.0), initial=(1e-3, 1e-2, 1e-1))
        >>> {name: len(values) for name, values in arms.grid.items()}
        {'depth': 2, 'initial': 3}
    """

    def __init__(
        self,
        model: type[Model] | Setting | None = None,
        /,
        *,
        only: Rule | None = None,
        also: Further | None = None,
        **dims: Sequence[Any] | Over | dict[str, Setting],
    ) -> None:
        self.common = model if isinstance(model, Setting) else Setting({}, model)
        self.only, self.also = only, also
        self.named = {name: entries for name, entries in dims.items() if isinstance(entries, dict)}
        grid = {name: values for name, values in dims.items() if not isinstance(values, dict)}
        self.grid = {name: tuple(dim.values if isinstance(dim, Over) else dim) for name, dim in grid.items()}
        self.along = {name: dim.field if isinstance(dim, Over) else name for name, dim in grid.items()}
        self.dims = tuple(dims)
        unknown = [
            field for field in self.along.values() if all(field not in model.model_fields for model in self.models)
        ]
        if not self.models or unknown:
            raise TypeError(f"arms need a model with the fields {unknown}" if unknown else "arms need a model")

    @property
    def models(self) -> tuple[type[Model], ...]:
        """Every model, once, in the order of its first arm."""
        own = [setting.model for entries in self.named.values() for setting in entries.values()]
        return tuple(dict.fromkeys(model for model in (*own, self.common.model) if model is not None))

    def always_set(self) -> set[str]:
        """Fields that every arm sets without a look at the configuration, if its model has them: not free."""
        renamed = {field for name, field in self.along.items() if name != field}
        return (_names(self.common) | renamed).union(*map(self._set_by_all, self.named.values()))

    def _set_by_all(self, entries: dict[str, Setting]) -> set[str]:
        """Fields that each entry of a named dimension sets, unless its model does not have them."""

        def settles(setting: Setting, field: str) -> bool:
            model = setting.model or self.common.model
            return field in _names(setting) or (model is not None and field not in model.model_fields)

        known = set().union(*map(_names, entries.values()))
        return {field for field in known if all(settles(setting, field) for setting in entries.values())}

    def values(self, config: Any) -> dict[str, tuple[Any, ...]]:
        """The entries along each dimension."""
        return {dim: tuple(self.named[dim]) if dim in self.named else getattr(config, dim) for dim in self.dims}

    def shape(self, config: Any) -> dict[str, int]:
        return {dim: len(values) for dim, values in self.values(config).items()}

    def coordinates(self, config: Any) -> dict[str, tuple[str, Any]]:
        """Labels along each dimension, by the name of the coordinate."""
        return {dim: (dim, list(values)) for dim, values in self.values(config).items()}

    def places(self, config: Any) -> dict[int, dict[str, Any]]:
        """The labels of every arm by its number in the whole grid, the last dimension running fastest."""
        axes = self.values(config)
        whole = [dict(zip(axes, entries, strict=True)) for entries in product(*axes.values())]
        return {place: labels for place, labels in enumerate(whole) if self.only is None or self.only(config, labels)}

    def at(self, config: Any, experiment: str) -> list[Arm]:
        """All arms of a configuration, the last dimension running fastest."""
        arms = [self._arm(config, labels, experiment) for labels in self.places(config).values()]
        if not arms:
            given = ", ".join(f"`{name}`" for name in self.grid)
            raise ArgumentError(f"Arguments {given} must go together in one arm at least, but do in none.")
        return arms

    def _arm(self, config: Any, labels: dict[str, Any], experiment: str) -> Arm:
        model, own = self.common.model, self.common.at(config)
        for dim, label in labels.items():
            if dim in self.named:
                setting = self.named[dim][label]
                model, own = setting.model or model, own | setting.at(config)
            else:
                own[self.along[dim]] = label
        assert model is not None
        own |= self.also(config, labels) if self.also else {}
        fields = {name: getattr(config, name) for name in _free(config) if name in model.model_fields}
        fields |= {name: value for name, value in own.items() if name in model.model_fields}
        return Arm(model.checked(experiment, fields), labels)  # pyright: ignore[reportArgumentType]


class Panels:
    """Several grids of arms, flat along the dimension `arm`, with the coordinate `panel` and one for every label.

    Args:
        **panels: a grid each, by name; an underscore in a name stands for a hyphen.

    Example:
        >>> import festina as fs
        >>> from festina.experiment import Arms, Panels
        >>> deep = Arms(fs.models.Chain, depth=(1.0, 2.0, 4.0))
        >>> panels = Panels(depth=deep, first_start=Arms(fs.models.Chain, initial=(1e-3, 1e-2)))
        >>> list(panels.panels), panels.dims
        (['depth', 'first-start'], ('arm',))
    """

    dims = ("arm",)

    def __init__(self, **panels: Arms) -> None:
        self.panels = {name.replace("_", "-"): arms for name, arms in panels.items()}

    @property
    def models(self) -> tuple[type[Model], ...]:
        return tuple(dict.fromkeys(model for arms in self.panels.values() for model in arms.models))

    @property
    def grid(self) -> dict[str, tuple[Any, ...]]:
        return {name: values for arms in self.panels.values() for name, values in arms.grid.items()}

    @property
    def along(self) -> dict[str, str]:
        return {name: field for arms in self.panels.values() for name, field in arms.along.items()}

    def always_set(self) -> set[str]:
        """Fields that are free in no panel: those that have them set them."""
        free = {
            field
            for arms in self.panels.values()
            for model in arms.models
            for field in model.model_fields
            if field not in arms.always_set()
        }
        return set.union(*(arms.always_set() for arms in self.panels.values())) - free

    def shape(self, config: Any) -> dict[str, int]:
        return {"arm": len(self.places(config))}

    def places(self, config: Any) -> dict[int, dict[str, Any]]:
        """The labels of every arm by its number."""
        each = [{"panel": name} | own for name, arms in self.panels.items() for own in arms.places(config).values()]
        return dict(enumerate(each))

    def at(self, config: Any, experiment: str) -> list[Arm]:
        return [
            Arm(arm.model, {"panel": name} | arm.labels)
            for name, arms in self.panels.items()
            for arm in arms.at(config, experiment)
        ]

    def coordinates(self, config: Any) -> dict[str, tuple[str, Any]]:
        """The panel of every arm; what else tells the arms of a panel apart, `of_panel` gives as dimensions."""
        return {"panel": ("arm", [labels["panel"] for labels in self.places(config).values()])}


def configuration(
    name: str, arms: Arms | Panels, base: Fields, own: type[ExperimentConfig] = ExperimentConfig
) -> type[ExperimentConfig]:
    """The fields of an experiment: those of its models, with its own defaults; a field that is a dimension has several
    values. Fields of its ``own`` are no model's, but what functions of the configuration make settings from.
    """
    fixed, fields = arms.always_set(), {}
    for model in arms.models:
        for field, info in model.model_fields.items():
            dims = [name for name, along in arms.along.items() if along == field and name not in fields]
            fields |= {name: several(info, arms.grid[name]) for name in dims}
            if field not in fields and field not in fixed:
                fields[field] = single(info, base.get(field, info.default))
    unknown = [field for field in base if field not in fields]
    if unknown:
        raise TypeError(f"{name} sets {unknown}, which none of its models has as a free field")
    return create_model("Config", __base__=own, __doc__=f"The fields of {name}.", **fields)


def single(info: FieldInfo, default: Any) -> tuple[Any, Any]:
    """A field of a model, with another default."""
    return _constrained(info), Field(default, description=info.description, json_schema_extra=notes(info))


def several(info: FieldInfo, default: tuple[Any, ...]) -> tuple[Any, Any]:
    """A field of a model that takes several different values."""
    extra = notes(info) | {"kind": "structural", "several": notes(info)["kind"]}
    annotation = Annotated[tuple[_constrained(info), ...], Distinct]
    return annotation, Field(default, min_length=1, description=info.description, json_schema_extra=extra)


def _constrained(info: FieldInfo) -> Any:
    """The type of a field with its bounds."""
    return Annotated[info.annotation, *info.metadata] if info.metadata else info.annotation


def _free(config: ExperimentConfig) -> list[str]:
    """Fields of a configuration that hold for all arms alike."""
    return [name for name, info in type(config).model_fields.items() if "several" not in notes(info)]


def _names(setting: Setting) -> set[str]:
    """Fields that a setting sets without a look at the configuration."""
    given = {} if callable(setting.fields) else setting.fields
    return {name for name, value in given.items() if not callable(value)}
