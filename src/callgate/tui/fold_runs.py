"""Turns, runs and the session itself: measures, and notices for people."""

from callgate.formats.display import counted
from callgate.tui.blocks import EndBlock
from callgate.tui.fold_state import FoldState
from callgate.tui.render.measures import seconds_text
from callgate.words import events as e
from callgate.words.messages import Spent
from callgate.words.turns import PhaseEnded, PhaseStarted

SLOW = 0.5
"""Seconds after which a hook is shown with its time."""


def turn_started(state: FoldState, event: e.TurnStarted) -> None:
    if state.run_began is None:
        state.run_began = event.at
    state.model_at, state.model_silent, state.retry = event.at, True, None


def turn_ended(state: FoldState, event: e.TurnEnded) -> None:
    state.measures = event.measures or state.measures
    state.spend(event.spent)
    state.close_texts()
    state.request_ended()


def run_ended(state: FoldState, event: e.RunEnded) -> None:
    began = event.at if state.run_began is None else state.run_began
    state.finish_all()
    state.request_ended()
    state.add(EndBlock(event, max(event.at - began, 0.0), state.run_tokens, state.run_cost, state.stopped))
    state.run_began = None
    state.run_tokens, state.run_cost, state.stopped = 0, None, False


def compacted(state: FoldState, event: e.Compacted) -> None:
    state.spend(None if event.usage is None else Spent(event.model, event.usage, event.cost))
    tokens = f", {event.tokens_before:,} to {event.tokens_after:,} tokens" if event.tokens_before else ""
    state.notice(f"The conversation was compacted: a summary stands for {counted(event.covered, 'message')}{tokens}.")


def history_moved(state: FoldState, event: e.Rewound | e.Branched) -> None:
    state.finish_all()
    state.request_ended()
    state.drop_own_questions()
    where = "before" if isinstance(event, e.Rewound) else "right after"
    name = state.names.get(event.message_id)
    said = f"the message “{name}”" if name else f"message {event.message_id}"
    state.notice(f"The conversation goes on from {where} {said}.")


def forked(state: FoldState, event: e.Forked) -> None:
    state.finish_all()
    state.drop_own_questions()
    state.pending.clear()
    state.notice(f"Everything above was copied from session {event.session}.")


def quarantined(state: FoldState, event: e.LinesQuarantined) -> None:
    places = f"{len(event.ranges)} place{'' if len(event.ranges) == 1 else 's'}"
    state.notice(f"The record was damaged in {places}; what could not be read is kept in {event.kept_in}.", "warning")


def stray_found(state: FoldState, event: e.StrayFound) -> None:
    state.notice(f"{event.name} could not be stopped and still runs; it keeps its locks until it ends.", "warning")


def policy_added(state: FoldState, event: e.PolicyAdded) -> None:
    policy = event.policy
    pattern = "" if policy.pattern is None or policy.pattern.kind == "exact" else f"({policy.pattern.value})"
    exactly = " with exactly these arguments" if policy.pattern is not None and not pattern else ""
    state.notice(f"Remembered for this {policy.scope}: {policy.effect} {policy.tool}{pattern}{exactly}.")


def metadata_set(state: FoldState, event: e.MetadataSet) -> None:
    state.spend(event.spent)
    if event.key == "title":
        state.title = str(event.value or "")


def answer_unused(state: FoldState, event: e.AnswerUnused) -> None:
    state.spend(event.spent)


def status_changed(state: FoldState, event: e.StatusChanged) -> None:
    before, state.status = state.status, event.status
    if event.status == "working" and before not in ("working", "waiting_confirmation"):
        state.work_began = event.at
    elif event.status in ("idle", "paused", "closed"):
        state.work_began = None
        state.request_ended()
        state.phases.clear()


def mode_set(state: FoldState, event: e.ModeSet) -> None:
    state.mode = event.mode


def model_set(state: FoldState, event: e.ModelSet) -> None:
    if state.model != event.model:
        state.notice(f"{event.model} answers from the next request on.")
    state.model = event.model


def queued(state: FoldState, event: e.PromptQueued) -> None:
    state.waiting[event.id] = event


def dequeued(state: FoldState, event: e.PromptDequeued) -> None:
    state.waiting.pop(event.id, None)


def interruptible(state: FoldState, event: e.InterruptibleChanged) -> None:
    state.interruptible = event.interruptible


def phase_started(state: FoldState, event: PhaseStarted) -> None:
    state.phases[event.id] = event


def phase_ended(state: FoldState, event: PhaseEnded) -> None:
    state.phases.pop(event.id, None)
    if event.kind == "hook" and event.seconds > SLOW:
        state.notice(f"{event.name} took {seconds_text(event.seconds)}")


def noted(state: FoldState, event: e.Noted) -> None:
    state.notice(event.text, event.level)


def refused(state: FoldState, event: e.InputRefused) -> None:
    state.notice(f"{event.input} was refused: {event.reason}", "warning")


def paused(state: FoldState, event: e.Paused) -> None:
    state.notice(f"The agent paused: {event.reason}", "warning")
