"""The lines of a panel: escaped, wrapped and styled text."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from callgate.formats.columns import clipped, pieces, width, words
from callgate.formats.display import visible
from callgate.formats.shown_paths import shown_path
from callgate.tui.port import Receiver
from callgate.tui.theme import Theme
from callgate.words.changes import ChangeSet

CODES = re.compile(r"\x1b\[[0-9;]*m")
"""Matches the colour sequences in a line."""


class PanelPage:
    """Collects the lines of a panel. No line is wider than ``width``."""

    def __init__(self, theme: Theme, width: int) -> None:
        self.theme = theme
        self.width = max(width - 1, 12)  # some terminals wrap a line that fills the last column
        self.lines: list[str] = []

    def words(self, text: str, style: str = "", indent: int = 2) -> None:
        """Add a sentence, wrapped between words."""
        self.safe_words(visible(text), style, indent)

    def safe_words(self, text: str, style: str = "", indent: int = 2) -> None:
        """Add a sentence without escaping it, because it is escaped already. It is wrapped between words."""
        for line in words(text, self.width - indent):
            self.lines.append(" " * indent + self.theme.paint(line, style))

    def block(self, text: str, style: str = "", indent: int = 2, before: str = "") -> None:
        """Add text with all its blanks, wrapped at the edge."""
        margin = " " * indent + before
        for line in text.split("\n"):
            for piece in pieces(visible(line.expandtabs(4)), self.width - width(margin)):
                self.lines.append(margin + self.theme.paint(piece, style))

    def diff(self, body: str, name: str = "") -> None:
        """Add a diff in git's format, with indented continuation lines."""
        from callgate.tui.render.diff import diff_rows  # costly, loaded for the first diff
        from callgate.tui.render.spans import painted

        text = body.encode("utf-8", "replace").decode()
        for row in diff_rows(self.theme, text, self.width - 2, name, exact=True, wrap=True) if text else ():
            self.lines.append(f"  {painted(self.theme, row)}")

    def line(self, text: str, style: str = "", right: str = "") -> None:
        """Add one line, cut off at the edge, with a right-aligned text at its end."""
        room = self.width - (width(right) + 2 if right else 0)
        shown = clipped(visible(text), max(room, 8), self.theme.more)
        gap = " " * max(self.width - width(shown) - width(right), 2) if right else ""
        self.lines.append(self.theme.paint(shown, style) + gap + self.theme.paint(right, "grey"))

    def rule(self, title: str = "") -> None:
        dash = self.theme.sign("─", "-")
        head = f"{dash * 2} {title} " if title else ""
        self.lines.append(self.theme.paint(head + dash * max(self.width - width(head), 0), "grey"))

    def card_keys(self, receiver: Receiver, pairs: Iterable[tuple[str, str]]) -> None:
        """Add the keys of a card. If the user must select the card first, add the key that selects it; if the card
        does not accept keys yet, add a mark."""
        if receiver.card_waits:
            self.keys([("Tab", "answer the question; text goes to the input line")])
        elif receiver.part != "card":
            self.words(self.theme.more, "grey")
        else:
            self.keys(pairs, receiver.held)

    def keys(self, pairs: Iterable[tuple[str, str]], held: str = "") -> None:
        """Add keys and their help, wrapped between pairs. The ``held`` key was pressed and takes effect in a moment."""
        line, used = "", 0
        for key, what in pairs:
            size = width(f"{key} {what}") + 3
            if used and used + size > self.width:
                self.lines.append(f"  {line}")
                line, used = "", 0
            shown = self.theme.paint(key, "reverse" if key == held else "bold")
            line += ("   " if line else "") + f"{shown} {self.theme.paint(what, 'grey')}"
            used += size
        if line:
            self.lines.append(f"  {line}")


def clip_lines(lines: Sequence[str], room: int, more: str, theme: Theme) -> list[str]:
    """Return at most ``room`` lines. If lines are omitted, the last line has their number, followed by ``more``."""
    if len(lines) <= room:
        return [*lines]
    kept = max(room - 1, 0)
    left = theme.paint(f"  {theme.sign('…', '...')} {len(lines) - kept} more lines{more}", "yellow")
    return [*lines[:kept], left]


def write_change(page: PanelPage, change: ChangeSet, root: str = "", path: str = "") -> None:
    """Write the diff of a change set, file by file.

    root  the workspace; paths in the workspace are relative to it
    path  a path that is shown above the diff, and is left out
    """
    from callgate.admin.session_changes import changed_files  # costly, loaded for the first change

    for file in changed_files(change):
        named = [shown_path(each, root) for each in (file.source, file.path) if each]
        name = "" if named == [path] and len(change.files) == 1 else f"{' -> '.join(named)} "
        minus = page.theme.sign("−", "-")
        counted = f"+{file.added} {minus}{file.removed}" if file.shown == "lines" else file.shown
        kind = "edit" if file.kind == "replace" else file.kind
        page.words(f"{kind} {name}({counted if kind != 'mode' else 'permissions'})", "bold")
        page.diff("\n".join(file.hunks), file.path)


def write_arguments(page: PanelPage, arguments: Mapping[str, Any], root: str = "", path: str = "") -> None:
    """Write the arguments of a call with their names. Arguments of one line come first, so that a long text does not
    hide them.

    root  the workspace; an argument that is a path in the workspace is relative to it
    path  a path that is shown above the arguments, and is left out
    """
    from json import dumps

    if not arguments:
        page.words("no arguments", "grey")
    written: list[list[str]] = []
    for name, value in arguments.items():
        if root and isinstance(value, str):
            value = shown_path(value, root)
        if path and value == path:
            continue
        own = PanelPage(page.theme, page.width + 1)
        if name == "command" and isinstance(value, str):
            own.block(value, "bold", before="$ ")
        elif isinstance(value, str) and ("\n" in value or len(value) > page.width):
            own.words(f"{name}:", "grey")
            own.block(value, indent=4)
        else:
            shown = value if isinstance(value, str) else dumps(value, ensure_ascii=False, default=repr)
            own.block(f"{name}: {shown}")
        written.append(own.lines)
    for lines in sorted(written, key=lambda lines: len(lines) > 1):
        page.lines += lines
