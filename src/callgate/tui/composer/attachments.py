"""Long pasted texts and images in the input line: each is one placeholder character, shown as a label.

Cursor movement, undo, cut and delete therefore treat an attachment as a unit. Placeholders are characters of a
private use area of Unicode and are removed from typed and pasted text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.formatted_text.utils import fragment_list_to_text
from prompt_toolkit.layout.processors import Processor, Transformation, TransformationInput

from callgate.words.messages import Content, Image, Resource, Text
from callgate.words.noun import noun

_FIRST, _MOST_MARKS = 0x10F000, 0x800
_MARK = re.compile(f"[{chr(_FIRST)}-{chr(_FIRST + _MOST_MARKS - 1)}]")
LONG_LINES = 10
LONG_CHARACTERS = 1_000
"""Longer pasted text becomes an attachment."""
# Control sequences, and all other characters that are not shown:
# control characters except line feed and tab, direction marks, and invisible letters.
_SEQUENCES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|[@-_])")
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")


@noun
class Pasted:
    number: int
    text: str

    @property
    def label(self) -> str:
        lines = self.text.count("\n") + 1
        size = f"{lines:,} lines" if lines > 1 else f"{len(self.text):,} characters"
        return f"[Pasted #{self.number}: {size}]"


@noun
class Picture:
    """An attached image. ``path`` is the path as the user wrote it; empty for an image from the clipboard."""

    number: int
    name: str
    image: Image
    path: str = ""

    @property
    def label(self) -> str:
        return f"[Image #{self.number}: {self.name} {max(len(self.image.data) // 1024, 1):,} KB]"

    @property
    def reference(self) -> str:
        return f"[Image #{self.number}: {self.path or self.name}]"


Attachment = Pasted | Picture


def clean(text: str) -> str:
    """Return pasted text with normalized line endings and without control sequences and invisible characters."""
    text = _SEQUENCES.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return _MARK.sub("", _UNSAFE.sub("", text))


def strip_marks(text: str, keep: str = "") -> str:
    """Remove all placeholders from the text except the placeholders in ``keep``."""
    return _MARK.sub(lambda found: found[0] if found[0] in keep else "", text)


class Attachments:
    """The attachments of one terminal by their placeholders. Attachments are never removed, so that undo and history
    can restore them."""

    def __init__(self) -> None:
        self._by_mark: dict[str, Attachment] = {}

    def paste(self, text: str) -> str:
        """Return the text to insert for pasted text: the text itself, or a placeholder if it is long."""
        is_long = len(text) > LONG_CHARACTERS or text.count("\n") >= LONG_LINES
        return self._pasted(text) if is_long else text

    def picture(self, name: str, image: Image, path: str = "") -> str:
        """Add an image and return its placeholder."""
        return self._keep(Picture(self._next(Picture), name, image, path))

    def at(self, mark: str) -> Attachment | None:
        return self._by_mark.get(mark)

    def within(self, text: str) -> list[Attachment]:
        return [found for mark in _MARK.findall(text) if (found := self._by_mark.get(mark)) is not None]

    def labelled(self, text: str) -> str:
        """Return the text with labels in place of placeholders."""
        return self._replaced(text, lambda each: each.label)

    def parts(self, text: str, more: Iterable[Image] = ()) -> str | tuple[Content, ...]:
        """Return the content to send: the text with pasted texts expanded, then the images, whose labels are in the
        text."""
        images = [*(each.image for each in self.within(text) if isinstance(each, Picture)), *more]
        whole = self._replaced(text, lambda each: each.text if isinstance(each, Pasted) else each.reference)
        return (Text(whole), *images) if images else whole

    def unfolded(self, text: str) -> str:
        """Return the text with pasted texts in place of their placeholders. The placeholders of images are
        unchanged."""
        pasted = {mark: each.text for mark, each in self._by_mark.items() if isinstance(each, Pasted)}
        return _MARK.sub(lambda found: pasted[found[0]] if found[0] in pasted else found[0], text)

    def taken_back(self, parts: Sequence[object]) -> str:
        """Return a sent message as text for the input line, with placeholders for long texts and images."""
        text = "".join(part.text for part in parts if isinstance(part, Text))
        marks = [self.picture("image", part) for part in parts if isinstance(part, Image)]
        marks += [f" {part.uri}" for part in parts if isinstance(part, Resource)]
        return self.paste(clean(text)) + "".join(marks)

    def kept(self, text: str) -> tuple[str, Mapping[str, str]]:
        """Return the text to store in the history, with paths in place of images, and the pasted texts by label."""
        pasted = {each.label: each.text for each in self.within(text) if isinstance(each, Pasted)}
        shown = self._replaced(text, lambda each: each.label if isinstance(each, Pasted) else each.path)
        return shown.strip(), pasted

    def restored(self, text: str, pasted: Mapping[str, str]) -> str:
        """Return a history entry as text for the input line, with placeholders for its pasted texts."""
        text = clean(text)
        for label, content in pasted.items():
            if label in text:
                text = text.replace(label, self._pasted(clean(content)), 1)
        return text

    def _replaced(self, text: str, form: Callable[[Attachment], str]) -> str:
        return _MARK.sub(lambda found: form(known) if (known := self._by_mark.get(found[0])) else "", text)

    def _pasted(self, text: str) -> str:
        known = (mark for mark, each in self._by_mark.items() if isinstance(each, Pasted) and each.text == text)
        return next(known, "") or self._keep(Pasted(self._next(Pasted), text))

    def _keep(self, attachment: Attachment) -> str:
        mark = chr(_FIRST + len(self._by_mark) % _MOST_MARKS)
        self._by_mark[mark] = attachment
        return mark

    def _next(self, kind: type[Attachment]) -> int:
        return max((each.number for each in self._by_mark.values() if isinstance(each, kind)), default=0) + 1


class AttachmentLabels(Processor):
    """Shows each placeholder as its label. The cursor moves over a label in one step."""

    def __init__(self, attachments: Attachments) -> None:
        self._attachments = attachments

    def apply_transformation(self, transformation_input: TransformationInput) -> Transformation:
        fragments = transformation_input.fragments
        line = fragment_list_to_text(fragments)
        if not self._attachments.within(line):
            return Transformation(fragments)
        shown: StyleAndTextTuples = []
        starts: list[int] = []
        length = 0
        for style, text, *_handler in fragments:
            for sign in text:
                starts.append(length)
                found = self._attachments.at(sign)
                piece = sign if found is None else found.label
                shown.append((style if found is None else f"{style} ansicyan", piece))
                length += len(piece)
        starts.append(length)

        def shown_at(place: int) -> int:
            return starts[place] if place < len(starts) else length + place - len(starts) + 1

        def source_at(place: int) -> int:
            return max((at for at, start in enumerate(starts) if start <= place), default=0)

        return Transformation(shown, source_to_display=shown_at, display_to_source=source_at)


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
