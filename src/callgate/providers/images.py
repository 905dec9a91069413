"""Adapts the images of a request to the limits of a model.

Images that are too large are scaled with Pillow (the extra ``images``). An image that cannot be scaled is replaced
by a line of text. If there are too many images, the oldest images are replaced, a quarter of the limit at a time, so
that the cached part of the history changes rarely. An image that the server refused is not sent again.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import sha256
from io import BytesIO
from itertools import count
from struct import unpack_from
from typing import Any

from callgate.providers.family import ModelFacts
from callgate.words.messages import CallPart, Content, Image, Message, Part, Resource, ResultPart, Text
from callgate.words.model import Request

INSTALL = 'pip install "callgate[images]"'
_QUALITIES = (85, 70, 50)
_TRIES = 8
_PATHS = ("file_path", "path", "notebook_path")
_SCALED_KEPT = 64
_DIGESTS_KEPT = 1_000


class ImageFitter:
    """Adapts the images of one model's requests to its limits. ``fit`` runs in a worker thread, because decoding
    images is slow."""

    def __init__(self, facts: ModelFacts) -> None:
        self._facts = facts
        self._scaled: dict[str, Image | str] = {}
        self._accepted: set[str] = set()
        self._refused: set[str] = set()
        self._sent: dict[str, str] = {}  # names of the images in the last request, by digest
        self._notes: list[str] = []
        self._found: list[tuple[Image, str]] = []  # the images of the request with their names
        self._digests: dict[int, tuple[bytes, str]] = {}  # by the id of the bytes object, which the history keeps alive

    def fit(self, request: Request) -> tuple[Request, list[str]]:
        """Return the request with only the images that the model accepts, and notes for the user about the other
        images."""
        if not self._facts.abilities.images or not any(map(has_image, request.messages)):
            return request, []
        names = _names(request)
        self._notes, self._found = [], []
        fitted = [_with_images(message, names, self._fit_image) for message in request.messages]
        return replace(request, messages=self._limit_number(fitted, names)), self._notes

    def mark_accepted(self) -> None:
        """Record that the server accepted the images of the last request."""
        self._accepted.update(self._sent)

    def mark_refused(self) -> list[str]:
        """Record that the server refused an image of the last request, and return the names of the images that were
        new in that request. New images are not sent again."""
        new = {digest: name for digest, name in self._sent.items() if digest not in self._accepted}
        self._refused.update(new)
        return list(dict.fromkeys(new.values()))

    def _digest(self, data: bytes) -> str:
        """Return the hash of an image from a cache, because each request contains the images of the whole history."""
        kept = self._digests.get(id(data))
        if kept is None or kept[0] is not data:
            kept = self._digests[id(data)] = (data, sha256(data).hexdigest())
            if len(self._digests) > _DIGESTS_KEPT:
                del self._digests[next(iter(self._digests))]
        return kept[1]

    def _fit_image(self, given: Content, image: Image, name: str) -> Content:
        digest = self._digest(image.data)
        if digest not in self._scaled:
            self._scaled[digest] = self._scaled_or_line(image, name or "an image")
            if len(self._scaled) > _SCALED_KEPT:
                del self._scaled[next(iter(self._scaled))]
        found = self._scaled[digest]
        if isinstance(found, str):
            return Text(found)
        if self._digest(found.data) in self._refused:
            return Text(f"[{name or 'An image'} is omitted: the server refused it. Describe it in words.]")
        self._found.append((found, name or "an image of the prompt"))
        return found

    def _scaled_or_line(self, image: Image, name: str) -> Image | str:
        size, limit, most = size_of(image.data), self._facts.image_pixels, self._facts.image_bytes
        if len(image.data) <= most and (size is None or max(size) <= limit):
            return image
        told = f"{size[0]}×{size[1]} pixels, " if size else ""
        about = f"{name} ({told}{len(image.data):,} bytes)"
        allowed = f"{self._facts.name} takes {limit} pixels and {most:,} bytes"
        try:
            small = scaled(image, limit, most)
        except ImportError:
            line = (
                f"{about} is omitted, because {allowed}: make it smaller, or install the package that scales it: "
                f"{INSTALL}"
            )
        except Exception as error:  # Pillow raises many kinds of exceptions for broken images
            line = f"{about} is omitted, because it cannot be scaled to what {allowed} ({type(error).__name__})"
        else:
            if small is not None:
                self._notes.append(f"{about} was scaled, because {allowed}.")
                return small
            line = f"{about} is omitted, because it cannot be made small enough: {allowed}"
        self._notes.append(f"{line}.")
        return f"[{line}.]"

    def _limit_number(self, messages: list[Message], names: Mapping[str, str]) -> tuple[Message, ...]:
        found = self._found
        surplus = self._surplus([len(image.data) for image, _ in found])
        self._sent = {self._digest(image.data): name for image, name in found[surplus:]}
        if not surplus:
            return tuple(messages)
        self._notes.append(f"The oldest images are omitted: {self._facts.name} accepts no more images.")
        numbers = count()

        def drop_old(given: Content, image: Image, name: str) -> Content:
            left_out = Text("[An earlier image is omitted, because there are too many.]")
            return left_out if next(numbers) < surplus else given

        return tuple(_with_images(message, names, drop_old) for message in messages)

    def _surplus(self, sizes: list[int]) -> int:
        """Return how many of the oldest images must be replaced to meet the limits, rounded up to a multiple of a
        quarter of the maximum number of images."""
        most = self._facts.images_at_most
        surplus, total = max(0, len(sizes) - most), 0
        for newer, size in enumerate(reversed(sizes)):
            total += size
            if total > self._facts.images_bytes:
                surplus = max(surplus, len(sizes) - newer)
                break
        step = max(1, most // 4)
        return min(-(-surplus // step) * step, max(0, len(sizes) - 1)) if surplus else 0


def scaled(image: Image, pixels: int, most: int) -> Image | None:
    """Return the image scaled to at most ``pixels`` on its longest side and at most ``most`` bytes; None if that is
    not possible. Raise ImportError without Pillow."""
    from PIL import Image as Pillow  # optional, and slow to import
    from PIL import ImageOps

    picture: Any = Pillow.open(BytesIO(image.data))
    picture.draft("RGB", (pixels, pixels))
    picture = ImageOps.exif_transpose(picture)  # the EXIF orientation is lost in a copy
    form = "PNG" if image.media_type == "image/png" else "JPEG"
    for _ in range(_TRIES):
        picture.thumbnail((pixels, pixels))
        for kind, options in ((form, {}), *(("JPEG", {"quality": quality}) for quality in _QUALITIES)):
            buffer = BytesIO()
            flat = picture if kind == "PNG" else picture.convert("RGB")
            flat.save(buffer, kind, **options)
            if buffer.tell() <= most:
                return Image(f"image/{kind.lower()}", buffer.getvalue())
        pixels = pixels * 3 // 4
    return None


def _as_image(given: Content) -> Image | None:
    if isinstance(given, Image):
        return given
    if isinstance(given, Resource) and given.data is not None and (given.media_type or "").startswith("image/"):
        return Image(given.media_type or "", given.data)
    return None


def _with_images(
    message: Message, names: Mapping[str, str], change: Callable[[Content, Image, str], Content]
) -> Message:
    """Replace each image of a message by the result of ``change``, a callback that gets the content, its image and
    the name of the image."""
    if not has_image(message):
        return message

    def content(given: Content, name: str = "") -> Content:
        image = _as_image(given)
        if image is None:
            return given
        return change(given, image, name or (given.uri if isinstance(given, Resource) else ""))

    def part(each: Part) -> Part:
        if isinstance(each, ResultPart):
            name = names.get(each.call_id, "")
            return replace(each, content=tuple(content(given, name) for given in each.content))
        return content(each) if isinstance(each, Image | Resource) else each

    return replace(message, parts=tuple(map(part, message.parts)))


def has_image(message: Message) -> bool:
    return any(
        any(_as_image(each) is not None for each in part.content)
        if isinstance(part, ResultPart)
        else isinstance(part, Image | Resource) and _as_image(part) is not None
        for part in message.parts
    )


def _names(request: Request) -> dict[str, str]:
    """Return the names of the images by the ids of the calls that read them. The name of an image is the path
    argument of its call."""
    calls = (part for message in request.messages for part in message.parts if isinstance(part, CallPart))
    return {
        call.id: str(call.arguments[name]) for call in calls for name in reversed(_PATHS) if call.arguments.get(name)
    }


def size_of(data: bytes) -> tuple[int, int] | None:
    """Return the size in pixels of a PNG, GIF, JPEG or WebP image; None for other formats and truncated images."""
    try:
        if data.startswith(b"\x89PNG\r\n\x1a\n"):
            return unpack_from(">II", data, 16)
        if data.startswith(b"GIF8"):
            return unpack_from("<HH", data, 6)
        if data.startswith(b"\xff\xd8\xff"):
            return _jpeg(data)
        if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
            return _webp(data)
    except Exception:  # struct.error or IndexError: the image is truncated
        return None
    return None


def _jpeg(data: bytes) -> tuple[int, int] | None:
    at = 2
    while at < len(data):
        if data[at] != 0xFF:
            return None
        kind = data[at + 1]
        if kind == 0xFF or kind == 0x01 or 0xD0 <= kind <= 0xD7:  # padding, and markers without a length
            at += 1 if kind == 0xFF else 2
            continue
        if 0xC0 <= kind <= 0xCF and kind not in (0xC4, 0xC8, 0xCC):  # a frame header
            height, width = unpack_from(">HH", data, at + 5)
            return width, height
        at += 2 + unpack_from(">H", data, at + 2)[0]
    return None


def _webp(data: bytes) -> tuple[int, int] | None:
    form = data[12:16]
    if form == b"VP8 ":
        width, height = unpack_from("<HH", data, 26)
        return width & 0x3FFF, height & 0x3FFF
    if form == b"VP8L":
        (bits,) = unpack_from("<I", data, 21)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if form == b"VP8X":
        return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
    return None
