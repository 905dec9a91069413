"""Converts a Claude Code transcript to events.

Claude Code writes each block of a message as a line, and the result of a call as a child of the line of the call.
Parallel calls therefore look like branches of the conversation. So blocks are grouped by message id, and results are
assigned by call id, wherever their lines are in the file.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, cast

from callgate.transcript.share import claude_format as claude
from callgate.transcript.share.claude_format import ClaudeLine
from callgate.words.events import Durable, MessageAdded, RunEnded
from callgate.words.messages import CallPart, Message, Part, Text, Usage
from callgate.words.model import WHOLE, StopReason
from callgate.words.noun import noun
from callgate.words.turns import Compacted, Counted


class ClaudeCall:
    """A call in a transcript whose result has not been found yet."""

    def __init__(self, line: ClaudeLine, asked_id: str, part: CallPart) -> None:
        self.line = line
        self.asked_id = asked_id
        self.part = part
        self.answer: dict[str, Any] | None = None
        self.answered_by: ClaudeLine | None = None


class Spoken:
    """One message of the model, collected from the lines of its blocks."""

    def __init__(self) -> None:
        self.lines: list[ClaudeLine] = []
        self.parts: list[Part] = []
        self.calls: list[ClaudeCall] = []
        self.stop: str | None = None
        self.model: str | None = None
        self.usage: Usage | None = None


class Turns:
    """Converts lines to ``events``, in order. ``used`` has the numbers of the converted lines."""

    def __init__(self, lines: Sequence[ClaudeLine], chain: Sequence[ClaudeLine]) -> None:
        self.events: list[Durable] = []
        self.used: set[int] = set()
        self._ids: dict[str, int] = {}
        self._call_ids: dict[str, int] = {}
        self._counted = Counted()
        spoken = self._gather(lines, chain)
        self._answer(lines, chain, [call for message in spoken.values() for call in message.calls])
        for line in chain:
            if line.type == "user":
                self._user(line)
            elif _speaks(line) and (message := spoken.pop(_key(line), None)) is not None and message.parts:
                self._assistant(message)
        last = self.events[-1] if self.events else None
        if isinstance(last, MessageAdded) and last.message.role == "assistant" and not last.message.calls:
            self.events.append(RunEnded(last.at, "done" if last.stop_reason in WHOLE else "cut_off"))

    # ---- gathering ------------------------------------------------------------------------------------------------

    def _gather(self, lines: Sequence[ClaudeLine], chain: Sequence[ClaudeLine]) -> dict[str, Spoken]:
        spoken = {_key(line): Spoken() for line in chain if _speaks(line)}
        for line in lines:
            message = spoken.get(_key(line)) if _speaks(line) else None
            if message is None:
                continue
            message.lines.append(line)
            for block in line.blocks():
                self._add(message, line, block)
            message.stop = claude.text_of(line.message.get("stop_reason")) or message.stop
            message.model = claude.text_of(line.message.get("model")) or message.model
            message.usage = claude.usage(line.message.get("usage")) or message.usage
        return spoken

    def _add(self, message: Spoken, line: ClaudeLine, block: Any) -> None:
        if claude.kind(block) != "tool_use":
            message.parts += claude.parts((block,))
            return
        asked = claude.text_of(block.get("id")) or f"{line.uuid}-{len(message.calls)}"
        again = claude.call_part(block, asked)
        if any(call.asked_id == asked and _same(call.part, again) for call in message.calls):
            return  # the same call in a later copy of its line
        made = ClaudeCall(line, asked, claude.call_part(block, _fresh(self._call_ids, asked)))
        message.calls.append(made)
        message.parts.append(made.part)

    def _answer(self, lines: Sequence[ClaudeLine], chain: Sequence[ClaudeLine], calls: Sequence[ClaudeCall]) -> None:
        """Assign results to calls.

        If several calls have the same id, a result belongs to the call in its parent line, otherwise to the next
        call in file order. Results in the live conversation are assigned first.
        """
        waiting: dict[str, list[ClaudeCall]] = {}
        for call in calls:
            waiting.setdefault(call.asked_id, []).append(call)
        live = {line.number for line in chain}
        results = [
            (line, cast(dict[str, Any], block))
            for line in sorted(lines, key=lambda line: line.number not in live)
            if line.type == "user"
            for block in line.blocks()
            if claude.kind(block) == "tool_result"
        ]
        for exactly in (True, False):
            left: list[tuple[ClaudeLine, dict[str, Any]]] = []
            for line, block in results:
                origin = (line.text("parentUuid"), line.text("sourceToolAssistantUUID"))
                fitting = (
                    call
                    for call in waiting.get(claude.text_of(block.get("tool_use_id")), ())
                    if call.answer is None and (not exactly or call.line.uuid in origin)
                )
                call = next(fitting, None)
                if call is None:
                    left.append((line, block))
                else:
                    call.answer, call.answered_by = block, line
                    self.used.add(line.number)
            results = left

    # ---- telling --------------------------------------------------------------------------------------------------

    def _user(self, line: ClaudeLine) -> None:
        said = claude.parts(line.blocks())
        if line.is_summary:
            summary = "".join(item.text for item in said if isinstance(item, Text))
            if not summary.strip():
                return  # a boundary without a summary would hide everything before it
            event: Durable = Compacted(line.at, summary, None, "imported", counted=self._counted)
        elif said and line.data.get("isMeta") is not True:
            event = self._added(MessageAdded(line.at, Message(_fresh(self._ids, line.uuid), "user", said)))
        else:
            return
        self.events.append(event)
        self.used.add(line.number)

    def _assistant(self, message: Spoken) -> None:
        first, last = message.lines[0], message.lines[-1]
        self.used |= {line.number for line in message.lines}
        message_id = _fresh(self._ids, first.uuid)
        stop: StopReason = claude.STOPS.get(message.stop or "") or ("tool_calls" if message.calls else "end")
        spoken = Message(message_id, "assistant", tuple(message.parts), message.model, message.usage)
        self.events.append(self._added(MessageAdded(last.at, spoken, stop)))
        self._counted = replace(self._counted, turns=self._counted.turns + 1)
        lines = [call.answered_by for call in message.calls if call.answered_by is not None]
        if lines:
            name = next((line.uuid for line in lines if line.uuid), f"{message_id}-results")
            answers = tuple(
                claude.result_part(call.part, call.answer) for call in message.calls if call.answer is not None
            )
            results = Message(_fresh(self._ids, name), "tool", answers)
            self.events.append(self._added(MessageAdded(max(line.at for line in lines), results)))

    def _added(self, event: MessageAdded) -> MessageAdded:
        was = self._counted
        self._counted = Counted(was.messages + 1, was.turns, was.usage + (event.message.usage or Usage()))
        return event


def _speaks(line: ClaudeLine) -> bool:
    """Return True for a line of the model. Errors of Claude Code are assistant messages too and are excluded."""
    own = line.message.get("model") == "<synthetic>" or line.data.get("isApiErrorMessage") is True
    return line.type == "assistant" and not (own and all(claude.kind(block) != "tool_use" for block in line.blocks()))


def _key(line: ClaudeLine) -> str:
    return claude.text_of(line.message.get("id")) or f"line {line.number}"


def _same(one: CallPart, other: CallPart) -> bool:
    return (one.name, one.arguments, one.raw_arguments) == (other.name, other.arguments, other.raw_arguments)


def _fresh(taken: dict[str, int], name: str) -> str:
    free, n = name, taken.get(name, 0)
    while free in taken:
        n += 1
        free = f"{name}~{n}"
    taken[name] = max(n, 1)
    taken.setdefault(free, 1)
    return free


_GLANCE = 20  # lines


@noun
class Imported:
    """The imported session.

    left_out  the number of lines that are not part of the conversation: other branches, sub-agents, program notes
    skipped   descriptions of the lines that could not be read
    """

    events: tuple[Durable, ...]
    title: str
    workspace: str
    left_out: int
    skipped: tuple[str, ...]


def read_claude(lines: Iterable[bytes]) -> Imported:
    """Convert the lines of a JSONL file to a session. Never fails: for an unusable file the result has no events,
    and ``skipped`` has the reason."""
    parsed, skipped = claude.parse(lines)
    main = [line for line in parsed if line.data.get("isSidechain") is not True]
    chain = [main[i] for i in claude.live_chain(main, claude.parents(main))]
    turns = Turns(main, chain)
    return Imported(
        events=tuple(turns.events),
        title=_title(main, {line.uuid for line in chain}),
        workspace=next((line.text("cwd") for line in (main or parsed) if line.text("cwd")), ""),
        left_out=sum(line.number not in turns.used for line in parsed),
        skipped=tuple(skipped),
    )


def looks_like_claude(lines: Iterable[bytes]) -> bool:
    """Return True if the first lines look like a Claude Code transcript."""
    parsed, _ = claude.parse(islice(lines, _GLANCE))
    return any(line.uuid or line.text("sessionId") for line in parsed)


def _title(lines: Sequence[ClaudeLine], live: set[str]) -> str:
    summaries = [line for line in lines if line.type == "summary"]
    of_live = [line for line in summaries if line.text("leafUuid") in live]
    given = [line.text("customTitle") for line in lines if line.type == "custom-title"]
    titles = [*(line.text("summary") for line in (*summaries, *of_live)), *given]
    return next((" ".join(title.split()) for title in reversed(titles) if title.strip()), "")
