"""The kinds of setting values. A kind has a description for error messages, and a function that checks and converts
a value."""

import math
import re
import tomllib
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Generic, Literal, TypeVar, cast

from callgate.host.environment import secret
from callgate.words.late_pattern import late_pattern
from callgate.words.limits import LARGEST_COUNT
from callgate.words.model import EFFORTS, WantedEffort
from callgate.words.modes import MODES, Mode
from callgate.words.tool_search import percent_of

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

LONGEST_DURATION = 366 * 86_400.0
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_DURATION = late_pattern(r"([0-9]{1,9}) ?([smhd])")
_CALLABLE = late_pattern(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)
_HEADER = late_pattern(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VARIABLE = late_pattern(r"[A-Za-z_][A-Za-z0-9_]*")
_ADDRESS = late_pattern(r"https?://[^\s\x00-\x1f]+")


@dataclass(frozen=True)
class Kind(Generic[T_co]):
    """The kind of the value of a setting."""

    expected: str
    """The end of the error message "must be …"."""
    read: Callable[[object], T_co]
    """Check and convert a value from a file. Raise ValueError for an invalid value, with a message only if it adds
    to ``expected``."""
    is_list: bool = False
    hidden: bool = False
    """True if the value may contain a secret. Such a value is never shown."""

    def written(self, words: Sequence[str]) -> object:
        """Parse words of a command line. They are parsed as TOML if the result has this kind, otherwise as a text or
        a list of texts. Raise ValueError if neither has this kind."""
        joined = " ".join(words)
        with suppress(ValueError, RecursionError):
            value = tomllib.loads(f"x = {joined}")["x"]
            self.read(value)
            return value
        value = [*words] if self.is_list else joined
        self.read(value)
        return value


def _only(kind: type[T], holds: Callable[[Any], object] = lambda value: True) -> Callable[[object], T]:
    def read(value: object) -> T:
        if type(value) is not kind or not holds(value):
            raise ValueError
        return cast(T, value)

    return read


def _one_of(*values: str, expected: str = "") -> Kind[Any]:
    return Kind(expected or f"one of {', '.join(values)}", _only(str, values.__contains__))


def _number(least: float, most: float, *, above: bool = False) -> Callable[[object], float]:
    def read(value: object) -> float:
        if type(value) not in (int, float) or not least <= (number := float(cast(float, value))) <= most:
            raise ValueError
        if above and number == least:
            raise ValueError
        return number

    return read


def _count(most: int) -> Kind[int]:
    return Kind("a whole number above 0", _only(int, lambda value: 0 < value <= most))


def read_duration(value: object) -> float:
    """Return a duration in seconds. Raise ValueError unless it is more than 0 and at most a year."""
    if isinstance(value, str):
        match = _DURATION.fullmatch(value)
        seconds = float(int(match[1]) * _UNITS[match[2]]) if match else 0.0
    else:
        seconds = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0
    if not (math.isfinite(seconds) and 0 < seconds <= LONGEST_DURATION):
        raise ValueError
    return seconds


def _read_interval(value: object) -> float:
    """Return 0, or an interval of at least one second. Shorter intervals would overload the machine."""
    if type(value) in (int, float) and value == 0:
        return 0.0
    seconds = read_duration(value)
    if seconds < 1:
        raise ValueError
    return seconds


def read_moment(value: object, since: float = 0.0) -> float:
    """Return a time in seconds since the epoch. A duration is added to ``since``."""
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC).timestamp()
    if isinstance(value, str):
        return since + read_duration(value)
    raise ValueError


def _read_texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in cast(list[object], value)):
        raise ValueError
    return tuple(cast(list[str], value))


def _read_chords(value: object) -> tuple[str, ...]:
    """Return key combinations. The terminal checks their names."""
    found = _read_texts([value] if isinstance(value, str) else value)
    if not all(each.strip() and each.isprintable() and len(each) <= 40 for each in found):
        raise ValueError
    return found


def _read_hosts(value: object) -> tuple[str, ...]:
    from callgate.policy.hosts import host_pattern  # most settings name no hosts

    found = _read_texts(value)
    for each in found:
        host_pattern(each, star=True)
    return found


def _read_headers(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        raise ValueError
    for name, text in cast(dict[str, object], value).items():
        if not _HEADER.fullmatch(name) or not isinstance(text, str) or not text.isprintable():
            raise ValueError
    return cast(dict[str, str], value)


def _read_variable(value: object) -> str:
    """Return the name of an environment variable that contains an API key. Raise ValueError for a name that does not
    indicate a secret, because commands of agents would receive the variable."""
    if not isinstance(value, str) or not _VARIABLE.fullmatch(value):
        raise ValueError
    if not secret(value, ""):
        raise ValueError("this variable would also be passed to commands: choose a name that ends in _KEY or _TOKEN")
    return value


def _read_search(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError
    percent_of(value)
    return value


def _read_thinking(value: object) -> str | int:
    if value in ("off", "adaptive") or (type(value) is int and 0 < value <= LARGEST_COUNT):
        return cast(str | int, value)
    raise ValueError


def _read_expression(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError
    if value == "*":  # commonly used for "all"
        return value
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # refuse expressions that a later version of Python reads differently
            re.compile(value)
    except (re.error, Warning, OverflowError, RecursionError) as error:
        raise ValueError(str(error)) from None
    return value


MODE: Kind[Mode] = _one_of(*MODES)
TEXT = Kind("a text that is not empty", _only(str, lambda value: value.strip() and "\0" not in value))
TEXTS = Kind("a list of texts", _read_texts, is_list=True)
FLAG = Kind("true or false", _only(bool))
COUNT = _count(LARGEST_COUNT)
TOKENS = _count(LARGEST_COUNT**2)
DOLLARS = Kind("a number above 0, in dollars", _number(0, LARGEST_COUNT, above=True))
NUMBER = Kind("a number from 0 to 2", _number(0, 2))
DURATION = Kind('seconds, or a text such as "90s", "5m", "2h" or "30d"', read_duration)
INTERVAL = Kind('at least 1 second, or a text such as "90s" or "5m"; 0 means never', _read_interval)
MOMENT = Kind('a date or time (UTC by default), or a duration such as "30d" after the change of the file', read_moment)
COLUMNS = Kind("a whole number from 0 to 20", _only(int, lambda value: 0 <= value <= 20))
EXPRESSION = Kind("a regular expression", _read_expression)
CALLABLE = Kind("module:function", _only(str, _CALLABLE.fullmatch))
ADDRESS = Kind("a URL that begins with http:// or https://", _only(str, _ADDRESS.fullmatch))
HOSTS = Kind("a list of hosts such as example.com, *.example.com or localhost:8000", _read_hosts, is_list=True)
HEADERS = Kind("a table of names and single-line texts", _read_headers, hidden=True)
TABLE: Kind[dict[str, Any]] = Kind("a table", _only(cast(type[dict[str, Any]], dict)), hidden=True)
VARIABLE = Kind("the name of an environment variable", _read_variable)
RULES: Kind[list[Any]] = Kind(
    "a list of rules, each a text or a table with rule, match, not_match, expires and note",
    _only(cast(type[list[Any]], list)),
    is_list=True,
)
EFFORT: Kind[WantedEffort] = _one_of(*EFFORTS, "auto", expected=f"one of {', '.join(EFFORTS)} or auto")
THINKING = Kind("off, adaptive or a number of tokens", _read_thinking)
FAMILY: Kind[str] = _one_of("anthropic", "openai", "openai-chat", "gemini")
SEARCH = Kind("on, off, auto or auto:N with a number from 0 to 100", _read_search)
CHORDS = Kind('a key such as "ctrl-x ctrl-e" or a list of them', _read_chords)
EDITING: Kind[Literal["emacs", "vim"]] = _one_of("emacs", "vim", expected="emacs or vim")
THEME: Kind[str] = _one_of("auto", "dark", "light", "mono")
VIEW: Kind[str] = _one_of("inline", "full")
