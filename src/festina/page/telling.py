"""Stories: a lecture as a file, one step after the other, each with settings, a view, and a question to the audience.

A story is a TOML file. It has a ``title``, a ``summary`` and ``[[steps]]``; a step has a ``title``, a ``text``, an
``experiment`` (or ``model/…``), and may have a ``budget``, ``seeds``, ``fields``, the number of the ``view`` that is
shown large (from 1), a ``question`` to the audience, and the field to ``drag``.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from festina.errors import FestinaError, UnknownName
from festina.lab.registry import find
from festina.model import Budget
from festina.page.sliders import as_control
from festina.views import views_of

SHIPPED = Path(__file__).with_name("stories")
COURSE = ("depth", "regimes", "race", "sharing", "tasks", "codes")
"""The stories that festina tells, in the order of a course."""


class StoryError(FestinaError):
    """A file that is no story, with the place and what is wrong there."""


class Step(BaseModel):
    """One step: what is said, what is shown, what is asked, what is moved."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    title: str = Field(min_length=1, max_length=120)
    text: str = Field(min_length=1, max_length=2000)
    experiment: str
    budget: Budget = "quick"
    seeds: int | None = Field(default=None, ge=1, le=20)
    fields: dict[str, Any] = Field(default_factory=dict)
    view: int = Field(default=1, ge=1, le=3)
    question: str = Field(default="", max_length=300)
    drag: str = ""


class Story(BaseModel):
    """A title, a sentence about it, and its steps."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    title: str = Field(min_length=1, max_length=120)
    summary: str = Field(min_length=1, max_length=300)
    steps: tuple[Step, ...] = Field(min_length=1, max_length=60)


def read_story(path: Path) -> Story:
    """A story from its file, or the sentence that says what is wrong with it, and where.

    Args:
        path: of the TOML file.
    """
    try:
        story = Story(**tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise StoryError(f"{path.name} is no story: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        place = " ".join(str(part + 1) if isinstance(part, int) else part for part in first["loc"])
        raise StoryError(f"{path.name} is no story: {place}: {first['msg']}") from None
    for number, step in enumerate(story.steps, 1):
        _check(path, number, step)
    return story


def _check(path: Path, number: int, step: Step) -> None:
    """Everything that a step names must be there."""
    try:
        experiment = find(step.experiment)
        experiment.configure(step.budget, **step.fields)
        if step.drag and step.drag not in experiment.Config.model_fields:
            raise UnknownName(f"field of {step.experiment}", step.drag, experiment.Config.model_fields)
        views = len(views_of(experiment))
        if step.view > max(1, views):
            raise StoryError(f"`view` must be at most the {views} views of {step.experiment}, but is {step.view}")
    except FestinaError as error:
        raise StoryError(f"{path.name}, step {number}: {error}") from None


@cache
def shipped() -> dict[str, Story]:
    """The stories that festina tells, by name, in the order of a course."""
    return {name: read_story(SHIPPED / f"{name}.toml") for name in COURSE}


def as_listed(stories: dict[str, Story]) -> list[dict[str, Any]]:
    """What the gallery says of stories."""
    return [
        {"name": name, "title": story.title, "summary": story.summary, "steps": len(story.steps)}
        for name, story in stories.items()
    ]


def as_told(name: str, story: Story) -> dict[str, Any]:
    """A whole story, with fields as controls have them."""
    steps = [
        step.model_dump() | {"fields": {field: as_control(value) for field, value in step.fields.items()}}
        for step in story.steps
    ]
    return {"name": name, "title": story.title, "summary": story.summary, "steps": steps}
