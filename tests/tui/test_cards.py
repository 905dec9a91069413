"""Cards of questions and their queue, without a terminal."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from callgate.config import load_config
from callgate.tui.fold import ConversationFold
from callgate.tui.panels.question_card import QuestionPanel
from callgate.tui.panels.question_queue import QuestionQueue
from callgate.tui.route import SETTLE, route
from callgate.tui.theme import Theme
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.decisions import (
    AskedField,
    AskedOption,
    Choice,
    FieldAnswer,
    Origin,
    Pattern,
    Question,
    arguments_hash,
)
from callgate.words.events import CallArrived, InputRefused, QuestionAsked
from tests.tui.panel_terminal import PanelTerminal, shown

CHOICES = (
    Choice("exactly this command", Pattern("exact", "h"), "Bash(exactly this command)"),
    Choice("commands that start with git", Pattern("prefix", "git", "command"), "Bash(git:*)"),
)


def asked(call: str = "c1", tool: str = "Bash", **more: Any) -> Question:
    arguments = more.pop("arguments", {"command": "git push"})
    given = {"by": "default", "reason": "no rule covers git push", "asked_at": 0.0, "choices": CHOICES, **more}
    return Question(call, tool, arguments, arguments_hash(tool, arguments), **given)


class Cards:
    """A queue with a clock that the test moves."""

    def __init__(self, *questions: Question, theme: Theme | None = None) -> None:
        self.terminal = PanelTerminal(theme)
        self.now = 0.0
        self.queue = QuestionQueue(self.terminal)
        self.open = {(each.path, each.call_id): each for each in questions}
        self.queue.follow(self.open)
        self.draw()
        self.now += SETTLE

    def draw(self) -> None:
        self.queue.guard.drawn(self.now)

    @property
    def receiver(self) -> str:
        """The part that receives a key now."""
        queue = self.queue
        self.terminal.receiver = route(queue.card, self.now, asks=False, writing=False)
        return self.terminal.receiver.part

    @property
    def card(self) -> QuestionPanel:
        assert self.receiver
        assert self.queue.card is not None
        return self.queue.card

    def settle(self, call: str) -> None:
        """The question of the call is not open any more."""
        self.open = {key: each for key, each in self.open.items() if key[1] != call}
        self.queue.follow(self.open)
        self.draw()

    def press(self, *actions: str) -> None:
        for action in actions:
            self.card.act(action)


@pytest.mark.spec("TUI-4")
def test_questions_are_counted_and_the_next_appears_when_one_is_answered() -> None:
    cards = Cards(asked("c1"), asked("c2", path=("scout",)), asked("c3", tool="Write"))
    assert "1 of 3" in shown(cards.card)
    cards.press("yes", "yes")
    assert [each.call_id for each in cards.terminal.answers] == ["c1"]  # a second key does not answer twice
    cards.settle("c1")
    assert "2 of 3" in shown(cards.card)
    assert "asked by the agent scout" in shown(cards.card)
    assert cards.receiver == "input"
    assert "y yes" not in shown(cards.card)
    cards.now += SETTLE
    assert cards.receiver == "card"
    assert "y yes" in shown(cards.card)
    cards.settle("c2")  # answered at another door
    assert cards.card.question.call_id == "c3"
    assert cards.receiver == "input"
    cards.settle("c3")
    assert cards.queue.card is None


@pytest.mark.spec("TUI-4")
def test_cards_that_wait_come_in_the_order_of_the_calls_and_none_replaces_the_one_that_is_shown() -> None:
    fold, cards = ConversationFold(), Cards()
    fold.apply_all([CallArrived(0.0, f"c{n}", "Edit", {}, n) for n in range(1, 5)])
    for question in (asked("c3"), asked("n1", path=("scout",)), asked("c4"), asked("c1"), asked("c2")):
        fold.apply(QuestionAsked(0.0, question))
        cards.open = fold.questions
        cards.queue.follow(cards.open)
        assert cards.card.question.call_id == "c3"
    seen: list[str] = []
    while cards.queue.card is not None:
        seen.append(cards.card.question.call_id)
        cards.settle(seen[-1])
    assert seen == ["c3", "c1", "c2", "c4", "n1"]


def test_a_card_shows_who_asks_why_how_long_and_what_exactly() -> None:
    question = asked(
        origin=Origin("project", ".callgate/settings.toml", 3),
        risk="it leaves this machine",
        deadline=time.time() + 5430,
        arguments={"command": "git push\x1b[2J", "note": "x" * 100},
    )
    text = shown(Cards(question, theme=Theme("mono", colours=False, unicode=False)).card)
    assert "? Allow Bash" in text
    assert "project, .callgate/settings.toml:3" in " ".join(text.split())
    assert "risk: it leaves this machine" in text
    assert "denied automatically in 1 h 30 min" in text
    assert "$ git push<U+001B>[2J" in text
    assert "y yes   a always   n no   e edit   d details" in text
    assert text.isascii()


def test_what_has_no_room_is_counted_and_d_shows_all_of_it() -> None:
    cards = Cards(asked(arguments={"command": "\n".join(f"echo {n}" for n in range(100))}))
    text = shown(cards.card, height=12)
    assert "more lines (d shows all)" in text
    cards.press("view")
    view = cards.terminal.panels[-1]
    shown(view, height=20)
    view.act("end")
    assert "echo 99" in shown(view, height=20)
    view.act("search")
    cards.terminal.give("echo 42")
    assert "echo 42" in shown(view, height=20).splitlines()[1]
    view.act("close")
    assert not cards.terminal.panels


def test_an_edit_shows_its_diff() -> None:
    change = ChangeSet("edit a.py", (FileChange("a.py", b"one\ntwo\n", b"one\n2\n"),))
    text = shown(Cards(asked(tool="Edit", preview=change, arguments={"file_path": "a.py"})).card)
    assert "edit a.py (+1 −1)" in text
    assert "  2 - two\n  2 + 2\n" in text


def test_a_diff_spells_what_is_invisible_and_goes_on_behind_its_line_number() -> None:
    after = b"x = '" + b"a" * 80 + "\u200d\ufe0f'\n".encode()
    change = ChangeSet("edit a.py", (FileChange("a.py", b"x = 1\n", after),))
    text = shown(Cards(asked(tool="Edit", preview=change, arguments={"file_path": "a.py"})).card)
    assert "\u200d" not in text
    assert "200d" in text.lower()
    assert "fe0f" in text.lower()
    assert "\n      aaaa" in text


@pytest.mark.spec("TUI-4")
def test_always_shows_the_rule_and_remembers_nothing_before_enter(tmp_path: Path) -> None:
    cards = Cards(asked())
    cards.terminal.config = load_config(tmp_path, environ={"CALLGATE_DATA_DIR": str(tmp_path / "data")}, home=tmp_path)
    cards.press("always")
    assert "Bash(git:*)  (commands that start with git)" in shown(cards.card)
    cards.press("down", "other")
    assert "[this project]" in shown(cards.card)
    cards.press("cancel")
    assert not cards.terminal.answers
    cards.press("always", "down", "other", "other", "choose")
    (answer,) = cards.terminal.answers
    assert answer.always is not None
    assert (answer.always.pattern, answer.always.scope) == (CHOICES[1].pattern, "user")


def test_a_question_that_is_asked_every_time_has_no_always() -> None:
    cards = Cards(asked(choices=()))
    assert "always" not in shown(cards.card)
    cards.press("always")
    assert "asked every time" in shown(cards.card)


def test_no_takes_a_reason_and_escape_stops_the_turn() -> None:
    cards = Cards(asked())
    cards.press("no")
    cards.terminal.give(None)
    assert not cards.terminal.answers
    cards.press("no")
    cards.terminal.give(" push later ")
    cards.queue.follow(cards.open, InputRefused(0.0, "Answer", "no question is open"))
    cards.press("cancel")
    first, second = cards.terminal.answers
    assert (first.outcome, first.note, first.stop) == ("no", "push later", False)
    assert (second.outcome, second.note, second.stop) == ("no", None, True)


def test_a_text_for_a_question_that_was_answered_meanwhile_is_kept_in_the_input_line() -> None:
    cards = Cards(asked())
    cards.press("no")
    cards.settle("c1")
    cards.terminal.give("because")
    assert cards.terminal.input == "because"
    assert not cards.terminal.answers


@pytest.mark.spec("TUI-4")
def test_changed_arguments_are_shown_before_yes_runs_them() -> None:
    cards = Cards(asked())
    cards.press("edit")
    assert cards.terminal.asked is not None
    assert cards.terminal.asked[:2] == ("command:", "git push")
    cards.terminal.give("git push --dry-run")
    assert "$ git push --dry-run" in shown(cards.card)
    assert "with your changes" in shown(cards.card)
    cards.press("always")
    assert not cards.terminal.answers
    cards.press("yes")
    assert cards.terminal.answers[0].arguments == {"command": "git push --dry-run"}
    cards.queue.follow(cards.open, InputRefused(0.0, "Answer", "the changed arguments are invalid: command"))
    assert "are invalid" in shown(cards.card)
    cards.press("cancel", "yes")
    assert cards.terminal.answers[-1].arguments is None


def test_several_arguments_are_changed_as_json_in_the_editor() -> None:
    async def main() -> None:
        cards = Cards(asked(tool="Edit", arguments={"old": "a\nb", "new": "c", "count": 1}))
        cards.terminal.edits = ["{", "[]", None, '{"old": "a", "new": "d", "count": 2}\n']
        for told in ("Invalid JSON", "one JSON object", "The editor failed"):
            cards.press("edit")
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert told in shown(cards.card)
            assert cards.card.edited is None
        cards.press("edit")
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert cards.card.edited == {"old": "a", "new": "d", "count": 2}

    asyncio.run(main())


@pytest.mark.spec("TUI-4")
def test_questions_with_options_are_cards_of_the_same_queue() -> None:
    field = AskedField("Colour", "Which colour?", (AskedOption("red"), AskedOption("blue")))
    cards = Cards(asked("c1", "AskUserQuestion", arguments={"questions": []}, asks=(field,)), asked("c2"))
    assert "1 of 2" in shown(cards.card)
    assert "Colour: Which colour?" in shown(cards.card)
    cards.card.typed("y")  # no key of the card
    cards.press("up", "up", "choose")
    assert cards.terminal.answers[0].answers == (FieldAnswer(("blue",)),)
    cards.settle("c1")
    assert "Allow Bash" in shown(cards.card)
    cards.press("yes")
    assert len(cards.terminal.answers) == 2


@pytest.mark.spec("TUI-4")
def test_a_question_of_an_mcp_server_says_that_the_server_asks_and_how_to_leave_it() -> None:
    text = "I book a room in the hotel at the harbour; please say how many nights?\nIt is quiet."
    server = {"by": "MCP server el1", "reason": text, "choices": (), "arguments": {"message": text}}
    field = AskedField("nights", "How many?", kind="integer")
    form = shown(Cards(asked("ask:1", tool="mcp__el1__question", asks=(field,), **server)).card, 40)
    assert "The MCP server el1 asks you" in form
    assert "agent" not in form
    assert "message" not in form
    assert "please say how many nights?" in " ".join(form.split())  # broken between words
    assert "Esc no answer" in form
    assert "stop" not in form
    nested = ("scout",)
    address = Cards(asked("ask:1", tool="mcp__el1__question", path=nested, **server))
    assert "The MCP server el1 asks you" in shown(address.card)
    assert "asked by the agent scout" in shown(address.card)
    assert "y yes   n no   Esc no" in shown(address.card)
    address.press("cancel")
    assert address.terminal.answers[0].path == nested


@pytest.mark.spec("TUI-4")
def test_a_call_of_an_agent_that_is_called_as_a_check_is_shown() -> None:
    card = shown(Cards(asked(by="default", path=("default",), arguments={"command": "rm -rf build"})).card)
    assert "rm -rf build" in card


def test_short_arguments_stand_before_a_long_one() -> None:
    long = {"body": "\n".join(map(str, range(40))), "path": "/etc/passwd", "count": 3}
    card = shown(Cards(asked(tool="Note", arguments=long)).card)
    assert "more lines (d shows all)" in card
    assert card.index("path: /etc/passwd") < card.index("count: 3") < card.index("body:")


def test_the_exact_arguments_of_an_action_of_this_session_are_remembered_in_the_session_only(tmp_path: Path) -> None:
    cards = Cards(asked(tool="Edit", through="resolve"))
    cards.terminal.config = load_config(tmp_path, environ={"CALLGATE_DATA_DIR": str(tmp_path / "data")}, home=tmp_path)
    cards.press("always")
    assert "[this session]" in shown(cards.card)
    assert "everywhere" not in shown(cards.card)
    cards.press("down")
    assert "everywhere" in shown(cards.card)
    cards.press("right", "up")
    assert "[this session]" in shown(cards.card)


def test_the_reason_on_a_card_does_not_repeat_the_rules_of_the_choices() -> None:
    cards = Cards(asked(reason="no rule covers git push; Bash(git push:*) would allow this"))
    assert "would allow this" not in shown(cards.card)
    assert "no rule covers git push" in shown(cards.card)
    cards = Cards(asked(reason="no rule covers git push; Bash(git push:*) would allow this", choices=()))
    assert "would allow this" in " ".join(shown(cards.card).split())
