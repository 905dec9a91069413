"""Finds calls that a model wrote as text instead of making them.

The forms of open models are recognised: a JSON object or a fenced JSON block that is the whole answer, and the tags of
Qwen and Hermes, Llama, Mistral and Phi. Tags may follow a text, because only the templates of models produce them; a
fenced block after a text is often an example. Nothing may follow the calls.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, cast

from callgate.core.ports import Target, ToolSource
from callgate.words.arguments import Accepted
from callgate.words.errors import in_words
from callgate.words.messages import CallPart, ResultPart, Text
from callgate.words.model import Abilities, Request
from callgate.words.noun import noun

_MOST_CALLS = 50
_THOUGHTS = re.compile(r"\s*<think>.*?</think>", re.DOTALL)
_ENDS = re.compile(r"(?:\s*(?:<\|eom_id\|>|<\|eot_id\|>|<\|im_end\|>|<\|end\|>|</s>))+\s*\Z")
_FENCE = re.compile(
    r"\s*(`{3,}|~{3,})[ \t]*(?:json|jsonc?|tool_calls?|tool|function_call|xml)?[ \t]*\n(.*?)\n[ \t]*\1[ \t]*(?=\n|\Z)",
    re.DOTALL,
)
_OPENING = re.compile(
    r"^ {0,3}(?:<(?:tool_call|function_call|tool_use)>|<function=|<\|(?:tool_call|python_tag)\|>"
    r"|\[TOOL_CALLS\]|functools\[)",
    re.MULTILINE,
)
_TAGGED = re.compile(
    r"""(?x)\s*(?:
        <(?P<tag>tool_call|function_call|tool_use)>(?P<tagged>.*?)(?:</(?P=tag)>)
      | (?P<function><function=[^<>\s]+>.*?</function>)
      | <\|tool_call\|>(?P<piped>.*?)<\|/tool_call\|>
      | <\|python_tag\|>(?P<python>.*)\Z
      | \[TOOL_CALLS\](?P<mistral>.*?)(?=\[TOOL_CALLS\]|\Z)
      | functools(?P<phi>\[.*\])\Z
    )""",
    re.DOTALL,
)
_FUNCTION = re.compile(r"\s*<function=([^<>\s]+)>(.*)</function>\s*\Z", re.DOTALL)
_PARAMETER = re.compile(r"\s*<parameter=([^<>\s]+)>\n?(.*?)\n?</parameter>", re.DOTALL)
_NAMED = re.compile(r"\s*([\w.:-]+)\s*(?:\[ARGS\])?\s*(\{.*\})\s*\Z", re.DOTALL)
_ARGUMENTS = ("arguments", "parameters")
_KEYS = frozenset(("name", "id", "type", *_ARGUMENTS))


@noun
class WrittenCall:
    """A call in the text of a model. ``arguments`` is JSON."""

    name: str
    arguments: str


@noun
class WrittenCalls:
    """The calls at the end of an answer.

    before    the text before the calls
    calls     empty if the text begins like a call and is incomplete or has another form
    readable  False for a fenced block after a text, which may be an example
    """

    before: str
    calls: tuple[WrittenCall, ...]
    readable: bool = True


def find_written_calls(text: str) -> WrittenCalls | None:
    """Return the calls that end an answer; None if the answer does not look like a call."""
    text = _ENDS.sub("", _THOUGHTS.sub("", text, count=1)).strip()
    calls = _json_calls(text) or _blocks(text, 0)
    if calls:
        return WrittenCalls("", calls)
    opening = _OPENING.search(text)
    if opening is not None and _is_plain(text[: opening.start()]):
        before = text[: opening.start()].strip()
        calls = _tagged(text, opening.start())
        return WrittenCalls(before, calls or ()) if calls or not before else None
    fence = max(text.rfind("\n```"), text.rfind("\n~~~"))
    fence = max(text.rfind("\n```", 0, max(fence, 0)), text.rfind("\n~~~", 0, max(fence, 0)))
    calls = _blocks(text, fence) if fence > 0 else ()
    return WrittenCalls(text[:fence].strip(), calls, readable=False) if calls else None


def accept_written_calls(
    text: str, request: Request, tools: ToolSource, able: Abilities, *, observed: bool
) -> WrittenCalls | str | None:
    """Return the calls of an answer that are to be made, the reason why a call is not made, or None if the answer does
    not look like a call.

    observed  the model wrote calls before
    """
    found = find_written_calls(text)
    if found is None:
        return None
    if is_quoted(found.calls, _texts_read(request)):
        return None if found.before else "the answer repeats a call from a message or a result"
    known = observed or able.written_calls == "known"
    if not found.readable:
        native = any(isinstance(part, CallPart) for message in request.messages for part in message.parts)
        example = able.written_calls == "never" or (native and not known)
        return None if example else "a fenced call after other text is not made, because it may be an example"
    if not found.calls:
        return "it is incomplete, or not in a known form"
    for call in found.calls:
        fault = _fault(call, request, tools)
        if fault:
            return fault
    if able.written_calls == "never":
        return f"{found.calls[0].name} was written as text, which is not read from the answers of this model"
    if found.before and not known:
        return f"{found.calls[0].name} was written as text after other text"
    return found


def _fault(call: WrittenCall, request: Request, tools: ToolSource) -> str:
    """Return why the call cannot be made. Empty if it names a tool of the request and its arguments are valid."""
    if all(spec.name != call.name for spec in request.tools):
        return f"there is no tool {call.name!r}"
    try:
        target = tools.resolve(call.name, call.arguments)
        read = target.tool.read(target.raw) if isinstance(target, Target) else None
    except Exception as error:  # a tool of another package
        return in_words(error)
    return "" if isinstance(read, Accepted) else f"the arguments of {call.name} are not valid"


def _texts_read(request: Request) -> Iterator[str]:
    """Yield the texts of users and tools, which the model may repeat."""
    for message in request.messages:
        for part in message.parts if message.role != "assistant" else ():
            if isinstance(part, Text):
                yield part.text
            elif isinstance(part, ResultPart):
                yield "".join(each.text for each in part.content if isinstance(each, Text))


def is_quoted(calls: Iterable[WrittenCall], texts: Iterable[str]) -> bool:
    """Return True if one of the texts contains one of the calls: the model repeats what it read."""
    found = [re.sub(r"\s", "", text) for text in texts]
    return any(
        re.sub(r"\s", "", call.arguments) in text and call.name in text
        for call in calls
        for text in found
        if len(call.arguments) > len("{}")
    )


def _is_plain(before: str) -> bool:
    """Return True if the text does not end inside of a fenced block."""
    return len(re.findall(r"^ {0,3}(?:```|~~~)", before, re.MULTILINE)) % 2 == 0


def _blocks(text: str, at: int) -> tuple[WrittenCall, ...]:
    """Return the calls of fenced blocks, which must be the rest of the text."""
    found: list[WrittenCall] = []
    while at < len(text) and text[at:].strip():
        block = _FENCE.match(text, at)
        calls = () if block is None else _json_calls(block[2]) or _tagged(block[2].strip(), 0)
        if block is None or not calls:
            return ()
        found += calls
        at = block.end()
    return tuple(found) if len(found) <= _MOST_CALLS else ()


def _tagged(text: str, at: int) -> tuple[WrittenCall, ...]:
    """Return the calls of tags, which must be the rest of the text."""
    found: list[WrittenCall] = []
    while at < len(text) and text[at:].strip():
        block = _TAGGED.match(text, at)
        if block is None:
            return ()
        body = next(value for name, value in block.groupdict().items() if name != "tag" and value is not None)
        calls = _function_call(body) or _json_calls(body) or (_named_call(body) if block["mistral"] else ())
        if not calls:
            return ()
        found += calls
        at = block.end()
    return tuple(found) if len(found) <= _MOST_CALLS else ()


def _function_call(body: str) -> tuple[WrittenCall, ...]:
    """Return the call of ``<function=NAME>{JSON}</function>`` or ``<function=NAME><parameter=KEY>…``."""
    function = _FUNCTION.match(body)
    if function is None:
        return ()
    name, inner = function[1], function[2]
    if inner.lstrip().startswith("{"):
        return _made(name, _values(inner)[:1] if len(_values(inner)) == 1 else [None])
    arguments: dict[str, str] = {}
    at = 0
    while inner[at:].strip():
        parameter = _PARAMETER.match(inner, at)
        if parameter is None or parameter[1] in arguments:
            return ()
        arguments[parameter[1]] = parameter[2]
        at = parameter.end()
    return _made(name, [arguments])


def _named_call(body: str) -> tuple[WrittenCall, ...]:
    named = _NAMED.match(body)
    return () if named is None else _made(named[1], _values(named[2]))


def _json_calls(text: str) -> tuple[WrittenCall, ...]:
    """Return the calls if the text is JSON that consists of calls: one, a list, or several in a row."""
    values = _values(text)
    if len(values) == 1 and isinstance(values[0], list):
        values = cast("list[Any]", values[0])
    found = [call for value in values for call in _json_call(value)]
    return tuple(found) if found and len(found) == len(values) <= _MOST_CALLS else ()


def _json_call(value: Any) -> tuple[WrittenCall, ...]:
    fields = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    if isinstance(fields.get("function"), dict) and fields.keys() <= {"function", "id", "type"}:
        fields = cast("dict[str, Any]", fields["function"])
    if not fields.keys() <= _KEYS or not isinstance(fields.get("name"), str):
        return ()
    given = [fields[name] for name in _ARGUMENTS if name in fields]
    if len(given) == 1 and isinstance(given[0], str):
        given = _values(given[0])
    return _made(fields["name"], given)


def _made(name: str, given: "list[Any]") -> tuple[WrittenCall, ...]:
    if len(given) != 1 or not isinstance(given[0], dict):
        return ()
    return (WrittenCall(name, json.dumps(given[0], ensure_ascii=False)),)


def _values(text: str) -> "list[Any]":
    """Return the JSON values of a text that consists of them; empty for any other text."""
    decoder = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refused)
    found: list[Any] = []
    text, at = text.strip(), 0
    try:
        while at < len(text) and len(found) <= _MOST_CALLS and text[at] in "{[":
            value, at = decoder.raw_decode(text, at)
            found.append(value)
            while at < len(text) and text[at] in " \t\r\n;":
                at += 1
    except (ValueError, RecursionError):
        return []
    return found if at == len(text) else []


def _unique(pairs: "list[tuple[str, Any]]") -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name occurs twice")
    return found


def _refused(constant: str) -> Any:
    raise ValueError(constant)
