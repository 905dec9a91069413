"""Parses JSON text strictly, with limits that are checked before any value is built.

Stricter than ``json.loads``: one value only, no duplicate keys, no NaN or Infinity (nor numbers that overflow to it),
no lone surrogates, and limits on size, nesting, number of values and digits. A whole number written with a fraction or
exponent (``10.0``, ``1e3``) becomes an integer, up to 2^53.

The C scanner of ``json`` does the work; a detailed diagnosis is made only after it failed.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import accumulate, islice
from math import isfinite
from typing import Any, Literal, TypeAlias, cast

from callgate.words.calls import JSON
from callgate.words.late_pattern import late_pattern
from callgate.words.noun import noun

BLANK = " \t\n\r"
# Python converts up to this many digits whatever sys.set_int_max_str_digits says.
MAX_DIGITS = 640
MAX_WHOLE = 2**53
MAX_LINES = 20

Kind: TypeAlias = Literal["size", "encoding", "empty", "truncated", "syntax", "extra", "content"]


@noun
class JSONLimits:
    """The limits on a JSON text. ``values`` limits the number of values, because many tiny values take much memory and
    time."""

    chars: int = 8 * 1024 * 1024
    depth: int = 64
    values: int = 100_000


LIMITS = JSONLimits()


class JSONFault(ValueError):
    """The text is not valid strict JSON. ``lines`` has one line per fault."""

    def __init__(self, kind: Kind, *lines: str) -> None:
        super().__init__("; ".join(lines))
        self.kind: Kind = kind
        self.lines: tuple[str, ...] = lines


def parse(text: str, limits: JSONLimits = LIMITS) -> JSON:
    """Return the value of the text. Raise ``JSONFault`` if the text is not exactly one valid value."""
    size = len(text)
    if size > limits.depth:
        _check_size(text, limits)
    if not text.isascii() and _has_surrogate(text):
        raise _diagnosed(text)
    body = text.strip(BLANK)
    try:
        value, end = (_decode if size <= MAX_DIGITS else _decode_long)(body, 0)
    except (ValueError, RecursionError, StopIteration):
        raise _diagnosed(text) from None
    if end != len(body):
        raise _diagnosed(text)
    if "\\u" in text and _ESCAPED_SURROGATE.search(text) and any(_content_faults(value, "$")):
        raise _diagnosed(text)
    return value


def decode_utf8(raw: bytes, limits: JSONLimits = LIMITS) -> str:
    """Return UTF-8 bytes as text. Other encodings are not detected."""
    if len(raw) > 4 * limits.chars:
        raise JSONFault("size", f"$: got {len(raw)} bytes, expected at most {limits.chars} characters")
    if b"\0" in raw[:4]:
        raise JSONFault("encoding", "$: got bytes that look like UTF-16 or UTF-32, expected UTF-8")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        byte = raw[error.start]
        raise JSONFault("encoding", f"$: got the byte 0x{byte:02x} at {error.start}, expected valid UTF-8") from None


def plain(value: Mapping[str, Any]) -> dict[str, JSON]:
    """Return a copy of an object made by writing it as JSON and parsing the JSON with the same limits."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=_as_dict)
    except RecursionError:
        raise JSONFault("size", "$: got nesting too deep to parse") from None
    except (TypeError, ValueError) as error:
        text = f"$: got an object that JSON cannot represent ({error}), expected JSON values"
        raise JSONFault("content", text) from None
    return cast(dict[str, JSON], parse(text))


def _as_dict(value: Any) -> dict[Any, Any]:
    if isinstance(value, Mapping):
        return dict(cast(Mapping[Any, Any], value))
    raise TypeError(f"it contains a Python {type(value).__name__}")


def join(path: str, key: str) -> str:
    """Return the path of a key. The path is printable and of limited length for any key."""
    return f"{path}.{key}" if len(key) <= 60 and key.isidentifier() and key.isascii() else f"{path}[{shown(key, 60)}]"


def shown(text: str, most: int = 80) -> str:
    """Return the text in quotes, escaped to printable ASCII and shortened."""
    return json.dumps(text) if len(text) <= most else f'{json.dumps(text[:most])[:-1]}…"'


# --- the fast path ---


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) != len(pairs):
        raise ValueError("duplicate key")
    return out


def _refused(text: str) -> JSON:
    raise ValueError(text)


def _integer(text: str) -> int:
    if len(text.lstrip("-")) > MAX_DIGITS:
        raise ValueError("too many digits")
    return int(text)


def _number(text: str) -> float:
    if len(text) > MAX_DIGITS:
        raise ValueError("too many digits")
    value = float(text)
    if not isfinite(value):
        raise ValueError("overflow")
    # Above 2^53 a whole number stays a float, because not all of its digits are exact.
    return int(value) if value.is_integer() and -MAX_WHOLE <= value <= MAX_WHOLE else value


_Scan = Callable[[str, int], tuple[Any, int]]
# A text no longer than MAX_DIGITS cannot hold a longer number, and the C scanner converts integers faster by itself.
_STRICT: Mapping[str, Any] = {"object_pairs_hook": _unique, "parse_constant": _refused, "parse_float": _number}
_decode: _Scan = cast(Any, json.JSONDecoder(**_STRICT)).scan_once
_decode_long: _Scan = cast(Any, json.JSONDecoder(**_STRICT, parse_int=_integer)).scan_once
_ESCAPED_SURROGATE = late_pattern(r"\\u[dD][89a-fA-F]")


def _has_surrogate(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


# --- size and nesting, before anything is built ---

_BRACKETS = bytes.maketrans(b"{}", b"[]")
_OTHERS = bytes(set(range(256)) - set(b"[]{},"))
_STRINGS = late_pattern(rb'"[^"]*+"?')


def _check_size(text: str, limits: JSONLimits) -> None:
    if len(text) > limits.chars:
        raise JSONFault("size", f"$: got {len(text)} characters, expected at most {limits.chars}")
    opened = text.count("[") + text.count("{")
    # Brackets inside strings are counted too, which only overestimates.
    if opened <= limits.depth and (len(text) <= limits.values or opened + text.count(",") <= limits.values):
        return
    raw = text.encode("utf-8", "surrogatepass").replace(b"\\\\", b"").replace(b'\\"', b"")
    values = raw.count(b'"') // 4  # a value has at most two strings, its key and itself
    if values <= limits.values:
        raw = _STRINGS.sub(b"", raw).translate(_BRACKETS, _OTHERS)
        values = raw.count(b"[") + raw.count(b",")
    if values > limits.values:
        raise JSONFault("size", f"$: got about {values} values, expected at most {limits.values}")
    steps = [1 if each == ord("[") else -1 for each in raw.replace(b",", b"")[: 2 * limits.values]]
    if max(accumulate(steps), default=0) > limits.depth:
        raise JSONFault("size", f"$: got nesting deeper than {limits.depth}, expected at most {limits.depth}")


# --- the diagnosis, after a failure ---


class _Pairs(list[tuple[str, Any]]):
    """The key-value pairs of an object in order, including duplicate keys."""


class _Odd(str):
    """The text of a number that is not accepted: NaN, Infinity, an overflow, or too many digits."""

    __slots__ = ()


def _odd_integer(text: str) -> Any:
    return _Odd(text) if len(text.lstrip("-")) > MAX_DIGITS else int(text)


def _odd_number(text: str) -> Any:
    return float(text) if len(text) <= MAX_DIGITS and isfinite(float(text)) else _Odd(text)


_decode_odd = json.JSONDecoder(
    object_pairs_hook=_Pairs, parse_constant=_Odd, parse_float=_odd_number, parse_int=_odd_integer
).raw_decode


def _diagnosed(text: str) -> JSONFault:
    start = len(text) - len(text.lstrip(BLANK))
    body = text.strip(BLANK)
    if not body:
        return JSONFault("empty", "$: got no text, expected a JSON object")
    try:
        value, end = _decode_odd(body)
    except json.JSONDecodeError as error:
        return _syntax_fault(body, error, start)
    except RecursionError:
        return JSONFault("size", "$: got nesting too deep to parse")
    if rest := body[end:].lstrip(BLANK):
        what = "a second value" if rest[0] in '{["' else "text"
        near = shown(rest, 30)
        return JSONFault("extra", f"$: got {what} after the end of the JSON ({near}), expected a single value")
    lines = tuple(islice(_content_faults(value, "$"), MAX_LINES))
    # Without a fault in the text, the caller was close to the recursion limit.
    return JSONFault("content", *(lines or ("$: got JSON that could not be parsed, expected less nesting",)))


# The end of a text that was cut inside a number, a word or an escape.
_CUT_TOKEN = late_pattern(r"-|\.|[eE][+-]?|t|tr|tru|f|fa|fal|fals|n|nu|nul")
_CUT_ESCAPE = late_pattern(r"\\u[0-9a-fA-F]{0,4}\Z")


def _syntax_fault(body: str, error: json.JSONDecodeError, start: int) -> JSONFault:
    rest = body[error.pos :]
    unterminated = error.msg.startswith("Unterminated string")
    cut_escape = error.msg.startswith("Invalid \\u") and _CUT_ESCAPE.search(body[-6:])
    if unterminated or cut_escape or not rest or _CUT_TOKEN.fullmatch(rest):
        where = f"inside the string that starts at character {start + error.pos}" if unterminated else "too early"
        return JSONFault("truncated", f"$: got truncated JSON (it ends {where}), expected one complete object")
    what = error.msg[:1].lower() + error.msg[1:].removesuffix(" at")
    where = f"character {start + error.pos}, near {shown(rest, 30)}"
    return JSONFault("syntax", f"$: got text that is not JSON ({what}: {where}), expected one JSON object")


def _content_faults(value: Any, path: str) -> Iterator[str]:
    if type(value) is str:
        if not value.isascii() and _has_surrogate(value):
            yield f"{path}: got a lone surrogate in {shown(value)}, expected whole Unicode characters"
    elif isinstance(value, _Odd):
        odd = value if len(value) <= 30 else f"a number of {len(value)} digits"
        yield f"{path}: got {odd}, expected a finite number of at most {MAX_DIGITS} digits"
    elif isinstance(value, _Pairs):
        yield from _pair_faults(value, path)
    elif isinstance(value, dict):
        yield from _pair_faults(list(cast(dict[str, Any], value).items()), path)
    elif isinstance(value, list):
        for index, item in enumerate(cast(list[Any], value)):
            yield from _content_faults(item, f"{path}[{index}]")


def _pair_faults(pairs: list[tuple[str, Any]], path: str) -> Iterator[str]:
    seen: set[str] = set()
    for key, item in pairs:
        below = join(path, key)
        if not key.isascii() and _has_surrogate(key):
            yield f"{below}: got a lone surrogate in a key, expected whole Unicode characters"
        if key in seen:
            yield f"{below}: got a duplicate key, expected each key once"
        seen.add(key)
        yield from _content_faults(item, below)
