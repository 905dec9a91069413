"""Decides which calls in the text of an answer are executed.

A call is executed if it ends the answer in a known form, names a tool of the request, has valid arguments and does
not repeat a text that the model read. A call with text after it, with invalid JSON or with an invented result is not
executed. In this case the model may be asked to repeat the call.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence

from callgate.conversation.reminders import UnmadeCall
from callgate.conversation.written_calls import THOUGHTS, WrittenCall, WrittenCalls, find_written_calls, json_calls
from callgate.core.ports import Target, ToolSource
from callgate.words.calls import Accepted
from callgate.words.errors import in_words
from callgate.words.messages import CallPart, ResultPart, Text
from callgate.words.model import Abilities, Request

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
