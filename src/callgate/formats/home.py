"""Paths as people write them: the home folder is ``~``."""

import os


def home_path(path: str | os.PathLike[str]) -> str:
    """The path with ``~`` in place of the home folder, as a shell takes it."""
    text, home = os.fspath(path), os.path.expanduser("~").rstrip(os.sep)
    inside = bool(home) and (text == home or text.startswith(home + os.sep))
    return "~" + text[len(home) :] if inside else text
