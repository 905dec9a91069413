"""Fetches a page and follows redirects on the same host. The host of each redirect is resolved and checked again."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from urllib.parse import quote, urljoin

from callgate.host.host_addresses import Resolve, host_name, system_addresses, target_of
from callgate.host.http_client import HttpClient
from callgate.words.errors import ToolFailure
from callgate.words.noun import noun

SILENT_SECONDS = 30.0
"""The timeout of each wait for the server. The whole fetch is limited by the timeout of the call."""
MOST_REDIRECTS = 5
_REDIRECTIONS = (301, 302, 303, 307, 308)
_NOT_ESCAPED = "!#$%&'()*+,/:;=?@[]~"
_ACCEPT = "text/markdown, text/html;q=0.9, text/plain;q=0.9, application/json;q=0.9, */*;q=0.5"


@noun
class FetchedPage:
    """A page that was fetched.

    url       the URL after all redirects
    cut       True if the body was longer than the limit
    moved_to  the target of a redirect to another host, which was not followed
    """

    url: str
    status: int
    reason: str
    content_type: str
    body: bytes
    cut: bool = False
    moved_to: str | None = None


@noun
class WebRules:
    """The rules for the hosts and addresses of pages.

    host_of  a callback that returns the normalised host of a URL; None if URL parsers return different hosts
    refuses  a callback that gets a host and its IP address and returns True if the address must not be contacted
    """

    host_of: Callable[[str], str | None]
    refuses: Callable[[str, str], bool]


class PageFetch:
    """The fetch of one page. ``run`` blocks and runs in a worker thread; ``stop`` is thread-safe."""

    def __init__(self, rules: WebRules, agent: str, most: int, resolve: Resolve = system_addresses) -> None:
        self._rules = rules
        self._headers = {"User-Agent": agent, "Accept": _ACCEPT, "Accept-Encoding": "gzip, identity"}
        self._resolve = resolve
        self._client = HttpClient(most=most, silent_seconds=SILENT_SECONDS)
        self.stop = self._client.stop

    def run(self, url: str) -> FetchedPage:
        """Fetch and return the page. Raise ToolFailure if it cannot be fetched."""
        first = url
        for _ in range(MOST_REDIRECTS + 1):
            page = self._one(url)
            if page.moved_to is None or self._is_elsewhere(first, url, page.moved_to):
                return page
            url = page.moved_to
        raise ToolFailure(f"{first} redirects more than {MOST_REDIRECTS} times.")

    def _is_elsewhere(self, first: str, url: str, target: str) -> bool:
        other = self._rules.host_of(target) != self._rules.host_of(first)
        return other or (url.lower().startswith("https:") and not target.lower().startswith("https:"))

    def _one(self, url: str) -> FetchedPage:
        host = self._rules.host_of(url)
        if host is None:
            raise ToolFailure(f"{url} is not a valid http or https URL, so it is not fetched.")

        def checked(name: str, port: int) -> Sequence[str]:
            found = self._resolve(name, port)
            refused = [address for address in found if self._rules.refuses(address, host)]
            if refused:
                raise ToolFailure(
                    f"{host} is at {refused[0]}, an address of this machine, its network or its cloud, "
                    "so the page is not fetched."
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
    return (headers.get("location") or None) if status in _REDIRECTIONS else None
