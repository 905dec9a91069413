"""sed and its script language, read strictly: a script that is not understood here is not covered."""

import re
from collections.abc import Sequence
from posixpath import basename, dirname, join

from callgate.shell.programs.arguments import WHOLE, Argument, Invocation
from callgate.shell.programs.uses import Use, unsure

_BARE = frozenset("=dDgGhHnNpPxzF")
_LABEL = re.compile(r"[ \t]*[A-Za-z0-9_.-]*")
_COUNT = re.compile(r"[ \t]*[0-9]*")
_NUMBER = re.compile(r"[0-9]+(?:~[0-9]+)?|\$")
_AFTER_COMMA = re.compile(r"[+~][0-9]+|[0-9]+|\$")
_FILE = re.compile(r"[ \t]*([^\n]*)")


class _Odd(Exception):
    """The script is not understood."""


class _Script:
    """One walk through the text of a script: the files it reads and writes, and the commands it runs."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.reads: list[str] = []
        self.writes: list[str] = []
        self.runs: list[str] = []

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def take(self) -> str:
        char = self.peek()
        if not char:
            raise _Odd("it ends too soon")
        self.at += 1
        return char

    def skip(self, blanks: str) -> None:
        while self.peek() and self.peek() in blanks:
            self.at += 1

    def match(self, pattern: re.Pattern[str]) -> str | None:
        found = pattern.match(self.text, self.at)
        if found is None:
            return None
        self.at = found.end()
        return found.group(found.lastindex or 0)

    def read(self) -> None:
        while True:
            self.skip(" \t\n;")
            if not self.peek():
                return
            self._address()
            self._command()

    def _address(self) -> None:
        if not self._one_address(_NUMBER):
            return
        self.skip(" \t")
        if self.peek() == ",":
            self.take()
            self.skip(" \t")
            if not self._one_address(_AFTER_COMMA):
                raise _Odd("an address is missing")
        self.skip(" \t")
        while self.peek() == "!":
            self.take()
            self.skip(" \t")

    def _one_address(self, number: re.Pattern[str]) -> bool:
        if self.match(number) is not None:
            return True
        if self.peek() == "\\":
            self.take()
        elif self.peek() != "/":
            return False
        self._part(self._delimiter(), regex=True)
        while self.peek() and self.peek() in "IM":
            self.take()
        return True

    def _delimiter(self) -> str:
        char = self.take()
        if char in "\n\\ " or not char.isascii():
            raise _Odd(f"{char!r} as a delimiter")
        return char

    def _part(self, end: str, *, regex: bool) -> None:
        start = self.at
        while (char := self.take()) != end:
            if char == "\\":
                self.take()
            elif char == "\n":
                raise _Odd("a line ends inside an expression")
        text = re.sub(r"\\.", "", self.text[start : self.at - 1], flags=re.S)
        # Some seds take a delimiter inside brackets for a letter, others do not.
        if regex and text.count("[") and "]" not in text[text.rindex("[") + 1 :]:
            raise _Odd("a delimiter inside brackets")

    def _command(self) -> None:
        name = self.take()
        if name == "#":
            self.match(_FILE)
        elif name == "{":
            return
        elif name in _BARE or name == "}":
            self._end()
        elif name in "btT:":
            self.match(_LABEL)
            self._end()
        elif name in "qQlL":
            self.match(_COUNT)
            self._end()
        elif name in "aic":
            self._text()
        elif name in "rRwW":
            (self.reads if name in "rR" else self.writes).append(self.match(_FILE) or "")
        elif name == "e":
            self.runs.append(self.match(_FILE) or "")
        elif name == "s":
            self._substitute()
        elif name == "y":
            end = self._delimiter()
            self._part(end, regex=False)
            self._part(end, regex=False)
            self._end()
        else:
            raise _Odd(f"the command {name!r}")

    def _substitute(self) -> None:
        end = self._delimiter()
        self._part(end, regex=True)
        self._part(end, regex=False)
        while self.peek() and self.peek() in "gpiImMe0123456789":
            if self.take() == "e":
                self.runs.append("")
        if self.peek() == "w":
            self.take()
            self.writes.append(self.match(_FILE) or "")
        self._end()

    def _text(self) -> None:
        while self.peek() and self.peek() != "\n":
            if self.take() == "\\" and self.peek():
                self.take()

    def _end(self) -> None:
        self.skip(" \t")
        if self.peek() not in ("", ";", "\n", "}", "#"):
            raise _Odd(f"{self.peek()!r} after a command")


def script_uses(text: str, at: int) -> list[Use]:
    """The files a sed script reads and writes, and the commands it runs."""
    script, word = _Script(text), Argument("", text, at, at)
    try:
        script.read()
    except _Odd as odd:
        return [word.beyond("unknown", f"the sed script is not understood: {odd}")]
    uses = [word.included("read", name) for name in script.reads]
    uses += [word.beyond("write", "the sed script writes a file", name) for name in script.writes]
    return uses + [word.beyond("run", "the sed script runs a command", text) for text in script.runs]


def sed(call: Invocation) -> list[Use]:
    given = call.given("-e", "--expression", "-f", "--file")
    scripts = call.given("-e", "--expression") if given else call.operands[:1]
    files = call.operands if given else call.operands[1:]
    places = call.given("-i", "--in-place")
    uses = call.uses(each for each in call.options if each not in places)
    uses += [each.included("read") for each in files]
    for each in places[:1]:
        uses += rewritten(each, [file.text for file in files], each.text)
    uses += [each.beyond("unknown", f"{each.name} stands there too often") for each in places[1:]]
    if given and call.operands and given[-1].at > call.operands[0].at:
        # Where options end at the first operand, that one is the script.
        uses.append(given[-1].beyond("unknown", f"{given[-1].name} stands behind a script or a file"))
    if any(each.on < len(call.words) and unsure(call.words[each.on]) for each in scripts):
        return [*uses, scripts[0].beyond("unknown", "the shell fills in the script")]
    return uses + script_uses("\n".join(each.text for each in scripts), scripts[-1].on) if scripts else uses


def rewritten(option: Argument, files: Sequence[str], suffix: str = "") -> list[Use]:
    """The option writes these files, and keeps the old ones under a name with this suffix. A rule that spells the
    option covers any file of the workspace; otherwise each needs an Edit rule."""
    why = f"{option.name} writes a file"
    # A suffix may lead to another folder; and without a file it is not plain what is written.
    unclear = [option.beyond("write", why, "")] if "/" in suffix or not files else []
    kept = [_kept(path, suffix) for path in files] if suffix else []
    return unclear + [option.beyond("write", why, path, target=True) for path in (*files, *kept)]


def _kept(path: str, suffix: str) -> str:
    name = basename(path)
    return join(dirname(path), suffix.replace("*", name) if "*" in suffix else name + suffix)


def rewriting(call: Invocation) -> list[Use]:
    """Formatters and linters, which write their operands with an option, or unless one of ``unless`` is there."""
    places = [each for each in call.options if each.option and each.option.kind == "place"]
    uses = [WHOLE.included("alter"), *call.uses(each for each in call.arguments if each not in places)]
    for each in places:
        uses += rewritten(each, [file.text for file in call.operands] or ["."])
    if call.program.unless and not call.given(*call.program.unless.split()):
        uses += [each.included("write") for each in call.operands]
    return uses
