"""Folds the events of a session into the state of the terminal.

The fold has no other input than events, so it can be tested, replayed and drawn without a terminal. ``fold_state``
has the state; ``fold_calls`` applies the events of calls.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from callgate.formats.display import counted
from callgate.tui.blocks import Block, CallBlock, EndBlock, NoticeBlock, PromptBlock, TextBlock, ThinkingBlock
from callgate.tui.fold_calls import apply_call_event
from callgate.tui.fold_state import FoldState, owner
from callgate.tui.render.measures import seconds_text
from callgate.words import events as e
from callgate.words.decisions import Scope
from callgate.words.events import AgentPath, Event, spent_in
from callgate.words.messages import CallPart, Message, Text, Thinking
from callgate.words.turns import PhaseEnded, PhaseStarted, Rewound

SHOWN = 20
"""The number of earlier messages that are shown when a session is resumed."""


class ConversationFold(FoldState):
    """The state of the terminal. ``apply`` changes the state for each event in order. Of the events of nested
    sessions (with a path), only events of calls and questions change the state."""

    def apply(self, event: Event, path: AgentPath = ()) -> None:
        self.last_activity = event.at
        apply_call_event(self, event, path)
        if not path:
            _apply_text_event(self, event)
            _apply_run_event(self, event)

    def apply_all(self, events: Iterable[Event]) -> None:
        for event in events:
            self.apply(event)


def fold_of(events: Iterable[Event]) -> ConversationFold:
    """Return the state after the recorded events, without rewound messages."""
    fold = ConversationFold()
    for event in events:
        if isinstance(event, Rewound):
            _remove_from(fold, event.message_id)
        else:
            fold.apply(event)
    return fold


def _remove_from(fold: ConversationFold, message_id: str) -> None:
    for at, each in enumerate(fold.blocks):
        if _message_of(each) == message_id:
            del fold.blocks[at:]
            break
    fold.questions.clear()


def _message_of(block: Block) -> str:
    if isinstance(block, CallBlock):
        return block.message_id
    return block.id.rpartition(".")[0] or block.id if isinstance(block, PromptBlock | TextBlock) else ""


def keep_end(fold: ConversationFold) -> None:
    """Replace the blocks before the last messages by a notice with the number of hidden messages."""
    said = [at for at, each in enumerate(fold.blocks) if isinstance(each, PromptBlock | TextBlock)]
    if len(said) > SHOWN:
        many = len(said) - SHOWN
        text = f"{counted(many, 'earlier message')}: Ctrl-O shows the whole conversation."
        fold.blocks[: said[-SHOWN]] = [NoticeBlock(text)]


def left_open(fold: ConversationFold, waiting: int) -> NoticeBlock:
    """Return the notice about an interrupted session. ``waiting`` is the number of undelivered prompts."""
    calls = sum(isinstance(each, CallBlock) and not each.done for each in fold.blocks)
    parts = [counted(len(fold.questions), "question")] if fold.questions else []
    parts += [counted(calls, "unfinished call")] if calls else []
    parts += [counted(waiting, "queued message", "queued messages")] if waiting else []
    what = f": {', '.join(parts)}" if parts else ""
    return NoticeBlock(f"This session was interrupted{what}. Press Enter to continue.", "warning")


# ---- runs and the session -----------------------------------------------------------------------------------------

SCOPES: Mapping[Scope, str] = {"session": "this session", "project": "this project", "user": "everywhere"}
"""The scopes of remembered answers, as shown on the screen."""
SLOW = 0.5
"""Seconds after which a hook is shown with its time."""


def _apply_run_event(state: FoldState, event: e.Event) -> None:
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


# ---- messages, streamed or whole -----------------------------------------------------------------------------------


def _apply_text_event(state: FoldState, event: e.Event) -> None:
    match event:
        case e.TextStreamed() | e.ThinkingStreamed():
            _add_text(state, event)
        case e.MessageAdded():
            _add_message(state, event)
        case e.RequestRetried():
            _withdraw_answer(state, event)
        case _:
            pass


def _add_message(state: FoldState, event: e.MessageAdded) -> None:
    message = event.message
    if event.queued is not None:
        state.waiting.pop(event.queued, None)
    if message.role == "user" and event.about is None:
        others = sum(not isinstance(part, Text) for part in message.parts)
        state.add(PromptBlock(message.id, message.text, others))
    elif message.role == "assistant":
        state.model_at = None
        _add_answer(state, message)


def _add_answer(state: FoldState, message: Message) -> None:
    """Make the streamed blocks of the message final.

    If the message was not streamed, insert a block for each of its parts between the blocks of its calls, because
    the events of the calls come before the message.
    """
    if message.id in state.streamed:
        state.streamed.discard(message.id)
        state.close_texts(message.id)
        return
    calls = _calls_of(state, message.id)
    at = min(calls.values(), default=len(state.blocks))
    for number, part in enumerate(message.parts):
        made: list[Block] = []
        match part:
            case Text(text=text) if text.strip():
                made.append(TextBlock(f"{message.id}.{number}", text, done=True))
            case Thinking(text=text) if text.strip():
                made.append(ThinkingBlock(f"{message.id}.{number}", text, done=True))
            case CallPart(id=call_id) if call_id in calls:
                calls = _calls_of(state, message.id)
                at = max(at, calls[call_id] + 1)
            case _:
                pass
        state.place(at, made)
        at += len(made)


def _calls_of(state: FoldState, message_id: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for at in range(len(state.blocks) - 1, -1, -1):
        each = state.blocks[at]
        if isinstance(each, PromptBlock):
            break
        if isinstance(each, CallBlock) and each.message_id == message_id:
            found[each.id] = at
    return found


def _add_text(state: FoldState, event: e.TextStreamed | e.ThinkingStreamed) -> None:
    kind = TextBlock if isinstance(event, e.TextStreamed) else ThinkingBlock
    state.streamed.add(event.message_id)
    state.model_at, state.model_silent = event.at, False
    last = state.blocks[-1] if state.blocks else None
    if isinstance(last, kind) and not last.done and owner(last) == event.message_id:
        ended = {"ended": event.at} if isinstance(last, ThinkingBlock) else {}
        state.blocks[-1] = replace(last, text=last.text + event.text, **ended)
        return
    state.close_texts(event.message_id)
    name = f"{event.message_id}.{len(state.blocks)}"
    if isinstance(event, e.TextStreamed):
        state.add(TextBlock(name, event.text))
    else:
        state.add(ThinkingBlock(name, event.text, began=event.at, ended=event.at))


def _withdraw_answer(state: FoldState, event: e.RequestRetried) -> None:
    """Remove the text of the failed attempt. Printed text stays on the screen, and the notice says so."""
    state.spend(event.spent)
    state.model_at, state.model_silent, state.retry = event.at, True, event
    left = False
    for at in range(len(state.blocks) - 1, -1, -1):
        each = state.blocks[at]
        if isinstance(each, PromptBlock):
            break
        if isinstance(each, (TextBlock, ThinkingBlock)) and owner(each) == event.message_id:
            left = state.withdraw(at) or left
    state.streamed.discard(event.message_id)
    where = f" from {event.instead}" if event.instead else ""
    wait = f" in {event.delay:.0f} s" if event.delay >= 1 else ""
    again = "; the answer above is incomplete" if left else ""
    state.notice(f"{event.detail or event.kind}: retrying{where}{wait} (attempt {event.attempt}){again}", "warning")
