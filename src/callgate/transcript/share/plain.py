"""Text and JSON that any file and any reader can take."""

from json import dumps, loads
from typing import Any

# Escapes and marks that turn the reading direction would let a text show something else than it is.
_HIDDEN = (*range(0x09), *range(0x0B, 0x20), 0x7F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))


def _shown(code: int) -> str:
    if code == 0x7F:
        return "␡"
    return chr(0x2400 + code) if code < 0x20 else f"⟨U+{code:04X}⟩"


_VISIBLE = {code: _shown(code) for code in _HIDDEN}


def scrub(text: str) -> str:
    """The text with each lone surrogate replaced, so that it can be encoded; any other text as it is."""
    try:
        text.encode()
        return text
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def visible(text: str) -> str:
    """Encodable text with plain line ends, in which control characters are to be seen."""
    return scrub(text).replace("\r\n", "\n").translate(_VISIBLE)


def clean_json(value: object) -> Any:
    """The value as any JSON reader takes it. What JSON cannot say is there in words."""
    try:
        return loads(scrub(dumps(value, ensure_ascii=False, allow_nan=False, default=repr, skipkeys=True)))
    except (ValueError, RecursionError) as error:  # not a number, a circle, too deep
        return {"unreadable": str(error)}


def pretty_json(value: object) -> str:
    return dumps(clean_json(value), ensure_ascii=False, indent=2)
