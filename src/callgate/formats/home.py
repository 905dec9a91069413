"""Abbreviates the home folder in paths to ``~``."""

import os


def home_path(path: str | os.PathLike[str]) -> str:
    """Replace the home folder at the beginning of a path by ``~``."""
    text, home = os.fspath(path), os.path.expanduser("~").rstrip(os.sep)
    inside = bool(home) and (text == home or text.startswith(home + os.sep))
    return "~" + text[len(home) :] if inside else text
