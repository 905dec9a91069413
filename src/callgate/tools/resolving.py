"""A session's box of tools: what calls stage goes onto its stack, and ``resolve`` is always in it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from callgate.changes.stack import Stack
from callgate.core.ports import Run, Target, Tool, Toolbox, Unknown
from callgate.tools.builtin.plan import Planning, standing_in
from callgate.tools.builtin.resolve import (
    NOTHING,
    Over,
    Refusal,
    Resolution,
    action_of,
    bound,
    read,
    resolve_spec,
)
from callgate.tools.staging import serving
from callgate.tools.toolbox import Raw, unknown
from callgate.tools.wrappers import Named
from callgate.words.arguments import Rejected
from callgate.words.calls import Result
from callgate.words.errors import ToolDefinitionError
from callgate.words.messages import Text
from callgate.words.pending import RESOLVE, Staged

_UNSEEN = (
    "What this message stages cannot be resolved in the same message: nobody has seen it yet. "
    "Look at what it would change, then call resolve."
)


class WithResolve:
    """``message`` is the id of the message whose calls arrive now; ``claimed`` are the actions that calls of it, which
    have not settled, are about. ``planning`` is plan mode, whose approval stands by while nothing is pending."""

    def __init__(
        self,
        box: Toolbox,
        stack: Stack,
        *,
        message: Callable[[], str],
        claimed: Callable[[], Sequence[str]],
        planning: Planning,
    ) -> None:
        self._box = box
        self._stack = stack
        self._message = message
        self._claimed = claimed
        self._planning = planning
        self._spec = resolve_spec()
        self._listed = Resolution(self._spec)
        self._stages = ""  # the last message with a call that may stage something
        self._bound: set[str] = set()
        for each in box.tools():
            if RESOLVE in (each.spec.name, *each.aliases):
                raise ToolDefinitionError(f"{RESOLVE!r} finishes what is pending, in every session: rename {each!r}")

    def tools(self) -> Sequence[Tool]:
        """``resolve`` is there from the first: an array that changes costs a provider's cache."""
        return (*(each for each in self._box.tools() if each.spec.name != RESOLVE), self._listed)

    def resolve(self, name: str, raw: Raw) -> Target | Unknown:
        if name == RESOLVE:
            return Target(self._meant(raw), raw)
        found = self._box.resolve(name, raw)
        if isinstance(found, Unknown):
            return unknown(name, self.tools())
        return self._lent(found) if getattr(found.tool, "stages", False) else found

    def _lent(self, found: Target) -> Target:
        """The tool with what it needs of the session: the stack, or its mode."""
        seated = getattr(found.tool, "seated", None)
        if seated is not None:
            mine, spec = seated(self._planning), found.tool.spec
            same = mine.spec.name == spec.name
            return Target(mine if same else Named(mine, spec.name, found.tool.aliases), found.raw)
        self._stages = self._message()
        return Target(Staging(found.tool, self._stack), found.raw)

    def _meant(self, raw: Raw) -> Resolution:
        """Which action a call is about is settled here, by what the model has seen when it wrote the message."""
        found = read(raw)
        if isinstance(found, Rejected):
            return self._listed
        action, action_id = action_of(found)
        over = None if action_id is None else self._stack.ended(action_id)
        if over is not None:
            return Over(self._spec, over)
        staged = self._newest() if action_id is None else self._named(action_id)
        if isinstance(staged, Staged):
            self._bound.add(staged.id)
            return bound(self._spec, self._stack, staged, action)
        if staged is None and action_id is None and not any(self._stack.newest()):
            standing = standing_in(self._planning, self._spec, found)
            if standing is not None:
                return standing
        return Refusal(self._spec, staged or (_UNSEEN if self._stages == self._message() else NOTHING))

    def _newest(self) -> Staged | None:
        return next((each for each in self._stack.newest() if self._why_not(each) is None), None)

    def _named(self, action_id: str) -> Staged | str | None:
        """The action, or why it cannot be resolved; None where nothing at all is pending."""
        staged = self._stack.get(action_id)
        if staged is not None:
            return self._why_not(staged) or staged
        there = [each.id for each in self._stack.newest()]
        if not action_id:
            return NOTHING
        return f"There is no pending action {action_id!r}. Pending: {', '.join(there)}." if there else None

    def _why_not(self, staged: Staged) -> str | None:
        if staged.message_id == self._message():
            return _UNSEEN
        if self._stack.busy(staged.id) or (staged.id in self._bound and staged.id in self._claimed()):
            return f"{staged.label} ({staged.id}) is being resolved already."
        return None


class Staging(Named):
    """A tool that may stage: what it pushes goes onto the stack once it has ended well and the message is whole."""

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
        f"[Staged as {each.id}: {each.label}{f' ({each.summary})' if each.summary else ''}. "
        f"Nothing of it is done before you call {RESOLVE}.]"
        for each in staged
    ]
    told: list[dict[str, Any]] = [
        {"id": each.id, "label": each.label, "sourceToolName": each.source, "details": each.details} for each in staged
    ]
    text = "\n".join(lines)
    content = (*result.content, Text(f"\n{text}" if result.content else text))
    return replace(result, content=content, details={**result.details, "pending": told})
