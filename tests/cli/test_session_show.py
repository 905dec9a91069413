"""``callgate session show``: what was said and done, readable and harmless."""

import asyncio
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path

import pytest

from callgate import ChangeSet, FileChange, ModelSetup, Session, SessionLimits, tool
from callgate.cli.terminal import width
from callgate.formats.jsonable import from_json
from callgate.testing import ScriptedModel, call, say, turn
from callgate.testing.script import stop
from callgate.tools.staging import stage
from callgate.transcript.side_files import write_draft
from callgate.words.decisions import Question
from callgate.words.events import (
    CallArrived,
    CallSettled,
    CallStarted,
    Durable,
    Event,
    Forked,
    MessageAdded,
    QuestionAsked,
    SessionOpened,
    TurnEnded,
    TurnStarted,
)
from callgate.words.inputs import Prompt, SetMode
from callgate.words.limits import LoopLimits
from callgate.words.messages import CallPart, Message, Text, Usage
from tests.cli.session_kit import BAD, Desk

pytestmark = pytest.mark.spec("TRS-12")


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(tmp_path, monkeypatch, capsys)


def block(out: str, start: str) -> list[str]:
    """The line that begins like this and those below it that belong to it, by their indentation."""
    lines = out.splitlines()
    at = next(i for i, line in enumerate(lines) if line.strip().startswith(start))
    deep = len(lines[at]) - len(lines[at].lstrip())
    end = next((i for i in range(at + 1, len(lines)) if len(lines[i]) - len(lines[i].lstrip()) <= deep), len(lines))
    return [line.strip() for line in lines[at:end]]


def test_a_session_is_shown_from_its_title_to_its_last_message(desk: Desk) -> None:
    log = desk.session("Fix the tests")
    ran = desk.good("session", "show")
    assert ran.lines[0] == "Fix the tests"
    assert f"session {log.stem}" in ran.lines[1]
    assert str(desk.work) in ran.lines[1]
    assert "4 messages" in ran.lines[1]
    said = [line.split()[1] for line in ran.lines if line.startswith("━━")]
    assert said == ["user", "assistant", "assistant"]
    assert ran.lines[-1] == "All is fine."
    assert "!" not in ran.out


@pytest.mark.spec("TRN-6")
def test_what_a_session_has_cost_is_shown_by_model(desk: Desk) -> None:
    async def main() -> None:
        used = stop("end", Usage(input=1_000, cache_read=200, output=30))
        model = ScriptedModel(turn(say("Fine."), used), name="some/model")
        journal = await desk.store.create()
        async with Session(
            ModelSetup(model, price=lambda name, usage: 0.25), journal=journal, host=desk.work
        ) as session:
            await session.send(Prompt("How much?"))

    asyncio.run(main())
    lines = desk.good("session", "show").lines
    assert lines[2] == "some/model: 1,200 tokens read (200 from the cache), 30 written, $0.2500"


def test_each_call_is_one_block_with_its_decision_and_its_outcome(desk: Desk) -> None:
    desk.session()
    out = desk.good("session", "show").out
    read = block(out, "✓ read")
    assert read[1] == '{"path": "a.py"}'
    assert read[2].startswith("allowed by")
    assert read[3] == "ok"
    assert read[-2:] == ["row 19", "… 30 more lines"]
    write = block(out, "✗ write")
    assert write[1] == '{"path": "no.py"}'
    assert write[2].startswith("a question, because of")
    assert write[3:6] == ["person answered no: not this one", "denied by person: not this one", "denied"]
    assert block(out, "✗ gone")[2] == "unknown tool"


def test_nothing_that_is_shown_reaches_the_terminal_as_a_command(desk: Desk) -> None:
    desk.session("\x1b[2Jtitle", "prompt \x1b[31m\r\n\x9b31m\u202e")
    for words in ((), ("--tail", "1"), ("--json",)):
        assert not BAD.search(desk.good("session", "show", *words).out)
    assert "<U+001B>[31m<U+001B>]0;owned<U+0007> both." in desk.good("session", "show").out


def test_code_is_indented_and_what_looks_like_a_spelling_is_told_from_one(desk: Desk) -> None:
    desk.session("title", "if x:\n\ty <U+001B>\x1b\r\n")
    assert "\n    y <U+003C>U+001B><U+001B>\n" in desk.good("session", "show").out


@pytest.mark.parametrize("columns", [60, 100])
def test_results_do_not_run_over_the_edge(columns: int, desk: Desk) -> None:
    desk.session()
    desk.wide(columns)
    shown = desk.good("session", "show").lines
    assert max(width(line) for line in shown if line.startswith("        ")) <= columns


@pytest.mark.spec("RES-12")
def test_what_is_pending_is_said_at_the_top(desk: Desk) -> None:
    @tool(effects="none", stages=True)
    def plan() -> str:
        """Stage something."""
        for label in ("tidy up", "tidy more"):
            stage(label, ChangeSet(label, (FileChange(f"{label}.txt", None, b"1"),)), source_tool_name="plan")
        return "shown"

    discards = call("resolve", action="discard", reason="one is enough")

    async def main() -> None:
        model = ScriptedModel(turn(call("plan")), turn(discards))
        limits = LoopLimits(max_turns=2)
        journal = await desk.store.create()
        async with Session(
            model, [plan], host=desk.store.workspace, journal=journal, limits=SessionLimits(run=limits)
        ) as session:
            await session.send(Prompt("Go."))

    asyncio.run(main())
    told = [line for line in desk.good("session", "show").lines if line.startswith("! pending:")]
    assert told == ["! pending: tidy up (1 file, +1 −0), staged by plan; resume the session to apply or discard it"]


@pytest.mark.spec("TRS-10")
def test_an_open_question_is_said_at_the_top_and_at_its_call(desk: Desk) -> None:
    desk.unanswered()
    ran = desk.good("session", "show")
    assert ran.lines[2].startswith("! an open question: may write run?")
    assert block(ran.out, "? write")[-1] == "waits for an answer"


@pytest.mark.spec("TRS-10")
def test_an_unfinished_turn_is_said_at_the_top(desk: Desk) -> None:
    log = desk.unanswered()
    log.write_bytes(b"".join(log.read_bytes().splitlines(True)[:4]))
    assert desk.good("session", "show").lines[2] == ("! the last turn is unfinished; resume the session to continue it")


@pytest.mark.spec("TRS-5")
def test_damage_is_said_at_the_top_with_its_place(desk: Desk) -> None:
    log = desk.session()
    lines = log.read_bytes().splitlines(True)
    log.with_suffix(".index").unlink()
    log.write_bytes(b"".join((*lines[:3], b"x" * 20 + b"\n", *lines[3:])))
    at = len(b"".join(lines[:3]))
    (said,) = [line for line in desk.good("session", "show").lines if line.startswith("!")]
    assert f"20 damaged bytes skipped, at offset {at} (20 bytes: its end is invalid)" in said
    assert f"callgate session verify {log.stem}" in said
    ran = desk.run("session", "show", "--json")
    assert ran.code == 0
    assert "20 damaged bytes skipped" in ran.err
    assert all(json.loads(line) for line in ran.lines)


def test_only_the_end_is_shown_on_demand(desk: Desk) -> None:
    desk.session("", "First.", Prompt("Second."), Prompt("Third."))
    ran = desk.good("session", "show", "--tail", "2")
    assert [line.split()[1] for line in ran.lines if line.startswith("━━")] == ["user", "assistant"]
    assert "the last 2 messages:" in ran.lines
    assert "Third." in ran.lines
    assert "Second." not in ran.lines
    whole = desk.good("session", "show").lines
    assert desk.good("session", "show", "--tail", "99").lines[3:] == whole[2:]


def test_a_message_of_the_end_has_its_calls_with_it(desk: Desk) -> None:
    desk.session()
    out = desk.good("session", "show", "--tail", "2").out
    assert block(out, "✓ read")[3] == "ok"
    assert "denied" in block(out, "✗ write")
    last = desk.good("session", "show", "--tail", "1").lines
    assert [line.split()[1] for line in last if line.startswith("━━")] == ["assistant"], "no result without its call"


def test_programs_get_every_live_event_as_a_line_of_json(desk: Desk) -> None:
    log = desk.session()
    events = [from_json(Event, json.loads(line)) for line in desk.good("session", "show", "--json").lines]
    assert len(events) == len(log.read_bytes().splitlines())
    assert [event.message.role for event in events if isinstance(event, MessageAdded)] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    assert len([event for event in events if isinstance(event, CallSettled)]) == 3


@pytest.mark.spec("TRS-1")
def test_what_was_rewound_is_not_shown(desk: Desk) -> None:
    desk.rewound()
    out = desk.good("session", "show").out
    assert "Second." in out
    assert "First." not in out.split("\n", 3)[3]


def test_what_stands_between_messages_is_shown_as_well(desk: Desk) -> None:
    desk.session("", "First.", SetMode("accept_edits"), Prompt("Second."))
    shown = desk.good("session", "show").lines
    assert shown[shown.index("Mode: accept_edits") - 1].startswith("━━ event ")


def test_a_log_without_a_single_line_is_said_to_be_empty(desk: Desk) -> None:
    log = desk.session()
    log.with_suffix(".index").unlink()
    log.write_bytes(b"")
    for words in ((), ("--tail", "1"), ("--json",)):
        ran = desk.run("session", "show", *words)
        assert ran == (1, "", f"callgate: there is no line in {log}: it is empty\n")


@pytest.mark.spec("GATE-11")
def test_missing_lines_are_said_at_the_top(desk: Desk) -> None:
    log = desk.session()
    lines = log.read_bytes().splitlines(True)
    log.write_bytes(b"".join((*lines[:5], *lines[6:])))
    wanted = f"lines are missing; see `callgate session verify {log.stem}`"
    assert [line for line in desk.good("session", "show").lines if line.startswith("!")] == [f"! {wanted}"]
    assert desk.run("session", "show", "--json").err == f"callgate: {wanted}\n"


# ---- left in the middle -------------------------------------------------------------------------------------------

HELLO = (SessionOpened(1.0, "1", "/w"), MessageAdded(1.0, Message("u1", "user", (Text("Hello."),))))
ARRIVED = (
    TurnStarted(2.0, 1, "a1"),
    CallArrived(at=2.0, call_id="c1", name="write", arguments={}, index=0, message_id="a1", arguments_hash="h"),
)
ANSWER = MessageAdded(3.0, Message("a1", "assistant", (CallPart("c1", "write", {}),)))
ASKED = QuestionAsked(
    2.5,
    Question(call_id="c1", tool="write", arguments={}, arguments_hash="h", by="mode", reason="it writes", asked_at=2.5),
)


def left(desk: Desk, *events: Durable) -> Path:
    """A session as it is found when its program died after these events."""
    store = desk.store
    return store.folder / f"{store.write([*HELLO, *events])}.jsonl"


@pytest.mark.spec("TRS-10")
@pytest.mark.parametrize(
    ("events", "said"),
    [
        ((), "not started"),
        ((CallStarted(4.0, "c1"),), "had started; its outcome is unknown"),
        ((CallStarted(4.0, "c1"), CallStarted(5.0, "c1", 2)), "had started (attempt 2); its outcome is unknown"),
    ],
    ids=["never", "once", "again"],
)
def test_a_call_without_a_result_says_how_far_it_came(events: tuple[Durable, ...], said: str, desk: Desk) -> None:
    left(desk, *ARRIVED, ANSWER, *events)
    for tail in ((), ("--tail", "1")):
        assert block(desk.good("session", "show", *tail).out, "○ write")[-1] == said


@pytest.mark.spec("TRS-10")
def test_a_question_waits_only_when_its_message_is_on_record(desk: Desk) -> None:
    left(desk, *ARRIVED, ASKED)
    ran = desk.good("session", "show")
    assert "waits" not in ran.out
    assert ran.lines[2].startswith("! the last turn is unfinished")
    assert block(ran.out, "○ write")[-1] == "not started"
    left(desk, *ARRIVED, ASKED, ANSWER)
    assert "! an open question: may write run? it writes" in desk.good("session", "show").lines
    left(desk, *ARRIVED, ASKED, ANSWER, Forked(4.0, "another"))
    assert "waits" not in desk.good("session", "show").out


@pytest.mark.spec("TRS-10")
def test_text_that_streamed_before_a_kill_is_shown_as_not_finished(desk: Desk) -> None:
    log = left(desk, *ARRIVED)
    write_draft(log, desk.store.masker, "a1", ((0, "Let me \x1b[31m see.\nThen "), (1, "I write it. Cut o")))
    for tail in ((), ("--tail", "1")):
        ran = desk.good("session", "show", *tail)
        assert ran.lines[-4:] == [
            "━━ assistant a1",
            "not finished: Let me <U+001B>[31m see.",
            "Then",
            "I write it. Cut",
        ]
    ran = desk.run("session", "show", "--json")
    assert (ran.code, len(ran.lines)) == (0, 4)
    assert "callgate: the last message is not finished; " in ran.err


@pytest.mark.spec("TRS-10")
@pytest.mark.parametrize("after", [(ANSWER,), (TurnEnded(3.0, 1, "interrupted"),)], ids=["said", "ended"])
def test_a_draft_whose_message_is_on_record_or_whose_turn_is_over_is_not_shown(
    after: tuple[Durable, ...], desk: Desk
) -> None:
    write_draft(left(desk, *ARRIVED, *after), desk.store.masker, "a1", ((0, "Let me see. "),))
    assert "not finished" not in desk.good("session", "show").out
    write_draft(left(desk, *ARRIVED), desk.store.masker, "a0", ((0, "Of another one. "),))
    assert "not finished" not in desk.good("session", "show").out


def test_on_a_terminal_there_are_colours_and_its_own_width(desk: Desk) -> None:
    desk.session("A title that is rather long for the terminal there is")
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 70, 0, 0))
    environment = {**os.environ, "TERM": "xterm"}
    environment.pop("NO_COLOR", None)
    command = [sys.executable, "-m", "callgate", "session", "list"]
    ran = subprocess.Popen(command, stdout=follower, env=environment)
    os.close(follower)
    shown = b""
    with suppress(OSError):  # that is how the end of a terminal is read
        while piece := os.read(leader, 4096):
            shown += piece
    os.close(leader)
    assert ran.wait(60) == 0
    assert b"\x1b[2m" in shown
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown.decode()).splitlines()
    assert max(map(width, plain)) == 70
    assert plain[1].endswith("…")
