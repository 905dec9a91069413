"""A real program that changes the same files again and again while others do, for tests that stop or kill it; and what
can be concluded from all that such programs said.

    together_program.py <folder> <files> <who> <rounds> <stop>

It says ``ready`` and waits for a line. Then in every round:

    tries <mark> <marks of what it found>    the change is previewed, which reads all files and changes all
    shown                                    and it waits for a line before it says yes
    won <mark>                               or: refused <mark> <why>

It ends with ``steps <how many>``. A step is a call of the system on the journal or on what an apply puts beside a file;
just before number ``stop`` it stops itself, if that is not 0.
"""

import asyncio
import fcntl
import random
import re
import signal
import sys
import threading
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from callgate.assembly import Executor
from callgate.core.gate import CheckGate
from callgate.core.ports import Case, Check, Run
from callgate.host.local import LocalHost
from callgate.testing import PlainTool, PlainToolbox
from callgate.words.calls import ToolCall
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.decisions import Ask
from callgate.words.noun import noun
from callgate.words.traits import Traits, writes

START = "start"
REFUSED = "Nothing was changed, because files have changed since the preview: "
_STEPS = ("open", "os.rename", "os.link", "os.remove")
_SIGNS = (".callgate-", ".apply")


# ---- the files --------------------------------------------------------------------------------------------------


def content(name: str, mark: str) -> bytes:
    """Long and of another length each time, so that half of it, or two in one, cannot pass for a whole one."""
    lines = 1 + zlib.crc32(f"{name} {mark}".encode()) % 3_000
    return f"{mark} of {lines} in {name}\n".encode() * lines


def mark_of(name: str, data: bytes) -> str:
    """Which mark it carries, if it is whole."""
    mark = data.decode().partition(" ")[0]
    assert data == content(name, mark), f"{name} is torn: {len(data)} bytes, begins with {data[:40]!r}"
    return mark


def left_behind(root: Path, journal: Path, files: Iterable[str]) -> list[str]:
    """What nobody wants to find there after an apply."""
    there = [path.relative_to(root).as_posix() for path in root.rglob("*") if not path.is_dir()]
    noted = [path.name for path in journal.iterdir() if path.name != "lock"] if journal.is_dir() else []
    return sorted({*there} - {*files}) + noted


class Workspace:
    """Files that are changed together: they all carry the mark of the change set that was applied last."""

    def __init__(self, folder: Path, files: int) -> None:
        self.folder = folder
        self.root = folder / "root"
        self.journal = folder / "journal"
        self.names = [f"d{number % 3}/{number}.txt" for number in range(files)]

    def make(self) -> Self:
        for name in self.names:
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_bytes(content(name, START))
        return self

    def marks(self) -> list[str]:
        """Of every file, each of which is there and whole."""
        return [mark_of(name, (self.root / name).read_bytes()) for name in self.names]

    def the_mark(self) -> str:
        """Of all files, when nobody is at work."""
        (mark,) = {*self.marks()}
        assert left_behind(self.root, self.journal, self.names) == []
        return mark

    def locked(self) -> bool:
        """Whether somebody applies, so that nobody else can."""
        with open(self.journal / "lock", "rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False


class Reader:
    """Reads all files of a workspace in turn, again and again, for as long as its block lasts."""

    def __init__(self, space: Workspace) -> None:
        self._space = space
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work)
        self._wrong: list[BaseException] = []
        self.seen: dict[str, list[str]] = {name: [] for name in space.names}

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()
        if self._wrong and error is None:
            raise self._wrong[0]

    def _work(self) -> None:
        try:
            while True:
                last = self._over.is_set()
                for name, mark in zip(self._space.names, self._space.marks(), strict=True):
                    if self.seen[name][-1:] != [mark]:
                        self.seen[name].append(mark)
                if last:
                    return
        except BaseException as error:
            self._wrong.append(error)

    def check(self, order: list[str]) -> None:
        """No file went back."""
        for name, marks in self.seen.items():
            assert marks[-1] == order[-1]
            assert marks == sorted(marks, key=order.index), (name, marks, order)


# ---- what was said ----------------------------------------------------------------------------------------------


@noun
class Tried:
    """One round of a program. ``won`` is None if it was killed before it could say."""

    mark: str
    found: tuple[str, ...]
    won: bool | None = None
    why: str = ""


def tries_in(said: Iterable[str]) -> list[Tried]:
    tries: list[Tried] = []
    for line in said:
        word, _, rest = line.partition(" ")
        if word == "tries":
            mark, *found = rest.split(" ")
            tries.append(Tried(mark, tuple(found)))
        elif word in ("won", "refused"):
            mark, _, why = rest.partition(" ")
            assert mark == tries[-1].mark
            tries[-1] = Tried(mark, tries[-1].found, word == "won", why)
    return tries


def named_in(why: str) -> set[str]:
    """The files of which a refusal says that the contents differ."""
    assert why.startswith(REFUSED), why
    named = set(re.findall(r"(\w+/\d+(?:\.txt)?): ", why))
    assert named, "a refusal names files"
    return named


def order_of(tries: Sequence[Tried], space: Workspace) -> list[str]:
    """All marks there were, the last one last: every change set was made from what one other had left, whole, and no
    two from the same. Whoever was killed may have been applied or not."""
    end = space.the_mark()
    followed = {tried.found for tried in tries if tried.won} | {(end,)}
    landed = [tried for tried in tries if tried.won or (tried.won is None and (tried.mark,) in followed)]
    after = {tried.found: tried.mark for tried in landed}
    assert len(after) == len(landed), f"two were made from the same: {landed}"
    order = [START]
    while (order[-1],) in after:
        order.append(after[order[-1],])
    assert len(order) == len(landed) + 1, f"not one behind the other: {order}, {landed}"
    assert order[-1] == end
    for tried in tries:
        assert tried.won is not False or named_in(tried.why) <= {*space.names}
    return order


# ---- the program ------------------------------------------------------------------------------------------------


class Steps:
    """Counts the steps of all applies, and stops the program before one of them."""

    def __init__(self, stop: int) -> None:
        self.made = 0
        self._stop = stop
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[object, ...]) -> None:
        if event in _STEPS and any(sign in str(each) for each in arguments for sign in _SIGNS):
            self.made += 1
            if self.made == self._stop:
                # To this thread: a signal to the program may let it take the step first.
                signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)


def tell(*words: object) -> None:
    print(*words, flush=True)


def listen() -> None:
    sys.stdin.readline()


def ask(_case: Case) -> Ask:
    return Ask("test")


async def change(host: LocalHost, mark: str, paths: list[str]) -> None:
    """Preview, ask, apply."""

    def proposed(_arguments: Mapping[str, Any], _run: Run) -> ChangeSet:
        found = {path: (host.root / path).read_bytes() for path in paths}
        tell("tries", mark, *sorted({mark_of(path, data) for path, data in found.items()}))
        return ChangeSet(mark, tuple(FileChange(path, data, content(path, mark)) for path, data in found.items()))

    edit = PlainTool("edit", traits=Traits("mutating", writes(*paths)), preview=proposed)
    async with Executor(PlainToolbox(edit), CheckGate([Check("ask", ask)]), host=host) as executor:
        executor.add(ToolCall(mark, "edit"))
        executor.close()
        await executor.stalled()
        (question,) = executor.questions
        tell("shown")
        listen()
        assert executor.answer(question.yes()) is None
        await executor.stalled()
        (call,) = executor.calls()
        assert call.result is not None
        assert call.result.effects == ("none" if call.result.is_error else None), call.result
        tell("refused" if call.result.is_error else "won", mark, call.result.text.replace("\n", " "))


async def main(space: Workspace, who: str, rounds: int, stop: int) -> None:
    host = LocalHost(space.root, journal=space.journal)
    tell("ready")
    listen()
    steps = Steps(stop)
    for number in range(1, rounds + 1):
        mark = f"{who}-{number}"
        # Everybody takes them in another order, as those would who do not know of each other.
        await change(host, mark, random.Random(mark).sample(space.names, len(space.names)))
    tell("steps", steps.made)


if __name__ == "__main__":
    asyncio.run(main(Workspace(Path(sys.argv[1]), int(sys.argv[2])), sys.argv[3], *map(int, sys.argv[4:])))
