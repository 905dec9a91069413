"""Reads the errors of all API families: by code, by type, and then by words of the message."""

from collections.abc import Mapping, Sequence
from json import loads
from re import DOTALL, IGNORECASE, Pattern
from typing import Any, cast

from callgate.providers.family import Json, object_of
from callgate.providers.fault_table import Fault, fault_by_status, fault_of, http_fault
from callgate.words.errors import ModelError
from callgate.words.late_pattern import late_pattern

_UNSPECIFIC = ("invalid_request_error",)  # OpenAI sends this type with most errors, also with failures of the server
_CODES_OF: Mapping[Fault, str] = {
    "bad_request": "invalid_request_error invalid_argument failed_precondition out_of_range unimplemented",
    "wrong_key": "invalid_api_key authentication_error invalid_authentication_error unauthenticated",
    "not_allowed": "account_deactivated permission_error insufficient_permissions data_residency_mismatch "
    "unsupported_country_region_territory permission_denied",
    "no_credit": "insufficient_quota billing_hard_limit_reached billing_not_active insufficient_balance "
    "exceeded_current_quota_error billing_error",
    "unknown_model": "model_not_found model_not_available not_found_error not_found",
    "too_long": "context_length_exceeded exceed_context_size_error string_above_max_length request_too_large "
    "model_max_prompt_tokens_exceeded",
    "image": "invalid_image invalid_image_format invalid_base64_image invalid_image_url image_too_large "
    "image_too_small image_parse_error invalid_image_mode image_file_too_large unsupported_image_media_type "
    "empty_image_file failed_to_download_image image_file_not_found",
    "refused": "invalid_prompt content_filter content_policy_violation bio_policy cyber_policy "
    "misalignment_policy_violation image_content_policy_violation",
    "rate_limited": "rate_limit_exceeded rate_limit_error rate_limit_reached_error resource_exhausted",
    "overloaded": "slow_down server_is_overloaded overloaded_error engine_overloaded_error unavailable_error "
    "service_unavailable unavailable",
    "conflict": "conflict_error aborted",
    "timeout": "timeout_error deadline_exceeded",
    "server": "server_error internal_error internal_server_error vector_store_timeout api_error internal unknown "
    "data_loss cancelled",
}
"""The codes, types and statuses of errors for each fault."""
CODES: Mapping[str, Fault] = {code: fault for fault, codes in _CODES_OF.items() for code in codes.split()}
_WEAK = (None, "bad_request", "not_allowed", "rate_limited", "server")
"""Faults of codes that are not specific: the words of the message may be more specific."""
_WORDS_OF: Mapping[Fault, str] = {
    "too_long": r"maximum context length|context (length|size|window|limit)|n_ctx|prompt is too long|input is too long"
    r"|exceeds? (the )?(available |model'?s? )?context|longer than the maximum|reduce the length of|max_model_len"
    r"|request too large for|too large for model with \d+ maximum context|exceeds the maximum (number of tokens|size)"
    r"|input token count|payload size exceeds",
    "unknown_model": r"try pulling it first|model .{0,200}(not found|does not exist|is not loaded|not a valid model)"
    r"|no such model|not a valid model id|no models? loaded|unknown model",
    "image": r"image input|(support|accept)s? images?|image_url|multimodal|mmproj|image exceeds|image dimensions"
    r"|could not process image|many-image requests|input image",
    "no_key": r"didn'?t provide an api key|missing (bearer|api key)|no api key|no auth credentials",
    "wrong_key": r"(invalid|incorrect|wrong) api key|api key (is )?(not valid|invalid|expired|not found)"
    r"|api key was reported as leaked",
    "no_credit": r"insufficient (balance|credits?|quota|funds)|credit balance|credits are depleted|spend limit"
    r"|spending cap|usage limits|extra usage is required|enable billing|exceeded your current quota",
    "not_allowed": r"organization has been disabled",
}
"""The words in messages for each fault; the first matching row is used."""
_WORDS: Sequence[tuple[Pattern[str], Fault]] = [
    (late_pattern(words, IGNORECASE | DOTALL), fault) for fault, words in _WORDS_OF.items()
]
_GOOGLE_LIMIT = late_pattern(r"exceeded your current quota", IGNORECASE)
"""Words that Google also uses for a limit per minute. Other servers use them for an account without credit."""
_WAIT = late_pattern(r"try again in (\d{1,6}(?:\.\d{1,6})?) ?(ms|s)\b")
"""Finds the retry delay in the message of a rate limit inside a stream, where there are no headers."""
_ADVICE = {
    "invalid_encrypted_content": "the reasoning in this session was made for another account: compact the session, or "
    "start a new one",
}
_EXACT_STATUS = frozenset({400, 401, 403, 404, 413, 422, 429, 500})
"""Statuses that are not specific: the message of the answer may be more specific."""


def _codes_and_words(error: object, depth: int = 0) -> tuple[list[str], str]:
    if isinstance(error, list):
        return _codes_and_words(cast("list[object]", error)[0], depth + 1) if error and depth < 5 else ([], "")
    if not isinstance(error, dict):
        return [], error if isinstance(error, str) else ""
    told = cast("Json", error)
    inner = told.get("error")
    if inner and isinstance(inner, dict | str | list) and depth < 5:
        return _codes_and_words(cast("object", inner), depth + 1)
    codes = [str(told[key]) for key in ("code", "type", "status") if isinstance(told.get(key), str | int)]
    words = [told[key] for key in ("message", "detail", "msg") if isinstance(told.get(key), str)]
    details: Any = told.get("detail")
    if isinstance(details, list):  # the form of FastAPI, which vLLM uses for unknown fields
        words += [
            f"{_codes_and_words(each, 5)[1]} {object_of(each).get('loc', '')}"
            for each in cast("list[object]", details)[:3]
        ]
    raw: Any = object_of(told.get("metadata")).get("raw")  # OpenRouter: the message of the underlying provider
    return codes, "; ".join([*words[:3], *([raw] if isinstance(raw, str) else [])])


def fault_in(error: object, status: int | None, family: str) -> tuple[Fault | None, str]:
    """Return the fault and the message of an error object. The fault is None if the HTTP status is at least as
    specific as the error object."""
    codes, words = _codes_and_words(error)
    words = "; ".join([*(_ADVICE[code] for code in codes if code in _ADVICE), words])
    known = [code for code in map(str.lower, codes) if code in CODES]
    if family.startswith("openai"):
        known = [code for code in known if code not in _UNSPECIFIC]
    named: Fault | None = CODES[known[0]] if known else None
    if named in _WEAK and (status is None or status in _EXACT_STATUS):
        is_google = family == "gemini" or "resource_exhausted" in known
        said = _GOOGLE_LIMIT.sub("", words) if is_google else words
        by_words: Fault | None = next((fault for pattern, fault in _WORDS if pattern.search(said)), None)
        if by_words is not None and not (named == "rate_limited" and by_words not in ("too_long", "no_credit")):
            return by_words, words
    if status is not None and (
        (named == "server" and fault_by_status(status) != "other") or (named == "bad_request" and status < 500)
    ):
        named = None  # the status is more specific
    if named is None and status is None:
        number = next((int(code) for code in codes if code.isdecimal() and len(code) == 3), None)
        named = None if number is None or number < 400 else fault_by_status(number)
    return named, words


def read_fault(status: int, headers: Mapping[str, str], body: bytes, provider: str, family: str) -> ModelError:
    """Return the ModelError for an HTTP answer. Some servers report failures with a success status."""
    text = body[:100_000].decode("utf-8", "replace").strip()
    try:
        error: object = loads(text)
    except (ValueError, RecursionError):
        error = "" if text.startswith("<") else text
    fault, words = fault_in(error, None if status < 300 else status, family)
    wait, is_daily = _quota(error)
    fault = fault or ("server" if status < 300 else None)
    return http_fault(status, headers, provider, words, fault=fault, wait=wait, retryable=False if is_daily else None)


def stream_fault(error: object, provider: str, family: str) -> ModelError:
    """Return the ModelError for an error inside a stream. An unknown error is a server failure."""
    fault, words = fault_in(error, None, family)
    found = _WAIT.search(words)
    wait, is_daily = _quota(error)
    wait = float(found[1]) * (0.001 if found[2] == "ms" else 1.0) if found else wait
    given = object_of(error).get("request_id")
    request_id = given if isinstance(given, str) else None
    retryable = False if is_daily else None
    return fault_of(fault or "server", provider, words, request_id=request_id, retry_after=wait, retryable=retryable)


def _quota(error: object) -> tuple[float | None, bool]:
    """Return the retry delay in the ``details`` of a Gemini error, and True if the quota of a day is exhausted."""
    wait, is_daily = None, False
    first = next(iter(_list(error)), error)
    for detail in _list(object_of(object_of(first).get("error")).get("details")):
        delay = object_of(detail).get("retryDelay")
        if isinstance(delay, str) and delay[:-1].replace(".", "", 1).isdecimal() and delay.endswith("s"):
            wait = float(delay[:-1])
        violations = _list(object_of(detail).get("violations"))
        is_daily = is_daily or any("PerDay" in str(object_of(each).get("quotaId")) for each in violations)
    return wait, is_daily


def _list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


class ApiFamily:
    """The base class of the API families.

    name      the name of the API
    provider  the name of the server, for errors
    """

    name: str

    def __init__(self, provider: str) -> None:
        self._provider = provider

    def fault(self, status: int, headers: Mapping[str, str], body: bytes) -> ModelError:
        return read_fault(status, headers, body, self._provider, self.name)
