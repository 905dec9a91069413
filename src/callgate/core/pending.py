"""What pending actions mean for the next request: a reminder, a tool choice, and what has to wait."""

import re

from callgate.core import outcomes
from callgate.core.ledger import Ledger
from callgate.words.calls import Result
from callgate.words.events import ActionResolved
from callgate.words.model import Abilities, ToolChoice
from callgate.words.pending import RESOLVE, Staged
from callgate.words.traits import Traits

MOST_FORCED = 3
"""Requests that force a resolution; then the action is discarded."""

_TAG = "system-reminder"
_END = re.compile(rf"<(?=\s*/\s*{_TAG})", re.IGNORECASE)


def reminder(text: str) -> str:
    """Text for the model that nobody said. What comes from elsewhere cannot end it early."""
    return f"<{_TAG}>\n{_END.sub('‹', text)}\n</{_TAG}>"


def head(ledger: Ledger) -> Staged | None:
    """The newest."""
    return next(reversed(ledger.pending.values()), None)


def seen_before(ledger: Ledger, message_id: str) -> Staged | None:
    """The newest that this message did not stage itself."""
    return next((each for each in reversed(ledger.pending.values()) if each.message_id != message_id), None)


def choice(ledger: Ledger) -> ToolChoice:
    """Soft first; a message without a resolution makes the next request force it."""
    return ToolChoice("named", RESOLVE) if ledger.pending and ledger.detour else ToolChoice()


def nearest(wanted: ToolChoice, abilities: Abilities) -> ToolChoice:
    """The wanted tool choice, or the nearest the model can be held to."""
    if wanted.kind in abilities.force:
        return wanted
    return ToolChoice("required" if wanted.kind == "named" and "required" in abilities.force else "auto")


def due(ledger: Ledger, abilities: Abilities) -> Staged | None:
    """What the model is to be reminded of before it is asked again: the newest if it was not told of it yet, and where
    nothing else makes it resolve."""
    newest = head(ledger)
    if newest is None or ledger.reminded != newest.id:
        return newest
    last = ledger.messages[-1] if ledger.messages else None
    answered = last is not None and last.role == "assistant"
    return newest if ledger.detour and (answered or "named" not in abilities.force) else None


def told(ledger: Ledger, newest: Staged) -> str:
    """What the model is told of it."""
    what = f"{newest.label} ({newest.summary})" if newest.summary else newest.label
    lines = [f"Pending: {what}, staged by {newest.source} as {newest.id}. Nothing of it is done yet."]
    lines.append(
        f"Now call the `{RESOLVE}` tool to apply or discard these changes, with a reason. "
        "Until then calls that change something are skipped."
    )
    below = [each.id for each in ledger.pending.values() if each.id != newest.id]
    if below:
        lines.append(f"Staged before it, and still pending: {', '.join(reversed(below))}.")
    return "\n".join(lines)


def fate(resolved: ActionResolved) -> str:
    """What the model is told of an action that somebody else has finished."""
    if resolved.by == "person":
        what = f"{resolved.label} ({resolved.id})"
        return f"The user {resolved.ended} what was pending: {what}. Reason: {resolved.reason}"
    done = "" if resolved.ended == "applied" else " Nothing of it was done; stage it again if it is still wanted."
    return f"Not pending any more: {resolved.label} ({resolved.id}), {resolved.ended}: {resolved.reason}.{done}"


def skipped(ledger: Ledger, message_id: str, name: str, traits: Traits) -> Result | None:
    """Why a call is not run now: it has effects, and something that was staged before it is pending."""
    if traits.effects == "none" or traits.own_state or name == RESOLVE:
        return None
    newest = seen_before(ledger, message_id)
    return None if newest is None else outcomes.skipped(newest.label, newest.id)
