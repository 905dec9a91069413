"""Describes the agent's current work, or the reason why it waits: the user, the model, a call, a hook, a lock or the
disk."""

from callgate.tui.fold_state import FoldState
from callgate.tui.render.measures import seconds_text
from callgate.words.calls import Status
from callgate.words.noun import noun

STUCK = 2.0
"""Seconds after which the line says what the agent waits for."""


@noun
class Wait:
    """The reason why the agent waits. ``since`` is None if the time is not shown; ``until`` is the end of the wait, or
    None if it is unknown."""

    text: str
    since: float | None
    until: float | None = None


def activity_line(state: FoldState, now: float) -> str:
    """Return the agent's current work as text, or an empty string while the agent is idle. After two seconds of
    waiting, the text contains the reason."""
    wait = wait_of(state)
    if wait is None:
        return ""
    if wait.since is None:
        return wait.text
    if wait.until is not None:
        return f"{wait.text} in {max(wait.until - now, 0.0):.0f} s"
    seconds = now - max(
        wait.since, state.work_began or wait.since
    )  # a call of an earlier run may be older than this run
    if seconds >= STUCK:
        return f"{wait.text}, {seconds_text(seconds)}"
    return "working" if state.work_began is None else f"working, {seconds_text(max(now - state.work_began, 0.0))}"


def wait_of(state: FoldState) -> Wait | None:
    """Return the reason why the agent waits, or None while nothing runs.

    If there are several reasons, the first in this order is returned: the user, a hook or summary, the delay before
    a retry, a running call, a queued or validating call, the model, the disk.
    """
    if state.questions and state.status not in ("paused", "closed"):
        return Wait("waiting for your answer", None)
    if state.status != "working":
        return None
    for phase in state.phases.values():
        text = f"running {phase.name}" if phase.kind == "hook" else f"{phase.name} is writing a summary"
        return Wait(text, phase.at)
    retry = state.retry
    if retry is not None and state.model_silent and state.model_at == retry.at and retry.delay >= STUCK:
        return Wait(f"retrying {retry.instead or 'the model'}", retry.at, retry.at + retry.delay)
    found = _call(state)
    if found is None and state.model_at is not None:
        return Wait("waiting for the model" if state.model_silent else "no output from the model", state.model_at)
    return found or Wait("waiting for the disk", state.last_activity)


def _call(state: FoldState) -> Wait | None:
    calls = [each for each in state.open_calls if not each.path]
    running = [each for each in calls if each.status is Status.EXECUTING]
    queued = [each for each in calls if each.status is Status.SCHEDULED] if state.model_at is None else []
    if running:
        more = f" and {len(running) - 1} more" if len(running) > 1 else ""
        waits = f"; {queued[0].name} is next" if queued else ""
        return Wait(f"running {running[0].name}{more}{waits}", min(each.since for each in running))
    for call in calls:
        if call in queued:
            return Wait(f"{call.name} is waiting for a lock of another agent, or for the disk", call.since)
        if call.status is Status.VALIDATING:
            return Wait(f"checking {call.name}", call.since)
    return None
