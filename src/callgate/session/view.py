"""The state of a session as properties."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from callgate.conversation.feature import FeaturePart, OpenSession
from callgate.conversation.feature_set import FeatureSet
from callgate.conversation.ledger import Ledger
from callgate.conversation.record import Record
from callgate.core.capabilities import all_tools, host_part
from callgate.core.ports import ToolSource
from callgate.notices.notices_feature import NAME as NOTICES
from callgate.notices.notices_feature import NoticesPart
from callgate.staging.feature import NAME as STAGING
from callgate.staging.feature import RelaxedStaging
from callgate.tools.session_state import TodoItem, folder_of, todos_of
from callgate.tools.tool_names import CallFace, ToolHints, face_of, hints_of, unknown_face
from callgate.words.calls import ToolCall
from callgate.words.errors import ToolFailure
from callgate.words.events import PromptQueued
from callgate.words.messages import Message, Spent, Usage
from callgate.words.model import ToolSpec, WantedEffort
from callgate.words.modes import Mode
from callgate.words.pending import Staged

if TYPE_CHECKING:
    from callgate.host.tasks import BackgroundTask
    from callgate.mcp.mcp_feature import ServersPart
    from callgate.mcp.server import Server
    from callgate.mcp.server_list import ServerList
    from callgate.search.search_feature import SearchPart
    from callgate.search.search_toolbox import SearchToolbox
    from callgate.words.tool_search import SearchUse


class SessionView:
    """The state of a session, read from the ledger and the features at each access."""

    _record: Record
    _opened: OpenSession
    _toolbox: ToolSource
    _features: FeatureSet

    @property
    def title(self) -> str:
        return str(self._ledger.metadata.get("title") or "")

    @property
    def tags(self) -> tuple[str, ...]:
        from callgate.transcript.session_summary import tags_of  # few sessions have any

        return tags_of(self._ledger.metadata.get("tags"))

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The metadata of the session, such as its title; see MetadataSet."""
        return self._ledger.metadata

    @property
    def mode(self) -> Mode:
        return self._ledger.mode

    @property
    def effort(self) -> WantedEffort | None:
        """The effort that was set for this session; None if the settings and the model decide."""
        return self._ledger.effort

    @property
    def _ledger(self) -> Ledger:
        return self._record.ledger

    @property
    def messages(self) -> tuple[Message, ...]:
        return tuple(self._ledger.messages)

    @property
    def answer(self) -> str:
        """The text of the model in the current or last run since its last tool call. The parts of a message that was
        cut off and continued are joined."""
        return self._ledger.answer.text

    @property
    def last_answer(self) -> str:
        """The last complete message in ``answer``. It differs from ``answer`` if a hook delayed the end of the run."""
        return self._ledger.answer.last

    @property
    def waiting(self) -> tuple[PromptQueued, ...]:
        """The queued prompts, in the order of their delivery."""
        return tuple(self._ledger.waiting.values())

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls of the current turn."""
        return tuple(entry.snapshot() for entry in self._ledger.calls.values())

    @property
    def context(self) -> Mapping[str, Any]:
        return self._ledger.context

    @property
    def changed_files(self) -> tuple[str, ...]:
        """The paths of the files that this program has changed, oldest change first."""
        return tuple(host_part(self._opened.host, "changed") or ())

    @property
    def todos(self) -> tuple[TodoItem, ...]:
        """The to-do list of the model, written with TodoWrite."""
        return todos_of(self._ledger.context)

    @property
    def folder(self) -> str | None:
        """The folder in which the next command runs; None for the workspace."""
        return folder_of(self._ledger.context)

    @property
    def usage(self) -> Usage:
        return self._ledger.usage

    @property
    def costs(self) -> tuple[Spent, ...]:
        """Tokens and dollars by model for the whole session, including abandoned branches and earlier programs."""
        return tuple(self._ledger.costs.values())

    @property
    def cost(self) -> float:
        """The costs of the whole session in dollars; models without a known price are left out."""
        return self._ledger.cost

    # ---- tools and features --------------------------------------------------------------------------------------

    def part(self, name: str) -> FeaturePart | None:
        """Return the part of the feature with this name, or None if the session has no such feature."""
        return self._features.parts.get(name)

    @property
    def _search(self) -> SearchToolbox | None:
        found = cast("SearchPart | None", self.part("search"))
        return None if found is None else found.box

    @property
    def tool_names(self) -> tuple[str, ...]:
        return tuple(each.spec.name for each in self._toolbox.tools())

    @property
    def tool_specs(self) -> tuple[ToolSpec, ...]:
        """The specifications of the tools, as sent to the model."""
        return tuple(each.spec for each in self._toolbox.tools())

    @property
    def mcp_servers(self) -> tuple[Server, ...]:
        """The MCP servers, in the order of their configuration."""
        return () if self.servers is None else tuple(self.servers.servers.values())

    @property
    def servers(self) -> ServerList | None:
        """The list of MCP servers, or None if the session has none."""
        found = cast("ServersPart | None", self.part("mcp"))
        return None if found is None else found.servers

    @property
    def deferred_specs(self) -> tuple[ToolSpec, ...]:
        """The specifications of the tools that the model finds by search."""
        return () if self._search is None else tuple(each.spec for each in self._search.deferred())

    @property
    def tool_search(self) -> SearchUse | None:
        """The mode of tool search, the number of deferred tools and their cost; None without tool search."""
        return None if self._search is None else self._search.use()

    def face(self, name: str, arguments: Mapping[str, Any]) -> CallFace:
        """Return the title, icon and line with which an interface shows a call of this tool."""
        named = [each for each in all_tools(self._toolbox) if name in (each.spec.name, *each.aliases)]
        return face_of(named[0], arguments, self.root) if named else unknown_face(name, arguments, self.root)

    @cached_property
    def root(self) -> str:
        """The absolute path of the workspace."""
        return self._opened.host.normal(".")

    def hints(self) -> Mapping[str, ToolHints]:
        """Return the hints of each tool for other programs, by tool name."""
        return {each.spec.name: hints_of(each) for each in self._toolbox.tools()}

    @property
    def _notices(self) -> NoticesPart | None:
        return self._opened.part(NOTICES, NoticesPart)

    @property
    def background(self) -> Mapping[str, int]:
        """The number of running background tasks by kind: command, agent, workflow, watch."""
        return {} if self._notices is None else self._notices.running()

    @property
    def background_tasks(self) -> tuple[BackgroundTask, ...]:
        """The background tasks of this session, oldest first."""
        return () if self._notices is None else self._notices.tasks

    async def stop_background(self, task_id: str) -> None:
        """Stop a background task and wait until it has ended. Raise ToolFailure if there is no such task."""
        if self._notices is None:
            raise ToolFailure(f"There is no background task {task_id!r}.")
        await self._notices.stop(task_id)

    @property
    def _staging(self) -> RelaxedStaging | None:
        return self._opened.part(STAGING, RelaxedStaging)

    @property
    def pending(self) -> tuple[Staged, ...]:
        """The pending actions, newest first."""
        return () if self._staging is None else self._staging.pending
