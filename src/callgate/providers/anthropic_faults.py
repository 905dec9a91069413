"""Maps errors of the Anthropic API to rows of the fault table."""

from collections.abc import Mapping
from json import loads
from typing import Final

from callgate.providers.family import object_of
from callgate.providers.fault_table import Fault, fault_in_message, fault_of, http_fault
from callgate.words.errors import ModelError

NAME: Final = "anthropic"

TYPES: Final[Mapping[str, Fault]] = {
    "invalid_request_error": "bad_request",
    "authentication_error": "wrong_key",
    "billing_error": "no_credit",
    "permission_error": "not_allowed",
    "not_found_error": "unknown_model",
    "request_too_large": "too_long",
    "rate_limit_error": "rate_limited",
    "timeout_error": "timeout",
    "conflict_error": "conflict",
    "api_error": "server",
    "overloaded_error": "overloaded",
}
_WORDS: Final[tuple[tuple[str, Fault], ...]] = (
    ("prompt is too long", "too_long"),
    ("exceed context limit", "too_long"),
    ("exceeds the maximum number of tokens", "too_long"),
    ("request exceeds the maximum size", "too_long"),
    ("credit balance", "no_credit"),
    ("spend limit", "no_credit"),
    ("usage limits", "no_credit"),
    ("extra usage is required", "no_credit"),
    ("organization has been disabled", "not_allowed"),
    ("image exceeds", "image"),
    ("image dimensions", "image"),
    ("could not process image", "image"),
    ("many-image requests", "image"),
)
"""Substrings of messages that determine the fault where the error type is not specific enough."""


def stream_error(data: object, words: str = "") -> ModelError:
    """Return the ModelError for an ``error`` event inside a stream."""
    fault, detail = _read(data)
    given = object_of(data).get("request_id")
    return fault_of(fault or "server", NAME, detail or words, request_id=given if isinstance(given, str) else None)


def http_error(status: int, headers: Mapping[str, str], body: bytes) -> ModelError:
    """Return the ModelError for an HTTP error status."""
    try:
        data = loads(body)
    except (ValueError, RecursionError):
        return http_fault(status, headers, NAME, body[:2000].decode("utf-8", "replace"))
    fault, detail = _read(data)
    return http_fault(status, headers, NAME, detail, fault=fault)


def _read(data: object) -> tuple[Fault | None, str]:
    given = object_of(object_of(data).get("error"))
    kind, message = given.get("type"), given.get("message")
    message = message if isinstance(message, str) else ""
    fault = fault_in_message(message, _WORDS)
    if fault is None and isinstance(kind, str):
        fault = TYPES.get(kind)
    return fault, message
