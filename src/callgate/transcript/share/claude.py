"""Claude Code transcripts as events: the conversation, and how many lines of the file are no part of it."""

from collections.abc import Iterable, Sequence
from itertools import islice

from callgate.transcript.share.claude_lines import ClaudeLine, live_chain, parents, parse
from callgate.transcript.share.claude_turns import Turns
from callgate.words.events import Durable
from callgate.words.noun import noun

_GLANCE = 20  # lines


@noun
class Imported:
    """``left_out`` counts the lines that are no part of the conversation: other branches, agents, notes of the program.
    ``skipped`` says in words which lines could not be read."""

    events: tuple[Durable, ...]
    title: str
    workspace: str
    left_out: int
    skipped: tuple[str, ...]


def read_claude(lines: Iterable[bytes]) -> Imported:
    """The session in these lines of a JSONL file. Never fails: the worst file gives no events and says why."""
    parsed, skipped = parse(lines)
    main = [line for line in parsed if line.data.get("isSidechain") is not True]
    chain = [main[i] for i in live_chain(main, parents(main))]
    turns = Turns(main, chain)
    return Imported(
        events=tuple(turns.events),
        title=_title(main, {line.uuid for line in chain}),
        workspace=next((line.text("cwd") for line in (main or parsed) if line.text("cwd")), ""),
        left_out=sum(line.number not in turns.used for line in parsed),
        skipped=tuple(skipped),
    )


def looks_like_claude(lines: Iterable[bytes]) -> bool:
    """True if the first of these lines look like those of Claude Code."""
    parsed, _ = parse(islice(lines, _GLANCE))
    return any(line.uuid or line.text("sessionId") for line in parsed)


def _title(lines: Sequence[ClaudeLine], live: set[str]) -> str:
    """The one a person gave, else the summary of the branch that is live, else the last summary."""
    summaries = [line for line in lines if line.type == "summary"]
    of_live = [line for line in summaries if line.text("leafUuid") in live]
    given = [line.text("customTitle") for line in lines if line.type == "custom-title"]
    titles = [*(line.text("summary") for line in (*summaries, *of_live)), *given]
    return next((" ".join(title.split()) for title in reversed(titles) if title.strip()), "")
