"""A sentence that is typed at a question never answers the question, and ends in the input line."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from callgate.config import load_config
from callgate.policy.trust import fingerprint
from callgate.testing import run_virtual
from callgate.tui.bindings import vim_state
from callgate.tui.card_keys import PAUSE
from callgate.tui.panels.pending_panel import PendingPanel
from callgate.tui.panels.question_card import QuestionPanel
from callgate.tui.panels.trust_panel import TrustPanel
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.decisions import AskedField, AskedOption
from callgate.words.pending import Staged
from tests.profiles import fewer
from tests.tui.test_cards import asked
from tests.tui.typing_terminal import LONG, Typist, typist
from tests.virtual import passes

OPTIONS = (AskedOption("red", "like fire"), AskedOption("blue", "like water"), AskedOption("green"))
ONE = AskedField("Colour", "Which colour?", OPTIONS)
SEVERAL = AskedField("Sizes", "Which sizes?", OPTIONS, several=True)
ONLY = AskedField("Size", "Which size?", OPTIONS, kind="option")
NIGHTS = AskedField("nights", "How many nights?", kind="integer")
NOTE = AskedField("note", "Anything else?", required=False)
CHANGE = ChangeSet("edit a.py", (FileChange("a.py", b"one\n", b"two\n"), FileChange("b.py", b"one\n", b"two\n")))
SERVER = {"by": "MCP server el1", "reason": "Open https://example.com?", "choices": (), "arguments": {}}


def _form(*fields: AskedField, **more: Any) -> Any:
    return asked("c1", more.pop("tool", "AskUserQuestion"), arguments={"questions": []}, asks=fields, **more)


QUESTIONS = {
    "permission": asked(),
    "permission without always": asked(choices=()),
    "edit of a file": asked(tool="Edit", preview=CHANGE, arguments={"file_path": "a.py", "old": "one", "new": "two"}),
    "plan": asked(tool="ExitPlanMode", arguments={"plan": "1. read\n2. write"}, choices=()),
    "resolve": asked(tool="resolve", preview=CHANGE, arguments={"action": "apply", "reason": "it is right"}),
    "question with options": _form(ONE),
    "question with marks": _form(SEVERAL),
    "several questions": _form(ONE, SEVERAL, NOTE),
    "options alone": _form(ONLY),
    "question of a server": asked("ask:1", tool="mcp__el1__question", **SERVER),
    "form of a server": _form(NIGHTS, NOTE, tool="mcp__el1__question", by="MCP server el1"),
}


async def _at_trust(person: Typist, folder: Path) -> Callable[[], bool]:
    (folder / ".callgate").mkdir(exist_ok=True)
    (folder / ".callgate/settings.toml").write_text('[[hooks.SessionStart]]\ncommand = "make"\n')
    config = load_config(folder, environ={"CALLGATE_DATA_DIR": str(folder / "data")}, home=folder)
    answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    panel = TrustPanel(person.app, config, fingerprint(folder), answer)
    person.app.open_panel(panel)
    return lambda: not answer.done() and person.app.panels == [panel]


async def _at_staged(person: Typist) -> Callable[[], bool]:
    panel = PendingPanel(person.app, Staged("s1", "rename", "AstEdit"), CHANGE)
    person.app.open_panel(panel)
    before = set(panel.marked)
    return lambda: person.app.panels == [panel] and panel.marked == before


async def _at_question(person: Typist, kind: str) -> Callable[[], bool]:
    await person.ask(QUESTIONS[kind])
    card = person.app.questions.card
    assert card is not None
    before = card.lines(80, 40)

    def untouched() -> bool:
        person.app.update_receiver()
        return person.app.questions.card is card and not card.sent and [*card.lines(80, 40)][:-1] == [*before][:-1]

    return untouched


KINDS = (*QUESTIONS, "changed command", "rules to remember", "trust", "staged changes")


@asynccontextmanager
async def _card(kind: str, folder: Path) -> AsyncGenerator[tuple[Typist, Callable[[], bool]]]:
    """A typist in front of an armed card, and a function that tells whether the card is as it was."""
    async with typist() as person:
        if kind == "trust":
            untouched = await _at_trust(person, folder)
        elif kind == "staged changes":
            untouched = await _at_staged(person)
        elif kind == "changed command":
            await person.ask(asked())
            await person.read("e", LONG)
            await person.read(" --dry-run", LONG)
            await person.read("\r", LONG)
            assert isinstance(person.app.questions.card, QuestionPanel)
            assert person.app.questions.card.edited is not None
            untouched = lambda: True  # noqa: E731
        elif kind == "rules to remember":
            await person.ask(asked())
            await person.read("a", LONG)
            untouched = lambda: True  # noqa: E731
        else:
            untouched = await _at_question(person, kind)
        await passes(LONG)
        assert person.app.receiver.part == "card", kind
        yield person, untouched


async def _ends_in_the_input_line(kind: str, folder: Path, text: str, pauses: list[float] | None) -> None:
    async with _card(kind, folder) as (person, untouched):
        if pauses is None:
            await person.read(text)
        else:
            await person.types(text, pauses)
        await passes(LONG)
        assert person.answers == [], (kind, text, pauses)
        assert person.text == text, (kind, text, pauses)
        assert untouched(), (kind, text, pauses)
        assert person.app.receiver.part == "input"
        if person.app.composer.list is not None:
            await person.read("\x1b", LONG)
        await person.read("\t", LONG)
        assert person.app.receiver.part == "card"  # the named key leads back


SENTENCES = (
    *("why not tests?", "use make clean instead", "yes but only the first file", "no", "not that one, please"),
    *("always ask me first", "edit the README too", "do it later", "delete nothing", "y n a e d", "2 files are enough"),
    *("1, 2 and 3", " leading blank", "??", "? what is this", "x marks the spot", "j k q", "YES", "Yes"),
    *("yyyyyyyyyyyy", "nnnn", "ääh, nein", "日本語 y", "!ls", "/help", "@README.md", "-1", "123 y", "  y"),
)
SPEEDS = (None, [0.0], [0.03], [PAUSE - 0.05], [0.2, 0.2, 0.2, 0.2, 3.0, 0.01])
"""The pauses between keys; None for all keys in one read."""


@pytest.mark.spec("TUI-4")
@pytest.mark.parametrize("kind", KINDS)
def test_no_sentence_answers_a_card_and_all_of_it_is_in_the_input_line(kind: str, tmp_path: Path) -> None:
    async def main() -> None:
        first = KINDS.index(kind)  # every sentence at two kinds of cards or more
        for number, text in enumerate(SENTENCES):
            if (number - first) % len(KINDS) in (0, 7):
                await _ends_in_the_input_line(kind, tmp_path, text, SPEEDS[(number + first) % len(SPEEDS)])

    run_virtual(main())


WORDS = (
    "why not yes no always all edit each do does delete you your new never and any the tests 1 22 3 x X i I a A ok !"
)
TEXTS = (
    st.lists(st.sampled_from(WORDS.split()), min_size=1, max_size=6)
    .map(" ".join)
    .filter(lambda text: any(map(str.isalpha, text[1:])))
)
PAUSES = st.one_of(st.none(), st.lists(st.sampled_from([0.0, 0.01, 0.1, 0.25, PAUSE - 0.01]), min_size=1, max_size=5))


@pytest.mark.spec("TUI-4")
@settings(fewer(25), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.sampled_from(KINDS), TEXTS, PAUSES)
def test_random_sentences_at_random_speeds(tmp_path: Path, kind: str, text: str, pauses: list[float] | None) -> None:
    run_virtual(_ends_in_the_input_line(kind, tmp_path, text, pauses))


KEYS: tuple[tuple[str, str, tuple[tuple[str, float], ...], str, int], ...] = (
    # what the row shows, the card, (keys of one read, pause after them) ..., the text of the input line, answers
    ("a lone letter answers", "permission", (("y", LONG),), "", 1),
    ("a letter has no effect before the pause is over", "permission", (("y", PAUSE - 0.01),), "", 0),
    ("Enter after the letter changes nothing", "permission", (("y", 0.1), ("\r", LONG)), "", 1),
    ("a letter, Enter and text are text", "permission", (("y", 0.1), ("\r", 0.1), ("es", LONG)), "y\nes", 0),
    ("a letter and Enter in one read are typed", "permission", (("y\r", LONG),), "", 0),
    ("Backspace takes the letter back", "permission", (("y", 0.1), ("\x7f", LONG)), "", 0),
    ("another letter follows", "permission", (("y", 0.1), ("n", LONG)), "yn", 0),
    ("text that follows later is text", "permission", (("y", LONG), ("es, do", LONG)), "es, do", 1),
    ("a paste", "permission", (("\x1b[200~y\x1b[201~", LONG),), "y", 0),
    ("a letter and a paste", "permission", (("y", 0.1), ("\x1b[200~n\x1b[201~", LONG)), "yn", 0),
    ("a paste without marks", "permission", (("y\x0ay\x0a", LONG),), "y\ny\n", 0),
    ("a paste that begins with a line feed", "question with options", (("\rhello", LONG),), "hello", 0),
    ("a paste with Tab", "permission", (("one\ty", LONG),), "oney", 0),
    ("a paste at options", "question with options", (("\x1b[200~2\x1b[201~", LONG),), "2", 0),
    ("a number moves the cursor, Enter answers", "question with options", (("2", 0.1), ("\r", 0.1)), "", 1),
    ("arrows and Enter in one read", "question with options", (("\x1b[B\r", 0.1),), "", 1),
    ("a number and Enter in one read", "question with options", (("2\r", LONG),), "", 0),
    ("marks and Enter", "question with marks", ((" ", 0.1), ("\x1b[B", 0.1), (" ", 0.1), ("\r", 0.1)), "", 1),
    ("own words below the options", "question with options", (("\x1b[A", 0.1), ("pink", 0.1), ("\r", 0.1)), "", 1),
    ("a paste in own words", "question with options", (("\x1b[A", 0.1), ("a\rb", 0.1)), "", 0),
    ("a form takes text after Enter", "form of a server", (("\r", 0.1), ("3", 0.1), *(("\r", 0.1),) * 3), "", 1),
    ("Escape denies", "permission", (("\x1b", LONG),), "", 1),
    ("rules are not taken by Enter after the letter", "permission", (("a", 0.1), ("\r", LONG)), "", 0),
    ("rules are taken by Enter", "permission", (("a", LONG), ("\r", 0.1)), "", 1),
    ("x discards what is staged", "staged changes", (("x", LONG),), "", 1),
    ("x and Enter apply nothing", "staged changes", (("x", 0.1), ("\r", 0.1)), "", 0),
    ("Enter applies what is staged", "staged changes", (("\r", 0.1),), "", 1),
)


@pytest.mark.spec("TUI-4")
def test_keys_of_cards_take_effect_when_no_text_follows(tmp_path: Path) -> None:
    async def main() -> None:
        for row, kind, reads, text, answers in KEYS:
            async with _card(kind, tmp_path) as (person, _):
                for keys, pause in reads:
                    await person.read(keys, pause)
                assert (person.text, len(person.answers)) == (text, answers), row

    run_virtual(main())


@pytest.mark.spec("TUI-4")
async def test_marks_act_at_once_and_are_taken_back_when_text_follows(tmp_path: Path) -> None:
    async with _card("question with marks", tmp_path) as (person, untouched):
        await person.read("2")
        assert not untouched()
        await person.read("1", 0.1)
        await person.read(" ", 0.1)
        await person.read("f", 0.1)
        assert person.text == "21 f"
        assert untouched()


@pytest.mark.spec("TUI-4")
async def test_keys_around_the_moment_in_which_a_card_appears_are_text() -> None:
    for pause in (0.0, 0.05, 0.3):
        async with typist() as person:
            await person.types("ma", [pause])
            person.app.fold.questions[(), "c1"] = asked()
            person.app.questions.follow(person.app.fold.questions)
            await person.types("ybe yes", [pause])
            await passes(LONG)
            assert (person.text, person.answers) == ("maybe yes", [])
    async with typist() as person:  # the first key after the card, at once and alone
        person.app.fold.questions[(), "c1"] = asked()
        person.app.questions.follow(person.app.fold.questions)
        await person.read("y", LONG)
        assert (person.text, person.answers) == ("y", [])


@pytest.mark.spec("TUI-4")
async def test_keys_that_were_typed_while_the_program_was_busy_are_text() -> None:
    loop: Any = asyncio.get_running_loop()
    async with typist() as person:
        await person.ask(asked())
        await person.read("y")
        loop._jump(loop.time() + 10 * PAUSE)  # the program was busy, and the terminal has kept the next key
        await person.read("es", LONG)
        assert (person.text, person.answers) == ("yes", [])
    async with typist() as person:
        person.app.fold.questions[(), "c1"] = asked()
        person.app.questions.follow(person.app.fold.questions)
        loop._jump(loop.time() + 10 * PAUSE)  # the card has not been drawn when the key is read
        await person.read("y", LONG)
        assert (person.text, person.answers) == ("y", [])


@pytest.mark.spec("TUI-4")
async def test_a_key_of_a_card_that_is_answered_elsewhere_does_not_answer_the_next_one() -> None:
    async with typist() as person:
        await person.ask(asked("c1"), asked("c2"))
        await person.read("y", 0.1)
        del person.app.fold.questions[(), "c1"]
        person.app.questions.follow(person.app.fold.questions)
        await person.read("e", 0.0)
        await passes(LONG)
        assert (person.text, person.answers) == ("ye", [])


@pytest.mark.spec("TUI-4")
async def test_a_key_that_is_held_down_answers_no_card() -> None:
    async with typist() as person:
        await person.ask(asked("c1"), asked("c2"))
        await person.types("y" * 50, [0.03])
        await passes(LONG)
        assert (person.text, person.answers) == ("y" * 50, [])


@pytest.mark.spec("TUI-4")
async def test_a_sentence_is_text_in_the_normal_mode_of_vim_too() -> None:
    for pauses in ([0.0], [0.1]):
        async with typist() as person:
            person.app.application.use_vim(True)
            await person.read("\x1b", LONG)
            assert vim_state(person.app) == "normal"
            await person.ask(asked())
            await person.types("why dd x", pauses)
            assert (person.text, person.answers) == ("why dd x", [])


@pytest.mark.spec("TUI-4")
async def test_a_draft_stays_in_front_of_what_is_typed_at_the_card() -> None:
    async with typist() as person:
        await person.read("first this", LONG)
        await person.ask(asked())
        await person.read("\t", LONG)
        assert person.app.receiver.part == "card"
        await person.types("; yes", [0.1])
        assert (person.text, person.answers) == ("first this; yes", [])
