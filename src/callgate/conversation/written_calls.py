"""Finds calls that a model wrote as text although it should have made tool calls.

The forms of open models are recognised: a JSON object or a fenced JSON block that is the whole answer, and the tags
of Qwen and Hermes, Llama, Mistral and Phi. Tags may follow a text, because only the templates of models produce
them; a fenced block after a text is often an example. Text after the calls is not allowed.
"""

import json
import re
from typing import Any, cast

from callgate.words.noun import noun

_MOST_CALLS = 50
THOUGHTS = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_ENDS = re.compile(r"(?<!\s)(?:\s*(?:<\|eom_id\|>|<\|eot_id\|>|<\|im_end\|>|<\|end\|>|</s>))+\s*\Z")
_HALF_FENCE = re.compile(
    r"(?:(`{3,}|~{3,})[ \t]*(?:json)?[ \t]*\n)?([\[{].*?[\]}])(?:\n[ \t]*(`{3,}|~{3,}))?", re.DOTALL
)
"""JSON in a fence that was not opened, or not closed."""
_FENCE = re.compile(
    r"\s*(`{3,}|~{3,})[ \t]*(?:json|jsonc?|tool_calls?|tool|function_call|xml)?[ \t]*\n(.*?)\n[ \t]*\1[ \t]*(?=\n|\Z)",
    re.DOTALL,
)
_OPENING = re.compile(
    r"^ {0,3}(?:<(?:tool_call|function_call|tool_use|tools)>|<function(?:=|\s+name=)|<\|(?:tool_call|python_tag)\|>"
    r"|\[TOOL_CALLS\]|functools\[)",
    re.MULTILINE,
)
_TAGGED = re.compile(
    r"""(?x)\s*(?:
        <(?P<tag>tool_call|function_call|tool_use|tools)>(?P<tagged>.*?)(?:</(?P=tag)>)
      | (?P<function><function=[^<>\s]+>.*?</function>)
      | (?P<element><function\s+name="[^"<>]+"\s+arguments='[^\n]*?'\s*(?:/>|>\s*</function>))
      | <\|tool_call\|>(?P<piped>.*?)<\|/tool_call\|>
      | <\|python_tag\|>(?P<python>.*)\Z
      | \[TOOL_CALLS\](?P<mistral>.*?)(?=\[TOOL_CALLS\]|\Z)
      | functools(?P<phi>\[.*\])\Z
    )""",
    re.DOTALL,
)
_FUNCTION = re.compile(r"\s*<function=([^<>\s]+)>(.*)</function>\s*\Z", re.DOTALL)
_ELEMENT = re.compile(
    r"""\s*<function\s+name="([^"<>]+)"\s+arguments='(.*)'\s*(?:/>|>\s*</function>)\s*\Z""", re.DOTALL
)
_PARAMETER = re.compile(r"\s*<parameter=([^<>\s]+)>\n?(.*?)\n?</parameter>", re.DOTALL)
_NAMED = re.compile(r"\s*([\w.:-]+)\s*(?:\[ARGS\])?\s*(\{.*\})\s*\Z", re.DOTALL)
_NAMES = ("name", "tool", "tool_name", "function", "function_name")
_ARGUMENTS = ("arguments", "parameters", "args", "input")
_KEYS = frozenset(("id", "type", *_NAMES, *_ARGUMENTS))
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


@noun
class WrittenCall:
    """A call in the text of a model. ``arguments`` is a JSON text."""

    name: str
    arguments: str


@noun
class WrittenCalls:
    """The calls at the end of an answer.

    before    the text before the calls
    calls     the calls; empty if the text begins like a call and is incomplete or has another form
    readable  False for a fenced block after a text, which may be an example
    """

    before: str
    calls: tuple[WrittenCall, ...]
    readable: bool = True


def find_written_calls(text: str) -> WrittenCalls | None:
    """Return the calls at the end of an answer; None if the answer does not look like a call."""
    text = _ENDS.sub("", THOUGHTS.sub("", text, count=1)).strip()
    half = _HALF_FENCE.fullmatch(text)
    calls = json_calls(text) or _blocks(text, 0) or (json_calls(half[2]) if half else ())
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


def _is_plain(before: str) -> bool:
    """Return True if the text does not end inside a fenced block."""
    return len(re.findall(r"^ {0,3}(?:```|~~~)", before, re.MULTILINE)) % 2 == 0


def _blocks(text: str, at: int) -> tuple[WrittenCall, ...]:
    """Return the calls in the fenced blocks. Text after the blocks is not allowed."""
    found: list[WrittenCall] = []
    while at < len(text) and text[at:].strip():
        block = _FENCE.match(text, at)
        calls = () if block is None else json_calls(block[2]) or _tagged(block[2].strip(), 0)
        if block is None or not calls:
            return ()
        found += calls
        at = block.end()
    return tuple(found) if len(found) <= _MOST_CALLS else ()


def _tagged(text: str, at: int) -> tuple[WrittenCall, ...]:
    """Return the calls in the tags. Text after the tags is not allowed."""
    found: list[WrittenCall] = []
    while at < len(text) and text[at:].strip():
        block = _TAGGED.match(text, at)
        if block is None:
            return ()
        body = next(value for name, value in block.groupdict().items() if name != "tag" and value is not None)
        calls = _function_call(body) or json_calls(body) or (_named_call(body) if block["mistral"] else ())
        if not calls:
            return ()
        found += calls
        at = block.end()
    return tuple(found) if len(found) <= _MOST_CALLS else ()


def _function_call(body: str) -> tuple[WrittenCall, ...]:
    """Return the call in ``<function=NAME>{JSON}</function>``, ``<function=NAME><parameter=KEY>…`` or ``<function
    name="NAME" arguments='{JSON}'/>``."""
    element = _ELEMENT.match(body)
    if element is not None:
        return _made(element[1], _values(element[2]))
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


def json_calls(text: str) -> tuple[WrittenCall, ...]:
    """Return the calls if the text is JSON that consists only of calls: a single call, a list, or several calls in a
    row."""
    text = text.strip()
    values = _values(text) or _values(_ESCAPE.sub(_escaped, text))
    if text.startswith("{{"):  # the template of Qwen2.5 shows the form of a call with two braces
        values = _values(text[1:-1]) or _values(text[1:])
    if len(values) == 1 and isinstance(values[0], dict):
        fields = cast("dict[str, Any]", values[0])
        values = [fields["tool_calls"]] if fields.keys() == {"tool_calls"} else values
    if len(values) == 1 and isinstance(values[0], list):
        values = cast("list[Any]", values[0])
    found = [call for value in values for call in _json_call(value)]
    return tuple(found) if found and len(found) == len(values) <= _MOST_CALLS else ()


def _escaped(found: "re.Match[str]") -> str:
    """Return the escape sequence. If the sequence is invalid in JSON, such as ``\\d``, add a second backslash."""
    return found[0] if found[1] in '"\\/bfnrtu' else f"\\{found[0]}"


def _json_call(value: Any) -> tuple[WrittenCall, ...]:
    fields = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    if isinstance(fields.get("function"), dict) and fields.keys() <= {"function", "id", "type"}:
        fields = cast("dict[str, Any]", fields["function"])
    names = [fields[key] for key in _NAMES if key in fields]
    if not fields.keys() <= _KEYS or len(names) != 1 or not isinstance(names[0], str):
        return ()
    given = [fields[key] for key in _ARGUMENTS if key in fields]
    if len(given) == 1 and isinstance(given[0], str):
        given = _values(given[0])
    return _made(names[0], given)


def _made(name: str, given: "list[Any]") -> tuple[WrittenCall, ...]:
    if len(given) != 1 or not isinstance(given[0], dict):
        return ()
    return (WrittenCall(name, json.dumps(given[0], ensure_ascii=False)),)


def _values(text: str) -> "list[Any]":
    """Return the values if the text consists only of JSON values, otherwise an empty result."""
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
