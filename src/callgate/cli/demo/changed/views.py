"""Shows the tenth act while it runs: the model's text, the diff, the outcome. On a terminal, as lines, as JSON."""

from collections.abc import Sequence
from typing import TextIO

from callgate import Event
from callgate.cli.arguments import Form
from callgate.cli.demo.changed.script import BEHIND, PROMPT
from callgate.cli.demo.changed.story import Story
from callgate.cli.demo.script import CHANGED, TITLES
from callgate.cli.demo.views import JsonView
from callgate.cli.terminal import Line, Live, Span, can_redraw, paragraph, plain, size_of
from callgate.words.calls import Result
from callgate.words.events import CallSettled, MessageAdded, Noted

_DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}


class StoryView:
    def __init__(self, form: Form, out: TextIO) -> None:
        self._json = JsonView(out) if form == "json" else None
        self._live = Live(out) if form == "screen" and can_redraw(out) else None
        self._out = out

    def opened(self) -> None:
        if self._live is None:
            self._write([()])
        self._say(f"{CHANGED}. {TITLES[CHANGED]}", "bold", hang=3, indent=0)
        self._say(f"> {PROMPT}", "bold", hang=2, indent=0)

    def missing(self, why: str) -> None:
        self._say(f"Left out: {why}", "yellow")
        self.closed()

    def heard(self, event: Event) -> None:
        if self._json is not None:
            self._json.heard(event)
        elif isinstance(event, MessageAdded) and event.message.role == "assistant" and event.message.text:
            self._say(event.message.text)
        elif isinstance(event, CallSettled):
            self._settled(event.result)
        elif isinstance(event, Noted):
            self._say(event.text, "cyan", indent=4)

    def meddled(self) -> None:
        self._say(f"Meanwhile somebody else writes a line into {BEHIND}.", "yellow")

    def killed(self, story: Story) -> None:
        if "staged" in story.files:
            text = f"Killed between two renames: the process ended with {story.code}. Another one opens its session."
        else:
            text = f"It did not get where it was to be killed: the process ended with {story.code}."
        self._say(text)

    def recovered(self) -> None:
        self._say("And now all of it is taken back.")

    def closed(self) -> None:
        if self._live is not None:
            self._write([()])

    def _settled(self, result: Result) -> None:
        diff = next((each for each in result.display if each.kind == "diff"), None)
        if diff is not None:
            lines = [line for line in str(diff.body).splitlines() if line[:1] in _DIFF_STYLES]
            self._write([(Span("    "), Span(line, _DIFF_STYLES[line[0]])) for line in lines])
            return
        first, *rest = result.text.splitlines() or [""]
        self._say(first, "red" if result.is_error else "green", indent=4, hang=2)
        for line in rest if result.is_error else ():
            self._write([(Span(f"      {line}"),)])

    def _say(self, text: str, style: str = "", *, indent: int = 2, hang: int = 0) -> None:
        self._write(paragraph(text, min(self._columns, 100), style, indent=indent, hang=hang))

    @property
    def _columns(self) -> int:
        if self._live is not None:
            return self._live.columns
        return max(size_of(self._out)[0], 40) if self._out.isatty() else 100

    def _write(self, lines: Sequence[Line]) -> None:
        if self._live is not None:
            self._live.keep(lines)
        elif self._json is None:
            self._out.write("".join(f"{plain(line)}\n" for line in lines))
            self._out.flush()
