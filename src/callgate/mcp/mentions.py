"""Resources that a person's message mentions: ``@server:address`` is read before the model is asked.

The read is an ordinary call of ReadMcpResource, made by a model that stands in for the session's own for one message:
gate, record, limits and resume are those of every call. The mention gives no permission: its text may be pasted.
"""

import re
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from json import dumps

from callgate.conversation.ports import Model
from callgate.core.ports import ToolSource
from callgate.mcp.late import settled
from callgate.mcp.server import Server
from callgate.words.messages import Message
from callgate.words.model import (
    Abilities,
    ArgumentsDelta,
    MessageEnded,
    MessageStarted,
    ModelEvent,
    PartEnded,
    PartStarted,
    Request,
)
from callgate.words.noun import noun
from callgate.words.tool_search import EXECUTE

READ = "ReadMcpResource"
MOST_MENTIONED = 20
"""Resources that are read for one message; of the others the person and the model are told."""
_LONGEST = 2_000
_MENTION = re.compile(r"""(?:^|(?<=[\s(\[{]))@(?:"([^"\n]+)"|([^\s"]+))""")
_END = ",.;:!?)]}>'"


@noun
class ResourceMention:
    """``server`` is its name, ``uri`` the address of a resource of it."""

    server: str
    uri: str


def mentions_in(text: str, servers: Collection[str]) -> list[ResourceMention]:
    """Those of these servers, each once. In quotes an address may have blanks, and end with any character."""
    found: dict[ResourceMention, None] = {}
    for match in _MENTION.finditer(text) if servers else ():
        server, _, uri = (match[1] or match[2].rstrip(_END)).partition(":")
        if server in servers and 0 < len(uri.strip()) <= _LONGEST:
            found[ResourceMention(server, uri.strip())] = None
    return [*found]


class MentionedResources:
    """The port ``Opening``. ``toolbox`` says whether the tool is deferred; ``inform`` tells people and the model."""

    def __init__(self, servers: Mapping[str, Server], toolbox: ToolSource, inform: Callable[[str], None]) -> None:
        self._servers = servers
        self._toolbox = toolbox
        self._inform = inform

    def stand_in(self, said: Sequence[Message], abilities: Abilities) -> Model | None:
        found = mentions_in("\n".join(message.said for message in said), self._servers)
        if not found:
            return None
        if len(found) > MOST_MENTIONED:
            self._inform(f"the first {MOST_MENTIONED} of {len(found)} resources that the message mentions are read")
        names = {each.spec.name for each in self._toolbox.tools()}
        deferred = EXECUTE in names and READ not in names
        return MentionModel(found[:MOST_MENTIONED], said[-1].id, abilities, deferred=deferred)

    async def before_resume(self, tools: Sequence[str]) -> None:
        await settled(self._servers, tools)


class MentionModel:
    """Reads these resources in one message. ``after`` is the id of the message before it, for ids of its own."""

    name = ""

    def __init__(
        self, mentions: Sequence[ResourceMention], after: str, abilities: Abilities, *, deferred: bool
    ) -> None:
        self.abilities = abilities
        self._mentions = mentions
        self._after = after
        self._deferred = deferred

    async def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        yield MessageStarted("", self.name)
        for at, mention in enumerate(self._mentions):
            given = {"server": mention.server, "uri": mention.uri}
            call = {"tool_name": READ, "params": given} if self._deferred else given
            yield PartStarted(at, "tool_call", f"mention_{self._after}_{at + 1}", EXECUTE if self._deferred else READ)
            yield ArgumentsDelta(at, dumps(call, ensure_ascii=False))
            yield PartEnded(at)
        yield MessageEnded("tool_calls")
