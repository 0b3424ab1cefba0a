"""What an experiment can be asked: fields with units, bounds and one line of help, checked before anything runs."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic_core import CoreSchema, core_schema

from festina.errors import ArgumentError, UnknownName

BOUNDS = {"gt": "greater than", "ge": "greater than or equal to", "lt": "less than", "le": "less than or equal to"}
STRUCTURE_ONLY = "structure only"  # pydantic's context where continuous fields do not have their values yet


def structural(default: Any, *, help: str, unit: str = "", scale: str = "linear", **bounds: Any) -> Any:
    """A field that changes array shapes or the program itself: each value is compiled anew.

    Args:
        default: its value unless another is given.
        help: one line that says what it is.
        unit: in which it is measured.
        scale: `linear` or `log`, how it is best varied.
        **bounds: as pydantic has them: ``ge``, ``gt``, ``le``, ``lt``, ``multiple_of``, ``min_length``, …

    Example:
        >>> import festina as fs
        >>> class Config(fs.ExperimentConfig):
        ...     width: int = fs.experiment.structural(20, ge=1, le=1000, help="hidden units")
        >>> Config(width=50).width, Config.fields_of_kind("structural")
        (50, ('width',))
    """
    return _field(default, help, {"kind": "structural", "unit": unit, "scale": scale}, bounds)


def continuous(default: float, *, help: str, unit: str = "", scale: str = "linear", **bounds: Any) -> Any:
    """A real number the compiled program takes as data: sweeps over it are batched into one compiled call.

    Args:
        default: its value unless another is given.
        help: one line that says what it is.
        unit: in which it is measured.
        scale: `linear` or `log`, how it is best varied.
        **bounds: as pydantic has them: ``ge``, ``gt``, ``le``, ``lt``.

    Example:
        >>> import festina as fs
        >>> class Config(fs.ExperimentConfig):
        ...     rate: float = fs.experiment.continuous(1.0, ge=0, le=10, help="rate of forgetting")
        >>> Config().rate, Config.fields_of_kind("continuous")
        (1.0, ('rate',))
    """
    notes = {"kind": "continuous", "unit": unit, "scale": scale}
    return _field(default, help, notes, {"allow_inf_nan": False} | bounds)


@dataclass(frozen=True)
class OrInfinite:
    """The upper bound of a number that may also be infinite: ``Annotated[float, Field(ge=1), OrInfinite(le=10)]``."""

    le: float

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def _check(self, value: float) -> float:
        if self.le < value < math.inf:
            raise ValueError(f"be less than or equal to {self.le:g}, or inf")
        return value


def _once(values: tuple[Any, ...]) -> tuple[Any, ...]:
    if len(set(values)) < len(values):
        raise ValueError("hold every value once")
    return values


Distinct = AfterValidator(_once)
"""For tuples whose values become coordinates: ``Annotated[tuple[float, ...], Distinct]``."""


def _field(default: Any, help: str, notes: dict[str, Any], bounds: dict[str, Any]) -> Any:
    return Field(default, description=help, json_schema_extra=notes, **bounds)


class ExperimentConfig(BaseModel):
    """The base of every experiment's configuration: frozen, closed, and outspoken about bad values.

    A subclass declares fields with `continuous` and `structural`. A field that is a tuple may be given as one value, or
    as text with commas.

    Example:
        >>> import festina as fs
        >>> class Config(fs.ExperimentConfig):
        ...     rate: float = fs.experiment.continuous(1.0, ge=0, le=10, help="rate of forgetting")
        >>> Config.checked("my/decay", {"rate": 20.0})
        Traceback (most recent call last):
        festina.errors.ArgumentError: Argument `rate` must be less than or equal to 10, but is 20.0.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", validate_default=True, ser_json_inf_nan="strings", defer_build=True
    )

    @model_validator(mode="before")
    @classmethod
    def _accept_lists(cls, values: Any) -> Any:
        """Let a tuple be given as one value, or as text with commas; tuples of tuples have semicolons between them."""
        if not isinstance(values, Mapping):
            return values
        return {name: _as_tuple(cls, name, value) for name, value in values.items()}

    @classmethod
    def fields_of_kind(cls, kind: str) -> tuple[str, ...]:
        """Names of the ``structural`` or of the ``continuous`` fields."""
        return tuple(name for name, field in cls.model_fields.items() if notes(field)["kind"] == kind)

    @classmethod
    def checked(cls, experiment: str, values: Mapping[str, Any]) -> "ExperimentConfig":
        """A configuration, or the one sentence that says which field is wrong and what would be allowed."""
        for name in values:
            if name not in cls.model_fields:
                raise UnknownName(f"field of {experiment}", name, cls.model_fields)
        try:
            return cls(**values)
        except ValidationError as error:
            raise ArgumentError(_sentence(error)) from None


def knows_numbers(info: ValidationInfo) -> bool:
    """Whether a validator may look at continuous fields: a program is built from the structural ones alone."""
    return info.context != STRUCTURE_ONLY


def notes(field: Any) -> dict[str, Any]:
    """Kind, unit and scale of a field."""
    return field.json_schema_extra


def _as_tuple(cls: type[BaseModel], name: str, value: Any) -> Any:
    field = cls.model_fields.get(name)
    if field is None or get_origin(field.annotation) is not tuple:
        return value
    if not isinstance(value, str):
        return value if isinstance(value, list | tuple) else (value,)
    inner = get_args(field.annotation)[0]
    holds_tuples = get_origin(get_args(inner)[0] if get_origin(inner) is Annotated else inner) is tuple
    return tuple(map(_parts, _parts(value, ";"))) if holds_tuples else _parts(value)


def _parts(text: str, separator: str = ",") -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(separator) if part.strip())


def _sentence(error: ValidationError) -> str:
    first = error.errors()[0]
    name = str(first["loc"][0])
    must = first["msg"].removeprefix("Input should ").removeprefix("Value error, ")
    must = must.replace("Tuple should have", "have").removesuffix(" after validation, not 0")
    for sign, words in BOUNDS.items():  # as people write numbers, and not as 0.000000001
        if isinstance(bound := first.get("ctx", {}).get(sign), float):
            must = f"be {words} {bound:g}"
    return f"Argument `{name}` must {must}, but is {first['input']!r}."
