"""The feature ``mcp``: MCP servers, and the resources that a message of the user mentions.

The resource ``@server:address`` is read before the request to the model, by an ordinary call of ReadMcpResource: it is
checked by the gate, recorded, limited and resumed like any call. A mention grants no permission, because the text may
be pasted.
"""

import re
from collections.abc import Collection, Sequence

from callgate.conversation.feature import Feature, FeaturePart, InjectedCall, OpenSession
from callgate.mcp.approvals import definition_check
from callgate.mcp.server_list import READ, ServerList, connection_check, settled
from callgate.notices.notices_feature import NAME as NOTICES
from callgate.notices.notices_feature import NoticesPart
from callgate.words.events import CallProgressed, Noted
from callgate.words.messages import Message
from callgate.words.tool_search import EXECUTE

NAME = "mcp"
MOST_MENTIONED = 20
"""The maximum number of resources that are read for one message. If there are more, the user and the model are
informed."""
_LONGEST = 2_000
_MENTION = re.compile(r"""(?:^|(?<=[\s(\[{]))@(?:"([^"\n]+)"|([^\s"]+))""")
_END = ",.;:!?)]}>'"


def mentions_in(text: str, servers: Collection[str]) -> list[tuple[str, str]]:
    """Return the server and the address of each mentioned resource, each once. A quoted address may contain spaces
    and end with any character."""
    found: dict[tuple[str, str], None] = {}
    for match in _MENTION.finditer(text) if servers else ():
        server, _, uri = (match[1] or match[2].rstrip(_END)).partition(":")
        if server in servers and 0 < len(uri.strip()) <= _LONGEST:
            found[server, uri.strip()] = None
    return [*found]


class ServersPart(FeaturePart):
    """The MCP servers of one session. They are closed with the session."""

    def __init__(self, opened: OpenSession, servers: ServerList) -> None:
        self._opened = opened
        self._notices = opened.needed(NOTICES, NoticesPart)
        self.servers = servers
        self.checks = (connection_check(servers.servers, servers.awaited, self._waits), definition_check())

    def _waits(self, call_id: str, text: str) -> None:
        self._opened.record.publish(CallProgressed(self._opened.now(), call_id, text))

    def calls_before(self, said: Sequence[Message]) -> Sequence[InjectedCall]:
        found = mentions_in("\n".join(message.said for message in said), self.servers.servers)
        if not found:
            return ()
        if len(found) > MOST_MENTIONED:
            text = f"the first {MOST_MENTIONED} of {len(found)} resources mentioned in the message are read"
            self._opened.record.write(Noted(self._opened.now(), text))
            self._notices.add("server", text)
        names = {each.spec.name for each in self._opened.equipment.toolbox.tools()}
        deferred = EXECUTE in names and READ not in names
        return [
            _read(*mention, f"mention_{said[-1].id}_{at}", deferred)
            for at, mention in enumerate(found[:MOST_MENTIONED], 1)
        ]

    async def before_resume(self, tools: Sequence[str]) -> None:
        await settled(self.servers.servers, tools)

    async def close(self, *, discard: bool) -> None:
        await self.servers.aclose()


def _read(server: str, uri: str, call_id: str, deferred: bool) -> InjectedCall:
    given = {"server": server, "uri": uri}
    if deferred:
        return InjectedCall(call_id, EXECUTE, {"tool_name": READ, "params": given})
    return InjectedCall(call_id, READ, given)


def servers_feature(servers: ServerList) -> Feature:
    """Return the feature of MCP servers: it reads mentioned resources and checks changed tool definitions.

    The tools of the servers are deferred: pass ``servers`` to ``search_feature`` too.
    """
    return Feature(NAME, lambda opened: ServersPart(opened, servers), needs=frozenset({NOTICES}))
