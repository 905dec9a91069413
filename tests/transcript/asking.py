"""What the tests of answers share: sessions with open questions, made without running anything."""

import subprocess
import sys
from collections.abc import Iterable, Sequence
from json import dumps, loads
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from callgate import Store
from callgate.transcript.answer_files import answers_folder
from callgate.transcript.masking import Masker
from callgate.transcript.question_fold import AskedQuestion, QuestionFold
from callgate.transcript.reader import all_entries
from callgate.words.calls import Result
from callgate.words.decisions import Ask, Choice, Confirmation, Pattern, Question, arguments_hash
from callgate.words.events import (
    CallArrived,
    CallDecided,
    CallSettled,
    Durable,
    MessageAdded,
    QuestionAnswered,
    QuestionAsked,
    SessionOpened,
    TurnStarted,
)
from callgate.words.messages import CallPart, Message, Text

AT = 1_700_000_000.0


def question(call_id: str = "c1", path: str = "a.py", at: float = AT, **more: Any) -> Question:
    arguments = {"path": path}
    hashed = arguments_hash("write", arguments)
    choices = (Choice("exactly these arguments", Pattern("exact", hashed)), Choice("any call of write"))
    given = {"choices": choices, **more}
    return Question(
        call_id=call_id,
        tool="write",
        arguments=arguments,
        arguments_hash=hashed,
        by="default",
        reason="write may change something",
        asked_at=at,
        **given,
    )


def arrived(asked: Question, index: int = 0, message_id: str = "a1") -> list[Durable]:
    """A call up to its question."""
    call_id, hashed = asked.call_id, asked.arguments_hash
    return [
        CallArrived(
            at=AT,
            call_id=call_id,
            name=asked.tool,
            arguments=asked.arguments,
            index=index,
            message_id=message_id,
            arguments_hash=hashed,
        ),
        CallDecided(AT, call_id, Ask(asked.by, asked.reason), hashed),
        QuestionAsked(asked.asked_at, asked),
    ]


def beginning() -> list[Durable]:
    prompt = Message("u1", "user", (Text("Write."),))
    return [SessionOpened(AT, "1", "/w"), MessageAdded(AT, prompt), TurnStarted(AT, 1, "a1")]


def message(questions: Iterable[Question], message_id: str = "a1") -> MessageAdded:
    parts = tuple(CallPart(each.call_id, each.tool, each.arguments) for each in questions)
    return MessageAdded(AT, Message(message_id, "assistant", parts), "tool_calls")


def waiting_on(*questions: Question) -> list[Durable]:
    """A session whose turn waits for these."""
    calls = [event for index, each in enumerate(questions) for event in arrived(each, index)]
    return [*beginning(), *calls, message(questions)]


def settled(call_id: str) -> CallSettled:
    return CallSettled(AT, call_id, Result((Text("done"),)))


def keep(folder: Path, events: Sequence[Durable] | None = None) -> tuple[Store, Path]:
    """A store with one session in it, and its log."""
    store = Store(folder, folder / "data", masker=Masker({}))
    session = store.write(waiting_on(question()) if events is None else events)
    return store, store.folder / f"{session}.jsonl"


def on_record(log: Path) -> list[Confirmation]:
    """Every answer that the log has, of dead branches too."""
    with open(log, "rb") as file:
        events = [entry.event for entry in all_entries(file.fileno())]
    return [event.confirmation for event in events if isinstance(event, QuestionAnswered)]


def files(log: Path) -> list[str]:
    folder = answers_folder(log)
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def asked_in(store: Store, log: Path) -> AskedQuestion:
    """The one open question."""
    (asked,) = QuestionFold(store.read(log.stem).events).open.values()
    return asked


class Program:
    """Another process that answers when it is told to: see ``answerer``."""

    def __init__(self) -> None:
        pipe = subprocess.PIPE
        command = [sys.executable, "-m", "tests.transcript.answerer"]
        here = Path(__file__).parents[2]
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=here)
        self.pid = self._process.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with self._process:  # closes the pipes and waits
            self._process.kill()

    def tell(self, **what: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(dumps(what) + "\n")
        self._process.stdin.flush()

    def hear(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "it ended"
        return loads(line)

    def ask(self, **what: Any) -> Any:
        self.tell(**what)
        return self.hear()

    def wait(self) -> None:
        """For its end."""
        self._process.wait()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
