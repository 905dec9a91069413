"""The toolbox of a session, extended by ``resolve`` and by the stack for tools that stage actions."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from callgate.core.capabilities import all_tools, facts_of
from callgate.core.ports import Run, Target, Tool, ToolSource, Unknown
from callgate.staging.default_handlers import PREFIX, SessionHandler
from callgate.staging.resolve import NOTHING, EndedResolution, Resolution, bound, read
from callgate.staging.stack import Stack
from callgate.staging.state import State
from callgate.tools.builtin.plan import Planning
from callgate.tools.staging import serving
from callgate.tools.tool_names import close_names
from callgate.tools.toolbox import Named, Raw
from callgate.words.calls import Rejected, Result
from callgate.words.errors import ToolDefinitionError
from callgate.words.messages import Text
from callgate.words.pending import RESOLVE, ResolveAction, Staged

_UNSEEN = (
    "An action cannot be resolved in the message that stages it, because its changes have not been shown yet. Read "
    "them, then call resolve."
)


class StagingToolbox:
    """A toolbox with the tools of a session and ``resolve``.

    default_handlers  handlers of ``resolve`` without a pending action; the first active handler is used
    offers            True to list ``resolve`` even if no tool can stage an action
    """

    def __init__(
        self,
        box: ToolSource,
        stack: Stack,
        state: State,
        *,
        default_handlers: Sequence[SessionHandler],
        planning: Planning,
        offers: bool,
    ) -> None:
        self._box = box
        self._stack = stack
        self._state = state
        self._default_handlers = default_handlers
        self._planning = planning
        self._offers: bool | None = True if offers else None  # None until the first request
        self._listed = Resolution()
        self._stages = ""  # id of the last message with a call of a staging tool
        self._bound: set[str] = set()  # ids of actions that calls of this program resolve
        for each in all_tools(box):
            if RESOLVE in (each.spec.name, *each.aliases):
                raise ToolDefinitionError(f"{RESOLVE!r} is reserved for resolving pending actions: rename {each!r}")

    def tools(self) -> Sequence[Tool]:
        """Return the tools of the session, and ``resolve`` if the tool can be used.

        Once ``resolve`` is listed it stays listed, because a changed list invalidates the cache of a provider. After
        the first request, ``resolve`` is added only together with a tool that can stage actions.
        """
        tools = tuple(each for each in self._box.tools() if each.spec.name != RESOLVE)
        if self._offers is None:
            self._offers = bool(self._state.actions) or any(each.is_active for each in self._default_handlers)
        self._offers = self._offers or any(facts_of(each).stages for each in tools)
        return (*tools, self._listed) if self._offers else tools

    def all_tools(self) -> Sequence[Tool]:
        return (*all_tools(self._box), self._listed)

    def resolve(self, name: str, raw: Raw) -> Target | Unknown:
        if name == RESOLVE:
            return Target(self._resolution(raw), raw)
        found = self._box.resolve(name, raw)
        if isinstance(found, Unknown):
            near = close_names(name, ((RESOLVE, ()),), 1)
            return replace(found, close=(*near, *found.close))
        facts = facts_of(found.tool)
        if not facts.stages:
            return found
        if facts.for_plan_mode is not None:
            mine, spec = facts.for_plan_mode(self._planning), found.tool.spec
            same = mine.spec.name == spec.name
            return Target(mine if same else Named(mine, spec.name, found.tool.aliases), found.raw)
        self._stages = self._state.message
        return Target(StagingTool(found.tool, self._stack), found.raw)

    def _resolution(self, raw: Raw) -> Resolution:
        """Return the Resolution for a new call of ``resolve``. Only an action that was pending before the current
        message can be resolved."""
        found = read(raw)
        if isinstance(found, Rejected):
            return self._listed
        action: ResolveAction = found.arguments["action"]
        wanted = found.arguments.get("id")
        over = None if wanted is None else self._stack.ended(wanted)
        if over is not None:
            return EndedResolution(over)
        if wanted is not None or not self._state.actions:
            for each in self._default_handlers:
                if each.is_active if wanted is None else each.handler.id == wanted:
                    return each.resolution(action)
        named = [each for each in self._stack.newest() if wanted in (None, each.id)]
        staged = next((each for each in named if self._why_not(each) is None), None)
        if staged is not None:
            self._bound.add(staged.id)
            return bound(self._stack, staged, action)
        return Resolution(self._why_none(wanted, named))

    def _why_none(self, wanted: str | None, named: Sequence[Staged]) -> str:
        if wanted is not None and named:
            return self._why_not(named[0]) or NOTHING
        if wanted is not None and (not wanted or wanted.startswith(PREFIX)):
            return NOTHING
        there = ", ".join(each.id for each in self._stack.newest())
        if wanted is not None and there:
            return f"There is no pending action {wanted!r}. Pending: {there}."
        return _UNSEEN if self._stages == self._state.message else NOTHING

    def _why_not(self, staged: Staged) -> str | None:
        if staged.message_id == self._state.message:
            return _UNSEEN
        if self._stack.busy(staged.id) or (staged.id in self._bound and staged.id in self._state.claimed):
            return f"{staged.label} ({staged.id}) is already being resolved."
        return None


class StagingTool(Named):
    """A wrapper for a tool that may stage actions. The actions are staged when the call has succeeded and its
    message is complete."""

    def __init__(self, tool: Tool, stack: Stack) -> None:
        super().__init__(tool, tool.spec.name, tool.aliases)
        self._stack = stack

    async def run(self, arguments: Mapping[str, Any], run: Run) -> Result:
        with self._stack.taking(run.call_id) as pushed, serving(self.spec.name, run, self._stack):
            result = await self.inner.run(arguments, run)
        if not pushed or result.is_error:
            return result
        message_id = run.lineage[-2]
        if not await self._stack.whole(message_id):
            text = "Nothing was staged: the message was cut off before its end. Send the call again."
            return Result.failed("not_run_truncated", text, effects="none")
        return _with_staged(result, await self._stack.stage(pushed, message_id, self.aliases))


def _with_staged(result: Result, staged: Sequence[Staged]) -> Result:
    lines = [
        f"[Staged as {each.id}: {each.label}{f' ({each.summary})' if each.summary else ''}. It is not applied "
        f"until you call {RESOLVE}.]"
        for each in staged
    ]
    pending: list[dict[str, Any]] = [
        {"id": each.id, "label": each.label, "sourceToolName": each.source, "details": each.details} for each in staged
    ]
    text = "\n".join(lines)
    content = (*result.content, Text(f"\n{text}" if result.content else text))
    return replace(result, content=content, details={**result.details, "pending": pending})
