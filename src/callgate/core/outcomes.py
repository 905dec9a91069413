"""Results of calls that failed, were cancelled or did not run: their text for the model and their known effects."""

from dataclasses import replace
from traceback import format_exception
from typing import Any

from callgate.core.ports import Unknown
from callgate.words.calls import CODES, NO_CASCADE, PARTIAL_OUTPUT, Code, Known, Result
from callgate.words.errors import ToolFailure, in_words
from callgate.words.messages import Text
from callgate.words.traits import Effects

RANK: dict[str, int] = {"discarded": 4, "timed_out": 3, "sibling": 2, "user": 1}
"""Precedence of the reasons for a cancel; the highest one is reported."""

_CODES: dict[str, Code] = {
    "discarded": "discarded",
    "timed_out": "timed_out",
    "sibling": "cancelled_by_sibling",
    "user": "cancelled_by_user",
}
_AGAIN = "Send the call again if needed."
_CHECK = "Check before you repeat it."


def stronger(before: tuple[str, str] | None, after: tuple[str, str]) -> tuple[str, str]:
    """Return the reason with higher precedence, and its sentence."""
    return after if before is None or RANK[after[0]] > RANK[before[0]] else before


def cascades(result: Result) -> bool:
    """Return True if the result cancels other calls of the message, for a tool with the trait ``cascade``."""
    return CODES[result.code].cascades and not result.details.get(NO_CASCADE)


def sentence(text: str) -> str:
    """Return the text with a full stop at the end."""
    text = text.strip()
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def unknown_tool(unknown: Unknown) -> Result:
    return Result.failed("unknown_tool", unknown.sentence, effects="none", close=[*unknown.close])


def invalid_arguments(name: str, errors: tuple[str, ...]) -> Result:
    listed = "\n".join(f"- {error}" for error in errors)
    text = f"Invalid arguments for {name}; the call was not run:\n{listed}"
    return Result.failed("invalid_arguments", text, effects="none", errors=list(errors))


def over_limit(what: str) -> Result:
    return Result.failed("limit", f"Not run: {what}. Send less, or in several calls.", effects="none", started=False)


def denied(code: Code, by: str, reason: str) -> Result:
    text = f"Not run: denied by {by}." + (f" {reason}" if reason else "")
    return Result.failed(code, text, effects="none", by=by, reason=reason)


def truncated(*, closed: bool) -> Result:
    what = "the message was cut off before its end" if closed else "its arguments were cut off"
    return Result.failed("not_run_truncated", f"Not run: {what}. Send the call again.", effects="none")


def not_started(reason: str, because: str) -> Result:
    return Result.failed(_CODES[reason], f"{because} The call was not started.", effects="none", started=False)


def stopped(reason: str, because: str, effects: Effects) -> Result:
    """Return the result of a call that ended after a cancel."""
    return Result.failed(_CODES[reason], f"{because} {_interrupted(effects)}", effects=_after(effects), started=True)


def with_output(stopped: Result, output: Result | str) -> Result:
    """Return the result of a cancelled call with its output: the content that its tool returned, or the progress
    that its tool reported."""
    kept = Result((Text(output),) if output else ()) if isinstance(output, str) else output
    if not kept.content:
        return stopped
    return replace(
        stopped,
        content=(Text(f"{stopped.text} Output until then:\n"), *kept.content),
        display=kept.display,
        artifacts=kept.artifacts,
        details={**kept.details, **stopped.details, PARTIAL_OUTPUT: True},
    )


def discarded(result: Result, because: str, effects: Effects) -> Result:
    """Return a successful or discarded result unchanged. Return any other result as the result of a call stopped by
    the discard."""
    if not result.is_error or result.code == "discarded":
        return result
    return stopped("discarded", because, "none" if result.effects == "none" else effects)


def unstoppable(reason: str, because: str, effects: Effects) -> Result:
    """Return the result of a cancelled call whose tool did not end within the grace period."""
    known = _after(effects)
    code: Code = "outcome_unknown" if known == "unknown" and reason in ("user", "sibling") else _CODES[reason]
    check = f" {_CHECK}" if known == "unknown" else ""
    text = f"{because} The call did not stop in time and may still be running.{check}"
    return Result.failed(code, text, effects=known, started=True, stray=True)


def too_late(because: str, late: Result, effects: Effects) -> Result:
    """Return the result of a call that finished after its timeout. The effects of the call are complete."""
    done = "" if effects == "none" else ", so its effects are complete"
    note = Text(f"{because} The call finished after that{done}. Its result:\n")
    details: dict[str, Any] = {**late.details, "effects": "none" if effects == "none" else "done", "started": True}
    return replace(late, content=(note, *late.content), is_error=True, code="timed_out", details=details)


def locked_out(waited: float, holders: list[str]) -> Result:
    names = ", ".join(holders) or "another call"
    text = f"Not started: waited {waited:g} s for {names}, which has locked what this call needs."
    return Result.failed("timed_out", text, effects="none", started=False, holders=holders)


def from_exception(error: BaseException, effects: Effects) -> Result:
    """Return the result for an exception: the message of a ToolFailure, or a report of any other exception."""
    return failed(str(error), effects) if isinstance(error, ToolFailure) else raised(error, effects)


def raised(error: BaseException, effects: Effects) -> Result:
    """Return the result for an unexpected exception: type and message for the model, the traceback for the record."""
    return Result.failed(
        "tool_error",
        in_words(error),
        effects=_after(effects),
        exception=type(error).__name__,
        traceback=_traceback(error),
    )


def failed(message: str, effects: Effects) -> Result:
    """Return the result for a ToolFailure, with its message for the model."""
    return Result.failed("tool_error", message, effects=_after(effects))


def outcome_unknown(effects: Effects, files: str = "") -> Result:
    """Return the result of a call that had started before a crash.

    files  a sentence about the files that the call was changing
    """
    text = f"Outcome unknown: the program ended while this call was running.{files} {_CHECK}"
    return Result.failed("outcome_unknown", text, effects=_after(effects), started=True)


def never_started() -> Result:
    text = f"Never started: the program ended while the message was still arriving. {_AGAIN}"
    return Result.failed("never_started", text, effects="none", started=False)


def too_many_calls(most: int) -> Result:
    """Return the result of a call beyond the maximum number of calls of a run."""
    text = f"Not run: the limit of {most} tool calls for this task is reached. Answer with what is known."
    return Result.failed("limit", text, effects="none", started=False)


def not_kept() -> Result:
    text = f"Never started: its arguments contained a secret, which is not stored on disk. {_AGAIN}"
    return Result.failed("never_started", text, effects="none", started=False)


def left_behind() -> Result:
    text = f"Never started here: the call belongs to the session from which this session was forked. {_AGAIN}"
    return Result.failed("never_started", text, effects="none", started=False)


def unrecorded(error: BaseException) -> Result:
    """Return the result of a call that did not run because its start could not be recorded."""
    return Result.failed("tool_error", f"Not started: {in_words(error)}", effects="none", started=False)


def _after(effects: Effects) -> Known:
    return "none" if effects == "none" else "unknown"


def _interrupted(effects: Effects) -> str:
    if effects == "none":
        return "The call was interrupted. It has no effects."
    return f"The call was interrupted and may have partly run. {_CHECK}"


def _traceback(error: BaseException) -> str:
    try:
        return "".join(format_exception(error))[-8_000:]
    except Exception:  # its __str__ may raise
        return type(error).__name__
