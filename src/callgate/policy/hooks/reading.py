"""Reads the answers of hooks, strictly.

A value of the wrong type, a word that means nothing or an answer to another event is a failure of the hook, never a
guess; ``null`` is the same as leaving a field out. Unknown fields are named to the person.
"""

import json
from typing import Any, cast

from callgate.host.processes import Finished
from callgate.policy.hooks.protocol import SILENT, STRICTEST_FIRST, TAKES_TEXT, HookAnswer, HookFailure
from callgate.words.decisions import Effect

LONGEST = 10_000
"""Characters of a reason, a context or a message; what is longer is cut and says so."""

LARGEST = 256 * 1024
"""Bytes of an answer; more is a failure."""

_BLOCKED = "blocked by a hook that gave no reason"
_STOPPED = "a hook stopped the work"
_TOP = ("continue", "stopReason", "systemMessage", "decision", "reason", "hookSpecificOutput")
_PLAINLY: dict[str, Effect] = {"block": "deny", "approve": "allow"}


class _Wrong(Exception):
    """The answer cannot be read; the message says where."""


def read_exit(event: str, done: Finished) -> HookAnswer | HookFailure:
    """The answer of a command by its exit code: 2 blocks whatever else it said, 0 is fine, all others are failures."""
    complaint = cut_text(done.stderr.decode(errors="replace").strip())
    code = done.returncode
    if code == 2:
        return HookAnswer("deny", complaint or _BLOCKED)
    if code != 0:
        how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        return HookFailure(how, complaint)
    if len(done.stdout) >= LARGEST:
        return HookFailure("wrote more than anybody reads")
    return read_text(event, done.stdout)


def read_text(event: str, stdout: bytes) -> HookAnswer | HookFailure:
    """JSON when it begins like an object; otherwise plain text, which may not have such JSON further down. An object
    that other text follows counts if it forbids something: a block must not get lost in noise."""
    try:
        text = stdout.decode("utf-8-sig").strip()
    except UnicodeDecodeError:
        return HookFailure("wrote something that is not UTF-8")
    if text.startswith("{"):
        return _with_rest(event, text)
    if "\n{" in text and any(f'"{name}"' in text for name in _TOP):
        return HookFailure("wrote other text before its JSON")
    if event in TAKES_TEXT:
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
    """The answer that a text says, which must be one JSON object."""
    try:
        found = json.loads(text, object_pairs_hook=_no_key_twice, parse_constant=_no_constant)
        json.dumps(found, ensure_ascii=False).encode()  # a half of a surrogate pair can be written nowhere
    except (ValueError, RecursionError) as error:
        why = str(error) if isinstance(error, _TwiceError) else "gave JSON that cannot be read"
        return HookFailure(why)
    return read_answer(event, found)


class _TwiceError(ValueError):
    pass


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _TwiceError("gave JSON that has a key twice")
    return found


def _no_constant(_name: str) -> object:
    raise ValueError("no JSON")


def read_answer(event: str, said: object) -> HookAnswer | HookFailure:
    """The answer that a JSON value says."""
    try:
        return _answer(event, _Fields("", said))
    except _Wrong as wrong:
        return HookFailure(f"gave an answer that cannot be read: {wrong}")


class _Fields:
    """A JSON object that is read field by field; ``rest`` are the fields that were not read."""

    def __init__(self, path: str, value: object) -> None:
        if not isinstance(value, dict):
            raise _Wrong(f"{path or 'it'} must be an object, not {_name(value)}")
        self._path = path
        self._left = {key: field for key, field in cast(dict[str, object], value).items() if field is not None}

    def of(self, name: str, kind: type, words: str) -> Any:
        """The field, or None when it is not there."""
        value = self._left.pop(name, None)
        if value is not None and not isinstance(value, kind):
            raise _Wrong(f"{self._named(name)} must be {words}, not {_name(value)}")
        return value

    def text(self, name: str) -> str:
        return cut_text(self.of(name, str, "text") or "")

    def flag(self, name: str) -> bool | None:
        return self.of(name, bool, "true or false")

    def one_of(self, name: str, *words: str) -> Any:
        value = self.of(name, str, f"one of {', '.join(words)}")
        if value is not None and value not in words:
            raise _Wrong(f"{self._named(name)} must be one of {', '.join(words)}")
        return value

    def object(self, name: str) -> "dict[str, Any] | None":
        return self.of(name, dict, "an object")

    def fields(self, name: str) -> "_Fields":
        return _Fields(self._named(name), self.object(name) or {})

    def only_for(self, event: str, wanted: str, *names: str) -> None:
        """These fields mean something for one event alone."""
        for name in names:
            if name in self._left and event != wanted:
                raise _Wrong(f"{self._named(name)} means nothing for {event}")

    def drop(self, name: str) -> None:
        self._left.pop(name, None)

    @property
    def rest(self) -> tuple[str, ...]:
        return tuple(self._named(name) for name in self._left)

    def _named(self, name: str) -> str:
        return f"{self._path}.{name}" if self._path else name


def _answer(event: str, top: _Fields) -> HookAnswer:
    goes_on, stop, message = top.flag("continue"), top.text("stopReason"), top.text("systemMessage")
    top.drop("suppressOutput")  # what hooks say is always on record
    plain, reason = top.one_of("decision", "block", "approve"), top.text("reason")
    own = top.fields("hookSpecificOutput")
    if own.of("hookEventName", str, "text") not in (None, event):
        raise _Wrong(f"hookSpecificOutput.hookEventName is not {event}, which it was asked about")
    own.only_for(event, "PreToolUse", "permissionDecision", "permissionDecisionReason", "updatedInput")
    own.only_for(event, "PermissionRequest", "decision")
    choice = own.fields("decision")
    permission, why = own.one_of("permissionDecision", "allow", "ask", "deny"), own.text("permissionDecisionReason")
    behavior, note = choice.one_of("behavior", "allow", "deny"), choice.text("message")
    interrupts = choice.flag("interrupt")
    changed, changed_too = own.object("updatedInput"), choice.object("updatedInput")
    context = own.text("additionalContext")
    said: list[tuple[Effect | None, str]] = [
        (_PLAINLY.get(plain), reason),
        (permission, why or reason),
        (behavior, note or reason),
    ]
    verdict, because = strictest(said)
    unknown = ", ".join((*top.rest, *own.rest, *choice.rest))
    notes = (message, unknown and f"said what nobody here understands: {unknown[:200]}")
    return HookAnswer(
        verdict,
        (because or _BLOCKED) if verdict == "deny" else because,
        changed_too if changed is None else changed,
        context,
        (stop or because or _STOPPED) if goes_on is False or (interrupts and behavior == "deny") else None,
        tuple(note for note in notes if note),
    )


def strictest(said: list[tuple[Effect | None, str]]) -> tuple[Effect | None, str]:
    """Of several verdicts the one that counts, with its reason: deny before ask before allow."""
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
    names: dict[type, str] = {
        dict: "an object",
        list: "a list",
        str: "text",
        bool: "true or false",
        type(None): "null",
    }
    return names.get(type(value), "a number")
