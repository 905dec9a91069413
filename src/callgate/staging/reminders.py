"""Reminders for the model about pending actions."""

from collections.abc import Iterable

from callgate.conversation.reminders import reminder
from callgate.words.calls import Result
from callgate.words.events import ActionResolved
from callgate.words.modes import MODES, Mode
from callgate.words.pending import RESOLVE, Staged


def pending(newest: Staged, below: Iterable[Staged]) -> str:
    """Return the reminder to resolve the newest action."""
    what = f"{newest.label} ({newest.summary})" if newest.summary else newest.label
    lines = [f"Pending: {what}, staged by {newest.source} as {newest.id}. It has not been carried out yet."]
    lines.append(
        f"Now call the `{RESOLVE}` tool to apply or discard these changes, with a reason. "
        "Until then calls that change something are skipped."
    )
    older = ", ".join(each.id for each in below)
    if older:
        lines.append(f"Staged before it, and still pending: {older}.")
    return reminder("\n".join(lines))


def ended(resolved: ActionResolved) -> str:
    """Return the reminder that reports the end of an action that the model did not resolve."""
    if resolved.by == "person":
        what = f"{resolved.label} ({resolved.id})"
        return reminder(f"The user {resolved.ended} the pending action {what}. Reason: {resolved.reason}")
    done = "" if resolved.ended == "applied" else " It was not applied; stage it again if it is still needed."
    return reminder(f"No longer pending: {resolved.label} ({resolved.id}), {resolved.ended}: {resolved.reason}.{done}")


def mode_set(mode: Mode) -> str:
    """Return the reminder that reports a change of the permission mode. The system prompt contains only the first
    mode."""
    return reminder(f"The user changed the mode of this session. It is now {mode}: the session {MODES[mode].meaning}.")


def skipped(action: Staged) -> Result:
    """Return the result of a call that was skipped because this action is pending."""
    text = f"Skipped: {action.label} ({action.id}) is still pending. Resolve it first, then send this again."
    return Result.failed("skipped", text, effects="none", pending=action.id)
