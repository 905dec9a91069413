"""Images of a request, made to fit the limits of a model.

Too large ones are scaled with Pillow, the extra ``images``; where that is not installed, and for an image that cannot
be read, a line stands in its place. Of too many the oldest are replaced by a line, a quarter of the limit at a time, so
that the rest of the history stays the same for caches. An image that the server refused is not sent to it again.
"""

from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from io import BytesIO
from typing import Any

from callgate.providers.family import ModelFacts
from callgate.providers.image_sizes import size_of
from callgate.words.messages import CallPart, Content, Image, Message, Part, Resource, ResultPart, Text
from callgate.words.model import Request

INSTALL = 'pip install "callgate[images]"'
_QUALITIES = (85, 70, 50)
_TRIES = 8
_PATHS = ("file_path", "path", "notebook_path")
_SCALED_KEPT = 64
_DIGESTS_KEPT = 1_000


class ImageFitter:
    """Fits the images of one model's requests. ``fit`` may take long: Pillow decodes and encodes."""

    def __init__(self, facts: ModelFacts) -> None:
        self._facts = facts
        self._scaled: dict[str, Image | str] = {}
        self._accepted: set[str] = set()
        self._refused: set[str] = set()
        self._sent: dict[str, str] = {}  # digests and names of the images of the last request
        self._notes: list[str] = []
        self._digests: dict[int, tuple[bytes, str]] = {}  # by the identity of the bytes, which stay in the history

    def fit(self, request: Request) -> tuple[Request, list[str]]:
        """The request with images that the model takes, and notes for people."""
        if not self._facts.abilities.images or not any(map(has_image, request.messages)):
            return request, []
        names = _names(request)
        self._notes = []
        fitted = [self._each(message, names) for message in request.messages]
        messages, self._sent = self._counted(fitted, names)
        return replace(request, messages=messages), self._notes

    def accepted(self) -> None:
        """The server has begun to answer the last request."""
        self._accepted.update(self._sent)

    def refused(self) -> list[str]:
        """The server refused an image of the last request: gives the names of those that were new in it. They are left
        out from now on."""
        new = {digest: name for digest, name in self._sent.items() if digest not in self._accepted}
        self._refused.update(new)
        return list(dict.fromkeys(new.values()))

    def _digest(self, data: bytes) -> str:
        """The hash of an image, computed once: a history with many images would cost more with each request."""
        kept = self._digests.get(id(data))
        if kept is None or kept[0] is not data:
            kept = self._digests[id(data)] = (data, sha256(data).hexdigest())
            if len(self._digests) > _DIGESTS_KEPT:
                del self._digests[next(iter(self._digests))]
        return kept[1]

    def _each(self, message: Message, names: dict[str, str]) -> Message:
        if not has_image(message):
            return message
        return replace(message, parts=tuple(self._part(part, names) for part in message.parts))

    def _part(self, part: Part, names: dict[str, str]) -> Part:
        if isinstance(part, ResultPart):
            content = tuple(self._content(each, names.get(part.call_id, "")) for each in part.content)
            return replace(part, content=content)
        return self._content(part, "") if isinstance(part, Image | Resource) else part

    def _content(self, given: Content, name: str) -> Content:
        image = _as_image(given)
        if image is None:
            return given
        name = name or (given.uri if isinstance(given, Resource) else "")
        digest = self._digest(image.data)
        if digest not in self._scaled:
            self._scaled[digest] = self._scaled_or_line(image, name or "an image")
            if len(self._scaled) > _SCALED_KEPT:
                del self._scaled[next(iter(self._scaled))]
        found = self._scaled[digest]
        if isinstance(found, str):
            return Text(found)
        if self._digest(found.data) in self._refused:
            return Text(f"[{name or 'An image'} is left out: the server did not accept it. Describe it in words.]")
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
            line = f"{about} is left out, because {allowed}: make it smaller, or have it scaled by {INSTALL}"
        except Exception as error:  # whatever Pillow says of a broken or hostile image
            line = f"{about} is left out, because it cannot be scaled to what {allowed} ({type(error).__name__})"
        else:
            if small is not None:
                self._notes.append(f"{about} was scaled, because {allowed}.")
                return small
            line = f"{about} is left out, because it cannot be made small enough: {allowed}"
        self._notes.append(f"{line}.")
        return f"[{line}.]"

    def _counted(self, messages: list[Message], names: dict[str, str]) -> tuple[tuple[Message, ...], dict[str, str]]:
        """The messages with no more images than the model takes, and the images in them."""
        found = [(image, name) for message in messages for image, name in _images(message, names)]
        surplus = self._surplus([len(image.data) for image, _ in found])
        if surplus:
            self._notes.append(f"The oldest images are left out: {self._facts.name} takes no more at once.")
        left = iter(range(len(found)))

        def kept(given: Content) -> Content:
            if _as_image(given) is None or next(left) >= surplus:
                return given
            return Text("[An earlier image is left out, because there are too many.]")

        def part(each: Part) -> Part:
            if isinstance(each, ResultPart):
                return replace(each, content=tuple(map(kept, each.content)))
            return kept(each) if isinstance(each, Image | Resource) else each

        shown = tuple(replace(each, parts=tuple(map(part, each.parts))) if surplus else each for each in messages)
        return shown, {self._digest(image.data): name for image, name in found[surplus:]}

    def _surplus(self, sizes: list[int]) -> int:
        """The number of oldest images that are too many, in whole quarters of the limit."""
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
    """The image with its longest side within ``pixels`` and its bytes within ``most``; None if that cannot be done.
    ImportError without Pillow."""
    from PIL import Image as Pillow  # optional, and slow to load
    from PIL import ImageOps

    picture: Any = Pillow.open(BytesIO(image.data))
    picture.draft("RGB", (pixels, pixels))
    picture = ImageOps.exif_transpose(picture)  # a copy would lose the mark that says which side is up
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


def _images(message: Message, names: dict[str, str]) -> Iterator[tuple[Image, str]]:
    for part in message.parts:
        listed: tuple[Content, ...] = ()
        name = ""
        if isinstance(part, ResultPart):
            listed, name = part.content, names.get(part.call_id, "")
        elif isinstance(part, Image | Resource):
            listed = (part,)
        for each in listed:
            image = _as_image(each)
            if image is not None:
                yield image, name or (each.uri if isinstance(each, Resource) else "an image of the prompt")


def has_image(message: Message) -> bool:
    return any(
        any(_as_image(each) is not None for each in part.content)
        if isinstance(part, ResultPart)
        else isinstance(part, Image | Resource) and _as_image(part) is not None
        for part in message.parts
    )


def _names(request: Request) -> dict[str, str]:
    """The paths in the arguments of calls, by the ids of the calls: the names of the images that they read."""
    calls = (part for message in request.messages for part in message.parts if isinstance(part, CallPart))
    return {
        call.id: str(call.arguments[name]) for call in calls for name in reversed(_PATHS) if call.arguments.get(name)
    }
