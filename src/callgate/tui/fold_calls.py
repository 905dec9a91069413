"""Applies the events of calls, of questions about calls, and of staged actions."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from callgate.tui.blocks import ENDED_WORDS, ActionBlock, CallBlock
from callgate.tui.fold_state import FoldState
from callgate.words import events as e
from callgate.words.calls import NO_OUTPUT, TRANSITIONS, Status
from callgate.words.decisions import Allow, Deny
from callgate.words.events import AgentPath
from callgate.words.pending import RESOLVE

LONGEST_OUTPUT = 20_000
"""Characters of a running call's output that are stored for the screen; the result has the whole output."""


def apply_call_event(state: FoldState, event: e.Event, path: AgentPath) -> None:
    match event:
        case e.CallArrived():
            _add_call(state, event, path)
        case e.CallDecided() | e.CallStarted() | e.CallProgressed():
            state.change((path, event.call_id), lambda call: _changed(call, event))
        case e.CallSettled():
            state.questions.pop((path, event.call_id), None)
            state.change((path, event.call_id), lambda call: _changed(call, event))
        case e.QuestionAsked(question=question):
            state.ask((path, question.call_id), question)
            state.change((path, question.call_id), lambda call: _changed(call, event))
        case e.QuestionAnswered(confirmation=answer):
            state.questions.pop((path, answer.call_id), None)
            state.stopped = state.stopped or answer.stop
            state.change((path, answer.call_id), lambda call: _changed(call, event))
        case e.ActionStaged() if not path:
            state.pending[event.action.id] = event.action
        case e.ActionResolved() if not path:
            state.pending.pop(event.id, None)
            _end_action(state, event)
        case _:
            pass


def _add_call(state: FoldState, event: e.CallArrived, path: AgentPath) -> None:
    if not path:
        state.close_texts(event.message_id)
        state.model_at, state.model_silent = state.model_at and event.at, False
    block = CallBlock(
        id=event.call_id,
        name=event.name,
        arguments=event.arguments,
        message_id=event.message_id,
        path=path,
        index=event.index,
        of=event.index + 1,
        arrived=event.at,
        since=event.at,
        title="" if path else resolve_title(state, event.name, event.arguments),
    )
    for at in range(state.first_open, len(state.blocks)):
        each = state.blocks[at]
        if not isinstance(each, CallBlock) or (each.path, each.message_id) != (path, event.message_id):
            continue
        if each.of < block.of:
            state.blocks[at] = replace(each, of=block.of)
    state.add(block)


def resolve_title(state: FoldState, name: str, arguments: Mapping[str, Any]) -> str:
    """Return the line of a call that resolves a staged action: what it does, and the label of the action. Return an
    empty string for any other call."""
    if name != RESOLVE or not state.pending:
        return ""
    newest = next(reversed(state.pending))
    staged = state.pending.get(str(arguments.get("id") or newest))
    return "" if staged is None else f"{str(arguments.get('action', '')).capitalize()}: {staged.label}"


def _end_action(state: FoldState, event: e.ActionResolved) -> None:
    """Show the end of a staged action on the call of ``resolve`` that ends the action. If there is no such call,
    show it as a separate block."""
    for at in range(len(state.blocks) - 1, state.first_open - 1, -1):
        each = state.blocks[at]
        if not isinstance(each, CallBlock) or (each.name, each.path, each.done) != (RESOLVE, (), False):
            continue
        if each.arguments.get("id") in (None, "", event.id):
            state.blocks[at] = replace(each, title=f"{ENDED_WORDS[event.ended]}: {event.label}")
            return
    state.add(ActionBlock(event.id, event.label, event.ended, event.reason, event.by))


def _changed(call: CallBlock, event: e.Event) -> CallBlock:
    match event:
        case e.CallDecided(decision=decision):
            changed = None if isinstance(decision, Deny) else decision.arguments
            call = moved(call, Status.SCHEDULED, event.at) if isinstance(decision, Allow) else call
            return replace(call, decision=decision, arguments=call.arguments if changed is None else changed)
        case e.QuestionAsked(question=question):
            return moved(call, Status.AWAITING_APPROVAL, event.at, question=question, output="")
        case e.QuestionAnswered(confirmation=answer):
            call = call if answer.outcome == "no" else moved(call, Status.SCHEDULED, event.at)
            arguments = call.arguments if answer.arguments is None else answer.arguments
            return replace(call, question=None, answered=answer.outcome, note=answer.note or "", arguments=arguments)
        case e.CallStarted():
            of = max(event.of, call.of)
            return replace(call, status=Status.EXECUTING, started=event.at, since=event.at, of=of, cut=False, output="")
        case e.CallProgressed():
            return replace(
                call,
                output=(call.output + event.text)[-LONGEST_OUTPUT:],
                current=call.current if event.current is None else event.current,
                total=call.total if event.total is None else event.total,
            )
        case e.CallSettled(result=result):
            title = next((each.title for each in result.display[:1] if call.name == RESOLVE), None)
            if result.text == NO_OUTPUT.format(name=call.name):
                result = replace(result, content=())
            call = replace(call, result=result, status=result.status, duration_ms=event.duration_ms)
            call = replace(call, title=title or call.title)
            return replace(call, question=None, of=max(event.of, call.of), cut=False)
        case _:
            return call


def moved(call: CallBlock, status: Status, at: float, **changes: Any) -> CallBlock:
    """Return the call with these changes, and with the status if the table of transitions allows the change of
    status."""
    return replace(call, **({"status": status, "since": at} if status in TRANSITIONS[call.status] else {}), **changes)
