"""The completion list: files and resources after ``@``, commands after ``/``, earlier prompts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os.path import expanduser
from typing import TYPE_CHECKING, Literal

from callgate.formats.columns import clipped
from callgate.formats.columns import width as width_of
from callgate.formats.display import visible
from callgate.tui.composer.attachments import mention_at, mention_of
from callgate.words.noun import noun

if TYPE_CHECKING:
    from callgate.tui.composer.completion_sources import CompletionSources
    from callgate.tui.composer.recall import Recall, RecalledPrompt
    from callgate.tui.port import Terminal
    from callgate.tui.theme import Theme


ROWS = 8
_PLACES = ("/", "~", ".")
"""Starts of paths that are completed from their folder, because they may be hidden or outside the workspace."""
Kind = Literal["files", "resources", "commands", "words", "history"]


@noun
class Candidate:
    """One entry of the completion list. ``text`` replaces the typed text from the list's ``start``; ``entry`` is the
    earlier prompt to insert."""

    text: str
    shown: str
    help: str = ""
    entry: RecalledPrompt | None = None


@dataclass(eq=False)
class CandidateList:
    """The entries of the completion list, one of which is selected. ``is_moved`` is True if the user selected it."""

    kind: Kind
    start: int
    candidates: Sequence[Candidate]
    is_moved: bool = False
    _at: int = 0

    @property
    def marked(self) -> Candidate:
        return self.candidates[self._at]

    def move(self, by: int) -> None:
        self.is_moved = True
        self._at = (self._at + by) % len(self.candidates)

    def lines(self, theme: Theme, width: int, rows: int = ROWS) -> list[str]:
        """Return the lines of the list, at most ``rows``, including the selected entry."""
        first = min(max(self._at - rows + 1, 0), max(len(self.candidates) - rows, 0))
        shown = self.candidates[first : first + rows]
        most = max(width * 2 // 3, 12) if any(each.help for each in shown) else width
        room = min(max(width_of(visible(each.shown)) for each in shown), most, width - 4)
        lines: list[str] = []
        for at, each in enumerate(shown, first):
            name = visible(each.shown)
            name = _CUT.get(self.kind, clipped)(name, width - 4 if self.kind == "files" else room, theme.more)
            name = f" {name}{' ' * (room - width_of(name))}"
            help_ = clipped(f"  {visible(each.help)}" if each.help else "", width - 1 - width_of(name), theme.more)
            blank = " " * (width - 1 - width_of(name + help_))
            if at == self._at:
                lines.append(theme.paint(name + help_ + blank, "reverse") if theme.colours else f">{name[1:]}{help_}")
            else:
                lines.append(name + theme.paint(help_, "grey"))
        return lines


def _tail(path: str, columns: int, mark: str) -> str:
    if width_of(path) <= columns:
        return path
    return mark + clipped(path[::-1], columns - len(mark), "")[::-1]


def _ends(address: str, columns: int, mark: str) -> str:
    head = clipped(address, columns // 3, "")
    return address if width_of(address) <= columns else head + _tail(address, columns - width_of(head), mark)


_CUT = {"files": _tail, "resources": _ends}
"""Functions that shorten names, by kind of candidate; other names are cut off at the end."""


def searched(recall: Recall, typed: str) -> CandidateList | None:
    """Return a list of the earlier prompts that contain the text, or None if there is none."""
    found = [Candidate("", " ".join(each.text.split()), "", each) for each in recall.found(typed)]
    return CandidateList("history", 0, found) if found else None


def candidates_at(terminal: Terminal, sources: CompletionSources, text: str, cursor: int) -> CandidateList | None:
    """Return the completion list for the text before the cursor, or None if there is nothing to complete."""
    before = text[:cursor]
    if text.startswith("/") and "\n" not in before:
        found = _commands(terminal, before)
    else:
        found = _mentioned(terminal, sources, before)
    return found if found is not None and found.candidates else None


def _commands(terminal: Terminal, before: str) -> CandidateList | None:
    from callgate.tui.commands import all_commands, argument_words

    name, blank, rest = before[1:].partition(" ")
    if "/" in name:
        return None
    if blank:
        start = len(before) - len(rest.rpartition(" ")[2])
        typed = before[start:].lower()
        if rest.count(" "):
            return None
        words = [(word, about) for word, about in argument_words(terminal, name) if word.lower().startswith(typed)]
        found = [Candidate(word, word, about) for word, about in words if word.lower() != typed]
        return CandidateList("words", start, found)
    typed = name.lower()
    ranked = [
        (0 if each.name.startswith(typed) else 1 if any(one.startswith(typed) for one in each.aliases) else 2, at, each)
        for at, each in enumerate(all_commands(terminal))
        if any(typed in one for one in (each.name, *each.aliases))
    ]
    found = [
        Candidate(f"/{each.name}{' ' if each.arguments else ''}", each.form, each.help)
        for _rank, _at, each in sorted(ranked, key=lambda row: row[:2])
    ]
    return CandidateList("commands", 0, found)


def _mentioned(terminal: Terminal, sources: CompletionSources, before: str) -> CandidateList | None:
    mention = mention_at(before)
    if mention is None:
        return None
    servers = {} if terminal.session is None else {each.name: each for each in terminal.session.controls.mcp_servers}
    name, colon, typed = mention.typed.partition(":")
    if colon and name in servers:
        found = [each for each in sources.addresses(servers[name]) if typed.lower() in each.lower() and each != typed]
        whole = [f"{name}:{each}" for each in found]
        return CandidateList("resources", mention.start, [Candidate(f"{mention_of(each)} ", each) for each in whole])
    named = [each for each in servers if name and not colon and each.lower().startswith(name.lower())]
    shown = [Candidate(f"@{each}:", f"{each}:", "resources of an MCP server") for each in named]
    return CandidateList("files", mention.start, [*shown, *_files(sources, mention.typed)])


def _files(sources: CompletionSources, typed: str) -> list[Candidate]:
    if typed.startswith(_PLACES):
        folder, slash, name = typed.rpartition("/")
        lead = folder + slash
        names = [each for each in sources.beside(expanduser(lead or ".")) if each.lower().startswith(name.lower())]
        paths = [lead + each for each in names if name or not each.startswith(".")] if lead or name != "~" else []
    else:
        paths = sources.ranked(typed)
    return [Candidate(mention_of(path), path) for path in paths]
