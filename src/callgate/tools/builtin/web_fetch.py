"""The tool WebFetch: returns a web page as text, HTML as Markdown. ``host/page_fetch`` fetches the page."""

import codecs
import re
from collections.abc import Collection
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import StringConstraints

from callgate._version import __version__
from callgate.core.ports import Run
from callgate.host.threads import in_thread, threads_of
from callgate.policy.hosts import host_of, is_private, normal_host
from callgate.tools.builtin import builtin_tool
from callgate.tools.tool import FunctionTool
from callgate.words.calls import Result
from callgate.words.errors import ToolFailure, UsageError
from callgate.words.messages import Text
from callgate.words.traits import shared

if TYPE_CHECKING:
    from callgate.host.page_fetch import FetchedPage

MOST_BYTES = 5_000_000
SECONDS = 60.0


def web_fetch(*, private: Collection[str] = (), seconds: float = SECONDS, most: int = MOST_BYTES) -> FunctionTool[Any]:
    """Make the tool ``WebFetch``. A call for an HTML page requires ``callgate[web]``.

    private  the hosts that may have a private address, such as ``localhost:8000``
    seconds  the timeout of one fetch
    most     the limit on the bytes of a page
    """
    named = {normal_host(each) for each in private}
    if None in named:
        raise UsageError(f"private= must contain hosts such as localhost:8000, not {', '.join(map(repr, private))}")

    def refuses(address: str, host: str) -> bool:
        return host not in named and is_private(address)

    async def web_fetch(
        url: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)], run: Run
    ) -> Result:
        """Fetch.

        Args:
            url: the whole address, with http:// or https://
        """
        from callgate.host.page_fetch import PageFetch, WebRules

        fetch = PageFetch(WebRules(host_of, refuses), f"callgate/{__version__}", most)
        threads = threads_of(run.host)
        page = await in_thread(partial(fetch.run, url), on_cancel=fetch.stop, threads=threads)
        return await in_thread(partial(page_result, page), threads=threads)

    return builtin_tool(
        web_fetch,
        title="Fetch a page",
        address="url",
        effects="none",
        locks=shared,
        timeout=seconds,
        interrupt="cancel",
        always_loaded=False,
        search_hint="download a web page, read a URL, documentation online",
    )


HTML = ("text/html", "application/xhtml+xml")
_TEXT = re.compile(
    r"text/.+|application/(?:.+\+)?(?:json|xml|yaml|x-yaml|toml|javascript|x-javascript|x-sh|sql|x-ndjson)|image/svg\+xml"
)
_META = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?([A-Za-z0-9_.:-]{1,40})""", re.IGNORECASE)
_NO_CHARSETS = frozenset(("punycode", "raw-unicode-escape", "unicode-escape"))
"""Python codecs that are not charsets. The codec for host names would take hours for a large page."""
_LOOKED_AT = 4_096
_SHOWN_OF_AN_ERROR = 2_000
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def page_result(page: "FetchedPage") -> Result:
    """Return the text of a page as a result for the model. Raise ToolFailure if the page is not text."""
    if page.moved_to is not None:
        text = f"{page.url} redirects to another host ({page.status}): {page.moved_to}\nThe redirect was not followed."
        return Result((Text(text),), details={"url": page.url, "status": page.status, "moved_to": page.moved_to})
    kind, charset = _kind(page)
    if kind not in HTML and not _TEXT.fullmatch(kind):
        size = f"{'more than ' if page.cut else ''}{len(page.body):,} bytes"
        raise ToolFailure(f"{page.url} is {kind or 'not text'}, {size}: only text can be fetched.")
    text = _decoded(page.body, charset, kind)
    if kind in HTML:
        text = _markdown(text, page.url)
    if page.status >= 400:
        said = f"\n{text[:_SHOWN_OF_AN_ERROR].strip()}" if text.strip() else ""
        raise ToolFailure(f"{page.url} returned {page.status} {page.reason}.{said}")
    head = f"{page.url} ({page.status}, {kind}{f', cut after {len(page.body):,} bytes' if page.cut else ''})"
    details = {"url": page.url, "status": page.status, "content_type": kind, "bytes": len(page.body), "cut": page.cut}
    return Result((Text(f"{head}\n\n{text.strip() or '(no text)'}"),), details=details)


def _kind(page: "FetchedPage") -> tuple[str, str]:
    """Return the media type and the charset in the header. Without a header, guess the media type from the body."""
    from email.message import Message as Headers

    headers = Headers()
    headers["Content-Type"] = " ".join(page.content_type.encode("ascii", "replace").decode().splitlines())
    charset = headers.get_content_charset() or ""
    if page.content_type.strip():
        return headers.get_content_type(), charset
    start = page.body[:_LOOKED_AT].lstrip().lower()
    if start.startswith((b"<!doctype html", b"<html")):
        return "text/html", charset
    is_binary = b"\0" in start and not start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return "" if is_binary else "text/plain", charset


def _decoded(body: bytes, charset: str, kind: str) -> str:
    """Decode the body: by its byte order mark, or the charset of the header, or the charset declared in the page, or
    UTF-8."""
    marked = next((name for mark, name in _BOMS if body.startswith(mark)), None)
    named = _META.search(body[:_LOOKED_AT]) if kind in HTML else None
    for name in (marked, charset, named and named[1].decode("ascii")):
        if name and _is_charset(name):
            return body.decode(name, "replace")
    return body.decode("utf-8", "replace")


def _is_charset(name: str) -> bool:
    """Return False for codecs of Python that are not charsets, such as zip."""
    try:
        if codecs.lookup(name).name in _NO_CHARSETS:
            return False
        b"x".decode(name, "replace")  # for an empty text Python would not check the name
    except (LookupError, ValueError):
        return False
    return True


def _markdown(text: str, url: str) -> str:
    try:
        from html_to_markdown import ConversionOptions, convert
    except ImportError as error:
        raise ToolFailure(
            "This is an HTML page, and the package that converts HTML to text is not installed: pip install "
            "'callgate[web]'"
        ) from error
    try:
        return convert(text, ConversionOptions(base_url=url, skip_images=True)).content or ""
    except Exception as error:
        raise ToolFailure(f"{url} is an HTML page that cannot be converted to text: {error}") from error
