"""Several programs in one process, one step at a time: a step is what one of them asks of the system.

Each is a thread that stops before every call of the system that others can notice. Who goes next is for the test to
say, so every order can be had, and had again. One can be killed at any of its steps: its locks are free then, as the
system sees to it, and nothing it would still do has any effect.
"""

import fcntl
import os
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from threading import Event, Thread, current_thread
from typing import Any

import pytest

_STEPS = ("open", "link", "unlink", "rename", "pwrite", "ftruncate", "listdir")


class Killed(BaseException):
    """What a dead program gets for everything it asks."""


class _Actor(Thread):
    def __init__(self, work: Callable[[], object]) -> None:
        super().__init__(daemon=True)
        self._work = work
        self._go, self._stopped = Event(), Event()
        self.locked: set[int] = set()
        self.dead = self.done = False
        self.result: object = None

    def run(self) -> None:
        try:
            self.pause()
            self.result = self._work()
        except BaseException as error:
            self.result = error
        self.done = True
        self._stopped.set()

    def pause(self) -> None:
        """Until it is its turn."""
        if not self.dead:
            self._stopped.set()
            self._go.wait()
            self._go.clear()
        if self.dead:
            raise Killed

    def step(self) -> None:
        """Let it go on to its next step, or to its end."""
        self._stopped.clear()
        self._go.set()
        self._stopped.wait()

    def begin(self) -> None:
        self.start()
        self._stopped.wait()

    def kill(self) -> None:
        self.dead = True
        for fd in self.locked:
            with suppress(OSError):
                _flock(fd, fcntl.LOCK_UN)
        self.step()


_flock = fcntl.flock


@contextmanager
def stepwise() -> Generator[None]:
    """While this lasts, threads of ``play`` stop at their steps."""
    with pytest.MonkeyPatch.context() as patch:
        for name in _STEPS:
            patch.setattr(os, name, _stopping(getattr(os, name)))
        patch.setattr(os, "close", _closing(os.close))
        patch.setattr(os, "fsync", _nothing)
        patch.setattr(fcntl, "flock", _locking)
        yield


def play(works: Sequence[Callable[[], object]], order: Sequence[int], kills: Sequence[tuple[int, int]]) -> list[Any]:
    """Run these to their ends; gives what each returned or raised. ``order`` picks among those that are left, then they
    take turns. ``kills`` are numbers of works, with the step that each does not take."""
    actors = [_Actor(work) for work in works]
    for actor in actors:
        actor.begin()
    steps = dict.fromkeys(actors, 0)
    doomed = {actors[which % len(actors)]: step for which, step in kills}
    turn = 0
    while left := [actor for actor in actors if not actor.done]:
        picked = left[(order[turn] if turn < len(order) else turn) % len(left)]
        turn += 1
        if doomed.get(picked) == steps[picked]:
            picked.kill()
        else:
            steps[picked] += 1
            picked.step()
    return [actor.result for actor in actors]


def _stopping(real: Callable[..., Any]) -> Callable[..., Any]:
    def stop(*args: Any, **kwargs: Any) -> Any:
        actor = current_thread()
        if not isinstance(actor, _Actor):
            return real(*args, **kwargs)
        actor.pause()
        return real(*args, **kwargs)

    return stop


def _closing(real: Callable[[int], None]) -> Callable[[int], None]:
    def close(fd: int) -> None:
        actor = current_thread()
        if isinstance(actor, _Actor):
            actor.locked.discard(fd)
        real(fd)

    return close


def _locking(fd: int, how: int) -> None:
    """A lock that others may hold is waited for step by step."""
    actor = current_thread()
    if not isinstance(actor, _Actor) or how == fcntl.LOCK_UN:
        _flock(fd, how)  # if it is an actor's, it is closed next
        return
    while True:
        actor.pause()
        try:
            _flock(fd, how | fcntl.LOCK_NB)
            actor.locked.add(fd)
            return
        except BlockingIOError:
            if how & fcntl.LOCK_NB:
                raise


def _nothing(fd: int) -> None:
    """Nobody pulls the plug here, and it would take most of the time."""
