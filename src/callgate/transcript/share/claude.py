"""Claude Code transcripts as events. Nothing that can be read is lost: what is not part of the conversation is kept
verbatim, where it stood."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from callgate.transcript.share.claude_lines import ClaudeLine, live_chain, parents, parse, side_chains
from callgate.transcript.share.claude_turns import Turns
from callgate.words.events import Durable, EntryKept
from callgate.words.noun import noun

SOURCE = "claude-code"
_GLANCE = 20  # lines


@noun
class Imported:
    """``agents`` are the side chains; ``skipped`` says in words which lines could not be read."""

    events: tuple[Durable, ...]
    agents: Mapping[str, tuple[Durable, ...]]
    title: str
    workspace: str
    skipped: tuple[str, ...]


def read_claude(lines: Iterable[bytes]) -> Imported:
    """The session in these lines of a JSONL file. Never fails: the worst file gives no events and says why."""
    parsed, skipped = parse(lines)
    main, agents = side_chains(parsed)
    chain = _chain(main)
    return Imported(
        _woven(main, chain),
        {name: _woven(side, _chain(side)) for name, side in agents.items()},
        _title(main, {line.uuid for line in chain}),
        next((line.text("cwd") for line in (main or parsed) if line.text("cwd")), ""),
        tuple(skipped),
    )


def looks_like_claude(lines: Iterable[bytes]) -> bool:
    """True if the first of these lines look like those of Claude Code."""
    parsed, _ = parse(islice(lines, _GLANCE))
    return any(line.uuid or line.text("sessionId") for line in parsed)


def _chain(lines: Sequence[ClaudeLine]) -> list[ClaudeLine]:
    return [lines[i] for i in live_chain(lines, parents(lines))]


def _woven(lines: Sequence[ClaudeLine], chain: Sequence[ClaudeLine]) -> tuple[Durable, ...]:
    """The conversation in its own order, and between its messages whatever else stood there in the file."""
    turns = Turns(lines, chain)
    others = [line for line in lines if line.number not in turns.used]
    out: list[Durable] = []
    kept = 0
    for number, events in turns.steps:
        while kept < len(others) and others[kept].number < number:
            out.append(_kept(others[kept]))
            kept += 1
        out += events
    return (*out, *map(_kept, others[kept:]))


def _kept(line: ClaudeLine) -> EntryKept:
    return EntryKept(line.at, SOURCE, line.data)


def _title(lines: Sequence[ClaudeLine], live: set[str]) -> str:
    """The one a person gave, else the summary of the branch that is live, else the last summary."""
    summaries = [line for line in lines if line.type == "summary"]
    of_live = [line for line in summaries if line.text("leafUuid") in live]
    given = [line.text("customTitle") for line in lines if line.type == "custom-title"]
    titles = [*(line.text("summary") for line in (*summaries, *of_live)), *given]
    return next((" ".join(title.split()) for title in reversed(titles) if title.strip()), "")
