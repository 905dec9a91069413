"""Detects HTTP answers that are not an event stream: error statuses, HTML pages of proxies, single JSON bodies."""

import json
import re
from typing import Any, cast

from callgate.providers.connection import AnswerHead
from callgate.providers.exchange import Exchange
from callgate.providers.family import Family
from callgate.providers.fault_table import fault_of, http_fault, request_id_of
from callgate.words.errors import ModelError
from callgate.words.late_pattern import late_pattern

BODY_BYTES = 256 * 1024
"""The maximum number of bytes read of an answer that is not a stream."""
_TITLE = late_pattern(rb"<title[^>]*>(.{0,300}?)</title", re.IGNORECASE | re.DOTALL)
_FIELDS = (b"data", b"event", b"id", b"retry", b":")


async def failure(exchange: Exchange, head: AnswerHead, family: Family, provider: str) -> ModelError | None:
    """Return the error for an answer that is not an event stream; None if the answer is an event stream."""
    if not 200 <= head.status < 300:
        return _failed(head, await exchange.body(BODY_BYTES), family, provider)
    if head.headers.get("content-encoding", "identity").strip().lower() not in ("identity", ""):
        return fault_of("protocol", provider, "it is compressed although compression was not requested")
    kind = head.headers.get("content-type", "").partition(";")[0].strip().lower()
    named = kind == "text/event-stream"
    start = await exchange.peek(1 if named else len(b"event:"))
    if start[:1] not in (b"{", b"[", b"<") and (named or start.startswith(_FIELDS)):
        return None
    body = await exchange.body(BODY_BYTES)
    if _reports_error(body):
        return family.fault(head.status, head.headers, body)
    return fault_of("protocol", provider, _described(kind, body), request_id=request_id_of(head.headers))


def _failed(head: AnswerHead, body: bytes, family: Family, provider: str) -> ModelError:
    if 300 <= head.status < 400:
        return http_fault(head.status, head.headers, provider, f"to {head.headers.get('location', 'nowhere')}")
    if body.lstrip()[:1] == b"<":  # an HTML page of a proxy, which the family cannot parse
        return http_fault(head.status, head.headers, provider, _described("", body))
    return family.fault(head.status, head.headers, body)


def _reports_error(body: bytes) -> bool:
    try:
        value: Any = json.loads(body)
    except (ValueError, RecursionError):
        return False
    if isinstance(value, list) and value:
        value = cast(list[Any], value)[0]
    return isinstance(value, dict) and bool(cast(dict[str, Any], value).get("error"))


def _described(kind: str, body: bytes) -> str:
    text = body.strip()
    if not text:
        return "an empty answer"
    if text[:1] == b"<":
        title = _TITLE.search(text)
        named = " ".join(title[1].decode("utf-8", "replace").split()) if title else ""
        return f"an HTML page “{named}”" if named else "an HTML page"
    shown = text[:200].decode("utf-8", "replace")
    if text[:1] in (b"{", b"["):
        return f"one JSON value instead of a stream of events: {shown}"
    return f"{kind or 'something'} instead of a stream of events: {shown}"
