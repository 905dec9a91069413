"""Limits on the size of results and of progress."""

from asyncio import get_running_loop
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

from callgate.core.ports import Host
from callgate.words.calls import NO_OUTPUT, Artifact, Result
from callgate.words.errors import in_words
from callgate.words.events import CallProgressed
from callgate.words.late_pattern import late_pattern
from callgate.words.messages import Content, Image, Text

PROGRESS_CHARS = 10_000
_PIECE = 1_000_000
_NOTE = 300
"""Approximate length of the note in a cut result. Shorter results are not cut."""
_HALF = late_pattern("[\ud800-\udfff]")
_CUT = "… output truncated\n"


def cut_progress(text: str) -> str:
    """Return the text. If the text is too long, return a note and the end of the text, because users watch the
    newest output."""
    return text if len(text) <= PROGRESS_CHARS else _CUT + text[-PROGRESS_CHARS:]


def merged_progress(before: CallProgressed, after: CallProgressed) -> CallProgressed:
    """Return one progress report that combines two reports of a call: the joined texts up to a limit, and the newer
    gauge."""
    text = cut_progress(before.text + after.text)
    gauge = before if after.current is None else after
    return CallProgressed(after.at, after.call_id, text, gauge.current, gauge.total)


def size_of(result: Result) -> int:
    size = 0
    for part in result.content:
        if not isinstance(part, Image):
            size += len(part.text or "")
    return size


def named_if_empty(name: str, result: Result) -> Result:
    """Return the result. If the result has no content, add a text for the model that names the tool."""
    for part in result.content:
        if not isinstance(part, Text) or part.text:
            return result
    return replace(result, content=(Text(NO_OUTPUT.format(name=name)),))


def encodable(result: Result) -> Result:
    """Return the result with lone surrogates escaped. Lone surrogates occur in invalid file names and are not
    allowed in requests."""
    if all(isinstance(part, Image) or _is_encodable(part.text or "") for part in result.content):
        return result
    return replace(result, content=tuple(map(_escaped, result.content)))


def _is_encodable(text: str) -> bool:
    return text.isascii() or _HALF.search(text) is None


def _escaped(part: Content) -> Content:
    if isinstance(part, Image) or not part.text:
        return part
    return replace(part, text=part.text.encode("utf-8", "backslashreplace").decode("utf-8"))


def head_and_tail(text: str, limit: int, note: str) -> str:
    head = limit * 2 // 3
    tail = limit - head
    return f"{text[:head]}\n… {note} …\n{text[len(text) - tail :]}"


def cut_to(result: Result, limit: int) -> Result:
    """Shorten a result over the limit to its head and tail."""
    if size_of(result) <= limit:
        return result
    full, rest = _split(result)
    cut = head_and_tail(full, limit, f"{len(full) - limit:,} characters omitted")
    return replace(result, content=(Text(cut), *rest))


async def spilled(name: str, call_id: str, result: Result, limit: int, host: Host) -> Result:
    """Store a result over the limit as an artifact. Return its head and tail with the path of the artifact."""
    full, rest = _split(result)
    data = await _encoded(full)
    left_out = f"{len(full) - limit:,} of {len(full):,} characters omitted"
    try:
        path = await host.keep(f"{name}-{call_id}.txt", data)
    except Exception as error:  # a full disk does not fail the call
        note = f"{left_out}; the full text could not be stored: {in_words(error)}"
        return replace(result, content=(Text(head_and_tail(full, limit, note)), *rest))
    content = (Text(head_and_tail(full, limit, f"{left_out}; the full text is in {path}")), *rest)
    return replace(result, content=content, artifacts=(*result.artifacts, Artifact(path, len(data))))


async def bounded_together(
    results: Sequence[tuple[str, str, Result]], limit: int, host: Host
) -> list[tuple[str, str, Result]]:
    """Shorten the results of one message to a total size of ``limit`` characters.

    The largest results are shortened to the same length, and stored in full as artifacts. Each result is given and
    returned with its tool and call id.
    """
    sizes = [size_of(result) for _, _, result in results]
    if sum(sizes) <= limit:
        return list(results)
    most = max(_NOTE, _common_limit(sizes, limit))
    return [
        (name, call_id, result if size <= most else await spilled(name, call_id, result, most - _NOTE, host))
        for (name, call_id, result), size in zip(results, sizes, strict=True)
    ]


def _common_limit(sizes: list[int], limit: int) -> int:
    """Return the maximum length of a single result that keeps the total size within the limit."""
    left, many = limit, len(sizes)
    for size in sorted(sizes):
        if size * many > left:
            break
        left, many = left - size, many - 1
    return left // max(1, many)


async def _encoded(text: str) -> bytes:
    """Return a text encoded as bytes. A long text is encoded in a thread."""
    if len(text) <= _PIECE:
        return text.encode("utf-8", "surrogatepass")
    pieces = [text[at : at + _PIECE] for at in range(0, len(text), _PIECE)]
    encode = partial(str.encode, encoding="utf-8", errors="surrogatepass")
    return await get_running_loop().run_in_executor(None, lambda: b"".join(map(encode, pieces)))


def _split(result: Result) -> tuple[str, tuple[Content, ...]]:
    rest = tuple(
        part for part in result.content if isinstance(part, Image) or not (isinstance(part, Text) or part.text)
    )
    return "\n".join(_texts(result.content)), rest


def _texts(content: Iterable[Content]) -> list[str]:
    return [part.text for part in content if not isinstance(part, Image) and part.text]
