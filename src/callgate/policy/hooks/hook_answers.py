"""Parses the answers of hooks strictly.

The hook fails if its answer contains a value of the wrong type, an unknown verdict, or an answer to another event.
``null`` is treated as a missing field. Unknown fields are reported to the user.
"""

import json
from collections.abc import Mapping
from types import NoneType
from typing import Any, cast

from callgate.host.processes import Finished
from callgate.policy.hooks.hook_protocol import EVENTS_WITH_TEXT, SILENT, STRICTEST_FIRST, HookAnswer, HookFailure
from callgate.policy.json_store import refuse_constant
from callgate.words.decisions import Effect
from callgate.words.late_pattern import late_pattern

LONGEST = 10_000
"""The maximum length of a reason, a context or a message, in characters. Longer texts are cut."""

LARGEST = 256 * 1024
"""The maximum size of an answer in bytes. A longer answer is a failure."""

_BLOCKED = "blocked by a hook without a reason"
_STOPPED = "a hook stopped the work"
_Kind = type | tuple[str, ...] | None
"""The type of a field, or its allowed words. None for a known field that is ignored."""
_TOP: Mapping[str, _Kind] = {
    **dict.fromkeys(("stopReason", "systemMessage", "reason"), str),
    "decision": ("block", "approve"),
    "continue": bool,
    "hookSpecificOutput": dict,
    "suppressOutput": None,  # the output of hooks is always recorded
}
_OWN: Mapping[str, _Kind] = {
    **dict.fromkeys(("hookEventName", "permissionDecisionReason", "additionalContext"), str),
    "permissionDecision": ("allow", "ask", "deny"),
    "updatedInput": dict,
    "decision": dict,
}
_CHOICE: Mapping[str, _Kind] = {"behavior": ("allow", "deny"), "message": str, "updatedInput": dict, "interrupt": bool}
_CALL_FIELDS = ("permissionDecision", "permissionDecisionReason", "updatedInput")
_FOR_ONE_EVENT = {**dict.fromkeys(_CALL_FIELDS, "PreToolUse"), "decision": "PermissionRequest"}
_NAMES: Mapping[object, str] = {dict: "an object", list: "a list", str: "text", bool: "true or false", NoneType: "null"}
_BEGINS_JSON = late_pattern(r'\{\s*["}]|\[\s*["{\[]')
_PLAINLY: dict[str, Effect] = {"block": "deny", "approve": "allow"}


class _Wrong(Exception):
    """The answer of a hook is invalid. The message names the field."""


def read_exit(event: str, done: Finished) -> HookAnswer | HookFailure:
    """Return the answer of a command by its exit code. Code 2 blocks; for code 0 the answer is parsed from stdout;
    any other code is a failure."""
    complaint = cut_text(done.stderr.decode(errors="replace").strip())
    code = done.returncode
    if code == 2:
        return HookAnswer("deny", complaint or _BLOCKED)
    if code != 0:
        how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        return HookFailure(how, complaint)
    if len(done.stdout) >= LARGEST:
        return HookFailure("wrote too much output")
    return read_text(event, done.stdout)


def read_text(event: str, stdout: bytes) -> HookAnswer | HookFailure:
    """Parse stdout of a hook. Text that begins with ``{`` is parsed as JSON; other text is plain text.

    Plain text that contains JSON is a failure. For events whose text is for the model, it is a failure only if the
    JSON has a field of a hook answer. If text follows the JSON object, the answer is used only if it denies or
    stops.
    """
    try:
        text = stdout.decode("utf-8-sig").strip()
    except UnicodeDecodeError:
        return HookFailure("wrote output that is not UTF-8")
    if text.startswith("{"):
        return _with_rest(event, text)
    answers = event not in EVENTS_WITH_TEXT or any(f'"{name}"' in text for name in _TOP)
    if answers and _BEGINS_JSON.search(text):
        return HookFailure("wrote other text before its JSON")
    if event in EVENTS_WITH_TEXT:
        return HookAnswer(context=cut_text(text))
    return HookAnswer(shown=(cut_text(text),)) if text else SILENT


def _with_rest(event: str, text: str) -> HookAnswer | HookFailure:
    try:
        end = json.JSONDecoder().raw_decode(text)[1]
    except (ValueError, RecursionError):
        return read_json(event, text)
    answer = read_json(event, text[:end])
    if not text[end:].strip() or isinstance(answer, HookFailure) or answer.verdict == "deny" or answer.stop is not None:
        return answer
    return HookFailure("wrote other text after its JSON")


def read_json(event: str, text: str | bytes) -> HookAnswer | HookFailure:
    try:
        found = json.loads(text, object_pairs_hook=_no_key_twice, parse_constant=refuse_constant)
        json.dumps(found, ensure_ascii=False).encode()  # refuse half of a surrogate pair, which cannot be encoded
    except (ValueError, RecursionError) as error:
        why = str(error) if isinstance(error, _TwiceError) else "returned invalid JSON"
        return HookFailure(why)
    return read_answer(event, found)


class _TwiceError(ValueError):
    pass


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _TwiceError("returned JSON with a duplicate key")
    return found


def read_answer(event: str, said: object) -> HookAnswer | HookFailure:
    try:
        return _answer(event, said)
    except _Wrong as wrong:
        return HookFailure(f"returned an invalid answer: {wrong}")


def _fields(path: str, value: object, known: Mapping[str, _Kind], unknown: list[str]) -> dict[str, Any]:
    """Return the known fields that are not null. Append the names of all other fields to ``unknown``."""
    if not isinstance(value, dict):
        raise _Wrong(f"{path or 'it'} must be an object, not {_name(value)}")
    found: dict[str, Any] = {}
    for key, field in cast(dict[str, object], value).items():
        named = f"{path}.{key}" if path else key
        wanted = known.get(key, object)
        if field is None or wanted is None:
            continue
        if isinstance(wanted, tuple) and field not in wanted:
            what = "" if isinstance(field, str) else f", not {_name(field)}"
            raise _Wrong(f"{named} must be one of {', '.join(wanted)}{what}")
        if isinstance(wanted, type) and not isinstance(field, wanted):
            raise _Wrong(f"{named} must be {_NAMES[wanted]}, not {_name(field)}")
        if wanted is object:
            unknown.append(named)
        found[key] = cut_text(field) if isinstance(field, str) else field
    return found


def _answer(event: str, said: object) -> HookAnswer:
    unknown: list[str] = []
    top = _fields("", said, _TOP, unknown)
    own = _fields("hookSpecificOutput", top.get("hookSpecificOutput", {}), _OWN, unknown)
    if own.get("hookEventName", event) != event:
        raise _Wrong(f"hookSpecificOutput.hookEventName must be {event}")
    for name, wanted in _FOR_ONE_EVENT.items():
        if name in own and event != wanted:
            raise _Wrong(f"hookSpecificOutput.{name} has no effect for {event}")
    choice = _fields("hookSpecificOutput.decision", own.get("decision", {}), _CHOICE, unknown)
    reason, behavior = top.get("reason", ""), choice.get("behavior")
    verdict, because = strictest(
        [
            (_PLAINLY.get(top.get("decision", "")), reason),
            (own.get("permissionDecision"), own.get("permissionDecisionReason") or reason),
            (behavior, choice.get("message") or reason),
        ]
    )
    stops = top.get("continue") is False or (choice.get("interrupt") and behavior == "deny")
    odd = f"returned unknown fields: {', '.join(unknown)[:200]}" if unknown else ""
    return HookAnswer(
        verdict=verdict,
        reason=(because or _BLOCKED) if verdict == "deny" else because,
        arguments=own.get("updatedInput", choice.get("updatedInput")),
        context=own.get("additionalContext", ""),
        stop=(top.get("stopReason") or because or _STOPPED) if stops else None,
        shown=tuple(note for note in (top.get("systemMessage"), odd) if note),
    )


def strictest(said: list[tuple[Effect | None, str]]) -> tuple[Effect | None, str]:
    """Return the strictest verdict with its reason. Deny is stricter than ask, ask is stricter than allow. The
    verdict is None if no answer has a verdict."""
    for effect in STRICTEST_FIRST:
        for verdict, reason in said:
            if verdict == effect:
                return verdict, reason
    return None, ""


def cut_text(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]} [{len(text) - LONGEST} more characters]"


def _name(value: object) -> str:
    return _NAMES.get(type(value), "a number")
