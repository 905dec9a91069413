"""/calls: arguments, decision, times, result and ids of the last calls."""

from __future__ import annotations

from collections.abc import Iterable
from json import dumps
from typing import TYPE_CHECKING

from callgate.formats.display import counted
from callgate.tui.blocks import TableBlock
from callgate.tui.commands.slash_support import clock_time, count_of, said, seconds, session_of
from callgate.words import events as e
from callgate.words.calls import Result
from callgate.words.decisions import Allow, Deny

if TYPE_CHECKING:
    from callgate.tui.port import Terminal


_COUNT = 10
_LONGEST = 400


class PastCall:
    """The recorded facts about one call."""

    def __init__(self, arrived: e.CallArrived) -> None:
        self.arrived = arrived
        self.decided = "not decided"
        self.started: float | None = None
        self.settled: e.CallSettled | None = None


def past_calls(events: Iterable[e.Event]) -> list[PastCall]:
    """Return the calls of a session in the order of their arrival. A call on two branches appears twice."""
    found: list[PastCall] = []
    newest: dict[str, PastCall] = {}
    for event in events:
        if isinstance(event, e.CallArrived):
            newest[event.call_id] = PastCall(event)
            found.append(newest[event.call_id])
            continue
        match event:
            case e.CallDecided(call_id=call_id, decision=decision) if call_id in newest:
                word = "allowed" if isinstance(decision, Allow) else "denied" if isinstance(decision, Deny) else "asked"
                why = f" ({decision.reason})" if decision.reason else ""
                newest[call_id].decided = f"{word} by {decision.by}{why}"
            case e.QuestionAsked(question=question) if question.call_id in newest:
                newest[question.call_id].decided = f"asked: {question.reason}"
            case e.QuestionAnswered(confirmation=answer) if answer.call_id in newest:
                newest[answer.call_id].decided = f"{answer.outcome.replace('_', ' ')} by a person"
            case e.CallStarted(call_id=call_id) if call_id in newest:
                newest[call_id].started = event.at
            case e.CallSettled(call_id=call_id) if call_id in newest:
                newest[call_id].settled = event
            case _:
                pass
    return found


async def calls(terminal: Terminal, text: str) -> None:
    count = count_of(text, _COUNT, "/calls")
    session = session_of(terminal)
    found = past_calls(event for _number, event in await session.events_after(0))
    if not found:
        said(terminal, "The model has called no tool yet.")
        return
    for each in found[-count:]:
        terminal.show(_shown(each))
    if len(found) > count:
        said(terminal, f"{counted(len(found) - count, 'earlier call')}: /calls {len(found)} shows all.")


def _shown(call: PastCall) -> TableBlock:
    arrived, settled = call.arrived, call.settled
    took = seconds(settled.duration_ms / 1000) if settled is not None and settled.duration_ms is not None else ""
    state = "no result yet" if settled is None else f"{settled.result.status} ({settled.result.code})"
    facts = [("arguments", dumps(dict(arrived.arguments), ensure_ascii=False, default=str)), ("decision", call.decided)]
    if call.started is not None:
        facts.append(("waited", seconds(max(call.started - arrived.at, 0.0))))
    facts.append(("result", f"{state} {_text(None if settled is None else settled.result)}"))
    title = " ".join(part for part in (arrived.name, arrived.call_id, clock_time(arrived.at), took) if part)
    return TableBlock(tuple((name, _cut(value)) for name, value in facts), title)


def _text(result: Result | None) -> str:
    if result is None:
        return ""
    return " ".join(result.text.split())


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text):,} characters)"
