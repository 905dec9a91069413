"""Plan mode from the model's side: EnterPlanMode, ExitPlanMode, and ``resolve`` as a way to present the plan.

The gate sees to it that nothing is changed in plan mode. It ends when a person approves the plan: each way to present
one needs a person every time, whatever rules and modes say.
"""

from collections.abc import Mapping
from copy import copy
from importlib.resources import files
from typing import Any, Protocol, Self

from callgate.core.ports import Run
from callgate.tools.arguments import Arguments
from callgate.tools.builtin.resolve import NOTHING, Resolution, details, discarded, phrased
from callgate.words.arguments import Accepted, Rejected
from callgate.words.calls import Display, Result
from callgate.words.changes import ChangeSet
from callgate.words.decisions import Mode
from callgate.words.errors import ToolFailure
from callgate.words.messages import Text
from callgate.words.model import ToolSpec
from callgate.words.traits import Traits, shared

ENTER, EXIT = "EnterPlanMode", "ExitPlanMode"
_LABEL = "the plan"
_OFF = "Plan mode is not on, so there is nothing to leave: go ahead."
_NOBODY = "There is no session here whose mode could be changed."


class Planning(Protocol):
    """Plan mode of one session."""

    @property
    def on(self) -> bool: ...

    def enter(self) -> None: ...

    @property
    def mode(self) -> Mode: ...

    def leave(self) -> None:
        """Back to the mode before it."""
        ...


class _PlanTool:
    """``seated`` makes the tool of one session out of it; ``stages`` says that it wants something of the session."""

    aliases: tuple[str, ...] = ()
    previews = False
    stages = True

    def __init__(self, name: str, parameters: Mapping[str, Any], prompt: str) -> None:
        described = files("callgate.tools.builtin").joinpath(prompt).read_text(encoding="utf-8").strip()
        self.spec = ToolSpec(name, described, parameters)
        self._arguments = Arguments(dict(parameters))
        self._planning: Planning | None = None

    def seated(self, planning: Planning) -> Self:
        mine = copy(self)
        mine._planning = planning
        return mine

    def read(self, raw: str | Mapping[str, Any]) -> Accepted | Rejected:
        return self._arguments.read(raw)

    async def preview(self, arguments: Mapping[str, Any], run: Run) -> ChangeSet:
        raise ToolFailure("there is nothing to show")


class EnterPlanMode(_PlanTool):
    """It only takes away what the model may do, so nobody is asked."""

    def __init__(self) -> None:
        super().__init__(
            ENTER, {"type": "object", "properties": {}, "additionalProperties": False}, "enter_plan_mode.md"
        )

    def traits(self, arguments: Mapping[str, Any]) -> Traits:
        return Traits("none", shared)

    async def run(self, arguments: Mapping[str, Any], run: Run) -> Result:
        if self._planning is None:
            raise ToolFailure(_NOBODY)
        if self._planning.on:
            return Result((Text("Plan mode is on already."),))
        self._planning.enter()
        text = f"Plan mode is on: look around, change nothing, and present the plan with {EXIT}."
        return Result((Text(text),))


class ExitPlanMode(_PlanTool):
    def __init__(self) -> None:
        parameters = {
            "type": "object",
            "properties": {"plan": {"type": "string", "description": "the whole plan, as the person should read it"}},
            "required": ["plan"],
            "additionalProperties": False,
        }
        super().__init__(EXIT, parameters, "exit_plan_mode.md")

    def read(self, raw: str | Mapping[str, Any]) -> Accepted | Rejected:
        found = super().read(raw)
        if isinstance(found, Accepted) and not str(found.arguments["plan"]).strip():
            return Rejected(("$.plan: must not be blank; it is what the person decides about",))
        return found

    def traits(self, arguments: Mapping[str, Any]) -> Traits:
        on = self._planning is not None and self._planning.on
        return Traits("none", shared, requires_interaction=on)

    async def run(self, arguments: Mapping[str, Any], run: Run) -> Result:
        if self._planning is None:
            raise ToolFailure(_NOBODY)
        plan = str(arguments["plan"])
        return Result((Text(_approved(self._planning, run, _OFF)),), (Display("text", plan, "Plan approved"),))


def plan_tools() -> tuple[EnterPlanMode, ExitPlanMode]:
    """Both, for a session's list of tools."""
    return EnterPlanMode(), ExitPlanMode()


def standing_in(planning: Planning, spec: ToolSpec, found: Accepted) -> Resolution | None:
    """What plan mode makes of a ``resolve`` while nothing is pending. An approval that a crash cut short is known by
    its plan: plan mode may be off by then."""
    if found.arguments["action"] == "apply":
        return PlanApproval(spec, planning) if planning.on or _plan_in(found) else None
    return PlanDropped(spec) if planning.on else None


def _plan_in(found: Accepted) -> str:
    plan = found.arguments.get("extra", {}).get("plan")
    return plan.strip() if isinstance(plan, str) else ""


class PlanApproval(Resolution):
    """``resolve(apply)``: the plan is in ``extra``, and it is asked about like ExitPlanMode."""

    def __init__(self, spec: ToolSpec, planning: Planning) -> None:
        super().__init__(spec)
        self._planning = planning

    def read(self, raw: str | Mapping[str, Any]) -> Accepted | Rejected:
        found = super().read(raw)
        if isinstance(found, Accepted) and not _plan_in(found):
            return Rejected((f"$.extra: in plan mode put the plan in as a text, extra.plan, or call {EXIT}",))
        return found

    def traits(self, arguments: Mapping[str, Any]) -> Traits:
        return Traits("none", shared, requires_interaction=self._planning.on, judged_as=EXIT)

    async def run(self, arguments: Mapping[str, Any], run: Run) -> Result:
        about = {**details(arguments), "sourceToolName": EXIT, "label": _LABEL}
        return phrased(about, None, _approved(self._planning, run, NOTHING), f"Accepted: {_LABEL}")


class PlanDropped(Resolution):
    """``resolve(discard)``: no plan after all, and plan mode stays on."""

    def traits(self, arguments: Mapping[str, Any]) -> Traits:
        return Traits("none", shared)

    async def run(self, arguments: Mapping[str, Any], run: Run) -> Result:
        about = {**details(arguments), "sourceToolName": EXIT, "label": _LABEL}
        return phrased(about, None, discarded(_LABEL, str(arguments["reason"])), f"Discarded: {_LABEL}")


def _approved(planning: Planning, run: Run, otherwise: str) -> str:
    if planning.on:
        planning.leave()
    elif run.attempt == 1:  # otherwise it was left just before a crash
        raise ToolFailure(otherwise)
    return f"The plan is approved. Plan mode is off, the mode is {planning.mode} again: go ahead."
