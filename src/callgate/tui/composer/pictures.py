"""Reads images from files and from the clipboard. All functions block."""

import os
import subprocess
import sys
from pathlib import Path

from callgate.host.environment import find_program
from callgate.host.files import read_regular
from callgate.tools.files.file_kinds import MOST_IMAGE, image_type
from callgate.words.errors import UsageError
from callgate.words.messages import Image

_CLIPBOARD: tuple[tuple[str, ...], ...] = (
    ("wl-paste", "--no-newline", "--type", "image/png"),
    ("xclip", "-selection", "clipboard", "-target", "image/png", "-out"),
    ("pngpaste", "-"),
)


def read_picture(path: Path) -> Image | None:
    """Return the image in a file, or None if the file is missing or not an image. Raise UsageError if it is too
    large."""
    try:
        found = read_regular(path, MOST_IMAGE)
    except (OSError, ValueError):
        return None
    if found.is_cut and image_type(found.data) is not None:
        raise UsageError(
            f"{path.name} has {found.status.st_size:,} bytes, but models accept images of at most {MOST_IMAGE:,}: "
            "make a smaller copy"
        )
    return _image(found.data)


def _installed(name: str) -> str | None:
    """Return the path of a program that no command in the workspace could have written, or None."""
    return find_program(name, os.environ.get("PATH", ""), avoid=os.getcwd())


def clipboard_picture() -> Image:
    """Return the image in the clipboard. Raise UsageError if there is none or no program can read it."""
    found = [command for command in _CLIPBOARD if _installed(command[0])]
    if not found:
        needed = "pngpaste" if sys.platform == "darwin" else "wl-paste (Wayland) or xclip (X11)"
        raise UsageError(
            f"pasting images requires {needed}, which is not installed; you can also write the path of a file"
        )
    for command in found:
        try:
            argv = (str(_installed(command[0])), *command[1:])
            data = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=5, check=False).stdout
        except (OSError, subprocess.TimeoutExpired):
            continue
        image = _image(data) if len(data) <= MOST_IMAGE else None
        if image is not None:
            return image
    raise UsageError("the clipboard contains no image, or the image is too large")


def _image(data: bytes) -> Image | None:
    kind = image_type(data)
    return None if kind is None else Image(kind, data)
