"""The JSON protocol of hooks. It is compatible with the hooks of other agents."""

from collections.abc import Mapping
from typing import Any

from callgate.core.ports import Case
from callgate.words.calls import Result
from callgate.words.decisions import Effect
from callgate.words.messages import Content, Image, Text
from callgate.words.noun import noun

CALL_EVENTS = ("PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest")
"""The events about a single call. All other events are sent with ``Hooks.happened``."""

AGENT_EVENTS = ("SubagentStart", "SubagentStop")
"""The events about a nested session."""

EVENTS_NOT_SENT = ("TaskCreated", "TaskCompleted", "TeammateIdle", "ConfigChange")
"""Events that are never sent yet. ``callgate policy check`` prints a note on hooks for these events."""

SUBJECTS: Mapping[str, str] = {
    **dict.fromkeys(CALL_EVENTS, "tool_name"),
    "SessionStart": "source",
    "SessionEnd": "reason",
    "SubagentStart": "agent_type",
    "SubagentStop": "agent_type",
    "PreCompact": "trigger",
    "PostCompact": "trigger",
    "Notification": "notification_type",
    "ConfigChange": "source",
}
"""The field of each event with which its matchers are compared. Events that are not listed have no such field."""

EVENTS_NOT_BLOCKABLE = ("SessionEnd", "SubagentStart", "PostCompact", "Notification")
"""Events that a hook cannot block. A denial is shown to the user."""

EVENTS_WITH_TEXT = ("UserPromptSubmit", "SessionStart")
"""Events for which plain text on stdout is context for the model."""

STRICTEST_FIRST: tuple[Effect, ...] = ("deny", "ask", "allow")


@noun
class HookAnswer:
    """The answer of one hook.

    verdict    "deny" blocks the action that the event reports
    stop       why the agent must stop, or None
    arguments  new arguments of the call, or None
    context    text for the model
    shown      texts for the user
    """

    verdict: Effect | None = None
    reason: str = ""
    arguments: Mapping[str, Any] | None = None
    context: str = ""
    stop: str | None = None
    shown: tuple[str, ...] = ()


@noun
class HookFailure:
    """The reason why a hook gave no answer. ``detail`` is additional text for the user."""

    why: str
    detail: str = ""


SILENT = HookAnswer()


def facts_of_call(case: Case) -> dict[str, Any]:
    return {
        "permission_mode": case.mode,
        "tool_name": case.name,
        "tool_input": _input(case),
        "tool_use_id": case.call_id,
        **({"agent_path": list(case.path)} if case.path else {}),
    }


def _input(case: Case) -> Mapping[str, Any]:
    """Return the arguments of the call. If the rules of another tool apply to the call, the
    paths of the files that the call will write are added."""
    locks = case.traits.declared_locks
    if not case.traits.judged_as or locks is None or not locks.writes:
        return case.arguments
    one = {"file_path": locks.writes[0]} if len(locks.writes) == 1 else {}
    return {**case.arguments, **one, "paths": list(locks.writes)}


def facts_of_result(result: Result) -> dict[str, Any]:
    """Return the result as the model gets it. For binary content only the kind is returned."""
    response = {"content": [_told(part) for part in result.content], "is_error": result.is_error, "code": result.code}
    if not result.is_error:
        return {"tool_response": response}
    return {"tool_response": response, "error": result.text, "is_interrupt": result.code.startswith("cancelled")}


def _told(part: Content) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    if isinstance(part, Image):
        return {"type": "image", "media_type": part.media_type}
    told = {"type": "resource", "uri": part.uri, "text": part.text, "media_type": part.media_type}
    return {name: value for name, value in told.items() if value is not None}
