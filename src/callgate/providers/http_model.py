"""A model that is reached over HTTP: sends the POST of a family and parses the events of the answer.

This module retries a request in one case only: if the server closed a pooled connection before the first byte of the
answer, the request is sent again on a new connection. Every other failure is raised as a ModelError, which the turn
handles.
"""

import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace

from callgate._version import __version__
from callgate.core.ports import Clock
from callgate.providers.addresses import base_url
from callgate.providers.connection import Watchdog
from callgate.providers.exchange import ConnectionPool, Exchange, failure, fault_of_exception
from callgate.providers.family import Family, HttpPost, ModelFacts
from callgate.providers.fault_table import fault_of
from callgate.providers.stream_parser import AnswerTally, ServerEventReader, with_joined_deltas
from callgate.providers.wire_recording import REMOVED, WireRecorder, WireTape
from callgate.words.errors import ModelError
from callgate.words.late_pattern import late_pattern
from callgate.words.model import (
    ModelEvent,
    ModelNoted,
    Request,
)
from callgate.words.noun import nothing

IDLE_SECONDS, LOCAL_IDLE_SECONDS = 90.0, 600.0
"""The default timeout of each wait for the server: for the connection, the answer, and between bytes. A local server
may read a long prompt for minutes before it answers."""
SECRET_HEADER = late_pattern(r"key|token|secret|auth|pass|cookie|credential|signature|session", re.IGNORECASE)
PUBLIC_HEADERS = (
    *("accept", "accept-encoding", "content-type", "content-length", "host", "user-agent", "http-referer", "referer"),
    *("x-title", "anthropic-version", "anthropic-beta", "openai-beta", "x-request-id", "traceparent"),
)
_SENT_ALWAYS = {
    "User-Agent": f"callgate/{__version__}",
    "Accept": "text/event-stream, application/json;q=0.9",
    "Accept-Encoding": "identity",
    "Content-Type": "application/json",
}


class HttpModel:
    """A Model (see ``core.ports``) that is reached over HTTP.

    base          the base URL of the server
    headers       headers added to every request; they replace headers of the family
    idle_seconds  the timeout of each wait for the server
    """

    def __init__(
        self,
        name: str,
        family: Family,
        facts: ModelFacts,
        *,
        key: str | None,
        clock: Clock,
        base: str,
        headers: Mapping[str, str] | None = None,
        idle_seconds: float = IDLE_SECONDS,
        pool: ConnectionPool | None = None,
        recorder: WireRecorder | None = None,
    ) -> None:
        self.name = name
        self._family = family
        self._facts = facts
        self._key = key
        self._clock = clock
        self._base = base_url(base)
        self._headers = headers or nothing()
        self._idle_seconds = idle_seconds
        self._pool = pool or ConnectionPool(clock)
        self._recorder = recorder
        self._noted: set[str] = set()
        self.abilities = facts.abilities

    @property
    def provider(self) -> str:
        return self.name.partition("/")[0] if "/" in self.name else self._family.name

    async def aclose(self) -> None:
        self._pool.close()

    async def stream(self, request: Request) -> AsyncGenerator[ModelEvent]:
        post, notes = self._family.post(request, self._facts, self._key)
        told = [] if self._recorder is None else self._recorder.take_faults()
        for note in self._new_notes([*notes, *told]):
            yield ModelNoted(note)
        post = replace(post, headers=merge_headers(_SENT_ALWAYS, post.headers, self._headers))
        exchange = Exchange(self._pool, self._base, Watchdog(self._clock, self._idle_seconds), self._tape(post))
        parser, reader, tally = self._family.parser(), ServerEventReader(), AnswerTally(request)
        failed: Exception | None = None
        over = False
        try:
            head = await exchange.open(post)
            failed = await failure(exchange, head, self._family, self.provider)
            if failed is not None:
                raise failed
            while not tally.ended and (piece := await exchange.piece()) is not None:
                found = reader.feed(piece)
                if exchange.tape is not None:
                    exchange.tape.events(found)
                parsed = (event for server_event in found for event in parser.feed(server_event))
                for event in with_joined_deltas(parsed):
                    yield tally.count(event)
                    if tally.ended:
                        break
            if not tally.ended:
                for event in with_joined_deltas(parser.end()):
                    yield tally.count(event)
            if not tally.has_events:
                raise fault_of("protocol", self.provider, "an empty answer", retryable=True)
            over = True
        except Exception as error:
            failed = fault_of_exception(error, self.provider, self._base, self._idle_seconds)
            failed = without_secrets(failed, secrets_of(self._key, post.headers))
            raise failed from None
        finally:
            exchange.close(whole=tally.ended, over=over, failed=failed)

    def _tape(self, post: HttpPost) -> WireTape | None:
        if self._recorder is None:
            return None
        secrets = secrets_of(self._key, post.headers)
        return self._recorder.begin(self.name, self._family.name, self._base.full_url(post.path), post, secrets)

    def _new_notes(self, notes: Sequence[str]) -> list[str]:
        new = [note for note in dict.fromkeys(notes) if note not in self._noted]
        self._noted.update(new)
        return new


def merge_headers(*headers: Mapping[str, str]) -> dict[str, str]:
    """Merge headers by name, ignoring case; later headers replace earlier ones."""
    found: dict[str, tuple[str, str]] = {}
    for each in headers:
        found.update((name.lower(), (name, value)) for name, value in each.items())
    return dict(found.values())


def secrets_of(key: str | None, headers: Mapping[str, str]) -> set[str]:
    """Return the key and the values of headers that may contain credentials. A header may contain credentials if its
    name suggests it, or if its value has digits and its name is not known to be public."""
    values = [
        value
        for name, value in headers.items()
        if name.lower() not in PUBLIC_HEADERS
        and (SECRET_HEADER.search(name) or (len(value) > 7 and any(map(str.isdigit, value))))
    ]
    return {word for value in (key or "", *values) for word in (value, *value.split()) if len(word) > 5}


def without_secrets(error: Exception, secrets: set[str]) -> Exception:
    """Return the error, with secrets removed from the message of a ModelError."""
    text = str(error)
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, REMOVED)
    if not isinstance(error, ModelError) or text == str(error):
        return error
    return ModelError(text, kind=error.kind, retryable=error.retryable, retry_after=error.retry_after)
