"""State and operations of a session that only interfaces use, such as the terminal. They are not on ``Session``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from callgate.conversation.feature import OpenSession
from callgate.core.capabilities import all_tools, host_part
from callgate.notices.notices_feature import NAME as NOTICES
from callgate.notices.notices_feature import NoticesPart
from callgate.session.work import Work
from callgate.tools.builtin import BUILTIN
from callgate.tools.session_state import TodoItem, folder_of, todos_of
from callgate.tools.tool_names import CallFace, ToolHints, face_of, hints_of, unknown_face
from callgate.words.decisions import ApprovalPolicy
from callgate.words.errors import ToolFailure, UsageError
from callgate.words.events import Noted
from callgate.words.messages import Spent
from callgate.words.model import Effort, EffortInForce, ToolSpec

if TYPE_CHECKING:
    from callgate.host.tasks import BackgroundTask
    from callgate.mcp.mcp_feature import ServersPart
    from callgate.mcp.server import Server
    from callgate.mcp.server_list import ServerList
    from callgate.search.search_feature import SearchPart
    from callgate.search.search_toolbox import SearchToolbox
    from callgate.transcript.token_count import ContextUse
    from callgate.words.tool_search import SearchUse

__all__ = ["CallFace", "SessionControls", "unknown_face"]


class SessionControls:
    """State and operations for interfaces; ``session.controls`` returns the object of a session.

    host     the files, processes and locks of the tools
    folders  further folders of the user, set by the creator of the session
    """

    def __init__(self, opened: OpenSession, work: Work) -> None:
        self.host = opened.host
        self.folders: tuple[str, ...] = ()
        self._opened = opened
        self._record = opened.record
        self._toolbox = work.equipment.toolbox
        self._parts = work.equipment.features.parts
        self._work = work

    # ---- the conversation ---------------------------------------------------------------------------------------

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the user about the start of the session, such as skipped settings. An interface may show the
        notes at once. When the session starts to work, each note is written as a Noted event."""
        return self._work.notes

    @property
    def last_answer(self) -> str:
        """The last complete message of the model. ``Session.answer`` also has earlier messages if a hook delayed the
        end of the run."""
        return self._record.ledger.answer.last

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The metadata of the session, such as its title; see MetadataSet."""
        return self._record.ledger.metadata

    @property
    def tags(self) -> tuple[str, ...]:
        from callgate.transcript.session_summary import tags_of  # few sessions have any

        return tags_of(self.metadata.get("tags"))

    async def recap(self) -> str:
        """Return a summary of the work in at most 40 words, written by the cheap model. Raise UsageError if the
        session has no messages, and ModelError if the model fails."""
        from callgate.compaction.summaries import (
            UnusedAnswers,  # seldom used
            recap_of,
        )

        messages = tuple(self._record.ledger.messages)
        if not messages:
            raise UsageError("There are no messages to recap yet.")
        paid = UnusedAnswers("recap", self._record, self.host.clock, self._opened.price)
        return await recap_of(messages, self._opened.cheap or self._work.equipment.model, paid)

    def note(self, text: str) -> None:
        """Write a note for the user as a Noted event. Do nothing if the session is closed."""
        if self._work.status != "closed":
            self._record.write(Noted(self._opened.now(), text))

    def inform(self, text: str) -> None:
        """Write a note for the user, and a notice with the same text for the model."""
        self.note(text)
        if self._work.status != "closed" and self._notices is not None:
            self._notices.add("server", text)

    def deliver(self) -> bool:
        """Call the listeners with all pending events at once, not in the next iteration of the event loop. Return
        False if some events are not durable yet."""
        return self._record.deliver()

    def take_failure(self) -> Exception | None:
        """Return the exception that ended the last work and clear it; None if there was no exception."""
        return self._work.take_failure()

    # ---- the model ----------------------------------------------------------------------------------------------

    @property
    def window(self) -> int | None:
        """The size of the model's context window in tokens; None if it is unknown."""
        return self._work.equipment.model.abilities.context_tokens

    @property
    def effort_in_force(self) -> EffortInForce:
        """The effort of the next request: the requested effort, its source, and the level that is sent to the model."""
        return self._work.effort

    @property
    def efforts(self) -> tuple[Effort, ...]:
        """The effort levels that the model supports, lowest first."""
        return self._work.equipment.model.abilities.efforts

    @property
    def open_spent(self) -> Spent | None:
        """Tokens and price of the message in an open turn; None if no turn is open. When the turn has ended, they
        are included in ``Session.costs``."""
        return self._work.open_spent

    def context_use(self) -> ContextUse:
        """Return the use of the context window by the next request: the tokens, the share of each kind of content,
        and the limits for a warning, a compaction and a refusal."""
        from callgate.compaction.compaction_feature import CompactionPart

        found = self._opened.part("compaction", CompactionPart)
        return (found or CompactionPart(self._opened, None, automatic=False)).history.use()

    # ---- files --------------------------------------------------------------------------------------------------

    @cached_property
    def root(self) -> str:
        """The absolute path of the workspace."""
        return self.host.normal(".")

    @property
    def folder(self) -> str | None:
        """The folder in which the next command runs; None for the workspace."""
        return folder_of(self._record.ledger.context)

    @property
    def changed_files(self) -> tuple[str, ...]:
        """The paths of the files that this program has changed, oldest change first."""
        return tuple(host_part(self.host, "changed") or ())

    # ---- tools --------------------------------------------------------------------------------------------------

    def face(self, name: str, arguments: Mapping[str, Any]) -> CallFace:
        """Return the title, icon and line with which an interface shows a call of this tool."""
        named = [each for each in all_tools(self._toolbox) if name in (each.spec.name, *each.aliases)]
        if not named:
            return unknown_face(name, arguments, self.root)
        return face_of(named[0], arguments, self.root, shows_title=named[0].spec.name not in BUILTIN)

    def hints(self) -> Mapping[str, ToolHints]:
        """Return the hints of each tool for other programs, by tool name."""
        return {each.spec.name: hints_of(each) for each in self._toolbox.tools()}

    @property
    def tool_specs(self) -> tuple[ToolSpec, ...]:
        """The specifications of the tools, as sent to the model."""
        return tuple(each.spec for each in self._toolbox.tools())

    @property
    def deferred_specs(self) -> tuple[ToolSpec, ...]:
        """The specifications of the tools that the model finds by search."""
        return () if self._search is None else tuple(each.spec for each in self._search.deferred())

    @property
    def tool_search(self) -> SearchUse | None:
        """The mode of tool search, the number of deferred tools and the tokens of their definitions; None without
        tool search."""
        return None if self._search is None else self._search.use()

    @property
    def remembered(self) -> tuple[ApprovalPolicy, ...]:
        """The remembered answers that apply to calls: of this session, of the project and of the user."""
        return tuple(self._record.ledger.policies)

    @property
    def todos(self) -> tuple[TodoItem, ...]:
        """The to-do list of the model, written with TodoWrite."""
        return todos_of(self._record.ledger.context)

    @property
    def servers(self) -> ServerList | None:
        """The list of MCP servers, or None if the session has none."""
        found = cast("ServersPart | None", self._parts.get("mcp"))
        return None if found is None else found.servers

    @property
    def mcp_servers(self) -> tuple[Server, ...]:
        """The MCP servers, in the order of their configuration."""
        return () if self.servers is None else tuple(self.servers.servers.values())

    @property
    def _search(self) -> SearchToolbox | None:
        found = cast("SearchPart | None", self._parts.get("search"))
        return None if found is None else found.box

    # ---- background tasks ---------------------------------------------------------------------------------------

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
    def _notices(self) -> NoticesPart | None:
        return self._opened.part(NOTICES, NoticesPart)
