"""Short ways to put a text to the strict reader."""

from callgate.shell.command import Script, Simple, Unread, Word
from callgate.shell.lexer import parse_strictly


def read(text: str) -> Script:
    script = parse_strictly(text)
    assert isinstance(script, Script), script
    return script


def refused(text: str) -> str:
    unread = parse_strictly(text)
    assert isinstance(unread, Unread), unread
    return unread.reason


def only(text: str) -> Simple:
    (simple,) = read(text).commands
    return simple


def argument(text: str) -> Word:
    """The one argument of a command."""
    _, word = only(f"x {text}").words
    return word


def values(text: str) -> list[list[str | None]]:
    return [[word.value for word in simple.words] for simple in read(text).commands]
