"""Stories: those that ship can be told, and a file that is none gets a sentence that says where and why."""

from pathlib import Path

import pytest
from serving import real_server

from festina.lab.batch import Run
from festina.lab.registry import find
from festina.page import telling
from festina.page.theory import theory_of
from festina.views import views_of

STEP = '[[steps]]\ntitle = "a"\ntext = "b"\nexperiment = "model/chain"\n'
WHOLE = f'title = "t"\nsummary = "s"\n{STEP}'


@pytest.mark.parametrize("name", telling.COURSE)
def test_a_story_that_ships_can_be_told(name):
    story = telling.shipped()[name]
    assert 4 <= len(story.steps) <= 12
    for step in story.steps:
        experiment = find(step.experiment)
        assert experiment.configure(step.budget, **step.fields)
        assert len(views_of(experiment)) >= step.view


@pytest.mark.mostly_full
@pytest.mark.parametrize("name", telling.COURSE)
def test_theory_is_seen_in_the_view_of_every_step(name):
    """A step whose view has nothing to show would be a blank page in a lecture."""
    for step in telling.shipped()[name].steps:
        experiment = find(step.experiment)
        found = theory_of(experiment, Run(experiment.configure(step.budget, **step.fields), 0))
        if found is not None and any(found["scenes"]):
            assert found["scenes"][step.view - 1] is not None, step.title


def test_no_other_story_lies_beside_them():
    assert {path.stem for path in telling.SHIPPED.glob("*.toml")} == set(telling.COURSE)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "title: Field required"),
        ("title = ", "is no story: Invalid value"),
        (WHOLE.replace("model/chain", "model/chian"), "step 1: unknown model 'chian'"),
        (WHOLE + "fields = { depht = 2 }\n", "step 1: unknown field of model/chain 'depht'"),
        (WHOLE + "fields = { initial = -1.0 }\n", "step 1: Argument `initial` must"),
        (WHOLE + 'drag = "intial"\n', "step 1: unknown field of model/chain 'intial'"),
        (WHOLE + "view = 3\n", "step 1: `view` must be at most the 2 views of model/chain, but is 3"),
        (WHOLE + "view = 0\n", "steps 1 view: Input should be greater than or equal to 1"),
        (WHOLE + 'colour = "red"\n', "steps 1 colour: Extra inputs are not permitted"),
        ('title = "t"\nsummary = "s"\nsteps = []\n', "steps: Tuple should have at least 1 item"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, text, said):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(telling.StoryError) as caught:
        telling.read_story(path)
    assert str(caught.value).startswith("mine.toml")
    assert said.lower() in str(caught.value).lower()


def test_a_file_that_is_not_there_or_no_text(tmp_path):
    for path, content in ((tmp_path / "none.toml", None), (tmp_path / "bytes.toml", b"\xff\xfe")):
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(telling.StoryError, match="is no story"):
            telling.read_story(path)


def test_the_server_lists_and_tells_them():
    with real_server() as client:
        listed = client.get("/api/stories").json()
        assert [story["name"] for story in listed] == list(telling.COURSE)
        told = client.get("/api/stories/depth").json()
        assert told["steps"][3]["fields"] == {"depth": "1,2,4,inf"}
        assert client.get("/api/stories/nothing").status_code == 404


def test_the_story_of_the_documentation_can_be_told(tmp_path):
    page = (Path(__file__).resolve().parents[2] / "docs" / "howto" / "own_story.md").read_text(encoding="utf-8")
    path = tmp_path / "mine.toml"
    path.write_text(page.partition("```toml\n")[2].partition("```")[0], encoding="utf-8")
    assert len(telling.read_story(path).steps) == 2
