"""Writes the profile of the macOS sandbox. The code follows the documentation and has not been tested on a Mac."""

from collections.abc import Iterator

from callgate.host.sandbox.profile import Profile

_PROGRAM = "/usr/bin/sandbox-exec"
_HEAD = """\
(version 1)
(deny default)
(allow process-exec process-fork)
(allow signal process-info* (target same-sandbox))
(allow sysctl-read)
(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))
(allow file-read* file-map-executable)
(allow file-write* file-ioctl (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty"))
(allow pseudo-tty)
(allow network* (local ip "localhost:*"))
(deny network-outbound (remote unix))"""


def sandboxed_argv(argv: tuple[str, ...], profile: Profile) -> tuple[str, ...]:
    return (_PROGRAM, "-p", text(profile), *argv)


def text(profile: Profile) -> str:
    """Return the sandbox profile; later rules take precedence. A protected place cannot be moved with its parent
    folder either."""
    return "\n".join((_HEAD, *_rules(profile)))


def _rules(profile: Profile) -> Iterator[str]:
    for path in (profile.root, *profile.writable, *((profile.scratch,) if profile.scratch else ())):
        yield f"(allow file-write* (subpath {_quoted(path)}))"
    for path in (*profile.read_only, *profile.reserved):
        yield f"(deny file-write* (subpath {_quoted(path)}))"
        for folder in _above(path, profile):
            yield f"(deny file-write-unlink (literal {_quoted(folder)}))"
    for path in profile.unreadable:
        yield f"(deny file-read* file-write* (subpath {_quoted(path)}))"


def _above(path: str, profile: Profile) -> Iterator[str]:
    folder = path.rpartition("/")[0]
    while folder.startswith(profile.root):
        yield folder
        folder = folder.rpartition("/")[0]


def _quoted(path: str) -> str:
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'
