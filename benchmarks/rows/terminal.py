"""What the terminal costs while text streams and while a session grows, and what it writes to the screen.

The real application draws into a stream that counts; events come from here, without a session. A frame holds a hundred
characters, as a fast model writes them in a thirtieth of a second.
"""

import asyncio
import io
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from statistics import median
from typing import Any

from benchmarks.measure import Size
from benchmarks.report import Row
from callgate.words.calls import Result
from callgate.words.events import CallArrived, CallSettled, CallStarted, Event, MessageAdded, RunEnded, TextStreamed
from callgate.words.messages import Message, Text

STREAMED = 100_000
CHARACTERS = 100
"""Characters of one frame."""
MESSAGES = 10_000
FLAT = 2.0
"""The last frames may cost so many times what the first ones did."""


_CODES = re.compile(r"\x1b\[[0-9;]*m")
_NUMBERED = re.compile(r"\d")
"""Lines with a number of their part are there once; rules of tables and code are not."""


def text(characters: int) -> str:
    """Markdown of this length: paragraphs, lists, tables and code; every line of it is there once."""
    pieces: list[str] = []
    length = number = 0
    while length < characters:
        number += 1
        pieces.append(
            f"## Part {number}\n\nThe *first* sentence of part {number} is here, with `code-{number}` in it.\n\n"
            f"1. step {number}-a\n2. step {number}-b, which is longer\n\n"
            f"| key {number} | value |\n|---|---|\n| a{number} | b{number} |\n\n"
            f"```python\ndef part_{number}(x: int) -> int:\n    return x + {number}  # the sum\n```\n\n"
        )
        length += len(pieces[-1])
    return "".join(pieces)[:characters]


def streamed(characters: int) -> Iterator[Sequence[Event]]:
    whole = text(characters)
    for at in range(0, characters, CHARACTERS):
        yield [TextStreamed(0.0, "m", whole[at : at + CHARACTERS])]
    yield [RunEnded(0.0, "done")]


def conversation(messages: int) -> Iterator[Sequence[Event]]:
    """A frame is a prompt, a call and the answer: three messages."""
    for number in range(messages // 3):
        yield [
            MessageAdded(0.0, Message(f"p{number}", "user", (Text(f"Question {number}?"),))),
            CallArrived(0.0, f"c{number}", "Read", {"file_path": "a.py"}, 0, f"a{number}"),
            CallStarted(0.0, f"c{number}", of=1),
            CallSettled(0.0, f"c{number}", Result((Text("x"),), details={"lines": [1, 20]}), 2.0),
            TextStreamed(0.0, f"b{number}", f"Answer {number} with **some** words.\n"),
            MessageAdded(0.0, Message(f"b{number}", "assistant", (Text(f"Answer {number}."),))),
            RunEnded(0.0, "done"),
        ]


class Drawn:
    """CPU seconds of each frame, all that was written, and the finished lines with the place where each was written."""

    def __init__(self) -> None:
        self.frames: list[float] = []
        self.screen = io.StringIO()
        self.finished: list[tuple[str, int]] = []

    @property
    def slower(self) -> float:
        """The last tenth of the frames against the first one, by their medians."""
        tenth = max(len(self.frames) // 10, 1)
        return median(self.frames[-tenth:]) / median(self.frames[:tenth])

    @property
    def written_again(self) -> int:
        """Finished lines that were written once more later."""
        whole = self.screen.getvalue()
        return sum(whole.find(line, at + len(line)) >= 0 for line, at in self.finished)


def draw(frames: Iterator[Sequence[Event]], count_finished: bool = True) -> Drawn:
    """Draws a frame for each group of events."""
    from prompt_toolkit.application import create_app_session
    from prompt_toolkit.input import create_pipe_input
    from prompt_toolkit.output import DummyOutput

    found = Drawn()

    async def main() -> None:
        from callgate.tui.app import TerminalApp
        from callgate.tui.render import warm_up
        from callgate.tui.theme import Theme

        warm_up()
        app: Any = TerminalApp(lambda: None, Theme())  # type: ignore[arg-type, return-value]
        print_above: Callable[[Sequence[str]], None] = app.application.print_above

        def counted(lines: Sequence[str]) -> None:
            before = found.screen.tell()
            print_above(lines)
            if count_finished:
                numbered = [line for line in lines if _NUMBERED.search(_CODES.sub("", line))]
                found.finished += [(line, max(found.screen.getvalue().find(line, before), 0)) for line in numbered]

        app.application.print_above = counted
        task = asyncio.create_task(app.application.run_async())
        await asyncio.sleep(0.1)
        assert app.application.is_running
        for events in frames:
            began = time.process_time()
            for event in events:
                app._on_event((), 0, event)
            app.frames.close()
            app.frames.draw()
            found.frames.append(time.process_time() - began)
        app.quit()
        await task

    with (
        create_pipe_input() as keys,
        create_app_session(input=keys, output=DummyOutput()),
        redirect_stdout(found.screen),
    ):
        asyncio.run(main())
    return found


def rows(size: Size) -> list[Row]:
    share = size.growth / 10_000
    characters = int(STREAMED * share)
    stream = draw(streamed(characters))
    session = draw(conversation(int(MESSAGES * share)), count_finished=False)
    written = len(stream.screen.getvalue())
    return [
        Row(
            "terminal_stream",
            f"terminal: {characters:,} streamed characters, CPU of a frame",
            "ms",
            median(stream.frames) * 1000,
            note=f"{len(stream.frames):,} frames, {sum(stream.frames):.2f} s",
        ),
        Row("terminal_stream_flat", "  last frames against the first", "×", stream.slower, limit=FLAT),
        Row("terminal_bytes", "  characters written for each streamed", "", written / characters),
        Row("terminal_again", "  finished lines written again", "", stream.written_again, limit=0),
        Row(
            "terminal_session",
            f"terminal: {int(MESSAGES * share):,} messages, CPU of a frame",
            "ms",
            median(session.frames) * 1000,
            note=f"{len(session.frames):,} frames, {sum(session.frames):.2f} s",
        ),
        Row("terminal_session_flat", "  last frames against the first", "×", session.slower, limit=FLAT),
    ]
