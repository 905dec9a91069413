"""Calls from their arrival to their result, the questions about them, and staged actions."""

from dataclasses import replace
from typing import Any

from callgate.tui.blocks import ActionBlock, CallBlock
from callgate.tui.fold_state import FoldState
from callgate.words import events as e
from callgate.words.calls import TRANSITIONS, Status
from callgate.words.decisions import Allow, Deny
from callgate.words.session_event import AgentPath

LONGEST_OUTPUT = 20_000
"""Characters of a running call's output that are stored for the screen; the result has all of it."""


def arrived(state: FoldState, event: e.CallArrived, path: AgentPath) -> None:
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
        since=event.at,
    )
    for at in range(state.first_open, len(state.blocks)):
        each = state.blocks[at]
        if not isinstance(each, CallBlock) or (each.path, each.message_id) != (path, event.message_id):
            continue
        if each.of < block.of:
            state.blocks[at] = replace(each, of=block.of)
    state.add(block)


def decided(state: FoldState, event: e.CallDecided, path: AgentPath) -> None:
    decision = event.decision

    def with_decision(call: CallBlock) -> CallBlock:
        changed = None if isinstance(decision, Deny) else decision.arguments
        call = moved(call, Status.SCHEDULED, event.at) if isinstance(decision, Allow) else call
        return replace(call, decision=decision, arguments=call.arguments if changed is None else changed)

    state.change((path, event.call_id), with_decision)


def asked(state: FoldState, event: e.QuestionAsked, path: AgentPath) -> None:
    question = event.question
    key = (path, question.call_id)
    state.ask(key, question)
    state.change(key, lambda call: moved(call, Status.AWAITING_APPROVAL, event.at, question=question))


def answered(state: FoldState, event: e.QuestionAnswered, path: AgentPath) -> None:
    said = event.confirmation
    key = (path, said.call_id)
    state.questions.pop(key, None)
    state.stopped = state.stopped or said.stop

    def with_answer(call: CallBlock) -> CallBlock:
        call = call if said.outcome == "no" else moved(call, Status.SCHEDULED, event.at)
        return replace(
            call,
            question=None,
            answered=said.outcome,
            note=said.note or "",
            arguments=call.arguments if said.arguments is None else said.arguments,
        )

    state.change(key, with_answer)


def started(state: FoldState, event: e.CallStarted, path: AgentPath) -> None:
    state.change(
        (path, event.call_id),
        lambda call: replace(
            call, status=Status.EXECUTING, started=event.at, since=event.at, of=max(event.of, call.of), cut=False
        ),
    )


def progressed(state: FoldState, event: e.CallProgressed, path: AgentPath) -> None:
    state.change(
        (path, event.call_id),
        lambda call: replace(
            call,
            output=(call.output + event.text)[-LONGEST_OUTPUT:],
            current=call.current if event.current is None else event.current,
            total=call.total if event.total is None else event.total,
        ),
    )


def settled(state: FoldState, event: e.CallSettled, path: AgentPath) -> None:
    key = (path, event.call_id)
    state.questions.pop(key, None)
    state.change(
        key,
        lambda call: replace(
            call,
            result=event.result,
            status=event.result.status,
            duration_ms=event.duration_ms,
            question=None,
            of=max(event.of, call.of),
            cut=False,
        ),
    )


def moved(call: CallBlock, status: Status, at: float, **changes: Any) -> CallBlock:
    """Return the call in this status, if the table of transitions allows it; else only with the other changes."""
    return replace(call, **({"status": status, "since": at} if status in TRANSITIONS[call.status] else {}), **changes)


def staged(state: FoldState, event: e.ActionStaged) -> None:
    state.pending[event.action.id] = event.action


def resolved(state: FoldState, event: e.ActionResolved) -> None:
    state.pending.pop(event.id, None)
    state.add(ActionBlock(event.id, event.label, event.ended, event.reason, event.by))
