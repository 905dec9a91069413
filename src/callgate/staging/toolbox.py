"""The toolbox of a session, extended by ``resolve`` and by the stack for tools that stage actions."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from typing import Any, cast

from callgate.conversation.record import Record
from callgate.core.capabilities import all_tools, facts_of
from callgate.core.ports import Host, Run, Target, Tool, ToolSource, Unknown
from callgate.staging.resolve import NOTHING, CallbackResolution, EndedResolution, Resolution, bound, read
from callgate.staging.stack import Stack
from callgate.staging.state import State
from callgate.tools.builtin.plan import EXIT, Planning, approved
from callgate.tools.session_state import carried_over
from callgate.tools.staging import Callback, Callbacks, checked_callbacks, serving
from callgate.tools.tool_names import close_names
from callgate.tools.toolbox import Named, Raw
from callgate.words.calls import Accepted, Rejected, Result
from callgate.words.errors import ToolDefinitionError, ToolFailure, UsageError
from callgate.words.events import ModeSet
from callgate.words.messages import Text
from callgate.words.modes import PLANNING, Mode
from callgate.words.noun import noun
from callgate.words.pending import RESOLVE, Ended, ResolveAction, Staged
from callgate.words.plain import plain_json
from callgate.words.traits import Traits, shared
from callgate.words.turns import Compacted

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
        default_handlers: Sequence["SessionHandler"],
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


# ---- default handlers ------------------------------------------------------------------------------------------------


PREFIX = "standing:"


@noun
class DefaultHandler:
    """A handler for calls of ``resolve`` if no action is pending.

    apply, reject  the callbacks, as for a staged action
    traits         effects and locks of an apply; ``judged_as`` names the tool whose rules are used, with
                   ``requires_interaction`` the user is asked each time
    shows          converts the ``extra`` argument of the call into a value; the question shows the value and ``apply``
                   receives it. The conversion must be idempotent, because a resumed call repeats the conversion. If the
                   conversion raises ToolFailure, the call is refused
    modes          the permission modes in which the handler is active; empty for all modes
    """

    label: str
    apply: Callback
    reject: Callback | None = None
    traits: Traits = field(default_factory=Traits)
    shows: Callable[[Any], Any] | None = None
    modes: tuple[Mode, ...] = ()

    @property
    def id(self) -> str:
        """The ``id`` argument of recorded calls of the handler. A resumed call finds its handler by this id in any
        mode."""
        return f"{PREFIX}{self.label}"


class SessionHandler:
    """A default handler of one session: ``resolve`` calls it if no change is staged. Implements ``Finisher``."""

    def __init__(self, handler: DefaultHandler, is_active: Callable[[DefaultHandler], bool]) -> None:
        if not handler.label.strip():
            raise UsageError("a default handler needs a label that is not blank")
        self.handler = handler
        self._is_active = is_active
        self._callbacks = checked_callbacks(Callbacks(handler.apply, handler.reject))
        tool = handler.traits.judged_as
        self._staged = Staged(handler.id, handler.label, source=tool, tool=tool)

    @property
    def is_active(self) -> bool:
        return self._is_active(self.handler)

    def resolution(self, action: ResolveAction) -> CallbackResolution:
        kind = CallbackResolution if action == "discard" else _Applied
        return kind(self, self._staged, "model", action)

    @contextmanager
    def resolving(self, staged: Staged, run: Run) -> Generator[None]:
        """Raise ToolFailure if the handler is inactive and this is the first attempt of the call.

        A call that is repeated after a crash may use an inactive handler, because its first attempt may have changed
        the mode.
        """
        if not self.is_active and run.attempt == 1:
            raise ToolFailure(NOTHING)
        yield

    def callbacks(self, staged: Staged) -> Callbacks:
        return self._callbacks

    def resolved(self, staged: Staged, ended: Ended, reason: str, by: str) -> None:
        """Do nothing: a default handler has no pending action."""

    async def discarded(self, staged: Staged, reason: str, by: str) -> None:
        """Do nothing: a default handler has no pending action."""


class _Applied(CallbackResolution):
    _finisher: SessionHandler

    def read(self, raw: str | Mapping[str, Any]) -> Accepted | Rejected:
        found, shows = super().read(raw), self._finisher.handler.shows
        if isinstance(found, Rejected) or shows is None:
            return found
        try:
            extra = shows(found.arguments.get("extra"))
        except ToolFailure as failure:
            return Rejected((f"$.extra: {failure}",))
        return Accepted({**found.arguments, "extra": extra}, found.repairs)

    def traits(self, arguments: Mapping[str, Any]) -> Traits:
        traits = self._finisher.handler.traits
        return replace(traits, requires_interaction=traits.requires_interaction and self._finisher.is_active)


class PlanMode:
    """The plan mode of one session, stored in the record of the session."""

    def __init__(self, record: Record, host: Host) -> None:
        self._record = record
        self._host = host
        self._now = host.clock.now
        self._beginning: tuple[int, str] | None = None  # the turn that requested it, and the text

    @property
    def on(self) -> bool:
        return self._record.ledger.mode == PLANNING

    @property
    def mode(self) -> Mode:
        return self._record.ledger.mode

    def enter(self) -> None:
        self._record.write(ModeSet(self._now(), PLANNING))

    def leave(self, mode: Mode | None = None) -> None:
        self._record.write(ModeSet(self._now(), mode or self._record.ledger.mode_before))

    def start_afresh(self, text: str) -> None:
        self._beginning = self._record.ledger.turn, text

    def turn_over(self, unreported: tuple[str, ...]) -> None:
        """Write a compaction boundary if the ended turn requested a fresh start."""
        asked, self._beginning = self._beginning, None
        ledger = self._record.ledger
        if asked is None or asked[0] != ledger.turn:  # that turn was interrupted
            return
        beginning = asked[1]
        left = carried_over(ledger.context)
        self._record.write(
            Compacted(
                at=self._now(),
                summary=f"{beginning}\n\n{left}" if left else beginning,
                running=ledger.running,
                context=plain_json(dict(ledger.context)),
                counted=ledger.counted,
                paused=ledger.paused,
                unreported=unreported,
                options=ledger.options,
            )
        )

    async def keep(self, name: str, text: str) -> str:
        return await self._host.keep(name, text.encode("utf-8", "replace"))


def plan_approval(planning: Planning) -> DefaultHandler:
    """Return the default handler for plan mode. It asks the user to approve the plan in ``extra.plan``, like the
    tool ExitPlanMode. A discard keeps plan mode."""

    async def apply(_reason: str, extra: Any) -> Result:
        return await approved(planning, str(extra["plan"]), title=" ".join(str(extra.get("title") or "").split()))

    traits = Traits("none", shared, requires_interaction=True, judged_as=EXIT)
    return DefaultHandler("the plan", apply, traits=traits, shows=_with_plan, modes=(PLANNING,))


def _with_plan(extra: Any) -> Any:
    given = cast("dict[str, Any]", extra) if isinstance(extra, dict) else dict[str, Any]()
    plan, title = given.get("plan"), given.get("title")
    if title is not None and not isinstance(title, str):
        raise ToolFailure("the title of the plan, extra.title, must be a text")
    if not isinstance(plan, str) or not plan.strip():
        raise ToolFailure(f"in plan mode pass the plan as a text in extra.plan, or call {EXIT}")
    return cast(Any, extra)
