"""Makes paths short for the screen: relative to the workspace, ``~`` for the home folder, shortened in the middle."""

import os
import re

from callgate.formats.columns import clipped, pieces, width


def home_path(path: str | os.PathLike[str]) -> str:
    """Replace the home folder at the beginning of a path by ``~``."""
    text, home = os.fspath(path), os.path.expanduser("~").rstrip(os.sep)
    inside = bool(home) and (text == home or text.startswith(home + os.sep))
    return "~" + text[len(home) :] if inside else text


def shown_path(path: str, root: str = "") -> str:
    """Return a path inside the root relative to the root. Replace the home folder in any other path by ``~``."""
    root = root.rstrip("/")
    if root and (path == root or path.startswith(f"{root}/")):
        return path[len(root) :].lstrip("/") or "."
    return home_path(path)


def shown_paths(text: str, root: str = "") -> str:
    """Return a text in which each absolute path inside the root is relative to the root, and each path inside the home
    folder begins with ``~``."""
    root = root.rstrip("/")
    if root and root in text:
        text = re.sub(rf"{_BEFORE}{re.escape(root)}/(?=[^\s/])", "", text)
    home = os.path.expanduser("~").rstrip(os.sep)
    return re.sub(rf"{_BEFORE}{re.escape(home)}(?=/|\s|$)", "~", text) if home and home in text else text


_BEFORE = r"(?<![\w./~-])"


def without_path(text: str, path: str) -> str:
    """Return a text with "this file" in place of the path. Used where the path is shown above the text."""
    if not path or (len(path) < 3 and "/" not in path):  # a short name may be a word of the text
        return text
    return re.sub(rf"{_BEFORE}{re.escape(path)}(?![\w/-]|\.\w)", "this file", text)


def shortened_call(line: str, path: str, columns: int, mark: str = "…") -> str:
    """Return the line of a call in at most this number of columns. A path in the line is shortened in the middle, other
    text at the end."""
    before, found, after = line.rpartition(path) if path else (line, "", "")
    left = columns - width(before) - width(after)
    if found and left >= min(_SHORTEST, width(found)):
        return f"{before}{shortened(found, left, mark)}{after}"
    return clipped(line, columns, mark)


_SHORTEST = 6
"""The minimum columns of a path; with fewer, the line is cut at the end."""


def shortened(path: str, columns: int, mark: str = "…") -> str:
    """Return the path in at most this number of columns. Folders are left out in the middle: ``src/…/name.py``. The
    file name stays whole if it fits."""
    if width(path) <= columns:
        return path
    folders = path.split("/")
    name = folders.pop()
    while folders:
        folders.pop()
        short = "/".join([*folders, mark, name])
        if width(short) <= columns:
            return short
    if width(name) <= columns:
        return name
    room = max(columns - width(mark), 0)
    tail = "".join(reversed(next(pieces(name[::-1], max(room // 2, 1)))))
    return clipped(clipped(name, room - width(tail), "") + mark + tail, columns, "")
