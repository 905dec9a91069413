"""Text and JSON that can be encoded and parsed everywhere."""

from json import dumps, loads
from typing import Any

from callgate.formats.display import visible_page


def scrub(text: str) -> str:
    """Replace lone surrogates, so that the text can be encoded."""
    try:
        text.encode()
        return text
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def visible(text: str) -> str:
    """Normalize line ends and show invisible characters."""
    return visible_page(text.replace("\r\n", "\n"))


def clean_json(value: object) -> Any:
    """Convert the value to plain JSON. Unsupported values become text."""
    try:
        return loads(scrub(dumps(value, ensure_ascii=False, allow_nan=False, default=repr, skipkeys=True)))
    except (ValueError, RecursionError) as error:  # NaN, a cycle, or too deep
        return {"unreadable": str(error)}


def pretty_json(value: object) -> str:
    return dumps(clean_json(value), ensure_ascii=False, indent=2)
