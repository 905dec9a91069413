"""Reads the settings and hooks of a repository that can make git run programs even when git only reads (GATE-17).

Settings of the user and of the system are not checked. The settings of the repository are parsed strictly: a key
that is not in the table of harmless keys, and a line that cannot be parsed, are treated as naming a program.
"""

import os
import re
from collections.abc import Iterator, Mapping

from callgate.policy.shorten import brief

# Section → keys that name no program and no further file; under * the sections of which no key does. A section with a
# subsection has a line of its own ("remote.*"). This is so for git's commands that read; others may run more.
_HARMLESS: Mapping[str, str] = {
    "core": """repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks autocrlf eol
        safecrlf quotepath abbrev compression loosecompression bigfilethreshold preloadindex untrackedcache
        sharedrepository trustctime checkstat commentchar whitespace protecthfs protectntfs longpaths fscache
        sparsecheckout sparsecheckoutcone multipackindex commitgraph warnambiguousrefs""",
    "remote.*": "url pushurl fetch push tagopt prune prunetags skipdefaultupdate skipfetchall gh-resolved",
    "remote": "pushdefault",
    "submodule": "active recurse fetchjobs propagatebranches",
    "submodule.*": "url active path branch ignore fetchrecursesubmodules",
    "diff": "algorithm renames renamelimit colormoved mnemonicprefix noprefix context indentheuristic submodule",
    "merge": "ff conflictstyle renames log stat",
    "log": "date decorate abbrevcommit follow",
    "commit": "gpgsign verbose",
    "tag": "gpgsign sort",
    "extensions": "objectformat worktreeconfig",
    "http": "postbuffer version",
    "http.*": "extraheader",
    "init": "defaultbranch",
    "*": """branch branch.* user author committer color color.* advice pull push rebase fetch status index pack i18n lfs
        lfs.*""",
}
_KNOWN = {section: frozenset(keys.split()) for section, keys in _HARMLESS.items()}
_HEADER = re.compile(r'\[([A-Za-z0-9-]+)(?:[ \t]+"((?:[^"\\\n]|\\["\\])*)")?\][ \t]*')
_KEY = re.compile(r"([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=.*)?")
_HOOK = "post-index-change"  # the hook that runs when the index is refreshed
_LARGEST = 1 << 20
_MOST_MODULES = 64
_NO_FILE = (FileNotFoundError, NotADirectoryError)


def runs_programs(folder: str) -> str | None:
    """Return why git may run a program when it reads in the folder, or None."""
    if not os.path.isdir(folder):
        return f"{brief(folder)} is not there yet, so git's settings in it are not known"
    try:
        for git in _repositories(folder):
            for settings in _settings(git):
                key = _first_unknown(settings)
                in_module = settings.startswith(os.path.join(git, "modules", ""))
                if key is not None and not (in_module and key == "core.worktree"):
                    return f"git may run what {key} in {brief(settings)} names"
            hook = os.path.join(git, "hooks", _HOOK)
            if os.path.exists(hook):
                return f"git would run {brief(hook)}"
    except (OSError, ValueError) as error:
        return f"the settings of git in {brief(folder)} cannot be read: {error}"
    return None


def _repositories(folder: str) -> Iterator[str]:
    """Return the git folders of the folder and its parents. Raise ValueError for a bare repository, because its
    settings could be part of a working tree."""
    while True:
        git = os.path.join(folder, ".git")
        if os.path.isdir(git):
            yield git
        elif os.path.lexists(git):
            yield _linked(git)
        if all(os.path.lexists(os.path.join(folder, name)) for name in ("HEAD", "objects", "refs")):
            raise ValueError(f"{brief(folder)} looks like a repository without a working tree")
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above


def _linked(git: str) -> str:
    """Return the repository that the ``.git`` file of a worktree or submodule names."""
    named = _text(git).removesuffix("\n")
    if not named.startswith("gitdir: "):
        raise ValueError(".git is not a folder, and does not say where one is")
    found = os.path.join(os.path.dirname(git), named.removeprefix("gitdir: "))
    try:
        return os.path.join(found, _text(os.path.join(found, "commondir")).removesuffix("\n"))
    except _NO_FILE:
        return found


def _settings(git: str) -> Iterator[str]:
    yield os.path.join(git, "config")
    yield os.path.join(git, "config.worktree")
    for name in _names(os.path.join(git, "worktrees")):
        yield os.path.join(git, "worktrees", name, "config.worktree")
    count = 0
    for folder, folders, files in os.walk(os.path.join(git, "modules"), onerror=_refuse):
        if "HEAD" in files:  # below are only objects, refs and submodules
            count += 1
            if count > _MOST_MODULES or os.path.exists(os.path.join(folder, "hooks", _HOOK)):
                raise ValueError("a submodule has a hook, or there are too many to look at")
            yield os.path.join(folder, "config")
            folders[:] = [each for each in folders if each == "modules"]


def _refuse(error: OSError) -> None:
    if not isinstance(error, _NO_FILE):
        raise error


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except _NO_FILE:
        return []


def _first_unknown(path: str) -> str | None:
    """Return the first key that is not in the table of harmless keys, or None. Raise ValueError for a line that
    cannot be parsed."""
    try:
        text = _text(path)
    except _NO_FILE:
        return None
    section = ""
    for number, line in enumerate(text.split("\n"), 1):
        rest = line.strip(" \t\r")
        if header := _HEADER.match(rest):
            section = header[1].lower() + (".*" if header[2] is not None else "")
            rest = rest[header.end() :]
        if not rest or rest[0] in "#;":
            continue
        found = _KEY.fullmatch(rest)
        if found is None or rest.endswith("\\"):
            raise ValueError(f"line {number} of {brief(path)} is not a plain setting")
        if section not in _KNOWN["*"] and found[1].lower() not in _KNOWN.get(section, ()):
            return f"{section}.{found[1].lower()}"
    return None


def _text(path: str) -> str:
    with open(path, "rb") as file:
        data = file.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise ValueError("it is too large")
    return data.decode()
