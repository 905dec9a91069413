"""One run of a session, from an input to its result, in asynchronous and synchronous code."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from callgate.conversation.ledger import Ledger
from callgate.core.call_ledger import CallLedger, Entry
from callgate.session.nesting import NestingPart
from callgate.session.reply import AT_REST, EventStream
from callgate.session.work import PromptRun, Work
from callgate.words import events
from callgate.words.calls import CODES, ToolCall
from callgate.words.decisions import Question
from callgate.words.endings import RunReason
from callgate.words.errors import StateError, UsageError
from callgate.words.inputs import Input, Prompt
from callgate.words.messages import Message, Spent, Text, Usage
from callgate.words.model import RunOptions

if TYPE_CHECKING:
    from callgate.tools.output import OutputType

T = TypeVar("T")
_OF_CALLS = (events.CallDecided, events.CallStarted, events.CallSettled)
_STREAMED = (events.CallProgressed, events.TextStreamed, events.ThinkingStreamed)


class Runs:
    """The runs of one session.

    work     the work of the session
    nesting  has the open questions of the session and of its nested sessions
    post     sends an input; returns the reason if the input is refused
    """

    def __init__(self, work: Work, nesting: NestingPart, post: Callable[[Input, PromptRun], str | None]) -> None:
        self.work = work
        self.nesting = nesting
        self._post = post

    @property
    def ledger(self) -> Ledger:
        return self.work.record.ledger

    def post(self, sent: Input, run: PromptRun) -> PromptRun | None:
        """Send an input. Return the run that the input starts or continues, or None. ``run`` is used for a new run."""
        work = self.work
        busy = work.loop is not None and work.run is not None and work.run.state == "running"
        current = work.run if busy else None
        refusal = self._post(sent, run)
        if refusal is not None and (current is None or isinstance(sent, Prompt)):
            run.refuse(refusal)
            return run
        return run if work.has(run) else current

    def is_last(self, run: PromptRun) -> bool:
        """Return True if no later run has begun."""
        return self.work.run is run


@dataclass(frozen=True)
class RunResult(Generic[T]):
    """The result of a run. The costs, messages and calls are from the part of the run after the sent input.

    text       the text of the model since its last tool call; incomplete unless ``reason`` is ``done``
    output     the text as a value of the requested type; None without a valid answer
    reason     the reason of RunEnded, or ``question`` (the user must answer one of ``questions`` first), ``paused``
               (send Continue) or ``refused``
    error      the reason in words if there is no output
    questions  the open questions
    costs      tokens and dollars by model, including nested sessions
    messages   the new messages of the conversation
    calls      the settled calls with their results
    """

    text: str
    output: T | None
    reason: RunReason | Literal["question", "paused", "refused"]
    error: str = ""
    questions: tuple[Question, ...] = ()
    costs: tuple[Spent, ...] = ()
    messages: tuple[Message, ...] = ()
    calls: tuple[ToolCall, ...] = ()

    @property
    def ok(self) -> bool:
        return self.reason == "done" and not self.error

    @property
    def cost(self) -> float:
        """The costs in dollars; models without a known price are not included."""
        return sum(spent.cost or 0.0 for spent in self.costs)

    @property
    def usage(self) -> Usage:
        """The tokens of all models."""
        return sum((spent.usage for spent in self.costs), Usage())

    @property
    def refusals(self) -> tuple[ToolCall, ...]:
        """The calls that the user, a rule, a mode or a hook denied."""
        return tuple(call for call in self.calls if call.code is not None and CODES[call.code].denial)


async def run(runs: Runs, sent: Input | str, kind: Any) -> RunResult[Any]:
    """Send the input and wait for the end of its run. An answer that does not match ``kind`` is sent back to the
    model once, with its errors, before the next queued prompt."""
    sent = Prompt(sent) if isinstance(sent, str) else sent
    if kind is str:
        return (await _result(runs, sent, PromptRun()))[0]
    from callgate.tools.output import Misfit, OutputType  # with the first typed answer

    output = OutputType[Any](kind)
    if isinstance(sent, Prompt):
        sent = replace(sent, content=(*sent.parts, Text(f"\n\n{output.instruction}")))
    result, last = await _result(runs, sent, PromptRun(_check_of(output)))
    if not result.ok:
        return replace(result, output=None)
    found = _read(output, result.text, last)
    if isinstance(found, Misfit):
        error = f"the answer is not a valid {output.name}, even after one correction: {'; '.join(found.faults)}"
        return replace(result, output=None, error=error)
    return replace(result, output=found)


def _read(output: OutputType[Any], answer: str, last: str) -> Any:
    """Return the value of the answer or of its last message. If neither is valid, return the Misfit of the last
    message."""
    from callgate.tools.output import Misfit

    found = output.read(answer)
    return output.read(last) if isinstance(found, Misfit) and last != answer else found


def _check_of(output: OutputType[Any]) -> Callable[[str, str], Prompt | None]:
    from callgate.tools.output import Misfit

    def check(answer: str, last: str) -> Prompt | None:
        found = _read(output, answer, last)
        return Prompt(output.repair(found), RunOptions(quoted=True)) if isinstance(found, Misfit) else None

    return check


class _RunEvents(EventStream[events.SessionEvent]):
    """The events of a session until a run has ended, waits for an answer, or cannot continue."""

    def __init__(self, runs: Runs) -> None:
        own = runs.work.record.path
        super().__init__(
            runs.work,
            AT_REST,
            lambda found: found,
            lambda path, event: path == own and not isinstance(event, _STREAMED),
        )
        self._runs = runs
        self.run: PromptRun | None = None
        """The run; None to wait until the session rests."""

    def _over(self) -> bool:
        run, status = self.run, self._runs.work.status
        if run is not None and run.failure is not None:
            self._session.take_failure()
            raise run.failure
        waits = run is not None and run.state == "queued" and status == "waiting_confirmation"  # another run does
        if run is not None and run.state == "ended" and not self._runs.is_last(run):
            return self._record.deliver() and not self._feed.unread
        return not waits and super()._over()


async def _result(runs: Runs, sent: Input, own: PromptRun) -> tuple[RunResult[Any], str]:
    """Return the result of the run of an input, and the last complete message of its answer."""
    unsettled = {entry.id: copy(entry) for entry in runs.ledger.calls.values() if entry.result is None}
    stream = _RunEvents(runs)
    run = stream.run = runs.post(sent, own)
    found = [each async for each in stream]
    seen = [each.event for each in found]
    ended: events.RunEnded | None
    last_answer = runs.ledger.answer.last if run is None or run.state != "ended" else run.last
    if run is None:
        ended = next((event for event in reversed(seen) if isinstance(event, events.RunEnded)), None)
        text = "" if ended is None else runs.ledger.answer.text
    else:
        ended, text = run.ended, run.answer if run.state == "ended" else runs.ledger.answer.text
        last = next((each.number for each in found if each.event is ended), None)
        seen = [each.event for each in found if run.after < each.number and (last is None or each.number <= last)]
    result = RunResult[Any](
        text,
        None,
        "paused",
        costs=events.by_model(spent for event in seen if (spent := events.spent_in(event)) is not None),
        messages=tuple(
            event.message for event in seen if isinstance(event, events.MessageAdded) and event.about is None
        ),
        calls=_settled(unsettled, seen),
    )
    if ended is not None:
        if ended.reason == "done":
            return replace(result, reason="done", output=text), last_answer
        return replace(result, reason=ended.reason, error=ended.sentence), last_answer
    refused = next((each.event for each in found if isinstance(each.event, events.InputRefused)), None)
    if run is not None and run.state == "refused":
        return RunResult("", None, "refused", run.refusal), last_answer
    if runs.work.status == "waiting_confirmation" and (run is None or run.state == "running"):
        questions = runs.nesting.open
        error = f"{questions[0].tool} waits for an answer"
        return replace(result, reason="question", error=error, questions=questions), last_answer
    if refused is not None and (run is None or not result.messages):
        return RunResult("", None, "refused", refused.reason), last_answer
    return replace(result, error="the run is unfinished"), last_answer


def _settled(calls: dict[str, Entry], seen: list[events.Event]) -> tuple[ToolCall, ...]:
    """Return the calls that the events settle, in the order of their arrival. ``calls`` has the unsettled calls that
    arrived before the events."""
    ledger = CallLedger()
    ledger.calls = calls
    for event in seen:
        is_known = isinstance(event, _OF_CALLS) and event.call_id in calls
        if is_known or isinstance(event, events.CallArrived):
            ledger.fold(event)
    return tuple(entry.snapshot() for entry in calls.values() if entry.result is not None)


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
                raise StateError(f"{name}: the session is closed; open a new one") from None
            self._runner = self._runner or asyncio.Runner()
            return self._runner.run(work)
        work.close()
        raise UsageError(f"{name} cannot be used inside a running event loop: use await session.run(…) there")

    def close(self) -> None:
        self._closed = True
        if self._runner is not None:
            self._runner.close()
