"""Applies the events of turns, runs and the session: measures, state and notices."""

from collections.abc import Callable, Mapping
from typing import Any

from callgate.formats.display import counted
from callgate.tui.blocks import EndBlock, PromptBlock
from callgate.tui.fold_state import FoldState
from callgate.tui.render.measures import seconds_text
from callgate.words import events as e
from callgate.words.decisions import Scope
from callgate.words.events import spent_in
from callgate.words.turns import PhaseEnded, PhaseStarted

SCOPES: Mapping[Scope, str] = {"session": "this session", "project": "this project", "user": "everywhere"}
"""The scopes of remembered answers in the words of the screen."""
SLOW = 0.5
"""Seconds after which a hook is shown with its time."""


def apply_run_event(state: FoldState, event: e.Event) -> None:
    state.spend(spent_in(event))
    match event:
        case e.TurnStarted():
            state.run_began = event.at if state.run_began is None else state.run_began
            state.model_at, state.model_silent, state.retry = event.at, True, None
        case e.TurnEnded():
            state.measures = event.measures or state.measures
            state.close_texts()
            state.request_ended()
        case e.RunEnded():
            _end_run(state, event)
        case e.Compacted():
            tokens = f", {event.tokens_before:,} to {event.tokens_after:,} tokens" if event.tokens_before else ""
            covered = counted(event.covered, "message")
            state.notice(f"The conversation was compacted: a summary replaces {covered}{tokens}.")
        case e.Rewound() | e.Branched():
            _move(state, event)
        case e.Forked():
            state.finish_all()
            state.drop_own_questions()
            state.pending.clear()
            state.notice(f"Everything above was copied from session {event.session}.")
        case e.MetadataSet():
            state.title = str(event.value or "") if event.key == "title" else state.title
        case e.StatusChanged():
            _change_status(state, event)
        case e.ModeSet():
            state.mode = event.mode
        case e.ModelSet():
            if state.model != event.model:
                state.notice(f"{event.model} is used from the next request on.")
            state.model = event.model
        case e.PromptQueued():
            state.waiting[event.id] = event
        case e.PromptDequeued():
            state.waiting.pop(event.id, None)
        case e.InterruptibleChanged():
            state.interruptible = event.interruptible
        case PhaseStarted():
            state.phases[event.id] = event
        case PhaseEnded():
            state.phases.pop(event.id, None)
            if event.kind == "hook" and event.seconds > SLOW:
                state.notice(f"{event.name} took {seconds_text(event.seconds)}")
        case e.Noted():
            state.notice(event.text, event.level)
        case e.InputRefused(input="Resolve") if len(state.pending) == 1:
            (staged,) = state.pending.values()
            state.notice(f"Failed: {staged.label}: {event.reason}", "warning")
        case e.PolicyAdded():
            state.notice(_remembered(event))
        case _:
            if type(event) in _WARNINGS:
                state.notice(_WARNINGS[type(event)](event), "warning")


def _end_run(state: FoldState, event: e.RunEnded) -> None:
    began = event.at if state.run_began is None else state.run_began
    state.finish_all()
    state.request_ended()
    state.add(EndBlock(event, max(event.at - began, 0.0), state.run_tokens, state.run_cost, state.stopped))
    state.run_began = None
    state.run_tokens, state.run_cost, state.stopped = 0, None, False


def _move(state: FoldState, event: e.Rewound | e.Branched) -> None:
    state.finish_all()
    state.request_ended()
    state.drop_own_questions()
    where = "before" if isinstance(event, e.Rewound) else "right after"
    texts = (each.text for each in state.blocks if isinstance(each, PromptBlock) and each.id == event.message_id)
    name = next(texts, "").strip().partition("\n")[0][:60]
    said = f"the message “{name}”" if name else f"message {event.message_id}"
    state.notice(f"The conversation continues from {where} {said}.")


def _change_status(state: FoldState, event: e.StatusChanged) -> None:
    before, state.status = state.status, event.status
    if event.status == "working" and before not in ("working", "waiting_confirmation"):
        state.work_began = event.at
    elif event.status in ("idle", "paused", "closed"):
        state.work_began = None
        state.request_ended()
        state.phases.clear()


def _remembered(event: e.PolicyAdded) -> str:
    policy = event.policy
    scope = SCOPES[policy.scope] if policy.scope == "user" else f"for {SCOPES[policy.scope]}"
    exact = policy.pattern is not None and policy.pattern.kind == "exact"
    covered = f"{policy.tool}(exactly this call)" if exact else policy.covers
    return f"Remembered {scope}: {policy.effect} {covered}."


_WARNINGS: Mapping[type, Callable[[Any], str]] = {
    e.LinesQuarantined: lambda event: (
        f"The record was damaged in {counted(len(event.ranges), 'place')}; the damaged parts are stored in "
        f"{event.kept_in}."
    ),
    e.StrayFound: lambda event: (
        f"{event.name} could not be stopped and is still running; it keeps its locks until it ends."
    ),
    e.InputRefused: lambda event: f"{event.input} was refused: {event.reason}",
    e.Paused: lambda event: f"The agent paused: {event.reason}",
}
