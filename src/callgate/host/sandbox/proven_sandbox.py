"""A proven sandbox in use: decides where each command of a session runs, and stores refused accesses."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from callgate.host.environment import fixed_environment
from callgate.host.ports import Command, HostDecision
from callgate.host.sandbox.profile import Profile, flaw
from callgate.host.sandbox.sandbox import Sandbox, SandboxRefused

if TYPE_CHECKING:
    from callgate.host.sandbox.denied_access import DeniedAccess
    from callgate.host.sandbox.proxy import HostProxy
    from callgate.host.sandbox.reviewed_files import ReviewedFiles

_MOST_REMEMBERED = 10_000


class ProvenSandbox:
    """A sandbox that is proven on this machine, with the profile of a workspace. Not thread-safe.

    The gate calls ``settle``, which decides where the command of a call runs. The tool calls ``takes``, which
    returns the same decision even if the state has changed meanwhile. A command that failed because of a refused
    access is stored: its next call runs outside the sandbox, after the user was asked.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        profile: Callable[[], Profile],
        hosts: Sequence[str] = (),
        proxy: "HostProxy | None" = None,
        files: "ReviewedFiles | None" = None,
    ) -> None:
        self._sandbox = sandbox
        self._profile = profile
        self._proxy = proxy
        self.hosts = tuple(hosts) if proxy is not None else ()
        """The hosts that commands may reach through the proxy."""
        self._files = files
        self._reviews: dict[str, int] = {}
        self._settled: dict[tuple[str, str], str | None] = {}
        self._refused: dict[str, DeniedAccess] = {}

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
            return f"inside the sandbox it failed: {refused}"
        try:
            why = flaw(self._profile())
        except SandboxRefused as error:
            why = str(error)
        return why and f"it cannot run inside the sandbox: {why}"

    def unreviewed(self, call_id: str) -> str | None:
        """Return which file of the workspace changed since a person last allowed a command that may run such files, or
        None. If the command of this call runs outside, the files count as reviewed from now on."""
        now = time.time_ns()
        found = "no review of its files is stored" if self._files is None else self._files.first_changed()
        if found is not None:
            while len(self._reviews) >= _MOST_REMEMBERED:
                self._reviews.pop(next(iter(self._reviews)))
            self._reviews.setdefault(call_id, now)
        return found

    def hides(self, path: str) -> bool:
        """Return True if a command inside the sandbox cannot read this path."""
        try:
            places = self._profile().unreadable
        except SandboxRefused:
            return False
        return any(path == place or path.startswith(f"{place}/") for place in places)

    def takes(self, call_id: str, text: str) -> bool:
        """Return True if the command of this call runs inside the sandbox, or if the gate has not judged the call."""
        inside = self._settled.pop((call_id, text), None) is None
        reviewed = self._reviews.pop(call_id, None)
        if not inside and reviewed is not None and self._files is not None:
            self._files.advance(reviewed)
        return inside

    def wrap(self, command: Command, on_decision: Callable[[HostDecision], None]) -> Command:
        """Return a command that runs ``command`` inside the sandbox. Raise SandboxRefused if that is not possible."""
        profile = self._profile()
        return self._sandbox.wrap(command, profile, None if self._proxy is None else self._proxy.line(on_decision))

    def outside(self, command: Command) -> Command:
        """Return the command with variables that name no folder in which a command inside can write."""
        places = () if self._files is None else (self._files.root,)
        with suppress(SandboxRefused):
            profile = self._profile()
            places = (*places, *profile.tops, profile.scratch)
        return replace(command, env=fixed_environment(command.env, *places))

    def denied(self, text: str, output: str, returncode: int, hosts: Sequence[HostDecision]) -> "DeniedAccess | None":
        """Return and store the refused access that made a command fail; None if no refusal caused the failure."""
        from callgate.host.sandbox.denied_access import denied_access  # slow to import; only needed for failed commands

        found = denied_access(output, returncode, self._profile(), [each.host for each in hosts if not each.allowed])
        if found is not None:
            self._refused[text] = found
        return found
