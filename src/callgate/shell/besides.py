"""Places a command touches that none of its words names as such: what it makes of a name, and what it clears away."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal

from callgate.shell.programs.git import subcommand_at
from callgate.shell.programs.inner import Run
from callgate.shell.programs.uses import said

Place = tuple[Literal["read", "write", "remove"], str]

_PACKERS = frozenset(("gzip", "bzip2", "xz", "zstd", "gunzip", "bunzip2", "unxz", "unzstd"))
_PACKED = re.compile(r"(.+)\.(?:gz|bz2|xz|zst|Z)")
_TARS = frozenset(("tar", "bsdtar", "gtar"))
_EDITORS = frozenset(("vim", "vi", "nvim", "view", "vimdiff", "gvim", "emacs", "nano", "pico", "micro"))
_SHOWS = frozenset(("show", "cat-file", "diff", "archive", "blame", "grep", "log"))
_LOOKS = frozenset(("--get", "--get-all", "--get-regexp", "--unset", "--unset-all", "get", "unset", "list", "--list"))
# Settings of git that name a program, or a file with more settings.
_PROGRAM_KEY = re.compile(
    r"""core\.(?:hookspath|pager|editor|fsmonitor|sshcommand|askpass|gitproxy|attributesfile|alternaterefscommand)
    |alias\..+|pager\..+|include\.path|includeif\..+|credential\.(?:.+\.)?helper|init\.templatedir|sequence\.editor
    |diff\.external|(?:diff|filter|merge|difftool|mergetool|browser|man)\..+\.(?:command|textconv|clean|smudge|process
    |driver|cmd|path)|gpg\.(?:.+\.)?program|interactive\.difffilter|uploadpack\.packobjectshook|protocol\..+""",
    re.X | re.I,
)


def besides(run: Run) -> Iterator[Place]:
    """What a command reads, writes and removes besides what its uses say."""
    name, words = run.name, run.words
    clears = name == "rsync" and any(said(word).startswith("--del") for word in words)
    packs_away = name in _TARS and any(said(word) == "--remove-files" for word in words)
    for use in run.uses:
        if use.role == "move" or (use.role == "write" and name in _PACKERS):
            yield "read", use.text
        if use.role == "write" and name in _PACKERS and (packed := _PACKED.fullmatch(use.text)):
            yield "write", packed[1]
        if (use.role == "write" and clears) or (use.role == "read" and packs_away):
            yield "remove", use.text
    if name == "ssh-add" or name in _EDITORS:
        for text in map(said, words[1:]):
            if text[:1] not in ("-", "+"):
                yield "read", text
    if name == "git":
        yield from _git([said(word) for word in words[subcommand_at(words) :]])


def _git(texts: Sequence[str]) -> Iterator[Place]:
    if texts[:1] == ["config"]:
        yield from _setting(texts)
    elif texts and texts[0] in _SHOWS:
        for text in texts[1:]:
            path = text.partition(":")[2]
            if text[:1] != "-" and path:
                yield "read", path


def _setting(texts: Sequence[str]) -> Iterator[Place]:
    """The file of settings, where one is set that makes programs run."""
    if not _LOOKS.isdisjoint(texts):
        return
    for key, value in pairwise(texts):
        if _PROGRAM_KEY.fullmatch(key) and not (key.lower().startswith("alias.") and value[:1] != "!"):
            yield "write", "~/.gitconfig" if "--global" in texts else ".git/config"
