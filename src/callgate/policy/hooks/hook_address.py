"""Hooks behind an address: one POST, no redirects, and nothing unencrypted leaves the machine."""

from collections.abc import Sequence
from ipaddress import ip_address
from urllib.parse import urlsplit

from callgate.host.host_addresses import HttpTarget, system_addresses, target_of
from callgate.policy.hooks.hook_answers import LARGEST, read_json
from callgate.policy.hooks.hook_protocol import SILENT, HookAnswer, HookFailure


def parse_address(text: str) -> HttpTarget:
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
    return target_of(text)


def _on_this_machine(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def shown_address(target: HttpTarget) -> str:
    """Return the address without its query, which may contain a secret."""
    host = f"[{target.host}]" if ":" in target.host else target.host
    return f"{'https' if target.secure else 'http'}://{host}:{target.port}{target.path.partition('?')[0]}"


class Post:
    """One request, made in a thread by ``send``. ``stop``, from any thread, makes it fail soon."""

    def __init__(self, target: HttpTarget, event: str, body: bytes, timeout: float) -> None:
        from callgate.host.http_client import HttpClient  # loads http.client and ssl

        self._target = target
        self._event = event
        self._body = body
        self._client = HttpClient(most=LARGEST, silent_seconds=timeout, connect_seconds=timeout)
        self.stop = self._client.stop

    def send(self) -> HookAnswer | HookFailure:
        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "callgate"}
        try:
            answer = self._client.send(
                self._target, headers, method="POST", body=self._body, addresses=self._addresses, reads_body=_is_success
            )
        except _Elsewhere:
            return HookFailure("is not on this machine, and nothing is posted to others unencrypted")
        except TimeoutError:
            return HookFailure("did not answer in time")
        except OSError as error:
            return HookFailure("could not be reached", type(error.__cause__ or error).__name__)
        if not _is_success(answer.status):
            return HookFailure(f"answered with status {answer.status}")
        if answer.cut:
            return HookFailure("answered with more than anybody reads")
        return read_json(self._event, answer.body) if answer.body.strip() else SILENT

    def _addresses(self, name: str, port: int) -> Sequence[str]:
        found = system_addresses(name, port)
        if not self._target.secure and not all(map(_on_this_machine, found)):
            raise _Elsewhere
        return found


class _Elsewhere(Exception):
    """A name of this machine leads to another one."""


def _is_success(status: int, headers: object = None) -> bool:
    return 200 <= status < 300
