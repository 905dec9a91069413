"""The claims of the demo hold for sessions that went well, and fail where events or files say otherwise."""

import asyncio
from collections.abc import Callable
from contextlib import chdir
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest

from callgate import Event, QuestionAsked
from callgate.words.events import CallDecided, CallSettled, CallStarted, Noted, TurnEnded
from examples.demo import PLAYS, killed, rewrite, streaming
from examples.demo.record import PlayRecord, facts, title_of
from examples.demo.shop import FILES, Shop, make_files
from examples.demo.stage import Play, PlayStage
from examples.demo.view import PlayView


async def perform(play: Play, out: StringIO) -> PlayRecord:
    stage = PlayStage(Shop(20), PlayRecord(), PlayView(out, "plain"))
    stage.view.opened(play.prompt, play.titles)
    await play.perform(stage)
    return stage.record


@pytest.fixture(scope="module")
def shown() -> StringIO:
    return StringIO()


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory, shown: StringIO) -> dict[str, PlayRecord]:
    """All plays, one after the other in one folder as in the demo."""
    folder = tmp_path_factory.mktemp("demo") / "shop"
    folder.mkdir()
    with chdir(folder), pytest.MonkeyPatch.context() as patch:
        patch.delenv("COLUMNS", raising=False)
        patch.delenv("CALLGATE_MAX_CONCURRENCY", raising=False)
        make_files()
        return {play.prompt: asyncio.run(perform(play, shown)) for play in PLAYS}


def broken(play: Play, record: PlayRecord) -> list[str]:
    return [fact.claim for fact in facts(play.claims, record) if not fact.holds]


def test_all_claims_hold_for_the_plays_and_none_for_a_record_without_events(records: dict[str, PlayRecord]) -> None:
    assert [broken(play, records[play.prompt]) for play in PLAYS] == [[], [], []]
    assert sum(len(play.claims) for play in PLAYS) == 23
    assert [broken(play, PlayRecord()) for play in PLAYS] == [[claim for claim, _ in play.claims] for play in PLAYS]


def test_lines_show_the_text_the_calls_the_diffs_and_the_kills(records: dict[str, PlayRecord], shown: StringIO) -> None:
    lines = shown.getvalue().splitlines()
    assert max(map(len, lines)) <= 100
    wanted = (
        *(heading for play in PLAYS for heading in play.titles.values()),
        "  I start with the prices,",
        '    +currency = "EUR"',
        "    apply this? yes, by the script",
        "    exit 1: expected 7 USD, found 7 EUR",
        "    There is no tool named 'raed'. Did you mean read?",
        "    Not run: the message was cut off before its end. Send the call again.",
        "    Outcome unknown: the program ended while this call was running. Check before you repeat it.",
        "    +def total_of(items):",
        "    Nothing was changed, because files have changed since the preview: cart.py: has different",
        "    total → total_of and 1 more was interrupted when Callgate ended and is now finished",
        "    undone: total → total_of and 1 more (3 files, +6 −6)",
    )
    assert [line for line in wanted if line not in lines] == []
    assert sum("was killed: it ended with -9. Another one opens its session." in line for line in lines) == 2
    assert any(line.endswith("upload prices.py         started, attempt 2") for line in lines)


Spoil = Callable[[PlayRecord], PlayRecord]


def at(record: PlayRecord, kind: type[object], title: str, turn: int | None = None) -> int:
    """The position of the first event of that type about a call."""
    return next(record.first(kind, call) for call in record.calls(turn) if title_of(call) == title)


def moved(kind: type[object], title: str, turn: int, before: Callable[[PlayRecord], int]) -> Spoil:
    def spoil(record: PlayRecord) -> PlayRecord:
        events, target = list(record.events), before(record)
        events.insert(target, events.pop(at(record, kind, title, turn)))
        return replace(record, events=events)

    return spoil


def without(drop: Callable[[Event], bool]) -> Spoil:
    return lambda record: replace(record, events=[event for event in record.events if not drop(event)])


def added(kind: type[object], title: str) -> Spoil:
    """Such an event of the first process once more, in the second."""
    return lambda record: replace(record, events=[*record.events, record.events[at(record, kind, title)]])


def other_file(moment: str, name: str) -> Spoil:
    return lambda record: replace(
        record, files={**record.files, moment: {**record.files[moment], name: record.files[moment][name] + b"?\n"}}
    )


def of_turn_eight(event: Event) -> bool:
    return isinstance(event, TurnEnded) and event.turn == 8


def answer_of_the_unknown(event: Event) -> bool:
    return isinstance(event, CallSettled) and event.result.code == "unknown_tool"


AT_FIRST = {name: text.encode() for name, text in FILES.items()}
SPOILED: tuple[tuple[Play, str, Spoil], ...] = (
    (
        streaming.PLAY,
        "Three reads overlap",
        moved(CallSettled, "read prices.py", 1, lambda it: at(it, CallStarted, "read README.md", 1)),
    ),
    (streaming.PLAY, "Two edits of different", moved(CallStarted, "edit prices.py", 2, lambda it: it.message(2) - 1)),
    (streaming.PLAY, "Two edits of different", lambda it: replace(it, files={**it.files, "turn 2": AT_FIRST})),
    (
        streaming.PLAY,
        "An edit waits",
        moved(CallStarted, "edit cart.py", 3, lambda it: at(it, CallSettled, "read cart.py", 3)),
    ),
    (streaming.PLAY, "A person is asked", other_file("turn 4", "settings.toml")),
    (streaming.PLAY, "A failing command", lambda it: replace(it, exit_codes=[None, 1])),
    (streaming.PLAY, "A message that is cut off", other_file("turn 7", "checks.py")),
    (streaming.PLAY, "The session comes", without(of_turn_eight)),
    (streaming.PLAY, "Nothing runs without", without(lambda event: isinstance(event, CallDecided))),
    (streaming.PLAY, "One call, one result", added(CallSettled, "read build.py")),
    (killed.PLAY, "found as it was left", lambda it: replace(it, exit_codes=[0])),
    (killed.PLAY, "found as it was left", lambda it: replace(it, status="idle")),
    (killed.PLAY, "Nothing acknowledged", lambda it: replace(it, log=[*it.log[:5], *it.log[6:]])),
    (killed.PLAY, "Every line", lambda it: replace(it, damages=1)),
    (killed.PLAY, "had finished keeps", added(CallStarted, "read checks.py")),
    (killed.PLAY, "had finished keeps", lambda it: replace(it, sent=[(it.sent[0][0], "?"), *it.sent[1:]])),
    (killed.PLAY, "is not repeated", other_file("end", "deployed.txt")),
    (killed.PLAY, "is not repeated", added(CallStarted, "deploy shop")),
    (killed.PLAY, "with the same key", added(CallStarted, "upload prices.py")),
    (killed.PLAY, "is asked again", added(QuestionAsked, "edit settings.toml")),
    (killed.PLAY, "is asked again", other_file("end", "settings.toml")),
    (killed.PLAY, "one result for each", lambda it: replace(it, sent=[*it.sent, it.sent[2]])),
    (rewrite.PLAY, "is shown before", other_file("before", "prices.py")),
    (rewrite.PLAY, "killed between", other_file("killed", "prices.py")),
    (rewrite.PLAY, "killed between", lambda it: replace(it, exit_codes=[0])),
    (rewrite.PLAY, "Opened again", other_file("recovered", "cart.py")),
    (rewrite.PLAY, "Opened again", without(lambda event: isinstance(event, Noted))),
    (rewrite.PLAY, "is undone", other_file("reverted", "cart.py")),
)


def test_a_claim_fails_alone_where_its_events_or_files_say_otherwise(records: dict[str, PlayRecord]) -> None:
    wrong: list[str] = []
    for row, (play, claim, spoil) in enumerate(SPOILED):
        found = broken(play, spoil(records[play.prompt]))
        if len(found) != 1 or claim not in found[0]:
            wrong.append(f"row {row}, {claim}: {found}")
    assert wrong == []
    assert (
        "A tool that does not exist"
        in broken(streaming.PLAY, without(answer_of_the_unknown)(records[streaming.PLAY.prompt]))[0]
    )


@pytest.mark.parametrize("play", [killed.PLAY, rewrite.PLAY], ids=lambda play: play.prompt)
def test_a_first_process_that_ends_too_early_is_reported_and_its_session_is_not_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, play: Play
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))  # a module that ends the process before it has begun
    (tmp_path / "sitecustomize.py").write_text("import os\nos._exit(3)\n", encoding="utf-8")
    out = StringIO()
    with chdir(tmp_path):
        make_files()
        record = asyncio.run(perform(play, out))
    assert "did not get where it was to be killed: it ended with 3." in " ".join(out.getvalue().split())
    assert (record.exit_codes, record.events) == ([3], [])
    assert broken(play, record) == [claim for claim, _ in play.claims]


def test_without_the_edit_extra_the_rewrite_is_left_out_and_the_command_to_install_it_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rewrite, "find_spec", lambda name: None)
    out = StringIO()
    with chdir(tmp_path):
        record = asyncio.run(perform(rewrite.PLAY, out))
    assert "    pip install 'callgate[edit]'\n" in out.getvalue()
    assert list(facts(rewrite.PLAY.claims, record)) == []
    assert list(tmp_path.iterdir()) == []


def test_a_cancel_that_is_heard_of_at_an_event_does_not_come_again_while_the_session_closes() -> None:
    """A signal can come while an event is shown; raised twice, the cancel ended the wait for the session's end too."""
    closed: list[bool] = []

    async def shown() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        try:
            await PlayStage(Shop(20), PlayRecord(), PlayView(StringIO(), "plain")).hear(Noted(0.0, "here"))
        finally:
            await asyncio.sleep(0)
            closed.append(True)

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(shown())
    assert closed == [True]
