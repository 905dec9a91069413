"""Decides whether the command of a call runs inside or outside the sandbox of its tool.

Arguments of the call never decide this, so the user's answer applies to the place that the question names.
"""

import os
import re
import subprocess
from collections.abc import Callable
from functools import cache
from typing import Protocol, runtime_checkable

from callgate import shell
from callgate.core.capabilities import facts_of
from callgate.core.ports import Case
from callgate.host.environment import find_program, scrubbed
from callgate.policy.shorten import brief
from callgate.policy.subjects import Subject

OUTSIDE_CHECK = "sandbox"
"""The name of the check that asks before a command runs outside the sandbox. Hooks do not answer its questions."""

_VERSION_CONTROL = frozenset(("git", "hg", "jj", "svn"))


@runtime_checkable
class SandboxPort(Protocol):
    """The interface of a tool's sandbox that the gate uses.

    is_tested  True after the first call of ``test``
    why_none   the reason why no sandbox is in force; empty if one is in force
    hosts      the hosts that commands inside the sandbox may reach
    report     callback that receives notes for the user
    """

    @property
    def is_tested(self) -> bool: ...
    @property
    def why_none(self) -> str: ...
    @property
    def hosts(self) -> tuple[str, ...]: ...
    @property
    def report(self) -> Callable[[str], None]: ...

    def test(self) -> str:
        """Test the sandbox on this machine and return a note for the user, which is often empty. Blocks. Any thread
        may call this method."""
        ...

    def hides(self, path: str) -> bool:
        """Return True if commands inside the sandbox cannot read the path."""
        ...

    def settle(self, call_id: str, command: str, outside: str | None) -> str | None:
        """Return why the command of the call runs outside the sandbox, or None if it runs inside. The answer for a call
        does not change until the command has run.

        outside  a reason for running the command outside, or None
        """
        ...

    def unreviewed(self, call_id: str) -> str | None:
        """Return which file of the workspace changed since a person last allowed a command that may run such files, or
        None."""
        ...


def sandbox_for(case: Case) -> SandboxPort | None:
    """Return the sandbox of the tool; None if no sandbox is in force or the call has no command."""
    sandbox = declared_sandbox(case)
    return sandbox if sandbox is not None and sandbox.is_tested and not sandbox.why_none else None


def declared_sandbox(case: Case) -> SandboxPort | None:
    """Return the sandbox of the tool, which may not be tested yet; None if the tool has no sandbox or the call has
    no command."""
    sandbox, declared = facts_of(case.tool).sandbox, case.traits.declared
    has_command = declared.command is not None and declared.fault is None
    return sandbox if has_command and isinstance(sandbox, SandboxPort) else None


def why_outside(subject: Subject) -> str | None:
    """Return why the command runs outside the sandbox. Return "" if it runs inside, and None if there is no sandbox
    or no command."""
    case = subject.case
    sandbox = sandbox_for(case)
    if sandbox is None or case.traits.declared.command is None:
        return None
    return sandbox.settle(case.call_id, case.traits.declared.command, _needs(subject)) or ""


def unreviewed(subject: Subject) -> str | None:
    """Return why a person has to allow the command outside the sandbox again: it may run files of the workspace, and
    one of them changed. None if the command runs no such files, or if none changed."""
    sandbox, analysis = sandbox_for(subject.case), subject.analysis
    if sandbox is None or analysis is None:
        return None
    from callgate.host.environment import fixed_path  # only for commands outside the sandbox

    found = subject.programs_on(fixed_path(os.environ.get("PATH", ""), subject.root))
    program = shell.runs_project_files(analysis) or next(iter(found), None) or _runs_hooks(subject, analysis)
    changed = program and sandbox.unreviewed(subject.case.call_id)
    return changed and f"{program} may run files of the workspace, and {changed}"


def _runs_hooks(subject: Subject, analysis: "shell.Analysis") -> str | None:
    """Return a description of the program that version control may run from the workspace, or None."""
    runs = shell.find_inner_commands(analysis).runs
    name = next((run.name for run in runs if run.name in _VERSION_CONTROL), None)
    if name is None or (name == "git" and subject.effects == "none"):
        return None
    folders = shell.settings_folders(analysis) if name == "git" else None
    if folders is None:
        return name
    if subject.git is not None and subject.git.fault is not None:
        return f"git ({subject.git.fault})"
    places = (subject.resolve_in_shell(each or ".").resolved for each in folders)
    return next((f"git ({why})" for place in places if (why := program_of_repository(place)) is not None), None)


def _needs(subject: Subject) -> str | None:
    """Return why the command cannot work inside the sandbox, according to its words; None if no reason is found."""
    if subject.danger is not None:
        return subject.danger
    for access in subject.outside:
        if access.way != "read":
            return f"the command would {access.way} {brief(access.path.spelled)}, outside the workspace"
    if subject.analysis is not None and subject.effects != "none":
        for run in shell.find_inner_commands(subject.analysis).runs:
            if run.name in _VERSION_CONTROL:
                return f"{run.name} must write to .{run.name}, which the sandbox blocks"
    return None


_SECONDS = 5.0
# Settings whose values git runs as a command, or that name a file with more settings.
_NAMES_PROGRAM = re.compile(
    r"alias\..+|include\.path|includeif\..+|pager\..+|protocol\..+|core\.(?:hookspath|fsmonitor|pager|askpass|gitproxy)"
    r"|.*(?:command|cmd|hook|filter)|remote\..*\.(?:vcs|uploadpack|receivepack)|sendemail\.smtpserver|instaweb\.httpd"
    r"|.*\.(?:clean|smudge|process|driver|textconv|program|helper|editor|external|path|update)",
    re.I,
)
_HARMLESS = re.compile(r"(?:true|false|cat|checkout|merge|rebase|none|simple-git|)", re.I)


def program_of_repository(folder: str) -> str | None:
    """Return a description of the hook that git would run in this folder, or of the setting whose program git would
    run. If the settings cannot be read, return the reason; None if git would run no program of the repository.
    Settings of the user and the system are not included."""
    git = _git()
    if git is None:
        return "git was not found in a system folder"
    try:
        hooks = _output(git, folder, "rev-parse", "--git-path", "hooks")
        settings = _output(git, folder, "config", "--list", "--show-scope", "-z")
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return "its settings could not be listed"
    for scope, setting in zip(*[iter(settings.split("\0"))] * 2, strict=False):
        key, _, value = setting.partition("\n")
        if scope not in ("system", "global") and _NAMES_PROGRAM.fullmatch(key) and not _HARMLESS.fullmatch(value):
            return f"the setting {brief(key)}"
    place = os.path.join(folder, hooks.removesuffix("\n"))
    try:
        found = sorted(each for each in os.listdir(place) if not each.endswith(".sample"))
    except FileNotFoundError:
        return None
    except OSError:
        return f"hooks in {brief(place)}"
    return f"the hook {brief(os.path.join(place, found[0]))}" if found else None


@cache
def _git() -> str | None:
    return find_program("git")


def _output(git: str, folder: str, *words: str) -> str:
    environment = scrubbed(dict(os.environ)) | {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
    found = subprocess.run(
        [git, *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        timeout=_SECONDS,
        check=True,
        stdin=subprocess.DEVNULL,
    )
    return found.stdout.decode()
