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
