"""Calls from their arrival to their result, the questions about them, and pending actions."""

from dataclasses import replace

from callgate.tui.blocks import ActionBlock, CallBlock
from callgate.tui.fold_state import FoldState
from callgate.words import events as e
from callgate.words.calls import TRANSITIONS, Status
from callgate.words.decisions import Allow, Deny

LONGEST_OUTPUT = 20_000
"""Characters of a running call's output that are kept for the screen; the whole of it is in the result."""


def arrived(state: FoldState, event: e.CallArrived) -> None:
    state.close_texts(event.message_id)
    block = CallBlock(
        id=event.call_id,
        name=event.name,
        arguments=event.arguments,
        message_id=event.message_id,
        index=event.index,
        of=event.index + 1,
        arrived=event.at,
    )
    for at in range(state.first_open, len(state.blocks)):
        each = state.blocks[at]
        if isinstance(each, CallBlock) and each.message_id == event.message_id and each.of < block.of:
            state.blocks[at] = replace(each, of=block.of)
    state.add(block)


def decided(state: FoldState, event: e.CallDecided) -> None:
    decision = event.decision

    def with_decision(call: CallBlock) -> CallBlock:
        changed = None if isinstance(decision, Deny) else decision.arguments
        status = moved(call, Status.SCHEDULED) if isinstance(decision, Allow) else call.status
        return replace(call, decision=decision, status=status, arguments=call.arguments if changed is None else changed)

    state.change(event.call_id, with_decision)


def asked(state: FoldState, event: e.QuestionAsked) -> None:
    question = event.question
    state.ask(question)
    if not question.path:
        state.change(
            question.call_id,
            lambda call: replace(call, question=question, status=moved(call, Status.AWAITING_APPROVAL)),
        )


def answered(state: FoldState, event: e.QuestionAnswered) -> None:
    said = event.confirmation
    state.questions.pop((*said.path, said.call_id), None)
    state.stopped = state.stopped or said.stop
    if said.path:
        return

    def with_answer(call: CallBlock) -> CallBlock:
        return replace(
            call,
            question=None,
            answered=said.outcome,
            note=said.note or "",
            status=call.status if said.outcome == "no" else moved(call, Status.SCHEDULED),
            arguments=call.arguments if said.arguments is None else said.arguments,
        )

    state.change(said.call_id, with_answer)


def started(state: FoldState, event: e.CallStarted) -> None:
    state.change(
        event.call_id,
        lambda call: replace(call, status=Status.EXECUTING, started=event.at, of=max(event.of, call.of), cut=False),
    )


def progressed(state: FoldState, event: e.CallProgressed) -> None:
    state.change(
        event.call_id,
        lambda call: replace(
            call,
            output=(call.output + event.text)[-LONGEST_OUTPUT:],
            current=call.current if event.current is None else event.current,
            total=call.total if event.total is None else event.total,
        ),
    )


def settled(state: FoldState, event: e.CallSettled) -> None:
    state.questions.pop((event.call_id,), None)
    state.change(
        event.call_id,
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


def moved(call: CallBlock, status: Status) -> Status:
    """The status after a move, if the table of moves has it; else the one before: a call does not go back."""
    return status if status in TRANSITIONS[call.status] else call.status


def staged(state: FoldState, event: e.ActionStaged) -> None:
    state.pending[event.action.id] = event.action


def resolved(state: FoldState, event: e.ActionResolved) -> None:
    state.pending.pop(event.id, None)
    state.add(ActionBlock(event.id, event.label, event.ended, event.reason, event.by))
