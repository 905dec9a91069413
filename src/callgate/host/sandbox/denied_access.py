"""Detects refused accesses in the output of a command and describes them.

A program reports a refused system call in its own words, so only its error messages can be evaluated. "Read-only file
system" and an unreachable host are always caused by the sandbox. "Permission denied" is attributed to the
sandbox only if the profile refuses the access.
"""

import posixpath
import re
from collections.abc import Sequence
from typing import Literal

from callgate.host.sandbox.profile import Profile
from callgate.words.noun import noun

Wanted = Literal["write", "read", "network", "kernel", "sandbox"]


@noun
class DeniedAccess:
    """An access that the sandbox refused.

    place  a path or host, empty if unknown, or the reason why the sandbox could not be created; copied from the output
           of the command, so it cannot be trusted
    """

    wanted: Wanted
    place: str = ""

    def __str__(self) -> str:
        place = self.place or "something"
        match self.wanted:
            case "write":
                return f"write access to {self.place or 'a protected path'}"
            case "read":
                return f"read access to {place}"
            case "network":
                return f"network access to {self.place}" if self.place else "network access"
            case "sandbox":
                return f"the sandbox could not be created ({place})"
            case "kernel":
                return "a system call, such as tracing or creating a namespace"


_BARE = r"(?:[\w.~@+-]*/[^\s:'\"(),]*|[\w-]*\.[\w.-]+)"
_PATH = rf"""(?:'(?P<quoted>[^'\n]+)'|"(?P<double>[^"\n]+)"|‘(?P<curly>[^’\n]+)’|(?P<bare>{_BARE}))"""
_READ_ONLY = r"(?:read-only file ?system|EROFS)"
_REFUSED = r"(?:permission denied|operation not permitted|EACCES|EPERM)"
_HOST = r"['\"]?(?P<host>[A-Za-z0-9][A-Za-z0-9.-]*\.[A-Za-z]{2,}|[0-9]+(?:\.[0-9]+){3})"


def _both_ways(error: str) -> tuple[re.Pattern[str], ...]:
    """Return the patterns for a path after the error, as Python and Node print it, and before the error, as C
    programs, Go and shells print it."""
    behind = rf"{error}[^:,\n]{{0,30}}[:,] (?:\w+ )?{_PATH}"
    before = rf"{_PATH}:? *(?:\w+ )?{error}"
    return re.compile(behind, re.IGNORECASE), re.compile(before, re.IGNORECASE)


_WRITES = (*_both_ways(_READ_ONLY), re.compile(_READ_ONLY, re.IGNORECASE))
_REFUSALS = _both_ways(_REFUSED)
_NETWORK = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"could not resolve (?:host(?:name)?|proxy):? {_HOST}",
        rf"(?:EAI_AGAIN|ENOTFOUND|ENETUNREACH|ECONNREFUSED),? {_HOST}",
        rf"failed to (?:connect|establish[^\n]{{0,30}}connection) to {_HOST}",
        rf"unable to (?:access|resolve(?: host address)?|connect to) ['\"]?(?:\w+://)?{_HOST}",
        rf"(?:lookup|dial tcp:? (?:lookup )?) *{_HOST}",
        r"temporary failure in name resolution|name or service not known|network is unreachable|getaddrinfo failed"
        r"|address family not supported by protocol|no address associated with hostname",
    )
)
_KERNEL = re.compile(
    r"(?:ptrace|unshare|setns|mount|perf_event_open|keyctl|clone)\b[^\n]{0,60}operation not permitted"
    r"|could not trace|io_uring[^\n]{0,40}(?:not permitted|EPERM)",
    re.IGNORECASE,
)
_NOT_MADE = re.compile(r"^(?:bwrap|sandbox): (?P<why>[^\n]+)", re.MULTILINE)
_LONGEST = 20_000
_LONGEST_PLACE = 200
_MOST_HOSTS = 5


def denied_access(error: str, returncode: int, profile: Profile, hosts: Sequence[str] = ()) -> DeniedAccess | None:
    """Return the refused access that made a command fail; None if the sandbox is not the cause of the failure.

    error  the standard error of the command
    hosts  the hosts that the proxy refused
    """
    if returncode == 0:
        return None
    found = _denied(error, profile)
    if hosts and (found is None or found.wanted in ("network", "kernel")):
        named = [*dict.fromkeys(hosts)]
        more = f" and {len(named) - _MOST_HOSTS} more" if len(named) > _MOST_HOSTS else ""
        return DeniedAccess("network", f"{', '.join(named[:_MOST_HOSTS])}{more}"[:_LONGEST_PLACE])
    return found


def _denied(error: str, profile: Profile) -> DeniedAccess | None:
    text = error[-_LONGEST:]
    if (made := _NOT_MADE.match(text)) is not None:
        return DeniedAccess("sandbox", made["why"][:_LONGEST_PLACE])
    for pattern in _WRITES:
        if (found := pattern.search(text)) is not None:
            return DeniedAccess("write", _named(found))
    for pattern in _REFUSALS:
        for found in pattern.finditer(text):
            wanted = _explained(_named(found), profile)
            if wanted is not None:
                return DeniedAccess(wanted, _named(found))
    for pattern in _NETWORK:
        if (found := pattern.search(text)) is not None:
            return DeniedAccess("network", (found.groupdict().get("host") or "")[:_LONGEST_PLACE])
    return DeniedAccess("kernel") if _KERNEL.search(text) else None


def _named(found: re.Match[str]) -> str:
    groups: dict[str, str | None] = found.groupdict()
    named = next((text for name in ("quoted", "double", "curly", "bare") if (text := groups.get(name))), "")
    return named[:_LONGEST_PLACE]


def _explained(path: str, profile: Profile) -> Wanted | None:
    path = posixpath.normpath(posixpath.join(profile.root, path))
    if any(_beneath(path, place) for place in profile.unreadable):
        return "read"
    writable = any(_beneath(path, place) for place in (profile.root, *profile.writable, profile.scratch) if place)
    kept = any(_beneath(path, place) for place in (*profile.read_only, *profile.reserved))
    return "write" if kept or not writable else None


def _beneath(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
