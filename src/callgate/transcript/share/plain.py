"""Text and JSON that any file and any reader can take."""

from json import dumps, loads
from typing import Any

from callgate.formats.display import visible_page


def scrub(text: str) -> str:
    """The text with each lone surrogate replaced, so that it can be encoded; any other text as it is."""
    try:
        text.encode()
        return text
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def visible(text: str) -> str:
    """Encodable text with plain line ends, in which nothing hides."""
    return visible_page(text.replace("\r\n", "\n"))


def clean_json(value: object) -> Any:
    """The value as any JSON reader takes it. What JSON cannot say is there in words."""
    try:
        return loads(scrub(dumps(value, ensure_ascii=False, allow_nan=False, default=repr, skipkeys=True)))
    except (ValueError, RecursionError) as error:  # not a number, a circle, too deep
        return {"unreadable": str(error)}


def pretty_json(value: object) -> str:
    return dumps(clean_json(value), ensure_ascii=False, indent=2)
