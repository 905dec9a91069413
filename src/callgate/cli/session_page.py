"""The commands ``callgate session list`` and ``callgate session show``."""

from collections.abc import Iterator, Mapping, Sequence
from json import dumps
from time import time
from typing import Any

from callgate.admin.sessions import (
    Archive,
    CallStory,
    Listed,
    Mark,
    SaidMessage,
    Shown,
    UnfinishedMessage,
    ago,
    moment,
    pretty_json,
)
from callgate.cli.terminal import Line, Safe, Signs, Span, clip, fit, safe, signs_for, width
from callgate.cli.text_output import columns, json_fields, out, put, put_json, put_text, say
from callgate.formats.display import counted
from callgate.formats.jsonable import to_json
from callgate.words.calls import Status
from callgate.words.messages import CallPart, Image, Opaque, Part, Resource, ResultPart, Spent, Text, Thinking, Usage

_LINES = 20  # shown of a result or a thought
_WIDE = 400  # columns of one line of it
_SHORT = 100  # columns of arguments on one line
_NAMES = ("", "id", "used", "msgs")
_LEAST = 20  # a name with fewer columns is printed on a separate line
_FOLDER_BESIDE = 120  # columns from which on the folder does not
_LEGEND = {"?": "a question waits", "*": "unfinished", "!": "cannot be read"}


def show(which: str | None, tail: int | None, as_json: bool) -> int:
    """Print the messages of a session that were not rewound, and each call with its decision and outcome. Long
    results are cut; `session export` and --json print them whole."""
    shown = Archive().show(which, tail)
    if as_json:
        for warning in _warnings(shown):
            say(warning)
        if shown.draft is not None:
            say("the last message is not finished; `callgate session show` without --json prints the stored part")
        for event in shown.events:
            put_json(to_json(event))
        return 0
    put(_header(shown, tail))
    view = _View(signs_for(out()), columns(), {question.call_id for question in shown.questions})
    for entry in shown.page():
        put(view.entry(entry))
    if shown.draft is not None:
        put(view.draft(shown.draft))
    return 0


def _warnings(shown: Shown) -> Iterator[str]:
    for question in shown.questions:
        yield f"an open question: may {question.tool} run? {question.reason}".rstrip()
    for staged in shown.pending:
        what = f"{staged.label} ({staged.summary})" if staged.summary else staged.label
        yield f"pending: {what}, staged by {staged.source}; resume the session to apply or discard it"
    for queued in shown.waiting:
        yield f"a prompt waits ({queued.id}): {' '.join(queued.text.split())[:200]}"
    if shown.about.unfinished and not shown.questions:
        yield "the last turn is unfinished; resume the session to continue it"
    if shown.damages:
        total = sum(each.length for each in shown.damages)
        places = ", ".join(f"{each.offset} ({each.length} bytes: {each.why})" for each in shown.damages[:5])
        more = f" and {len(shown.damages) - 5} more" if len(shown.damages) > 5 else ""
        yield (
            f"{counted(total, 'damaged byte')} skipped, at offset {places}{more}; "
            f"see `callgate session verify {shown.named}`"
        )
    if shown.missing:
        yield f"lines are missing; see `callgate session verify {shown.named}`"
    if shown.unknown:
        yield f"{counted(shown.unknown, 'line')} of a newer version left out"


def _header(shown: Shown, tail: int | None) -> Iterator[Line]:
    about = shown.about
    yield (Span(about.title or about.first_prompt or "(no prompt yet)", "bold"),)
    facts = [f"session {shown.session}", about.workspace, about.model, counted(about.messages, "message")]
    if about.updated_at:
        facts.append(f"last used {moment(about.updated_at)}")
    yield (Span(" · ".join(fact for fact in facts if fact), "dim"),)
    for spent in shown.costs:
        if spent.usage != Usage():
            yield (Span(_cost(spent), "dim"),)
    if about.source:
        yield (Span(f"from {about.source}", "dim"),)
    if shown.agents:
        yield (Span(f"nested sessions: {', '.join(shown.agents)}", "dim"),)
    for warning in _warnings(shown):
        yield Span("! ", "yellow"), Span(warning, "yellow")
    if tail is not None:
        yield (Span(f"the last {counted(tail, 'message')}:" if tail > 1 else "the last message:", "dim"),)


def _cost(spent: Spent) -> str:
    usage = spent.usage
    read = usage.input + usage.cache_read + usage.cache_write
    cached = f" ({usage.cache_read:,} from the cache)" if usage.cache_read else ""
    price = "no price is known" if spent.cost is None else f"${spent.cost:.4f}"
    return f"{spent.model}: {read:,} tokens read{cached}, {usage.output:,} written, {price}"


class _View:
    def __init__(self, signs: Signs, room: int, waiting: set[str]) -> None:
        self._signs = signs
        self._room = min(room, _WIDE)
        self._waiting = waiting

    def entry(self, entry: SaidMessage | Mark) -> Iterator[Line]:
        yield ()
        if isinstance(entry, Mark):
            yield self._title(entry.kind, "cyan", moment(entry.at))
            yield from self._text(entry.text)
            if entry.body:
                yield from self._cut(entry.body, "    ")
            return
        message = entry.message
        style = "bold cyan" if message.role == "user" else "bold green"
        more = [moment(entry.at), message.id, message.model or ""]
        if entry.snipped:
            more.append("snipped: the model no longer sees it")
        yield self._title(message.role, style, *more)
        for part in message.parts:
            if isinstance(part, CallPart):
                yield from self._call(entry.calls[part.id])
            else:
                yield from self._part(part)

    def draft(self, draft: UnfinishedMessage) -> Iterator[Line]:
        yield ()
        yield self._title("assistant", "bold green", draft.message_id)
        first, *others = draft.texts
        yield from self._text(f"not finished: {first}")
        for text in others:
            yield from self._text(text)

    def _title(self, name: str, style: str, *more: str) -> Line:
        about = f" {self._signs.dash} ".join(fact for fact in more if fact)
        return Span(f"{self._signs.bar * 2} {name} ", style), Span(about, "dim")

    def _part(self, part: Part) -> Iterator[Line]:
        match part:
            case Text():
                yield from self._text(part.text)
            case Thinking():
                if part.text:
                    yield (Span("  thinking", "dim"),)
                    yield from self._cut(part.text, "    ")
            case Image():
                yield (Span(f"  [image, {part.media_type}, {counted(len(part.data), 'byte')}]", "dim"),)
            case Resource():
                yield (Span(f"  [resource {part.uri}]", "dim"),)
                if part.text is not None:
                    yield from self._cut(part.text, "    ")
            case Opaque():
                if not part.beside:
                    yield (Span(f"  [a part only {part.provider} can read]", "dim"),)
            case CallPart() | ResultPart():
                yield (Span(f"  [{part.name}]", "dim"),)

    def _call(self, call: CallStory) -> Iterator[Line]:
        sign, style = self._sign(call)
        raw = call.raw_arguments if call.raw_arguments is not None and not call.arguments else None
        yield Span(f"  {sign} ", style), Span(call.name, "bold"), Span(f" {call.id}", "dim")
        yield from self._arguments(call.arguments, raw)
        if call.changed_to is not None:
            yield (Span("      changed to", "dim"),)
            yield from self._arguments(call.changed_to, None)
        for words in call.decided:
            yield Span("      "), Span(clip(words, self._room, self._signs.mark), "dim")
        code = "waits for an answer" if call.id in self._waiting else call.code.replace("_", " ")
        yield (Span(f"      {code}", style),)
        for item in call.content:
            if isinstance(item, Text):
                yield from self._cut(item.text, "        ")
            else:
                yield from self._part(item)

    def _sign(self, call: CallStory) -> tuple[str, str]:
        if call.id in self._waiting:
            return self._signs.asks, "yellow"
        if call.status is Status.SUCCESS:
            return self._signs.ok, "green"
        ended = call.status in (Status.ERROR, Status.CANCELLED)
        return (self._signs.bad, "red") if ended else (self._signs.waits, "yellow")

    def _arguments(self, arguments: Mapping[str, Any], raw: str | None) -> Iterator[Line]:
        short = raw if raw is not None else dumps(arguments, ensure_ascii=False, default=repr)
        if len(short) <= _SHORT:
            yield (Span(f"      {short}"),)
        else:
            yield from self._cut(short if raw is not None else pretty_json(arguments), "      ", "")

    def _text(self, text: str) -> Iterator[Line]:
        for line in text.removesuffix("\n").split("\n"):
            yield (Span(_untabbed(line)),)

    def _cut(self, text: str, indent: str, style: str = "dim") -> Iterator[Line]:
        """Yield the first lines of a text, and a line with the number of omitted lines."""
        lines = text.removesuffix("\n").split("\n")
        for line in lines[:_LINES]:
            # The line is cut first, because making a long line safe is costly.
            shown = clip(_untabbed(line[: 2 * _WIDE]), self._room - len(indent), self._signs.mark)
            yield Span(indent), Span(shown, style)
        if len(lines) > _LINES:
            yield (Span(f"{indent}{self._signs.mark} {counted(len(lines) - _LINES, 'more line')}", "dim"),)


def _untabbed(line: str) -> str:
    return line.removesuffix("\r").expandtabs(4)


def list_sessions(every_folder: bool, limit: int | None, as_json: bool) -> int:
    """List the sessions of this folder, last used first.

    marks: ? a question waits for an answer, * the last turn is unfinished, ! the log cannot be read
    """
    archive = Archive()
    found = archive.everywhere() if every_folder else archive.here()
    shown = found[:limit]
    if as_json:
        for each in shown:
            own = json_fields(each, "session", "path", "size", "about.asking", "fault")
            put_json({**json_fields(each.about), **own})
        return 0
    if not found:
        here = "No sessions in this folder yet; --all lists the sessions of all folders."
        put_text("No sessions yet." if every_folder else here)
        return 0
    put(_table(shown, columns(), signs_for(out()).mark, with_folder=every_folder))
    if len(found) > len(shown):
        put_text(f"and {len(found) - len(shown):,} more", "dim")
    return 0


def _table(shown: Sequence[Listed], room: int, mark: str, *, with_folder: bool) -> Iterator[Line]:
    """Yield a line for each session. On a narrow terminal, title and folder are on separate lines."""
    now = time()
    cells = [(_sign(each), each.session, ago(each.about.updated_at, now), f"{each.about.messages}") for each in shown]
    widths = [max(map(width, column)) for column in zip(_NAMES, *cells, strict=True)]
    left = room - sum(widths) - (5 if widths[0] else 4)
    beside, below = left >= _LEAST, max(room - 4, 8)
    column = 0  # the width of the folder in the same line
    if with_folder and beside and room >= _FOLDER_BESIDE:
        column = min(max(6, *(width(safe(each.about.workspace)) for each in shown)), left // 3)
    if beside:
        folder = (Span("  "), Span(fit("folder", column), "dim")) if column else ()
        yield (*_head(_NAMES, widths, "dim"), *folder, Span("  title", "dim"))
    for each, row in zip(shown, cells, strict=True):
        head = _head(row, widths)
        title, folder = safe(each.fault or each.about.name), safe(each.about.workspace)
        if column:
            where = Span(fit(_end_of(folder, column, mark), column), "dim")
            yield (*head, Span("  "), where, Span("  "), Span(clip(title, left - column - 4, mark)))
            continue
        if beside:
            yield (*head, Span("  "), Span(clip(title, left - 2, mark)))
        else:
            yield head
            yield Span("    "), Span(clip(title, below, mark))
        if with_folder:
            yield Span("    "), Span(_end_of(folder, below, mark), "dim")
    if legend := [f"{sign} {words}" for sign, words in _LEGEND.items() if any(row[0] == sign for row in cells)]:
        yield (Span("  ".join(legend), "dim"),)
    if faulty := [each for each in shown if each.fault]:
        yield (Span(f"{counted(len(faulty), 'log')} cannot be read:", "yellow"),)
        yield from ((Span(f"! {each.session}: {each.fault}"),) for each in faulty)


def _head(cells: Sequence[str], widths: Sequence[int], style: str = "") -> Line:
    sign, session, used, messages = widths
    signed = (Span(fit(cells[0], sign), style), Span(" ")) if sign else ()
    return *signed, Span(fit(cells[1], session), style), Span(f"  {cells[2]:>{used}}  {cells[3]:>{messages}}", "dim")


def _sign(each: Listed) -> str:
    about = each.about
    return "!" if each.fault else "?" if about.asking else "*" if about.unfinished or about.waiting else ""


def _end_of(text: Safe, room: int, mark: str) -> Safe:
    """Return the path, or its end if the path is too long."""
    if width(text) <= room:
        return text
    kept = str(text)
    while kept and width(kept) > room - len(mark):
        kept = kept[1:]
    return Safe(f"{mark}{kept}")
