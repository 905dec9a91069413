"""Collects the recorded facts about each call."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from json import dumps, loads
from pathlib import Path
from typing import Any

from callgate.transcript.question_fold import QuestionFold
from callgate.transcript.side_files import read_draft
from callgate.words import events as e
from callgate.words.calls import CODES, Result, Status
from callgate.words.decisions import Allow, Ask, Deny, Question
from callgate.words.messages import CallPart, Content, ResultPart
from callgate.words.noun import noun
from callgate.words.tool_search import EXECUTE


class Facts:
    """The facts about one call, collected from the events so far."""

    def __init__(self) -> None:
        self.arrived: e.CallArrived | None = None
        self.decided: list[str] = []
        self.changed_to: Mapping[str, Any] | None = None
        self.attempt = 0
        self.settled: Result | None = None
        self.sent: ResultPart | None = None


class CallStory:
    """One call from its arguments to its result. A call that was made by another tool is shown as a call of the target
    tool.

    decided     the decisions and answers as text
    changed_to  the arguments after a change by the user or a hook
    code        the result code, or a description for a call without a result
    """

    def __init__(self, call: CallPart | e.CallArrived, facts: Facts) -> None:
        target = facts.arrived if facts.arrived is not None and facts.arrived.asked_as is not None else None
        self.id = call.id if isinstance(call, CallPart) else call.call_id
        self.name = (target or call).name
        self.arguments = (target or call).arguments
        self.raw_arguments = call.raw_arguments if target is None else _unread(target)
        self.decided = tuple(facts.decided)
        self.changed_to = facts.changed_to
        self.status: Status | None = Status.EXECUTING if facts.attempt else None
        self.code: str = "not started"
        self.content: tuple[Content, ...] = ()
        if facts.settled is not None:
            self.status, self.code, self.content = facts.settled.status, facts.settled.code, facts.settled.content
        elif facts.sent is not None:
            code = "tool_error" if facts.sent.is_error else "ok"
            self.status, self.code, self.content = CODES[code].status, code, facts.sent.content
        elif facts.attempt:
            again = f" (attempt {facts.attempt})" if facts.attempt > 1 else ""
            self.code = f"had started{again}; its outcome is unknown"


def gathered(events: Iterable[e.Durable]) -> dict[tuple[str, str], Facts]:
    """Return the facts of each call by message id and call id.

    If several messages have the same call id, its events belong to the latest of these messages, so that an old
    result is never shown for a new call.
    """
    facts: dict[tuple[str, str], Facts] = {}
    latest: dict[str, Facts] = {}

    def of(message_id: str, call_id: str) -> Facts:
        latest[call_id] = found = facts.setdefault((message_id, call_id), Facts())
        return found

    for event in events:
        match event:
            case e.CallArrived():
                of(event.message_id, event.call_id).arrived = event
            case e.MessageAdded(message=message):
                for part in message.parts:
                    if isinstance(part, CallPart):
                        of(message.id, part.id)
                    elif isinstance(part, ResultPart) and (found := latest.get(part.call_id)) is not None:
                        found.sent = found.sent or part
            case e.CallDecided() | e.CallStarted() | e.CallSettled():
                _learn(latest.get(event.call_id), event)
            case e.QuestionAnswered():
                _learn(latest.get(event.confirmation.call_id), event)
            case _:
                pass
    return facts


def _unread(call: e.CallArrived) -> str | None:
    if call.arguments_hash is not None:
        return None
    if call.asked_as == EXECUTE:
        with suppress(ValueError, LookupError, TypeError, RecursionError):
            params = loads(call.raw_arguments or "")["params"]
            return params if isinstance(params, str) else dumps(params, ensure_ascii=False)
    return call.raw_arguments


def _learn(facts: Facts | None, event: e.CallDecided | e.CallStarted | e.CallSettled | e.QuestionAnswered) -> None:
    if facts is None:
        return
    if isinstance(event, e.CallStarted):
        facts.attempt = event.attempt
    elif isinstance(event, e.CallSettled):
        facts.settled = event.result
    elif isinstance(event, e.QuestionAnswered):
        answer = event.confirmation
        note = f": {answer.note}" if answer.note else ""
        facts.decided.append(f"{answer.by} answered {answer.outcome.replace('_', ', ')}{note}")
        facts.changed_to = facts.changed_to if answer.arguments is None else answer.arguments
    else:
        decision = event.decision
        verb = {Allow: "allowed by", Ask: "a question, because of", Deny: "denied by"}[type(decision)]
        facts.decided.append(f"{verb} {decision.by}" + (f": {decision.reason}" if decision.reason else ""))
        if not isinstance(decision, Deny):
            facts.changed_to = facts.changed_to if decision.arguments is None else decision.arguments


@noun
class UnfinishedMessage:
    """The text of a message whose stream was interrupted; ``texts`` are the texts between its calls."""

    message_id: str
    texts: tuple[str, ...]


def open_questions(events: Sequence[e.Durable]) -> tuple[Question, ...]:
    """Return the questions that can still be answered. Questions without a recorded message are omitted, because
    their call never starts."""
    questions = QuestionFold(events)
    return tuple(asked.question for asked in questions.open.values() if questions.will_run(asked))


def unfinished(log: Path, events: Sequence[e.Durable]) -> UnfinishedMessage | None:
    """Return the message whose stream was interrupted with the last turn; None if there is no such message or its
    text was not stored."""
    awaited = ""
    for event in events:
        if isinstance(event, e.TurnStarted):
            awaited = event.message_id
        elif isinstance(event, e.TurnEnded) or (isinstance(event, e.MessageAdded) and event.message.id == awaited):
            awaited = ""
    if not awaited:
        return None
    message_id, pieces = read_draft(log)
    texts = tuple(text for _, text in pieces if text)
    return UnfinishedMessage(message_id, texts) if message_id == awaited and texts else None
