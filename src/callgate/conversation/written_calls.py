"""Finds calls that a model wrote as text although it should have made tool calls.

The forms of open models are recognised: a JSON object or a fenced JSON block that is the whole answer, and the tags
of Qwen and Hermes, Llama, Mistral and Phi. Tags may follow a text, because only the templates of models produce
them; a fenced block after a text is often an example. Text after the calls is not allowed.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

from callgate.conversation.reminders import UnmadeCall
from callgate.core.ports import Target, ToolSource
from callgate.words.calls import Accepted
from callgate.words.errors import in_words
from callgate.words.messages import CallPart, ResultPart, Text
from callgate.words.model import Abilities, Request
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


# ---- which calls are executed ----------------------------------------------------------------------------------------


_EXAMPLE = "a fenced call next to other text is not made"
_ALONE = 'Write the call again now, as JSON without other text: {"name": …, "arguments": {…}}'
_LIKE_JSON = re.compile(
    r"""(?sx)\s*(?:(?:`{3,}|~{3,})[ \t]*\w*\s)?(?:[\s\[]|//[^\n]*\n)*\{+[^{}]{0,200}?
    ["']?(?:name|tool|tool_name|function|action|tool_call)["']?\s*:\s*
    (?:\{\s*["']name["']\s*:\s*)?["'](?P<name>[\w.:-]+)["'].*?
    ["']?(?:arguments|parameters|args|\w*input)["']?\s*:"""
)
_LIKE_CODE = re.compile(
    r"\s*(?:(?:`{3,}|~{3,})[ \t]*\w*\s+|`)?(?P<name>\w+)(?:\([^\n]*\)|[ \t]+\S*[/.*]\S*)?\s*(?:`{1,}|~{3,})?\s*\Z"
)
_RESULT = re.compile(r"^[ \t]*<(?:tool_response|system-reminder)>", re.MULTILINE)
"""The tags of results in templates, and of reminders. A model that writes them invents a result."""
_ANNOUNCED = re.compile(
    r"(?:\A|[.:!\n])[ \t]*(?:(?:Now|Next|First|So|Okay|OK),?\s+)?"
    r"(?:I will|I'll|I am going to|I'm going to|Let me|Let's) (?!(?:know|not)\b)(?:[^\n.!?]|\.(?=\w)){1,150}[.:…]?\s*$"
)
"""A last sentence that announces a step. A model that makes its calls in the text ends there by mistake."""
_LONGEST_STEP = 300


def accept_written_calls(
    text: str, request: Request, tools: ToolSource, able: Abilities, *, observed: bool
) -> WrittenCalls | UnmadeCall | None:
    """Return the calls of an answer to execute, or a call that is not executed, or None if the answer does not look
    like a call.

    observed  True if the model wrote calls as text before
    """
    found = find_written_calls(text)
    known = observed or able.written_calls == "known"
    past = [part for message in request.messages for part in message.parts if isinstance(part, CallPart)]
    is_candidate = able.written_calls != "never" and (known or not past)
    if found is None:
        return _call_like(text, request, tools, past, known=known) if is_candidate else None
    if is_quoted(found.calls, _texts_read(request), text):
        return None if found.before else UnmadeCall("the answer repeats a call from a message or a result")
    if not found.readable:
        return UnmadeCall(_EXAMPLE, _ALONE) if is_candidate and not _were_made(found.calls, past) else None
    if not found.calls:
        return UnmadeCall("it is incomplete, or not in a known form", _ALONE)
    unmade = next(filter(None, (_fault(call, request, tools) for call in found.calls)), None)
    if able.written_calls == "never":
        why = f"{found.calls[0].name} was written as text, which is not read from the answers of this model"
        return UnmadeCall(why) if unmade is None else UnmadeCall(unmade.reason)
    if unmade is None and found.before and not known:
        return UnmadeCall(f"{found.calls[0].name} was written as text after other text", _ALONE)
    return unmade or found


def _call_like(
    text: str, request: Request, tools: ToolSource, past: Sequence[CallPart], *, known: bool
) -> UnmadeCall | None:
    """Return a call that is not executed, if the answer announces a call, begins like a call in an unknown form, has
    a fenced call inside other text, or has an invented result."""
    if known and _ANNOUNCED.search(text[-_LONGEST_STEP:]):
        return UnmadeCall("the answer announces a call", "Make the call now, or answer the request.")
    if _RESULT.search(text):
        why = "the answer has an invented result or reminder"
        return UnmadeCall(why, "Make the call, or answer from the results above.")
    names = {spec.name for spec in request.tools}
    if text.strip("`~ \n") not in names and is_quoted((), _texts_read(request), text):
        return None
    text = THOUGHTS.sub("", text, count=1).strip()
    like = _LIKE_JSON.match(text) or _LIKE_CODE.match(text)
    if like is not None and like["name"] in names:
        return UnmadeCall(f"the call of {like['name']} is incomplete, or not in a known form", _ALONE)
    calls = [call for block in _fenced_json(text) for call in json_calls(block)]
    if not calls or any(_fault(call, request, tools) for call in calls) or _were_made(calls, past):
        return None
    return None if is_quoted(calls, _texts_read(request), text) else UnmadeCall(_EXAMPLE, _ALONE)


def _fenced_json(text: str) -> Iterator[str]:
    """Yield the content of closed blocks without a language, and of JSON blocks."""
    fence, lines, is_json = "", list[str](), False
    for line in text.split("\n"):
        mark = line.strip()
        if not fence and mark.startswith(("```", "~~~")):
            fence, lines, is_json = mark[:3], [], mark[3:].strip() in ("", "json", "jsonc")
        elif fence and mark == fence:
            if is_json:
                yield "\n".join(lines)
            fence = ""
        else:
            lines.append(line)


def _were_made(calls: Iterable[WrittenCall], past: Sequence[CallPart]) -> bool:
    """Return True if the session has already executed all of the calls, so that the answer only reports them."""
    return all(any(call.name == p.name and json.loads(call.arguments) == p.arguments for p in past) for call in calls)


def _fault(call: WrittenCall, request: Request, tools: ToolSource) -> UnmadeCall | None:
    """Return the reason why the call cannot be executed; None if the call names a tool of the request and its
    arguments are valid."""
    if all(spec.name != call.name for spec in request.tools):
        names = ", ".join(spec.name for spec in request.tools)
        return UnmadeCall(f"there is no tool {call.name!r}", f"The tools are {names}. Call one of them, or answer.")
    try:
        target = tools.resolve(call.name, call.arguments)
        read = target.tool.read(target.raw) if isinstance(target, Target) else None
    except Exception as error:  # a tool of another package
        return UnmadeCall(in_words(error), _ALONE)
    if isinstance(read, Accepted):
        return None
    faults = "".join(f"\n- {line}" for line in read.errors) if read is not None else ""
    return UnmadeCall(f"the arguments of {call.name} are not valid", f"Correct them and repeat the call.{faults}")


def _texts_read(request: Request) -> Iterator[str]:
    """Yield the texts of users and tools that the model received and may repeat."""
    for message in request.messages:
        for part in message.parts if message.role != "assistant" else ():
            if isinstance(part, Text):
                yield part.text
            elif isinstance(part, ResultPart):
                yield "".join(each.text for each in part.content if isinstance(each, Text))


def is_quoted(calls: Iterable[WrittenCall], texts: Iterable[str], answer: str) -> bool:
    """Return True if one of the texts contains one of the calls or the whole answer, so that the model only repeats
    a text. White space, quotes and backslashes are ignored."""
    read = [_bare(text) for text in texts]
    if any(_bare(answer) in text for text in read):
        return True
    return any(
        _bare(call.arguments) in text and call.name in text
        for call in calls
        for text in read
        if len(call.arguments) > len("{}")
    )


def _bare(text: str) -> str:
    return re.sub(r"""[\s"'`\\]""", "", text)
