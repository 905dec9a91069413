"""Finds file names in the text of the input line: ``@path``, and paths of images."""

import re

from callgate.words.noun import noun

SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".webp")
_TOKEN = re.compile(r"""(?:^|(?<=[\s(\[{]))@(?:"([^"\n]*)|([^\s"]*))\Z""")
_PATH = re.compile(r"""@?(?:"([^"\n]+)"|'([^'\n]+)'|((?:\\.|[^\s"'\\])+))""")
_END = ",.;:!?)]}>"
MOST_IMAGES = 20


@noun
class Mention:
    """A path after ``@`` that the user is typing. ``start`` is the position of the ``@``."""

    start: int
    typed: str


def mention_at(before: str) -> Mention | None:
    """Return the mention that ends at the cursor, or None."""
    found = _TOKEN.search(before)
    if found is None:
        return None
    return Mention(found.start(), found[2] if found[1] is None else found[1])


def mention_of(path: str) -> str:
    """Return the mention of a path, in quotes if the path has blanks."""
    return f'@"{path}"' if re.search(r"[\s'\"()\[\]{}]", path) else f"@{path}"


def image_paths(text: str) -> list[str]:
    """Return the words of a text that look like image paths, without quotes, escapes and ``file://``."""
    found = (_as_path(match) for match in _PATH.finditer(text))
    return [*dict.fromkeys(path for path in found if path.lower().endswith(SUFFIXES))][:MOST_IMAGES]


def dropped_images(text: str) -> list[str]:
    """Return the image paths if the pasted text has only image paths, as terminals paste dropped files; otherwise an
    empty list."""
    stripped = text.strip()
    if len(stripped) > 10_000 or not stripped:
        return []
    whole = _PATH.sub("", stripped).strip()
    words = [_as_path(match) for match in _PATH.finditer(stripped)]
    return [] if whole or not all(each.lower().endswith(SUFFIXES) for each in words) else words[:MOST_IMAGES]


def _as_path(match: re.Match[str]) -> str:
    path = match[1] or match[2]
    if path is None:
        path = re.sub(r"\\(.)", r"\1", match[3].lstrip("([{<").removeprefix("@")).rstrip(_END)
    if path.startswith("file://"):
        from urllib.parse import unquote, urlsplit

        return unquote(urlsplit(path).path)
    return path
