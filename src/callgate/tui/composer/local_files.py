"""Reads images from files and from the clipboard, and lists files for completion. All functions block."""

import os
import re
import subprocess
import sys
from itertools import islice
from pathlib import Path

from callgate.host.environment import find_program, reading_environment, scrubbed
from callgate.host.files import read_regular
from callgate.tools.files.file_kinds import MOST_IMAGE, image_type
from callgate.tools.ripgrep.search_engine import SearchRequest, argv, available_engine
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


MOST_FILES = 300_000
_PIECE = 1 << 16
_COMPILED = re.compile(rb"(^|/)(__pycache__|node_modules)/|\.(py[cod]|o|obj|a|so|dylib|dll|exe|class)$")


def workspace_files(root: Path, most: int = MOST_FILES) -> list[str]:
    """Return the paths that Glob would find, unsorted: without hidden, git-ignored and compiled files.

    most  the maximum number of paths, so that a start in a home folder does not read the whole disk
    """
    inside = any((folder / ".git").exists() for folder in (root, *root.parents))
    command = argv(available_engine(), SearchRequest("", "files", in_repository=inside))
    found: list[str] = []
    try:
        program = subprocess.Popen(
            command,
            cwd=root,
            env=reading_environment(scrubbed(os.environ), str(root)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # keeps Ctrl-C from ending it
        )
    except OSError:
        return []
    assert program.stdout is not None
    with program, program.stdout as output:
        rest = b""
        while len(found) < most and (piece := output.read(_PIECE)):
            *names, rest = (rest + piece).split(b"\0")
            found += [os.fsdecode(name).removeprefix("./") for name in names if not _COMPILED.search(name)]
        program.kill()
    return found[:most]


def folder_names(folder: Path, most: int = 2_000) -> list[str]:
    """Return the names in one folder, hidden names last; names of folders end with ``/``. Empty if the folder cannot
    be read."""
    try:
        with os.scandir(folder) as entries:
            found = [f"{each.name}/" if each.is_dir() else each.name for each in islice(entries, most)]
    except OSError:
        return []
    return sorted(found, key=lambda name: (name.startswith("."), name))
