"""sed and its script language, read strictly: a script that is not understood here is not covered."""

import re
from collections.abc import Sequence
from posixpath import basename, dirname, join

from callgate.shell.programs.entries import Entry, Found, grammar_for, loose, scan, unknown, uses_in
from callgate.shell.programs.uses import Use, Words, unsure

SED_OPTIONS = """-nErsuz -e= -l= --quiet --silent --expression= --regexp-extended --separate --unbuffered --null-data
    --line-length= --posix --debug --sandbox -i?=place --in-place?=place -f=load --file=load"""
_INSTEAD = ("-e", "-f", "--expression", "--file")
_IN_PLACE = ("-i", "--in-place")
_MOST_PLACES = 1
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
    """The files a sed script reads and writes, and the commands it runs."""
    script = _Script(text)
    try:
        script.read()
    except _Odd as odd:
        return [Use(role="unknown", text=text, at=at, on=at, why=f"the sed script is not understood: {odd}")]
    uses: list[Use] = []
    for role, name in script.uses:
        if role == "read":
            uses.append(Use("read", name, at, at, granted=True))
        elif role == "write":
            uses.append(Use(role="write", text=name, at=at, on=at, why="the sed script writes a file"))
        else:
            uses.append(Use(role="run", text=name, at=at, on=at, why="the sed script runs a command"))
    return uses


def sed(entry: Entry, words: Words, start: int) -> list[Use]:
    grammar = grammar_for(entry)
    found = scan(grammar, words, start)
    operands = [each for each in found if not each.name]
    given = [each for each in found if each.name in _INSTEAD]
    scripts = [each for each in given if each.name in _SCRIPT] if given else operands[:1]
    files = operands if given else operands[1:]
    places = [each for each in found if each.name in _IN_PLACE]
    plain = [each for each in found if each.name and each.name not in _IN_PLACE]
    uses = uses_in(grammar, plain) + loose(words, start)
    uses += [Use("read", each.text, each.at, each.on, granted=True) for each in files]
    for each in places[:_MOST_PLACES]:
        uses += rewritten(each, [file.text for file in files], each.text)
    uses += [unknown(each, f"{each.name} stands there too often") for each in places[_MOST_PLACES:]]
    if operands and any(each.at > operands[0].at for each in given):
        # Where options end at the first operand, that one is the script.
        uses.append(unknown(given[-1], f"{given[-1].name} stands behind a script or a file"))
    if any(each.on < len(words) and unsure(words[each.on]) for each in scripts):
        return [*uses, unknown(scripts[0], "the shell fills in the script")]
    return uses + script_uses("\n".join(each.text for each in scripts), scripts[-1].on) if scripts else uses


def rewritten(option: Found, files: Sequence[str], suffix: str = "") -> list[Use]:
    """The option writes these files, and keeps the old ones under a name with this suffix. A rule that spells the
    option covers any file of the workspace; otherwise each needs an Edit rule."""
    why = f"{option.name} writes a file"
    # A suffix may lead to another folder; and without a file it is not plain what is written.
    unclear = [Use(role="write", text="", at=option.at, on=option.on, why=why)] if "/" in suffix or not files else []
    kept = [_kept(path, suffix) for path in files] if suffix else []
    return unclear + [
        Use(role="write", text=path, at=option.at, on=option.on, why=why, target=True) for path in (*files, *kept)
    ]


def _kept(path: str, suffix: str) -> str:
    name = basename(path)
    return join(dirname(path), suffix.replace("*", name) if "*" in suffix else name + suffix)


def rewriting(entry: Entry, words: Words, start: int) -> list[Use]:
    """Formatters and linters, which write their operands with an option, or unless one of ``unless`` is there."""
    grammar = grammar_for(entry)
    found = scan(grammar, words, start)
    places = [each for each in found if each.option and each.option.kind == "place"]
    files = [each for each in found if not each.name]
    uses = [Use("alter", "", 0, 0, granted=True), *loose(words, start)]
    uses += uses_in(grammar, [each for each in found if not each.option or each.option.kind != "place"])
    for each in places:
        uses += rewritten(each, [file.text for file in files] or ["."])
    if entry.unless and not {each.name for each in found} & set(entry.unless.split()):
        uses += [Use("write", each.text, each.at, each.on, granted=True) for each in files]
    return uses
