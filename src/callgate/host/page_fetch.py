"""Fetch a page and follow its redirections on the same host. Each one is resolved and checked anew."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from urllib.parse import quote, urljoin

from callgate.host.host_addresses import Resolve, host_name, system_addresses, target_of
from callgate.host.http_client import HttpClient
from callgate.words.errors import ToolFailure
from callgate.words.noun import noun

SILENT_SECONDS = 30.0
"""The timeout of each wait for the server. The time of the whole fetch is the timeout of the call."""
MOST_REDIRECTS = 5
_REDIRECTIONS = (301, 302, 303, 307, 308)
_NOT_ESCAPED = "!#$%&'()*+,/:;=?@[]~"
_ACCEPT = "text/markdown, text/html;q=0.9, text/plain;q=0.9, application/json;q=0.9, */*;q=0.5"


@noun
class FetchedPage:
    """``url`` is the address that answered. ``cut``: the body was longer than the limit. ``moved_to`` is the target of
    a redirection that was not followed, because it leads to another host."""

    url: str
    status: int
    reason: str
    content_type: str
    body: bytes
    cut: bool = False
    moved_to: str | None = None


@noun
class WebRules:
    """``host_of`` returns the host of an address in the form in which hosts are compared, or None if parsers disagree
    on it. ``refuses`` returns True for an IP address of this host from which nothing may be fetched."""

    host_of: Callable[[str], str | None]
    refuses: Callable[[str, str], bool]


class PageFetch:
    """One fetch. ``run`` blocks and belongs in a worker thread; ``stop`` may be called from any thread."""

    def __init__(self, rules: WebRules, agent: str, most: int, resolve: Resolve = system_addresses) -> None:
        self._rules = rules
        self._headers = {"User-Agent": agent, "Accept": _ACCEPT, "Accept-Encoding": "gzip, identity"}
        self._resolve = resolve
        self._client = HttpClient(most=most, silent_seconds=SILENT_SECONDS)
        self.stop = self._client.stop

    def run(self, url: str) -> FetchedPage:
        """Return the page. ToolFailure says in words why there is none."""
        first = url
        for _ in range(MOST_REDIRECTS + 1):
            page = self._one(url)
            if page.moved_to is None or self._is_elsewhere(first, url, page.moved_to):
                return page
            url = page.moved_to
        raise ToolFailure(f"{first} redirects more than {MOST_REDIRECTS} times.")

    def _is_elsewhere(self, first: str, url: str, target: str) -> bool:
        """True for another host, and for the same one without encryption."""
        other = self._rules.host_of(target) != self._rules.host_of(first)
        return other or (url.lower().startswith("https:") and not target.lower().startswith("https:"))

    def _one(self, url: str) -> FetchedPage:
        host = self._rules.host_of(url)
        if host is None:
            raise ToolFailure(f"{url} is not a plain http or https address, so it is not fetched.")

        def checked(name: str, port: int) -> Sequence[str]:
            found = self._resolve(name, port)
            refused = [address for address in found if self._rules.refuses(address, host)]
            if refused:
                raise ToolFailure(
                    f"{host} is at {refused[0]}, an address of this machine, its network or its cloud: nothing is "
                    "fetched from there."
                )
            return found

        try:
            target = target_of(url)
            target = replace(target, host=host_name(host), path=quote(target.path, safe=_NOT_ESCAPED))
            answer = self._client.send(
                target,
                self._headers,
                addresses=checked,
                reads_body=lambda status, headers: not _location(status, headers),
            )
        except (OSError, ValueError) as error:
            raise ToolFailure(f"{url} could not be fetched: {error or type(error).__name__}") from error
        location = _location(answer.status, answer.headers)
        return FetchedPage(
            url=url,
            status=answer.status,
            reason=answer.reason,
            content_type=answer.headers.get("content-type", ""),
            body=answer.body,
            cut=answer.cut,
            moved_to=None if location is None else urljoin(url, location.strip()),
        )


def _location(status: int, headers: Mapping[str, str]) -> str | None:
    """Return the target of a redirection, and None for every other answer."""
    return (headers.get("location") or None) if status in _REDIRECTIONS else None
