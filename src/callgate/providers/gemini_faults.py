"""Maps errors of the Gemini API to rows of the fault table."""

from collections.abc import Mapping
from json import loads
from typing import Any, Final, cast

from callgate.providers.family import object_of
from callgate.providers.fault_table import (
    Fault,
    fault_by_status,
    fault_in_message,
    fault_of,
    request_id_of,
    retry_after,
)
from callgate.words.errors import ModelError

NAME: Final = "gemini"

STATUSES: Final[Mapping[str, Fault]] = {
    "INVALID_ARGUMENT": "bad_request",
    "FAILED_PRECONDITION": "bad_request",
    "OUT_OF_RANGE": "bad_request",
    "UNIMPLEMENTED": "bad_request",
    "UNAUTHENTICATED": "wrong_key",
    "PERMISSION_DENIED": "not_allowed",
    "NOT_FOUND": "unknown_model",
    "RESOURCE_EXHAUSTED": "rate_limited",
    "ABORTED": "conflict",
    "CANCELLED": "server",
    "INTERNAL": "server",
    "UNKNOWN": "server",
    "DATA_LOSS": "server",
    "UNAVAILABLE": "overloaded",
    "DEADLINE_EXCEEDED": "timeout",
}
_WORDS: Final[tuple[tuple[str, Fault], ...]] = (
    ("api key not valid", "wrong_key"),
    ("api key expired", "wrong_key"),
    ("api key not found", "wrong_key"),
    ("api key was reported as leaked", "wrong_key"),
    ("exceeds the maximum number of tokens", "too_long"),
    ("input token count", "too_long"),
    ("payload size exceeds", "too_long"),
    ("input image", "image"),
    ("credits are depleted", "no_credit"),
    ("spending cap", "no_credit"),
    ("enable billing", "no_credit"),
)
"""Substrings of messages that determine the fault where the status is not specific enough."""


def stream_error(data: object) -> ModelError:
    """Return the ModelError for an error event inside a stream."""
    error = _error(data)
    code = error.get("code")
    return _model_error(error, code if type(code) is int else 500, {})


def http_error(status: int, headers: Mapping[str, str], body: bytes) -> ModelError:
    """Return the ModelError for an HTTP error status."""
    try:
        error = _error(loads(body))
    except (ValueError, RecursionError):
        error = {}
    return _model_error(error or {"message": body[:2000].decode("utf-8", "replace")}, status, headers)


def _model_error(error: dict[str, Any], status: int, headers: Mapping[str, str]) -> ModelError:
    message, name = error.get("message"), error.get("status")
    message = message if isinstance(message, str) else ""
    fault = fault_in_message(message, _WORDS)
    if fault is None and isinstance(name, str):
        fault = STATUSES.get(name)
    wait, daily = _details(error.get("details"))
    after = retry_after(headers)
    return fault_of(
        fault or fault_by_status(status),
        NAME,
        f"HTTP {status}: {message}" if message else f"HTTP {status}",
        request_id=request_id_of(headers),
        retry_after=wait if after is None else after,
        retryable=False if daily else None,
    )


def _error(data: object) -> dict[str, Any]:
    if isinstance(data, list) and data:
        data = cast("list[object]", data)[0]
    return object_of(object_of(cast("object", data)).get("error"))


def _details(details: object) -> tuple[float | None, bool]:
    wait: float | None = None
    daily = False
    for detail in cast("list[object]", details) if isinstance(details, list) else ():
        given = object_of(detail)
        delay, violations = given.get("retryDelay"), given.get("violations")
        if isinstance(delay, str) and delay[:-1].replace(".", "", 1).isdecimal() and delay.endswith("s"):
            wait = float(delay[:-1])
        for violation in cast("list[object]", violations) if isinstance(violations, list) else ():
            daily = daily or "PerDay" in str(object_of(violation).get("quotaId"))
    return wait, daily
