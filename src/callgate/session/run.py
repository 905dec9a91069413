"""One run of a session, from an input to its result, in asynchronous and synchronous code."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, Protocol, TypeVar

from callgate.words.decisions import Question
from callgate.words.endings import RunReason
from callgate.words.errors import StateError, UsageError
from callgate.words.events import Event, InputRefused, RunEnded, SessionStatus
from callgate.words.inputs import Input, Prompt
from callgate.words.messages import Message, Spent, Text
from callgate.words.model import RunOptions
from callgate.words.spending import by_model, spent_in

T = TypeVar("T")


class Runs(Protocol):
    """The members of a session that a run uses."""

    @property
    def status(self) -> SessionStatus: ...
    @property
    def questions(self) -> tuple[Question, ...]: ...
    @property
    def messages(self) -> tuple[Message, ...]: ...
    def send(self, sent: Input) -> Awaitable[list[Event]]: ...


@dataclass(frozen=True)
class RunResult(Generic[T]):
    """The result of a run.

    text       the last message of the model
    output     the last message as a value of the requested type; None without a valid answer
    reason     the reason of RunEnded, or ``question`` (the user must answer one of ``questions`` first), ``paused``
               (send Continue) or ``refused``
    error      the reason in words if there is no output
    questions  the open questions
    costs      tokens and dollars of the run by model, including nested sessions
    """

    text: str
    output: T | None
    reason: RunReason | Literal["question", "paused", "refused"]
    error: str = ""
    questions: tuple[Question, ...] = ()
    costs: tuple[Spent, ...] = ()

    @property
    def ok(self) -> bool:
        return self.reason == "done" and not self.error

    @property
    def cost(self) -> float:
        """The costs in dollars; models without a known price are left out."""
        return sum(spent.cost or 0.0 for spent in self.costs)


async def run(session: Runs, sent: Input | str, kind: Any) -> RunResult[Any]:
    """Send the input and wait for the end of the run. An answer that does not match ``kind`` is sent back to the
    model once, with its errors."""
    sent = Prompt(sent) if isinstance(sent, str) else sent
    if kind is str:
        return await _run_once(session, sent)
    from callgate.tools.output import Misfit, OutputType  # with the first typed answer

    output = OutputType[Any](kind)
    if isinstance(sent, Prompt):
        sent = replace(sent, content=(*sent.parts, Text(f"\n\n{output.instruction}")))
    result = await _run_once(session, sent)
    found = output.read(result.text) if result.ok else None
    if isinstance(found, Misfit):
        before = result.costs
        result = await _run_once(session, Prompt(output.repair(found), RunOptions(quoted=True)))
        result = replace(result, costs=by_model((*before, *result.costs)))
        found = output.read(result.text) if result.ok else None
    if isinstance(found, Misfit):
        error = f"the answer is no {output.name}, also after it was sent back: {'; '.join(found.faults)}"
        return replace(result, output=None, error=error)
    return replace(result, output=found) if result.ok else result


async def _run_once(session: Runs, sent: Input) -> RunResult[Any]:
    events = await session.send(sent)
    costs = by_model(spent for event in events if (spent := spent_in(event)) is not None)
    if session.status == "waiting_confirmation":
        questions = session.questions
        return RunResult("", None, "question", f"{questions[0].tool} waits for an answer", questions, costs=costs)
    ended = next((event for event in reversed(events) if isinstance(event, RunEnded)), None)
    if ended is None:
        refused = next((event for event in events if isinstance(event, InputRefused)), None)
        if refused is not None:
            return RunResult("", None, "refused", refused.reason)
        return RunResult("", None, "paused", "the run was left unfinished", costs=costs)
    if ended.reason != "done":
        return RunResult("", None, ended.reason, ended.sentence, costs=costs)
    text = last_answer(session.messages)
    return RunResult(text, text, "done", costs=costs)


def last_answer(messages: Sequence[Message]) -> str:
    """Return the text of the last message of the model; empty if there is none."""
    return next((message.text for message in reversed(messages) if message.role == "assistant"), "")


class SyncLoop:
    """The event loop of a session in synchronous code. It runs only during ``wait_for``."""

    def __init__(self) -> None:
        self._runner: asyncio.Runner | None = None
        self._closed = False

    def wait_for(self, work: Coroutine[Any, Any, T], name: str) -> T:
        """Run the coroutine and return its result. Raise UsageError inside a running event loop, and StateError if
        the loop is closed."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            if self._closed:
                work.close()
                raise StateError(f"{name}: the session is closed; open another one") from None
            self._runner = self._runner or asyncio.Runner()
            return self._runner.run(work)
        work.close()
        raise UsageError(f"{name} cannot be used inside a running event loop: use await session.run(…) there")

    def close(self) -> None:
        self._closed = True
        if self._runner is not None:
            self._runner.close()
