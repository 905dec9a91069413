"""The footer: the user's status line, then one line with the agent's activity, mode, model, context and cost."""

from __future__ import annotations

from collections.abc import Mapping
from time import time
from typing import TYPE_CHECKING

from callgate.formats.columns import clipped, width
from callgate.formats.display import visible
from callgate.tui.bindings import may_interrupt, vim_state
from callgate.tui.fold_state import FoldState
from callgate.tui.keys import interrupt_key
from callgate.tui.render.measures import seconds_text
from callgate.tui.theme import MODE_STYLES
from callgate.words.calls import Status

if TYPE_CHECKING:
    from callgate import Session
    from callgate.tui.inner_port import InnerTerminal


Part = tuple[str, str]
"""A text and its style."""


def footer_lines(app: InnerTerminal, hint: str) -> list[str]:
    fold, theme, own = app.fold, app.theme, app.statusline
    state = "starting" if app.session is None else visible(activity_line(fold, time())) or fold.status.replace("_", " ")
    key = interrupt_key(app.keys)
    quits = f"{key} interrupts" if key != "Esc" or may_interrupt(app) else "Esc Esc interrupts"  # vim takes the first
    shown_hint = hint or (quits if fold.status == "working" and app.receiver.part != "card" else "")
    parts: list[Part] = [
        (vim_state(app).upper(), "grey"),
        (state, "grey"),
        (shown_hint, "bold" if hint else "grey"),
        (f"{fold.mode.replace('_', ' ')} mode", MODE_STYLES.get(fold.mode, "grey")),
        (visible(fold.model), "grey"),
        (app.context_used, "grey"),
        ("" if not fold.cost else f"${fold.cost:.2f}" if fold.cost >= 0.01 else "under $0.01", "grey"),
    ]
    lines = [] if own is None else own.lines(colours=theme.colours, keep_place=app.application.full_screen)
    size, between = app.application.output.get_size(), theme.sign(" · ", " - ")
    is_narrow = size.columns < _WIDE and size.rows > _LOW
    for at in (slice(0, 3), slice(3, None)) if is_narrow else (slice(None),):
        shown = fitted_parts(dict(enumerate(parts[at], at.start or 0)), width(between), size.columns - 1, bool(hint))
        lines.append(" " + theme.paint(between, "grey").join(theme.paint(text, style) for text, style in shown))
    return lines


def context_used(session: Session) -> str:
    """Return the percentage of the context window that the next request uses, or an empty string if the window size
    is unknown."""
    from callgate.tui.statusline.status_payload import context_percent  # not needed for the first prompt

    share = context_percent(session)
    return "" if share is None else f"{share:.0f}% of context"


_WIDE, _LOW = 80, 12
"""Terminals with fewer columns have two lines, except low terminals."""
_LEAST_NEEDED = (6, 4, 5, 0)
"""The elements that are left out of a line first, in this order: cost, model, context, vim's mode."""
_STATE, _HINT, _MODE = 1, 2, 3
_SHORTEST_STATE = 10
"""The minimum columns of a shortened state."""


def fitted_parts(parts: Mapping[int, Part], between: int, columns: int, is_pressed: bool) -> list[Part]:
    """Return the elements that fit into one line. The activity and the mode stay visible. The number of lines depends
    on the terminal alone, so that the screen does not move while the agent works.

    is_pressed  True if the hint is about a key that was just pressed; the hint is then kept instead of the mode, and
                the activity may be shortened or left out
    """
    kept = {at: part for at, part in parts.items() if part[0]}

    def room() -> int:
        return columns - sum(width(text) + between for text, _ in kept.values()) + between

    for at in (*_LEAST_NEEDED, _MODE if is_pressed else _HINT):
        if room() < 0 and len(kept) > 1:
            kept.pop(at, None)
    if room() < 0 and is_pressed and _STATE in kept and _HINT in kept:
        text, style = kept[_STATE]
        kept[_STATE] = (clipped(text, max(width(text) + room(), min(_SHORTEST_STATE, width(text)))), style)
        if room() < 0:
            kept.pop(_STATE)
    if room() < 0:
        at = min(kept)
        text, style = kept[at]
        kept[at] = (clipped(text, max(width(text) + room(), 1)), style)
    return [*kept.values()]


# ---- the activity of the agent -------------------------------------------------------------------------------------

STUCK = 2.0
"""Seconds after which the line says what the agent waits for."""


def activity_line(state: FoldState, now: float) -> str:
    """Return the agent's current work as text, or an empty string while the agent is idle.

    After two seconds of waiting, the text contains the reason. If there are several reasons, the first in this order is
    shown: the user, a hook or summary, the delay before a retry, a running call, a queued or validating call, the
    model, the disk.
    """
    if state.questions and state.status not in ("paused", "closed"):
        return "waiting for your answer"
    if state.status != "working":
        return ""
    retry = state.retry
    waits = retry is not None and state.model_silent and state.model_at == retry.at and not state.phases
    if retry is not None and waits and retry.delay >= STUCK:
        return f"retrying {retry.instead or 'the model'} in {max(retry.at + retry.delay - now, 0.0):.0f} s"
    text, since = _wait(state)
    # A call of an earlier run may be older than this run.
    seconds = now - max(since, state.work_began or since)
    if seconds >= STUCK:
        return f"{text}, {seconds_text(seconds)}"
    return "working" if state.work_began is None else f"working, {seconds_text(max(now - state.work_began, 0.0))}"


def _wait(state: FoldState) -> tuple[str, float]:
    """Return the reason why the agent waits, and the time since when."""
    for phase in state.phases.values():
        return f"running {phase.name}" if phase.kind == "hook" else f"{phase.name} is writing a summary", phase.at
    found = _call(state)
    if found is None and state.model_at is not None:
        return "waiting for the model" if state.model_silent else "no output from the model", state.model_at
    return found or ("waiting for the disk", state.last_activity)


def _call(state: FoldState) -> tuple[str, float] | None:
    calls = [each for each in state.open_calls if not each.path]
    running = [each for each in calls if each.status is Status.EXECUTING]
    queued = [each for each in calls if each.status is Status.SCHEDULED] if state.model_at is None else []
    if running:
        more = f" and {len(running) - 1} more" if len(running) > 1 else ""
        waits = f"; {queued[0].name} is next" if queued else ""
        return (f"running {running[0].name}{more}{waits}", min(each.since for each in running))
    for call in calls:
        if call in queued:
            return (f"{call.name} is waiting for a lock of another agent, or for the disk", call.since)
        if call.status is Status.VALIDATING:
            return (f"checking {call.name}", call.since)
    return None
