"""Describes the environment of a session to the model.

The program ``git`` is not run, because the settings of git could name a program to run, and a scan of the files
would delay the first request. The branch and an unfinished operation are read from the files of the repository. The
model can run ``git status``.
"""

import os
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from callgate.formats.display import visible
from callgate.prompt.system_prompt import enclosed

_UNDER_WAY = {
    "MERGE_HEAD": "a merge",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "BISECT_LOG": "a bisection",
}
_ELSEWHERE = "Write and Edit work only in the workspace"
_LONGEST_NAME = 200
_LONGEST_HEAD = 1_000


def describe_environment(root: Path, *, model: str, now: float, added: Sequence[Path] = ()) -> str:
    """Return the section of the prompt that describes the environment. Blocks for a few small reads."""
    lines = [f"Working folder: {visible(str(root))}"]
    lines += [f"Further folder, read-only ({_ELSEWHERE}): {visible(str(each))}" for each in added]
    lines.append(f"Git: {_git(root)}")
    lines.append(f"Platform: {_platform()}")
    lines.append(f"Date at the start of the session: {datetime.fromtimestamp(now).astimezone():%Y-%m-%d, %A}")
    lines.append(f"Model: {visible(model)}")
    return enclosed("environment", "\n".join(lines))


def repository_top(folder: Path) -> Path | None:
    """Return the nearest folder that contains a git repository: the folder itself or one of its parents. Return None
    if there is no repository."""
    return next((each for each in (folder, *folder.parents) if os.path.lexists(each / ".git")), None)


def branch_of(root: Path) -> str:
    """Return the name of the branch that is checked out in a folder, or an empty string."""
    top = repository_top(root)
    head = "" if top is None else _first_line(_records(top / ".git") / "HEAD")
    return visible(head[5:].removeprefix("refs/heads/")[:_LONGEST_NAME]) if head.startswith("ref: ") else ""


def _git(root: Path) -> str:
    top = repository_top(root)
    if top is None:
        return "no repository"
    records = _records(top / ".git")
    head, branch = _first_line(records / "HEAD"), branch_of(root)
    if branch:
        said = f"branch {branch}"
    else:
        said = f"no branch, at commit {head[:12]}" if head[:12].isalnum() else "unreadable repository"
    under_way = next((name for file, name in _UNDER_WAY.items() if os.path.lexists(records / file)), None)
    said = said if under_way is None else f"{said}, {under_way} is in progress"
    return said if top == root else f"{said}; the top of the repository is {visible(str(top))}"


def _records(git: Path) -> Path:
    """Return the git directory of a repository. In a worktree or submodule, ``.git`` is a file that contains the
    path of the git directory."""
    if git.is_dir():
        return git
    named = _first_line(git)
    return git.parent / named.removeprefix("gitdir: ") if named.startswith("gitdir: ") else git


def _first_line(path: Path) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.readline(_LONGEST_HEAD).strip()
    except OSError:
        return ""


def _platform() -> str:
    if sys.platform == "win32":
        return "Windows"
    about = os.uname()
    system = "macOS" if about.sysname == "Darwin" else about.sysname
    return f"{system} {about.release} ({about.machine}), shell {os.path.basename(os.environ.get('SHELL', '')) or 'sh'}"
