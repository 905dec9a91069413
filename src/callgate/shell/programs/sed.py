"""sed and its script language, read strictly: what is not understood here is not covered."""

import re

from callgate.shell.programs.in_place import rewritten
from callgate.shell.programs.options import Found, grammar, loose, scan, uses_in
from callgate.shell.programs.uses import Program, Use, Words

_GRAMMAR = grammar(
    """-nErsuz -e=text -l=text --quiet --silent --expression=text --regexp-extended --separate --unbuffered
        --null-data --line-length=text --posix --debug --sandbox --follow-symlinks -i?=place --in-place?=place
        -f=load --file=load""",
    "text",
    "read",
    instead="-e -f --expression --file",
)
_SCRIPT = ("-e", "--expression")
_BARE = frozenset("=dDgGhHnNpPxzF")
_LABEL = re.compile(r"[ \t]*[A-Za-z0-9_.-]*")
_COUNT = re.compile(r"[ \t]*[0-9]*")
_NUMBER = re.compile(r"[0-9]+(?:~[0-9]+)?|\$")
_AFTER_COMMA = re.compile(r"[+~][0-9]+|[0-9]+|\$")
_FILE = re.compile(r"[ \t]*([^\n]*)")


class _Odd(Exception):
    """The script is not understood."""


class _Script:
    """One walk through the text of a script. ``uses`` are (role, text) as they are met."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.uses: list[tuple[str, str]] = []

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
            self.uses.append(("read" if name in "rR" else "write", self.match(_FILE) or ""))
        elif name == "e":
            self.uses.append(("run", self.match(_FILE) or ""))
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
                self.uses.append(("run", ""))
        if self.peek() == "w":
            self.take()
            self.uses.append(("write", self.match(_FILE) or ""))
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
    """What a sed script does besides printing."""
    script = _Script(text)
    try:
        script.read()
    except _Odd as odd:
        return [Use("odd", text, at, at, f"the sed script is not understood: {odd}")]
    whys = {"write": "the sed script writes a file", "run": "the sed script runs a command"}
    uses: list[Use] = []
    for role, name in script.uses:
        if role == "read":
            uses.append(Use("read", name, at, at, meant=True))
        elif role == "write":
            uses.append(Use("write", name, at, at, whys[role]))
        else:
            uses.append(Use("run", name, at, at, whys[role]))
    return uses


def _read(words: Words) -> list[Use]:
    found = scan(_GRAMMAR, words)
    scripts = [each for each in found if each.name in _SCRIPT]
    operands = [each for each in found if not each.name]
    if not any(each.name in _GRAMMAR.instead for each in found):
        scripts = operands[:1]
    files = [each.text for each in operands if each not in scripts]
    uses = uses_in(_GRAMMAR, found, {"place": lambda option: rewritten(option, files, option.text)}) + loose(words)
    if not scripts:
        return uses
    if any(_filled_in(words, each) for each in scripts):
        return [*uses, Use("odd", "", scripts[0].at, scripts[0].on, "the shell fills in the script")]
    return uses + script_uses("\n".join(each.text for each in scripts), scripts[-1].on)


def _filled_in(words: Words, script: Found) -> bool:
    return script.on < len(words) and (words[script.on].globs or words[script.on].value is None)


SED: dict[str, Program] = {"sed": Program(_read), "gsed": Program(_read)}
