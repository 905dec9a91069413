"""The running calls of a server, and the questions that the server asks the user during a call: a form, an address to
open, a login."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from typing import Any, Protocol, cast
from urllib.parse import urlsplit

from callgate.core.ports import Clock, Timer
from callgate.formats.display import excerpt, look_alikes, visible
from callgate.host.environment import secret
from callgate.mcp.link_faults import NeedsLogin
from callgate.mcp.tool_definitions import clean
from callgate.tools.jsonschema import first_fault
from callgate.words.decisions import WANTED, AskedField, AskedOption, FieldAnswer, FieldKind
from callgate.words.noun import noun

MOST_FIELDS = 30
_MOST_OPTIONS = 50
_LONGEST_ADDRESS = 2_000
_SECRET_TEXT = re.compile(
    r"\b(?:pass(?:word|phrase|code)s?|secrets?|api[ _-]?keys?|tokens?|private keys?|credentials?|pin code|cvv"
    r"|(?:seed|recovery) phrase|(?:credit )?card number)\b",
    re.I,
)
_NO_SECRETS = "a server may not ask for passwords, keys and other secrets"
_YES, _NO = "Yes", "No"
_KINDS: Mapping[str, FieldKind] = {"number": "number", "integer": "integer"}


class Person(Protocol):
    """The interface through which a session asks the user."""

    async def ask(
        self, fields: Sequence[AskedField], *, by: str, text: str, name: str
    ) -> tuple[FieldAnswer, ...] | None:
        """Ask the user a question and return the answers, or None if the user declines or cannot be asked. May be
        cancelled."""
        ...


@noun
class FormField:
    """A property of a form, with the corresponding field of the question."""

    name: str
    schema: Mapping[str, Any]
    asked: AskedField


def form_fields(schema: Mapping[str, Any], message: str = "") -> list[FormField]:
    """Return the fields of a form. Raise ValueError with the reason if the form must not be shown."""
    if _asks_for_secret(message):
        raise ValueError(_NO_SECRETS)
    properties: Any = schema.get("properties")
    if not isinstance(properties, dict) or not 0 < len(cast("dict[str, Any]", properties)) <= MOST_FIELDS:
        raise ValueError(f"a form has 1 to {MOST_FIELDS} fields")
    required = schema.get("required") or ()
    return [_field(name, each, name in required) for name, each in cast("dict[str, Any]", properties).items()]


def form_content(fields: Sequence[FormField], answers: Sequence[FieldAnswer]) -> dict[str, Any]:
    """Return the user's answers as the content of the form, converted to the types of its properties."""
    found: dict[str, Any] = {}
    for field, answer in zip(fields, answers, strict=True):
        text = answer.text.strip()
        if answer.chosen or text:
            found[field.name] = _value(field, answer, text)
        elif "default" in field.schema:
            found[field.name] = field.schema["default"]
    return found


def form_fault(schema: Mapping[str, Any], fields: Sequence[FormField], content: Mapping[str, Any]) -> str:
    """Return the first reason why the server would reject the content of a form, or an empty string."""
    for field in fields:
        reads = _FORMATS.get(str(field.schema.get("format")))
        try:
            fits = reads is None or field.name not in content or reads(content[field.name])
        except (ValueError, TypeError):
            fits = False
        if not fits:
            return f"{field.asked.header}: {field.schema['format']} is wanted"
    return clean(first_fault(schema, content), 300)


_MAIL = re.compile(r"[^@\s]+@[^@\s]+")
_FORMATS: Mapping[str, Callable[[str], object]] = {
    "email": _MAIL.fullmatch,
    "uri": lambda text: urlsplit(text).scheme,
    "date": date.fromisoformat,
    "date-time": datetime.fromisoformat,
}
"""The formats of the protocol. Each function returns a false value or raises ValueError for invalid text."""


def shown_address(url: str) -> str:
    """Return an address for the user to open, and its host. Raise ValueError if the address must not be shown."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        raise ValueError("it is no address") from None
    is_local = parts.scheme == "http" and host in ("127.0.0.1", "localhost", "::1")
    if (parts.scheme != "https" and not is_local) or not host or parts.username or parts.password:
        raise ValueError("only addresses that begin with https:// are shown")
    if len(url) > _LONGEST_ADDRESS or visible(url) != url or " " in url:
        raise ValueError("it is too long, or contains characters that are invalid in an address")
    note = look_alikes(host)
    return f"{url}\n(on the host {host}{f'; {note}' if note else ''})"


def shown_text(text: str) -> str:
    return excerpt(clean(text, 2_000), lines=12, chars=1_000)


def _asks_for_secret(text: str) -> bool:
    return _SECRET_TEXT.search(clean(text, len(text))) is not None


def _field(name: str, schema: Any, required: bool) -> FormField:
    given = cast("dict[str, Any]", schema) if isinstance(schema, dict) else {}
    if given.get("type") not in ("string", "number", "integer", "boolean", "array"):
        raise ValueError(f"the field {name!r:.40} has no simple type")
    title, about = str(given.get("title") or name), str(given.get("description") or "")
    if secret(name, "") or given.get("format") == "password" or _asks_for_secret(f"{name} {title} {about}"):
        raise ValueError(_NO_SECRETS)
    options = _options(given)
    default = _shown_default(given) if "default" in given else ""
    # A form with options accepts nothing else.
    kind: FieldKind = "option" if options else _KINDS.get(given["type"], "text")
    wanted = WANTED[kind] if kind in _KINDS.values() else clean(str(given.get("format") or ""), 24)
    hint = ", ".join(filter(None, (wanted, _limits(given))))
    header = clean(name, 24).replace("\n", " ")
    shown = "" if clean(title, 80).casefold() == header.casefold() and about else clean(title, 80)
    question = ": ".join(part for part in (shown, clean(about, 300)) if part)
    asked = AskedField(
        header=header,
        question=(f"{question} ({hint})" if hint else question) + (f"; {default} unless said" if default else ""),
        options=tuple(AskedOption(label) for label in options),
        several=given["type"] == "array",
        required=required and "default" not in given,
        kind=kind,
        default=default,
    )
    return FormField(name, given, asked)


def _limits(schema: Mapping[str, Any]) -> str:
    for least, most, of in (("minimum", "maximum", ""), ("minLength", "maxLength", " characters")):
        low, high = schema.get(least), schema.get(most)
        if isinstance(low, int | float) and isinstance(high, int | float):
            return f"{low} to {high}{of}"
        if isinstance(low, int | float):
            return f"at least {low}{of}"
        if isinstance(high, int | float):
            return f"at most {high}{of}"
    return ""


def _shown_default(schema: Mapping[str, Any]) -> str:
    """Return the default of a field; for a field with options, the label of the default option."""
    given, labels = schema["default"], _values(schema)
    if schema["type"] == "boolean":
        return _YES if given else _NO
    values = cast("list[object]", given) if isinstance(given, list) else [given]
    return clean(", ".join(labels.get(str(each), str(each)) for each in values), 80)


def _options(schema: Mapping[str, Any]) -> list[str]:
    if schema["type"] == "boolean":
        return [_YES, _NO]
    labels = [clean(each, 80) for each in _values(schema).values()]
    if len(labels) > _MOST_OPTIONS or len(set(labels)) != len(labels):
        raise ValueError("a field has too many options, or two options that look the same")
    return labels


def _values(schema: Mapping[str, Any]) -> dict[str, str]:
    """Return the values of an enumeration with their labels, in the syntax of any protocol version."""
    of: Mapping[str, Any] = schema.get("items") or {} if schema["type"] == "array" else schema
    titled = of.get("oneOf") or of.get("anyOf")
    if titled:
        return {str(each["const"]): str(each.get("title") or each["const"]) for each in titled}
    names = of.get("enumNames") or of.get("enum") or ()
    return {str(value): str(label) for value, label in zip(of.get("enum") or (), names, strict=False)}


def _value(field: FormField, answer: FieldAnswer, text: str) -> Any:
    kind = field.schema["type"]
    by_label = {clean(label, 80): value for value, label in _values(field.schema).items()}
    chosen = [by_label.get(label, label) for label in answer.chosen]
    if kind == "array":
        return [*chosen, *((text,) if text else ())]
    value = chosen[0] if chosen else text
    if kind == "boolean":
        return value == _YES
    if kind == "string":
        return value
    return int(value) if kind == "integer" else float(value)


Elicited = tuple[str, Mapping[str, Any] | None]
_DECLINED: Elicited = ("decline", None)
_MOST_WAITING = 10
_MOST_TRIES = 5


class RunningCall:
    """A call with a timeout that cancels its task. The timeout is paused while the user is asked.

    expired   True if the task was cancelled because the timeout has passed
    declined  True if the user declined a question of the server; further questions during this call are then declined
    """

    def __init__(self, clock: Clock, seconds: float) -> None:
        self.expired = False
        self.declined = False
        self._clock = clock
        self._seconds = seconds
        self._task = asyncio.current_task()
        self._timer: Timer = clock.call_later(seconds, self._expire)

    @contextmanager
    def waiting(self) -> Generator[None]:
        """Stop the timeout of the call in the ``with`` block, and restart it from the beginning after the block."""
        self._timer.cancel()
        try:
            yield
        finally:
            self._timer = self._clock.call_later(self._seconds, self._expire)

    def _expire(self) -> None:
        if self._task is not None and not self._task.done():
            self.expired = True
            self._task.cancel()

    def end(self) -> None:
        self._timer.cancel()
        if self.expired and self._task is not None:
            self._task.uncancel()


class RunningCalls:
    """The running calls of one server, in the order of their start."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        self._calls: list[RunningCall] = []

    @property
    def newest(self) -> RunningCall | None:
        """The call to which a question of the server is assigned, because the protocol does not always name the
        call."""
        return self._calls[-1] if self._calls else None

    @contextmanager
    def begun(self) -> Generator[RunningCall]:
        """Register the current task as a running call for the duration of the block."""
        call = RunningCall(self._clock, self._seconds)
        self._calls.append(call)
        try:
            yield call
        finally:
            self._calls.remove(call)
            call.end()


class ServerQuestions:
    """Asks the user the questions of one server, during the server's newest call. Without a running call, or if the
    user cannot be asked, the questions are declined."""

    def __init__(self, server: str, calls: RunningCalls, person: Person | None, warn: Callable[[str], None]) -> None:
        self._server = server
        self._calls = calls
        self._person = person
        self._warn = warn
        self._asking = asyncio.Lock()
        self._waiting = 0

    async def elicit(self, asked: Mapping[str, Any]) -> Elicited:
        """Return the action and the content that answer an elicitation request of the server."""
        if self._calls.newest is None or self._person is None:
            why = "outside of a call" if self._person is not None else "and nobody can answer here"
            self._warn(f"the server {self._server} asked something {why}: it was declined")
            return _DECLINED
        says = shown_text(str(asked.get("message") or ""))
        try:
            if asked.get("mode") == "url":
                says += f"\nPlease open this address: {shown_address(str(asked.get('url')))}"
                return _DECLINED if await self._ask(says, ()) is None else ("accept", None)
            return await self._form(says, asked.get("requestedSchema") or {}, str(asked.get("message") or ""))
        except (ValueError, TypeError, KeyError, AttributeError) as error:  # a form of the server may have any shape
            why = error if isinstance(error, ValueError) else "its form violates the protocol"
            self._warn(f"a question of the server {self._server} was not asked or not answered: {why}")
            return _DECLINED

    async def _form(self, says: str, schema: Mapping[str, Any], message: str) -> Elicited:
        """Ask the user to fill in a form. Repeat the question while the answer violates the schema, because with
        such an answer the call would fail."""
        fields = form_fields(schema, message)
        fault = ""
        for _ in range(_MOST_TRIES):
            answers = await self._ask(f"{fault}\n{says}" if fault else says, [each.asked for each in fields])
            if answers is None:
                return _DECLINED
            content = form_content(fields, answers)
            fault = form_fault(schema, fields, content)
            if not fault:
                return "accept", content
        raise ValueError(fault)

    async def show_login(self, address: str, back: Awaitable[object]) -> None:
        """Show the login address until ``back`` is done. Raise NeedsLogin if the user declines or cannot be asked."""
        if self._calls.newest is None or self._person is None:
            raise NeedsLogin(f"it requires a login: callgate mcp login {self._server}")
        text = f"The MCP server {self._server} requires a login. Open this address: {address}"
        asking = asyncio.ensure_future(self._ask(text, ()))
        coming = asyncio.ensure_future(back)
        try:
            await asyncio.wait({asking, coming}, return_when=asyncio.FIRST_COMPLETED)
            if asking.done() and asking.result() is None:
                raise NeedsLogin("the person did not log in")
        finally:
            if not asking.done():
                asking.cancel()  # the browser has answered the question
                await asyncio.wait({asking})

    async def _ask(self, text: str, fields: Sequence[AskedField]) -> tuple[FieldAnswer, ...] | None:
        """Ask one question at a time; further questions wait in a bounded queue. If the user declines a question,
        decline further questions of the call."""
        if self._waiting >= _MOST_WAITING:
            return None
        self._waiting += 1
        try:
            async with self._asking:
                call = self._calls.newest
                if call is None or self._person is None or call.declined:
                    return None
                with call.waiting():
                    answers = await self._person.ask(
                        fields, by=f"MCP server {self._server}", text=text, name=f"mcp__{self._server}__question"
                    )
                call.declined = answers is None
                return answers
        finally:
            self._waiting -= 1
