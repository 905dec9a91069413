"""Hooks behind an address: one POST, no redirects, and nothing unencrypted leaves the machine."""

from __future__ import annotations

import socket
import ssl
from contextlib import suppress
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from callgate.policy.hooks.hook_answers import LARGEST, read_json
from callgate.policy.hooks.hook_protocol import SILENT, HookAnswer, HookFailure
from callgate.words.noun import noun

if TYPE_CHECKING:
    from http.client import HTTPConnection  # loaded with the first POST: it brings the e-mail package along


@noun
class Address:
    """The target of a POST. ``shown`` leaves the query out: that may hold a secret."""

    secure: bool
    host: str
    port: int
    path: str

    @property
    def shown(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.secure else 'http'}://{host}:{self.port}{self.path.partition('?')[0]}"


def parse_address(text: str) -> Address:
    """ValueError says why nothing is posted there."""
    if any(ord(character) <= 32 or ord(character) >= 127 for character in text):
        raise ValueError("an address has no blanks and nothing but ASCII")
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("an address begins with https:// (or http:// on this machine) and a host")
    if parts.username is not None or parts.password is not None:
        raise ValueError("an address has no user and no password")
    if parts.scheme == "http" and not _on_this_machine(parts.hostname):
        raise ValueError("http is for this machine alone (localhost, 127.0.0.1, [::1]); use https")
    port = parts.port or (443 if parts.scheme == "https" else 80)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Address(parts.scheme == "https", parts.hostname, port, path)


def _on_this_machine(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


class Post:
    """One request, made in a thread by ``send``. ``stop``, from anywhere, makes it fail soon."""

    def __init__(self, address: Address, event: str, body: bytes, timeout: float) -> None:
        self._address = address
        self._event = event
        self._body = body
        self._timeout = timeout
        self._connection: HTTPConnection | None = None

    def stop(self) -> None:
        open_socket = self._connection and self._connection.sock
        if open_socket is not None:
            with suppress(OSError):
                open_socket.shutdown(socket.SHUT_RDWR)

    def send(self) -> HookAnswer | HookFailure:
        from http.client import HTTPException

        self._connection = connection = self._connect()
        try:
            return self._talk(connection)
        except TimeoutError:
            return HookFailure("did not answer in time")
        except (OSError, HTTPException) as error:
            return HookFailure("could not be reached", type(error).__name__)
        finally:
            connection.close()

    def _connect(self) -> HTTPConnection:
        from http.client import HTTPConnection, HTTPSConnection

        host, port = self._address.host, self._address.port
        if self._address.secure:
            return HTTPSConnection(host, port, timeout=self._timeout, context=ssl.create_default_context())
        return HTTPConnection(host, port, timeout=self._timeout)

    def _talk(self, connection: HTTPConnection) -> HookAnswer | HookFailure:
        connection.connect()
        if not self._address.secure and not _on_this_machine(connection.sock.getpeername()[0]):
            return HookFailure("is not on this machine, and nothing is posted to others unencrypted")
        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "callgate"}
        connection.request("POST", self._address.path, self._body, headers)
        response = connection.getresponse()
        if not 200 <= response.status < 300:
            return HookFailure(f"answered with status {response.status}")
        data = response.read(LARGEST + 1)
        if len(data) > LARGEST:
            return HookFailure("answered with more than anybody reads")
        return read_json(self._event, data) if data.strip() else SILENT
