"""Width and height of an image, read from its first bytes."""

from struct import unpack_from


def size_of(data: bytes) -> tuple[int, int] | None:
    """Pixels of a PNG, GIF, JPEG or WebP image; None for all else and for what is cut off."""
    try:
        if data.startswith(b"\x89PNG\r\n\x1a\n"):
            return unpack_from(">II", data, 16)
        if data.startswith(b"GIF8"):
            return unpack_from("<HH", data, 6)
        if data.startswith(b"\xff\xd8\xff"):
            return _jpeg(data)
        if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
            return _webp(data)
    except Exception:  # struct.error, an index past the end: the image is cut off
        return None
    return None


def _jpeg(data: bytes) -> tuple[int, int] | None:
    at = 2
    while at < len(data):
        if data[at] != 0xFF:
            return None
        kind = data[at + 1]
        if kind == 0xFF or kind == 0x01 or 0xD0 <= kind <= 0xD7:  # padding, and marks without a length
            at += 1 if kind == 0xFF else 2
            continue
        if 0xC0 <= kind <= 0xCF and kind not in (0xC4, 0xC8, 0xCC):  # a frame
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
