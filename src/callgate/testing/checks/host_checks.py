"""Conformance checks of Clock and Host."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

from callgate.core.ports import Clock, Host
from callgate.testing.checks import promise, quietly
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.errors import ToolFailure

C = TypeVar("C", bound=Clock)

NONSENSE = ("", ".", "..", "../" * 50, "~", " ", "\0", "a\0b", "\ud800", "//", "a" * 10_000, "a/" * 10_000, "\n")
"""Paths that models really write."""


async def check_clock(make: Callable[[], C], advance: Callable[[C, float], Awaitable[None]] | None = None) -> None:
    """Check that a clock meets the requirements of Clock. ``advance`` moves a manual clock; without it the check
    sleeps."""
    clock = make()

    async def passing(seconds: float) -> None:
        await (asyncio.sleep(seconds) if advance is None else advance(clock, seconds))

    promise(clock.now() > 0, "now() is in seconds since the epoch")
    before = clock.monotonic()
    fired: list[str] = []
    home: list[int] = []
    clock.call_later(0.02, lambda: fired.append("second"))
    clock.call_later(0.01, lambda: fired.append("first"))
    clock.call_later(0.01, lambda: home.append(threading.get_ident()))
    never = clock.call_later(0.01, lambda: fired.append("cancelled"))
    clock.call_later(3600, lambda: fired.append("too early"))
    clock.call_later(0, lambda: fired.append("zero"))
    promise(not fired, "call_later() never calls the function directly, even without delay")
    never.cancel()
    never.cancel()
    await passing(0.05)
    promise("zero" in fired, "a timer without delay fires as soon as time passes")
    promise("cancelled" not in fired, "a cancelled timer does not fire")
    promise("too early" not in fired, "a timer does not fire before its time")
    promise(fired == ["zero", "first", "second"], f"timers fire in the order of their times, not {fired}")
    promise(home == [threading.get_ident()], "timers fire once, on the event loop's thread")
    promise(clock.monotonic() - before >= 0.04, "monotonic() increases as time passes")
    never.cancel()


async def check_host(make: Callable[[], Host]) -> None:
    """Check that a host meets the requirements of Host. The check writes files below ``callgate-check`` in the
    workspace and removes them."""
    host = make()
    promise(host.clock is host.clock, "clock is one object")
    promise(host.locks is host.locks, "locks is one object, shared by every executor on the host")
    _check_normal(host)
    _check_place(host)
    await _check_keep(host)
    await _check_apply(host)


def _check_normal(host: Host) -> None:
    for path in NONSENSE:
        once = quietly(partial(host.normal, path), f"normal({path[:20]!r}) must not raise")
        promise(once == host.normal(path), f"normal({path[:20]!r}) is the same each time")
    root = host.normal(".")
    promise("/" in root and (root.startswith("/") or ":" in root), f"normal() is absolute and uses /, not {root!r}")
    promise(host.normal("a/b") == root.rstrip("/") + "/a/b", "relative paths start at the workspace")
    for spelling in ("./a/b", "a//b", "a/./b", "a/b/", "a/c/../b", host.normal("a/b")):
        promise(host.normal(spelling) == host.normal("a/b"), f"{spelling!r} has the normal form of its path")


def _check_place(host: Host) -> None:
    for path in NONSENSE:
        try:
            place = host.resolve_path(path)
        except Exception as error:
            raise AssertionError(f"broken promise: place({path[:20]!r}) must not raise {error!r}") from error
        promise(place == host.resolve_path(path), f"place({path[:20]!r}) is the same each time")
        promise(place.spelled == path, "a resolved path keeps the given path")
        promise(place.hops[-1:] == (place.resolved,), "the last hop is the resolved path")
    root = host.resolve_path(".")
    promise(root.inside and root.fault is None and root.kind == "folder", "the workspace is a folder inside itself")
    below = root.resolved.rstrip("/") + "/"
    inner = host.resolve_path("callgate-check/a/../none")
    promise(inner.hops[0] == below + "callgate-check/none", "the first hop is the path as given")
    promise(inner.inside and inner.kind == "missing", "a path that does not exist yet is inside the workspace")
    promise(host.resolve_path(inner.hops[0]).inside, "an absolute path inside the workspace is inside")
    promise(not host.resolve_path("../callgate-escape").inside, "a path beside the workspace is not inside")
    promise(
        not host.resolve_path(root.resolved + "-escape").inside, "a name that only starts like the workspace is outside"
    )
    for path in ("", "\0", "a\0b", "\ud800", "a\u202eb"):
        promise(host.resolve_path(path).fault, f"{path!r} must not be usable")


async def _check_keep(host: Host) -> None:
    paths = [await host.keep(name, b"data") for name in ("out.txt", "out.txt", "../../etc/x", "", "\0", "é" * 500)]
    promise(len(set(paths)) == len(paths), "keep() never overwrites: every artifact has its own path")


async def _check_apply(host: Host) -> None:
    one, two = "callgate-check/one.txt", "callgate-check/deep/two.txt"
    await host.apply(ChangeSet("create", (FileChange(one, None, b"1"), FileChange(two, None, b"2"))))
    promise(host.resolve_path(one).kind == "file", "a file that was made is a file")
    promise(host.resolve_path("callgate-check/deep").kind == "folder", "and its parent is a folder")
    stale = (FileChange(one, b"1", b"new"), FileChange(two, b"other", b"new"))
    await _refused(host, stale, "a file that changed since the preview")
    await _refused(host, (FileChange(one, None, b"new"),), "creating a file that exists")
    await _refused(host, (FileChange("callgate-check/none", b"", b"new"),), "replacing a file that does not exist")
    await _refused(host, (FileChange("../callgate-escape", None, b"x"),), "a file outside the workspace")
    await _refused(host, (FileChange(one, b"1", b"2"), FileChange("./" + one, b"1", b"3")), "changing a file twice")
    try:
        await host.apply(ChangeSet("replace", (FileChange(one, b"1", b""), FileChange(two, b"2", b"\r\n\0"))))
    except ToolFailure as error:
        raise AssertionError(f"broken promise: a refused change set changes nothing, but then: {error}") from error
    await host.apply(ChangeSet("delete", (FileChange(one, b"", None), FileChange(two, b"\r\n\0", None))))


async def _refused(host: Host, files: tuple[FileChange, ...], what: str) -> None:
    try:
        await host.apply(ChangeSet("refused", files))
    except ToolFailure as error:
        promise(str(error), f"a refusal says why ({what})")
        return
    raise AssertionError(f"broken promise: apply() refuses {what} with a ToolFailure")
