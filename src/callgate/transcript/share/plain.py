"""Converts text and JSON values so that every program can encode and parse them."""

from json import dumps, loads
from typing import Any

from callgate.formats.display import visible_page


def scrub(text: str) -> str:
    """Return the text with lone surrogates replaced, so that it can be encoded."""
    try:
        text.encode()
        return text
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def visible(text: str) -> str:
    """Return the text with normalized line endings and visible escapes for invisible characters."""
    return visible_page(text.replace("\r\n", "\n"))


def clean_json(value: object) -> Any:
    """Convert a value to plain JSON. Unsupported values become text."""
    try:
        return loads(scrub(dumps(value, ensure_ascii=False, allow_nan=False, default=repr, skipkeys=True)))
    except (ValueError, RecursionError) as error:  # NaN, a cycle, or too deep
        return {"unreadable": str(error)}


def pretty_json(value: object) -> str:
    return dumps(clean_json(value), ensure_ascii=False, indent=2)
