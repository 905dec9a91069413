"""The table of provider faults, with the text for the user and whether a retry can help. All ModelErrors are created
in this module."""

from collections.abc import Mapping
from math import isfinite
from typing import Literal

from callgate.words.errors import ModelError
from callgate.words.late_pattern import late_pattern
from callgate.words.noun import noun

_AccountFault = Literal["no_key", "wrong_key", "not_allowed", "no_credit", "unknown_model"]
_RequestFault = Literal["bad_request", "too_long", "image", "refused"]
_ServerFault = Literal["overloaded", "rate_limited", "conflict", "server", "moved", "protocol", "other"]
_NetworkFault = Literal["connection", "nobody_there", "not_running", "dns", "tls", "proxy", "timeout"]
Fault = _AccountFault | _RequestFault | _ServerFault | _NetworkFault

DETAIL_CHARS = 600
"""The maximum length of a server's message that an error repeats."""


@noun
class FaultRow:
    """One row of the fault table.

    says  the text for the user, in which ``{provider}`` is replaced by the provider's name and ``{with_command}`` by
          the command that starts its server
    kind  the kind of the ModelError; by default the name of the fault
    """

    says: str
    kind: str = ""
    retryable: bool = False


START_COMMANDS: Mapping[str, str] = {"ollama": "ollama serve"}
"""The commands that start local servers, by provider."""
_KEY = "give another with `callgate auth set {provider}`"
FAULTS: Mapping[Fault, FaultRow] = {
    "no_key": FaultRow(
        "There is no key for {provider}: set its environment variable or store one with `callgate auth set {provider}`"
    ),
    "wrong_key": FaultRow(f"{{provider}} does not accept the key: check it, or {_KEY}"),
    "not_allowed": FaultRow(
        f"The key for {{provider}} may not be used for this: ask the owner of the account, or {_KEY}", "wrong_key"
    ),
    "no_credit": FaultRow(
        "The account at {provider} has no credit left: add credit or raise its limit there, or choose another model"
    ),
    "unknown_model": FaultRow(
        "{provider} does not have this model, or not for this key: check the name of the model and the base URL"
    ),
    "bad_request": FaultRow("{provider} did not accept the request: check the options that are set for this model"),
    "too_long": FaultRow(
        "The conversation is longer than the model can read: compact it, start a new session, or choose a model with a "
        "larger context"
    ),
    "image": FaultRow("{provider} did not accept an image: send a smaller one, or describe it in words"),
    "overloaded": FaultRow("{provider} is overloaded: try again later, or choose another model", retryable=True),
    "rate_limited": FaultRow(
        "{provider} limits the rate of requests for this key: wait, or use a key with a higher limit", retryable=True
    ),
    "conflict": FaultRow(
        "{provider} could not do this at the same time as another request: try again", "server", retryable=True
    ),
    "server": FaultRow("{provider} reported an internal error: try again", retryable=True),
    "moved": FaultRow("{provider} sent a redirect, which is not followed: correct the base URL", "protocol"),
    "connection": FaultRow("The connection to {provider} broke: check the network and try again", retryable=True),
    "nobody_there": FaultRow(
        "Nothing answers at the address of {provider}: is the server running?", "connection", retryable=True
    ),
    "not_running": FaultRow(
        "The server of {provider} is not running on this machine: start it{with_command}, then send the prompt again",
        "connection",
    ),
    "dns": FaultRow(
        "The host of {provider} was not found: check the base URL and the network", "connection", retryable=True
    ),
    "tls": FaultRow(
        "The encrypted connection to {provider} could not be made: check the base URL and the clock; for your own "
        "certificates set SSL_CERT_FILE",
        "connection",
    ),
    "proxy": FaultRow(
        "The proxy did not connect to {provider}: check HTTPS_PROXY, HTTP_PROXY and NO_PROXY", "connection"
    ),
    "timeout": FaultRow(
        "{provider} sent no data for too long: try again, or increase `providers.{provider}.idle_timeout`",
        retryable=True,
    ),
    "refused": FaultRow("{provider} refused this request: rephrase or remove the refused part"),
    "protocol": FaultRow("The answer of {provider} is not valid for its API: check the base URL and any proxy"),
    "other": FaultRow("{provider} reported a failure"),
}

_BY_STATUS: Mapping[int, Fault] = {
    400: "bad_request",
    401: "wrong_key",
    402: "no_credit",
    403: "not_allowed",
    404: "unknown_model",
    407: "proxy",
    408: "timeout",
    409: "conflict",
    413: "too_long",
    422: "bad_request",
    429: "rate_limited",
    503: "overloaded",
    529: "overloaded",
}
_REQUEST_IDS = ("request-id", "x-request-id", "x-goog-request-id", "apim-request-id", "cf-ray")
_UNPRINTABLE = late_pattern(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def fault_of(
    fault: Fault,
    provider: str,
    detail: str = "",
    *,
    request_id: str | None = None,
    retry_after: float | None = None,
    retryable: bool | None = None,
) -> ModelError:
    """Return the ModelError of a fault.

    detail     the message of the server or the operating system
    retryable  replaces the value from the table
    """
    row = FAULTS[fault]
    start = START_COMMANDS.get(provider, "")
    message = row.says.format(provider=provider, with_command=start and f" with `{start}`")
    if words := shortened(detail):
        message = f"{message} ({words})"
    if request_id:
        message = f"{message} [request {shortened(request_id)}]"
    may = row.retryable if retryable is None else retryable
    return ModelError(message, kind=row.kind or fault, retryable=may, retry_after=retry_after if may else None)


def fault_by_status(status: int) -> Fault:
    """Return the fault for an HTTP status. Used for answers whose body names no fault."""
    found = _BY_STATUS.get(status)
    if found is not None:
        return found
    if status >= 500:
        return "server"
    return "moved" if 300 <= status < 400 else "other"


def http_fault(
    status: int,
    headers: Mapping[str, str],
    provider: str,
    detail: str = "",
    *,
    fault: Fault | None = None,
    wait: float | None = None,
    retryable: bool | None = None,
) -> ModelError:
    """Return the ModelError for an HTTP error status. The request id and the retry delay are read from the headers.

    headers    the headers by lower-case name
    fault      the fault that the body names; by default the fault of the status
    wait       the retry delay that the body names; a delay in the headers replaces it
    retryable  replaces the value from the table; the header ``x-should-retry`` replaces both
    """
    after = retry_after(headers)
    told = {"true": True, "false": False}.get(headers.get("x-should-retry", "").strip().lower())
    return fault_of(
        fault or fault_by_status(status),
        provider,
        f"HTTP {status}: {detail}" if shortened(detail) else f"HTTP {status}",
        request_id=request_id_of(headers),
        retry_after=wait if after is None else after,
        retryable=retryable if told is None else told,
    )


def request_id_of(headers: Mapping[str, str]) -> str | None:
    """Return the request id that the provider or a proxy assigned; None if there is none."""
    return next((headers[name] for name in _REQUEST_IDS if headers.get(name)), None)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the retry delay in seconds that the server requests; None if it requests none.

    A date is compared with the server's Date header, so that a wrong clock on this machine has no effect.
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        seconds = _number(headers.get(name, ""))
        if seconds is not None:
            return max(0.0, seconds * unit)
    if "retry-after" not in headers or "date" not in headers:
        return None
    from email.utils import parsedate_to_datetime  # slow to import, rarely needed

    try:
        until = parsedate_to_datetime(headers["retry-after"])
        return max(0.0, (until - parsedate_to_datetime(headers["date"])).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None


def shortened(text: str) -> str:
    """Return the text as one line of printable characters, truncated to DETAIL_CHARS."""
    line = _UNPRINTABLE.sub(" ", text[: DETAIL_CHARS * 4]).strip().rstrip(".")
    return line if len(line) <= DETAIL_CHARS else line[: DETAIL_CHARS - 1] + "…"


def _number(text: str) -> float | None:
    try:
        value = float(text.strip())
    except ValueError:
        return None
    return value if isfinite(value) else None
