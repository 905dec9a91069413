"""The tools EnterPlanMode and ExitPlanMode: the model starts plan mode and presents its plan.

In plan mode the gate denies every call that changes something. Plan mode ends when the user approves the plan; the user
is always asked for this, regardless of rules and modes. The user may edit the plan while approving it, like the
arguments of any call. The approved plan is stored in a file beside the session's log; the path of the file is stored in
the context.
"""

import re
from collections.abc import Mapping
from copy import copy
from typing import Any, Protocol, cast

from callgate.core.capabilities import ToolFacts
from callgate.core.ports import Run, Tool
from callgate.tools.builtin import prompt_text
from callgate.tools.session_state import ENTER, EXIT, PLAN
from callgate.tools.tool import SchemaTool
from callgate.words.calls import Accepted, Artifact, Display, Rejected, Result
from callgate.words.decisions import AskedField, AskedOption, FieldAnswer
from callgate.words.errors import ToolFailure
from callgate.words.messages import Text
from callgate.words.model import ToolSpec
from callgate.words.modes import Mode
from callgate.words.traits import Traits, shared

AS_BEFORE, ACCEPT_EDITS, AFRESH = "As before", "Accept edits", "Fresh context"
_LONGEST_SLUG = 48
_GOES_ON = AskedField(
    "Then",
    "How should the work continue?",
    (
        AskedOption(AS_BEFORE, "in the mode before plan mode"),
        AskedOption(ACCEPT_EDITS, "changes of files in the workspace are allowed without a question"),
        AskedOption(AFRESH, "in the mode before plan mode; the model sees the plan, but no earlier messages"),
    ),
    required=False,
)
_OFF = "Plan mode is not on: continue with the work."
_NOBODY = "Plan mode is not available: there is no session."


class Planning(Protocol):
    """The interface to plan mode of one session."""

    @property
    def on(self) -> bool: ...

    def enter(self) -> None: ...

    @property
    def mode(self) -> Mode: ...

    def leave(self, mode: Mode | None = None) -> None:
        """Leave plan mode: switch to ``mode``, or to the mode that was set before plan mode."""
        ...

    def start_afresh(self, text: str) -> None:
        """Replace the history that is sent to the model by this text after the current turn."""
        ...

    async def keep(self, name: str, text: str) -> str:
        """Store a text in a file beside the session's log and return the path of the file."""
        ...


class _PlanTool(SchemaTool):
    """A tool of plan mode. Its calls fail; ``for_plan_mode`` returns the tool that works in one session."""

    def __init__(self, name: str, title: str, parameters: Mapping[str, Any]) -> None:
        facts = ToolFacts(title=title, always_loaded=True, stages=True, for_plan_mode=self._for_plan_mode)
        super().__init__(ToolSpec(name, prompt_text(name), parameters), facts)
        self._planning: Planning | None = None

    def _for_plan_mode(self, planning: Planning) -> Tool:
        mine = copy(self)
        mine._planning = planning
        return cast(Tool, mine)


class EnterPlanMode(_PlanTool):
    """The tool EnterPlanMode. It only removes permissions, so it needs no approval."""

    def __init__(self) -> None:
        super().__init__(ENTER, "Plan first", {"type": "object", "properties": {}, "additionalProperties": False})

    def traits(self, arguments: Mapping[str, Any]) -> Traits:
        return Traits("none", shared, declared_icon="think")

    async def run(self, arguments: Mapping[str, Any], run: Run) -> Result:
        if self._planning is None:
            raise ToolFailure(_NOBODY)
        if self._planning.on:
            return Result((Text("Plan mode is already on."),))
        self._planning.enter()
        text = f"Plan mode is on: look around, change nothing, and present the plan with {EXIT}."
        return Result((Text(text),))


class ExitPlanMode(_PlanTool):
    def __init__(self) -> None:
        parameters = {
            "type": "object",
            "properties": {"plan": {"type": "string", "description": "the whole plan, as the user should read it"}},
            "required": ["plan"],
            "additionalProperties": False,
        }
        super().__init__(EXIT, "Present the plan", parameters)

    def read(self, raw: str | Mapping[str, Any]) -> Accepted | Rejected:
        found = super().read(raw)
        if isinstance(found, Accepted) and not str(found.arguments["plan"]).strip():
            return Rejected(("$.plan: must not be blank; the user decides about the plan",))
        return found

    def traits(self, arguments: Mapping[str, Any]) -> Traits:
        on = self._planning is not None and self._planning.on
        return Traits("none", shared, requires_interaction=on, asks=(_GOES_ON,) if on else (), declared_icon="think")

    async def run(self, arguments: Mapping[str, Any], run: Run) -> Result:
        if self._planning is None:
            raise ToolFailure(_NOBODY)
        if not self._planning.on and run.attempt == 1:
            raise ToolFailure(_OFF)
        answer = run.answers[0] if run.answers else FieldAnswer()
        mode: Mode | None = "accept_edits" if ACCEPT_EDITS in answer.chosen else None
        result = await approved(self._planning, str(arguments["plan"]), mode, answer.text)
        if AFRESH in answer.chosen:
            text = f"The user has approved this plan. Carry it out.{_added(answer.text)}\n\n{arguments['plan']}"
            self._planning.start_afresh(text)
        return result


def plan_tools() -> tuple[EnterPlanMode, ExitPlanMode]:
    """Return the tools EnterPlanMode and ExitPlanMode."""
    return EnterPlanMode(), ExitPlanMode()


async def approved(planning: Planning, plan: str, mode: Mode | None = None, note: str = "", title: str = "") -> Result:
    """Store the plan, leave plan mode and return the result. Plan mode may be off already if the call is repeated after
    a crash.

    title  a name for the plan, in its file name and for the user; by default its first line
    """
    path = await planning.keep(f"plan-{slug_of(f'{title}{chr(10)}{plan}')}.md", plan)
    if planning.on:
        planning.leave(mode)
    again = "" if mode else " again"
    text = f"The plan is approved. Plan mode is off, the mode is {planning.mode}{again}: go ahead."
    told = Text(f"{text}\nThe plan is stored in {path}.{_added(note)}")
    kept = Artifact(path, len(plan.encode("utf-8", "replace")), "text/markdown")
    shown = Display("text", plan, f"Plan approved: {title}" if title else "Plan approved")
    return Result((told,), (shown,), artifacts=(kept,), context_update={PLAN: path})


def _added(note: str) -> str:
    return f"\nThe user adds: {note.strip()}" if note.strip() else ""


def slug_of(plan: str) -> str:
    """Return a part of a file name made from the first line that contains words."""
    for line in plan.splitlines():
        words = re.findall(r"[a-z0-9]+", line.lower())
        if words:
            return "-".join(words)[:_LONGEST_SLUG].strip("-")
    return "of-this-session"
