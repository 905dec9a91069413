"""Applies the events of messages, streamed or whole."""

from dataclasses import replace

from callgate.tui.blocks import Block, CallBlock, PromptBlock, TextBlock, ThinkingBlock
from callgate.tui.fold_state import FoldState, owner
from callgate.words import events as e
from callgate.words.messages import CallPart, Message, Text, Thinking


def apply_text_event(state: FoldState, event: e.Event) -> None:
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
