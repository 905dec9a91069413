"""The tool WebFetch: returns a web page as text. ``host/page_fetch`` fetches the page, ``page_text`` converts it."""

from collections.abc import Collection
from functools import partial
from typing import Annotated, Any

from pydantic import StringConstraints

from callgate._version import __version__
from callgate.core.ports import Run
from callgate.host.threads import in_thread, threads_of
from callgate.policy.hosts import host_of, is_private, normal_host
from callgate.tools.builtin import builtin_tool
from callgate.tools.tool import FunctionTool
from callgate.words.calls import Result
from callgate.words.errors import UsageError
from callgate.words.traits import shared

MOST_BYTES = 5_000_000
SECONDS = 60.0


def web_fetch(*, private: Collection[str] = (), seconds: float = SECONDS, most: int = MOST_BYTES) -> FunctionTool[Any]:
    """Make the tool ``WebFetch``. A call for an HTML page requires ``callgate[web]``.

    private  the hosts that may have a private address, such as ``localhost:8000``
    seconds  the timeout of one fetch
    most     the limit on the bytes of a page
    """
    named = {normal_host(each) for each in private}
    if None in named:
        raise UsageError(f"private= must contain hosts such as localhost:8000, not {', '.join(map(repr, private))}")

    def refuses(address: str, host: str) -> bool:
        return host not in named and is_private(address)

    async def web_fetch(
        url: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)], run: Run
    ) -> Result:
        """Fetch.

        Args:
            url: the whole address, with http:// or https://
        """
        from callgate.host.page_fetch import PageFetch, WebRules
        from callgate.tools.page_text import page_result

        fetch = PageFetch(WebRules(host_of, refuses), f"callgate/{__version__}", most)
        threads = threads_of(run.host)
        page = await in_thread(partial(fetch.run, url), on_cancel=fetch.stop, threads=threads)
        return await in_thread(partial(page_result, page), threads=threads)

    return builtin_tool(
        web_fetch,
        title="Fetch a page",
        address="url",
        effects="none",
        locks=shared,
        timeout=seconds,
        interrupt="cancel",
        always_loaded=False,
        search_hint="download a web page, read a URL, documentation online",
    )
