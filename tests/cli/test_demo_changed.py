"""The tenth act of the demo: a rewrite from its preview to its undoing, with a process that is really killed."""

import asyncio
import copy
from collections.abc import Callable
from contextlib import chdir
from io import StringIO
from pathlib import Path

import pytest

from callgate.cli.demo.changed import play
from callgate.cli.demo.changed.play import play_changed
from callgate.cli.demo.changed.story import Story, facts_of_changes
from callgate.cli.demo.script import FILES, Stage
from callgate.words.events import ActionResolved, CallSettled, Noted


def played(folder: Path) -> tuple[Story, str]:
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    out = StringIO()
    with chdir(folder):
        return asyncio.run(play_changed(Stage(50), "lines", out)), out.getvalue()


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Story, str]:
    return played(tmp_path_factory.mktemp("changed"))


def test_every_claim_of_the_act_holds(told: tuple[Story, str]) -> None:
    story, _ = told
    found = list(facts_of_changes(story))
    assert [fact for fact in found if not fact.holds] == []
    assert len(found) == 5


def test_a_person_sees_the_diff_what_stopped_it_and_what_became_of_it(told: tuple[Story, str]) -> None:
    _, shown = told
    for text in (
        "10. A rewrite is shown",
        "+def total_of(items):",
        "Nothing was changed, because files are not as the preview found them",
        "a colleague was here",
        "Killed between two renames: the process ended with -9",
        "it is finished now",
        "taken back: total → total_of",
    ):
        assert text in shown
    assert max(map(len, shown.splitlines())) <= 100


def without(kind: type, unless: Callable[[object], bool] = lambda event: False) -> Callable[[Story], None]:
    def spoil(story: Story) -> None:
        story.events = [event for event in story.events if not isinstance(event, kind) or unless(event)]

    return spoil


def other_files(moment: str) -> Callable[[Story], None]:
    def spoil(story: Story) -> None:
        story.files[moment] = {name: data + b"?" for name, data in story.files[moment].items()}

    return spoil


def ended_well(story: Story) -> None:
    story.code = 0


@pytest.mark.parametrize(
    ("spoil", "claim"),
    [
        pytest.param(other_files("before"), "A rewrite was shown before anything was written", id="written early"),
        pytest.param(other_files("killed"), "The process was killed between two renames", id="other bytes"),
        pytest.param(ended_well, "The process was killed between two renames", id="not killed"),
        pytest.param(other_files("recovered"), "Opened again, all of the change was there", id="not finished"),
        pytest.param(without(Noted), "Opened again, all of the change was there", id="not told"),
        pytest.param(other_files("reverted"), "It was taken back", id="not taken back"),
    ],
)
def test_what_did_not_happen_is_not_claimed(
    told: tuple[Story, str], spoil: Callable[[Story], None], claim: str
) -> None:
    story = copy.copy(told[0])
    story.files = dict(story.files)
    spoil(story)
    assert [fact.claim for fact in facts_of_changes(story) if not fact.holds] == [claim]


@pytest.mark.parametrize("kind", [CallSettled, ActionResolved], ids=lambda kind: kind.__name__)
def test_without_its_events_there_is_nothing_to_claim(told: tuple[Story, str], kind: type) -> None:
    story = copy.copy(told[0])
    without(kind)(story)
    assert "A file that changed behind its back stopped the apply" in [
        fact.claim for fact in facts_of_changes(story) if not fact.holds
    ]


def test_a_first_life_that_ends_too_early_is_reported_and_not_taken_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))  # a module that ends the process before it has begun
    (tmp_path / "sitecustomize.py").write_text("import os\nos._exit(3)\n", encoding="utf-8")
    story, shown = played(tmp_path)
    assert "It did not get where it was to be killed: the process ended with 3." in shown
    assert not any(fact.holds for fact in facts_of_changes(story))


def test_without_the_engine_the_act_is_left_out_and_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(play, "find_spec", lambda name: None)
    story, shown = played(tmp_path)
    assert list(facts_of_changes(story)) == []
    assert "pip install 'callgate[edit]'" in shown
