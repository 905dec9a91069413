"""A proven sandbox in use: decides where each command of a session runs, and stores refused accesses."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING

from callgate.host.environment import fixed_environment
from callgate.host.ports import Command, HostDecision
from callgate.host.sandbox.profile import Profile, flaw
from callgate.host.sandbox.sandbox import Sandbox, SandboxRefused

if TYPE_CHECKING:
    from callgate.host.sandbox.denied_access import DeniedAccess
    from callgate.host.sandbox.proxy import HostProxy
    from callgate.host.sandbox.reviewed_files import ReviewedFiles

Watch = Callable[[], Callable[[bool], tuple[dict[str, str], str]]]
"""Returns a function to call when a command has ended: see ``watch_created``."""

_MOST_REMEMBERED = 10_000
_LONGEST = 200
_MOST_PLACES = 150  # for bubblewrap, which reads the table of all mounts for each of them
ASK_AGAIN = (
    "If the command needs this, send the same command again; the user is then asked to run it without the sandbox"
)
NONE_IN_FORCE = "no sandbox is in force, so commands that do more than read need your approval"
NO_HOSTS = "sandbox.allow_hosts has no effect: this kind of sandbox cannot allow single hosts"


class ProvenSandbox:
    """A sandbox that is proven on this machine before its first use, with the profile of a workspace.

    The gate calls ``test`` before the first command, and ``settle``, which decides where the command of a call runs.
    The tool calls ``takes``, which returns the same decision even if the state has changed meanwhile. A command that
    failed because of a refused access is stored: its next call runs outside the sandbox, after the user was asked.

    ``test`` and ``wrap`` block and are thread-safe; all other methods belong to one thread.
    """

    def __init__(
        self,
        find: Callable[[], Sandbox | str],
        profile: Callable[[], Profile],
        hosts: Sequence[str] = (),
        proxy: "Callable[[Sandbox], HostProxy | None]" = lambda sandbox: None,
        files: "ReviewedFiles | None" = None,
        created: Watch | None = None,
        for_many: Callable[[], Sandbox | None] = lambda: None,
        report: Callable[[str], None] = lambda note: None,
    ) -> None:
        """
        find     tests the sandboxes of this machine and returns the best sandbox, or the reason why there is none
        hosts    the hosts that commands may reach
        proxy    returns the proxy for these hosts, or None if the sandbox does not isolate the network
        files    the time of the last review of the workspace
        created  returns a function that renames protected files that a command created
        for_many tests a sandbox for workspaces with many protected places and returns it; used instead of bubblewrap
        report   called with a note for the user about the result of the test
        """
        self._find = find
        self._profile = profile
        self._wanted_hosts = tuple(hosts)
        self._proxy_for = proxy
        self.report = report
        self._lock = Lock()
        self._sandbox: Sandbox | None = None
        self._proxy: HostProxy | None = None
        self.why_none = ""
        """The reason why no sandbox is in force; empty before the test and if one is in force."""
        self._files = files
        self._created = created
        self._for_many = cache(for_many)
        self._last: Profile | SandboxRefused | None = None
        self._is_unseen_reported = False
        self._reviews: dict[str, int] = {}
        self._settled: dict[tuple[str, str], str | None] = {}
        self._refused: dict[str, DeniedAccess] = {}

    @property
    def is_tested(self) -> bool:
        return self._sandbox is not None or bool(self.why_none)

    def test(self) -> str:
        """Test the sandbox if it is not tested yet. Return a note for the user, or an empty text if there is nothing
        to report. Blocks for about 0.1 s at the first test of a boot."""
        with self._lock:
            if self.is_tested:
                return ""
            found = self._find()
            if isinstance(found, str):
                self.why_none = found
                return f"{NONE_IN_FORCE} ({found})"
            self._proxy = self._proxy_for(found) if self._wanted_hosts else None
            with suppress(SandboxRefused):
                self._current_profile()
            self._sandbox = found
            return NO_HOSTS if self._wanted_hosts and self._proxy is None else ""

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts that commands may reach through the proxy."""
        return () if self._proxy is None else self._wanted_hosts

    def settle(self, call_id: str, command: str, outside: str | None) -> str | None:
        """Return the reason why this command runs outside the sandbox; None if it runs inside. The first result for a
        call is stored and returned again.

        outside  a reason of the caller to run the command outside the sandbox; None if there is none
        """
        key = (call_id, command)
        if key not in self._settled:
            while len(self._settled) >= _MOST_REMEMBERED:  # calls that were never run
                self._settled.pop(next(iter(self._settled)))
            self._settled[key] = self._why_outside(command) or outside
        return self._settled[key]

    def _why_outside(self, command: str) -> str | None:
        refused = self._refused.get(command)
        if refused is not None:
            return f"the sandbox blocked this command: {refused}"
        try:
            why = flaw(self._known_profile())
        except SandboxRefused as error:
            why = str(error)
        return why and f"the command cannot run in the sandbox: {why}"

    def unreviewed(self, call_id: str) -> str | None:
        """Return the file of the workspace that changed since a person last allowed a command that may run such
        files, or the reason why the files cannot be compared; None if no file changed. If the command of this call
        runs outside, the files count as reviewed from now on."""
        now = time.time_ns()
        found = "no review of these files is stored" if self._files is None else self._files.first_changed()
        if found is not None:
            while len(self._reviews) >= _MOST_REMEMBERED:
                self._reviews.pop(next(iter(self._reviews)))
            self._reviews.setdefault(call_id, now)
        return found

    def hides(self, path: str) -> bool:
        """Return True if a command inside the sandbox cannot read this path."""
        try:
            places = self._known_profile().unreadable
        except SandboxRefused:
            return False
        return any(path == place or path.startswith(f"{place}/") for place in places)

    def takes(self, call_id: str, text: str) -> bool:
        """Return True if the command of this call runs inside the sandbox, or if the gate has not judged the call.
        Return False if no sandbox is in force."""
        inside = self._settled.pop((call_id, text), None) is None
        reviewed = self._reviews.pop(call_id, None)
        if not inside and reviewed is not None and self._files is not None:
            self._files.advance(reviewed)
        return inside and not self.why_none

    def wrap(self, command: Command, on_decision: Callable[[HostDecision], None]) -> Command:
        """Return a command that runs ``command`` inside the sandbox; ``command`` itself if the gate has not judged the
        call and no sandbox is in force. Raise SandboxRefused if the command cannot run inside."""
        self.test()
        if self._sandbox is None:
            return command
        profile = self._current_profile()
        sandbox = self._sandbox_for(self._sandbox, profile)
        return sandbox.wrap(command, profile, None if self._proxy is None else self._proxy.line(on_decision))

    def _sandbox_for(self, sandbox: Sandbox, profile: Profile) -> Sandbox:
        places = len(profile.read_only) + len(profile.unreadable)
        if sandbox.backend != "bubblewrap" or places <= _MOST_PLACES:
            return sandbox
        with self._lock:
            return self._for_many() or sandbox

    def watch(self, text: str) -> Callable[[bool], tuple[str, ...]]:
        """Return a function to call when the command ``text``, which was wrapped before, has ended. It looks for
        protected files that the command created and returns lines about them. It blocks, and any thread may call it.

        The parameter of the returned function is True for a command in the foreground: the files are then renamed, and
        the next call of the command asks to run it outside.
        """
        check = None if self._created is None or self._sandbox is None else self._created()

        def report(rename: bool) -> tuple[str, ...]:
            if check is None:
                return ()
            found, unseen = check(rename)
            lines = [*_lines_about(found, rename)]
            if found and rename:
                from callgate.host.sandbox.denied_access import DeniedAccess  # few commands create such files

                self._refused[text] = DeniedAccess("write", ", ".join(found)[:_LONGEST])
            if unseen and not self._is_unseen_reported:
                self._is_unseen_reported = True
                lines.append(f"The workspace is very large: commands may be able to read secrets below {unseen}.")
            return tuple(lines)

        return report

    def _current_profile(self) -> Profile:
        """Search the workspace and return its profile. Blocks."""
        try:
            self._last = self._profile()
        except SandboxRefused as error:
            self._last = error
        return self._known_profile()

    def _known_profile(self) -> Profile:
        """Return the sandbox profile from the last search of the workspace. Raise SandboxRefused if
        the workspace cannot have a profile."""
        if self._last is None:
            return self._current_profile()
        if isinstance(self._last, SandboxRefused):
            raise self._last
        return self._last

    def outside(self, command: Command) -> Command:
        """Return the command for a run outside the sandbox: its variables name no folder in which commands inside
        the sandbox can write. Return the command itself if no sandbox is in force."""
        if self._sandbox is None:
            return command
        places = () if self._files is None else (self._files.root,)
        return replace(command, env=fixed_environment(command.env, *places))

    def denied(self, text: str, output: str, returncode: int, hosts: Sequence[HostDecision]) -> "DeniedAccess | None":
        """Return and store the refused access that made a command fail; None if no refusal caused the failure."""
        from callgate.host.sandbox.denied_access import denied_access  # slow to import; only needed for failed commands

        found = denied_access(
            output, returncode, self._known_profile(), [each.host for each in hosts if not each.allowed]
        )
        if found is not None:
            self._refused[text] = found
        return found


def _lines_about(found: dict[str, str], renamed: bool) -> Iterator[str]:
    """Return a line for each protected file that a command created, with its new name."""
    for old, new in found.items():
        if old != new:
            yield f"Blocked by the sandbox: {old} needs the approval of the user and was renamed to {new}. {ASK_AGAIN}"
        elif renamed:
            yield f"{old} was created in the sandbox and could not be renamed. Programs may load it without a question."
        else:
            yield f"{old} appeared while a command ran in the sandbox in the background. Check it before you use it."
