"""``resolve``: the one tool that finishes what was staged. What a call of it does is what the staged action does, so it
is decided, locked and asked about as that."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, cast

from callgate.changes.pending import called, through
from callgate.changes.stack import Stack
from callgate.core.ports import Run
from callgate.tools.arguments import Arguments
from callgate.tools.values import to_result
from callgate.words.arguments import Accepted, Rejected, Repair
from callgate.words.calls import Display, Known, Result
from callgate.words.changes import ChangeSet
from callgate.words.errors import ToolFailure, in_words
from callgate.words.events import ActionResolved
from callgate.words.messages import Text
from callgate.words.model import ToolSpec
from callgate.words.pending import RESOLVE, Staged, Word
from callgate.words.traits import Traits, shared, writes

_NOT_BEGUN = "It had not begun, and stays pending."
NOTHING = "No pending action to resolve. Nothing to apply or discard."
EDITS = "Edit"
"""The name that rules on changes to files use."""

_PARAMETERS: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "action": {"type": "string", "enum": ["apply", "discard"]},
        "reason": {"type": "string", "minLength": 1, "description": "why, in a few words"},
        "extra": {"type": "object", "description": "for the tool that staged it, if it asks for something"},
        "id": {"type": "string", "description": "which pending action; the newest if left out"},
    },
    "required": ["action", "reason"],
    "additionalProperties": False,
}
_arguments = Arguments(dict(_PARAMETERS))


@cache
def resolve_spec() -> ToolSpec:
    described = files("callgate.tools.builtin").joinpath("resolve.md").read_text(encoding="utf-8").strip()
    return ToolSpec(RESOLVE, described, _PARAMETERS)


def read(raw: str | Mapping[str, Any]) -> Accepted | Rejected:
    """The arguments, repaired and checked."""
    found = _arguments.read(raw)
    if isinstance(found, Accepted) and not str(found.arguments["reason"]).strip():
        return Rejected(("$.reason: must not be blank; say why",))
    return found


class Resolution:
    """One call of ``resolve``. Each kind says what it means to do it."""

    previews = False
    always_loaded = True

    def __init__(self, spec: ToolSpec) -> None:
        self.spec = spec

    @property
    def aliases(self) -> tuple[str, ...]:
        return ()

    def read(self, raw: str | Mapping[str, Any]) -> Accepted | Rejected:
        return read(raw)

    def traits(self, arguments: Mapping[str, Any]) -> Traits:
        return Traits("none", shared)

    async def preview(self, arguments: Mapping[str, Any], run: Run) -> ChangeSet:
        raise ToolFailure("there is nothing to show")

    async def run(self, arguments: Mapping[str, Any], run: Run) -> Result:
        raise ToolFailure(NOTHING)


class Refusal(Resolution):
    """There is nothing that it could be about, or not yet."""

    def __init__(self, spec: ToolSpec, why: str = NOTHING) -> None:
        super().__init__(spec)
        self._why = why

    def read(self, raw: str | Mapping[str, Any]) -> Accepted | Rejected:
        """That it is about nothing goes on record: it must not become about something when it is resumed."""
        found = read(raw)
        if isinstance(found, Rejected) or "id" in found.arguments:
            return found
        filled = Repair("$.id", "put in that it is about no pending action")
        return Accepted({**found.arguments, "id": ""}, (*found.repairs, filled))

    async def run(self, arguments: Mapping[str, Any], run: Run) -> Result:
        raise ToolFailure(self._why)


class Over(Resolution):
    """It was about an action that is not pending any more."""

    def __init__(self, spec: ToolSpec, ended: ActionResolved) -> None:
        super().__init__(spec)
        self._ended = ended

    async def run(self, arguments: Mapping[str, Any], run: Run) -> Result:
        ended, done = self._ended, {"apply": "applied", "discard": "discarded"}[str(arguments["action"])]
        if ended.ended == done and run.attempt > 1:  # by this call, before it could say so
            about = {**details(arguments), "label": ended.label, "id": ended.id}
            block = "Accepted" if done == "applied" else "Discarded"
            text = f"{done.capitalize()}: {ended.label}. Reason: {ended.reason}"
            return phrased(about, None, text, f"{block}: {ended.label}")
        why = f": {ended.reason}" if ended.reason else ""
        raise ToolFailure(f"{ended.label} ({ended.id}) is not pending any more, it was {ended.ended}{why}.")


class _Bound(Resolution):
    """``by`` is whose word it is."""

    word: Word = "apply"

    def __init__(self, spec: ToolSpec, stack: Stack, staged: Staged, by: str) -> None:
        super().__init__(spec)
        self._stack = stack
        self._staged = staged
        self._by = by

    def read(self, raw: str | Mapping[str, Any]) -> Accepted | Rejected:
        """Which action was meant is settled when the call arrives, and goes on record with it."""
        found, staged = read(raw), self._staged
        if isinstance(found, Rejected):
            return found
        if found.arguments.get("id") not in (None, staged.id):
            return Rejected((f"$.id: this call is about {staged.id}; it cannot become one about another action",))
        if found.arguments["action"] != self.word:
            return Rejected((f"$.action: this call is to {self.word}; it cannot become another",))
        if "id" in found.arguments:
            return found
        filled = Repair("$.id", "put in which pending action it is about")
        return Accepted({**found.arguments, "id": staged.id}, (*found.repairs, filled))

    def _details(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        staged = self._staged
        about = {"sourceToolName": staged.source, "label": staged.label, "id": staged.id}
        if staged.details is not None:
            about["details"] = staged.details
        return details(arguments) | about

    def _said(self, arguments: Mapping[str, Any], own: Result | None, otherwise: str, block: str) -> Result:
        return phrased(self._details(arguments), own, otherwise, f"{block}: {self._staged.label}")

    def _failed(self, arguments: Mapping[str, Any], text: str, effects: Known) -> Result:
        display = (Display("text", text, f"Failed: {self._staged.label}"),)
        about = {**self._details(arguments), "effects": effects}
        return Result((Text(text),), display, is_error=True, code="tool_error", details=about)


class Change(_Bound):
    """Apply changes to files: shown in the question, and applied by the corridor like those of any edit."""

    previews = True

    def traits(self, arguments: Mapping[str, Any]) -> Traits:
        staged = self._staged
        return Traits("mutating", writes(*staged.paths), requires_interaction=staged.careful, judged_as=EDITS)

    async def preview(self, arguments: Mapping[str, Any], run: Run) -> ChangeSet:
        with self._stack.resolving(self._staged):
            return await self._stack.changes(self._staged)

    async def run(self, arguments: Mapping[str, Any], run: Run) -> Result:
        reason = str(arguments["reason"])
        self._stack.resolved(self._staged, "applied", reason, self._by)
        text = f"Applied: {self._staged.label} ({self._staged.summary}). Reason: {reason}"
        return self._said(arguments, None, text, "Accepted")

    def refused(self, arguments: Mapping[str, Any], failure: ToolFailure) -> Result:
        """Nothing was applied, and it stays pending."""
        return self._failed(arguments, str(failure), "none")


class Act(_Bound):
    """Apply what only its author's function can. It is judged as a call of the tool that staged it."""

    @property
    def aliases(self) -> tuple[str, ...]:
        return self._staged.aliases

    def traits(self, arguments: Mapping[str, Any]) -> Traits:
        return Traits("mutating", judged_as=self._staged.tool)

    async def run(self, arguments: Mapping[str, Any], run: Run) -> Result:
        return await through(self._apply(arguments, run))

    async def _apply(self, arguments: Mapping[str, Any], run: Run) -> Result:
        staged, reason = self._staged, str(arguments["reason"])
        if run.cancelled:
            return self._failed(arguments, _NOT_BEGUN, "none")
        with self._stack.resolving(staged):
            callbacks = self._stack.callbacks(staged)
            if callbacks is None:
                raise ToolFailure(f"{staged.label} ended with the program that had staged it.")
            try:
                value = await called(callbacks.apply, reason, arguments.get("extra"))
            except Exception as error:
                return self._failed(arguments, apply_failed(error), "unknown")
            own = produced(value, staged.source)
            if own is None or not own.is_error:
                self._stack.resolved(staged, "applied", reason, self._by)
        text = f"Applied: {staged.label}. Reason: {reason}"
        return self._said(arguments, own, text, "Failed" if own is not None and own.is_error else "Accepted")


class Discard(_Bound):
    """Drop it, and let its author know. Nothing is done to the world, so it needs nobody's word."""

    word = "discard"

    def traits(self, arguments: Mapping[str, Any]) -> Traits:
        return Traits("mutating", shared, own_state=True)

    async def run(self, arguments: Mapping[str, Any], run: Run) -> Result:
        return await through(self._discard(arguments, run))

    async def _discard(self, arguments: Mapping[str, Any], run: Run) -> Result:
        staged, reason, value = self._staged, str(arguments["reason"]), None
        if run.cancelled:
            return self._failed(arguments, _NOT_BEGUN, "none")
        with self._stack.resolving(staged):
            callbacks = self._stack.callbacks(staged)
            if callbacks is not None and callbacks.reject is not None:
                value = await called(callbacks.reject, reason, arguments.get("extra"))
            own = produced(value, staged.source)
            await self._stack.discarded(staged, reason, self._by)
        return self._said(arguments, own, discarded(staged.label, reason), "Discarded")


def discarded(label: str, reason: str) -> str:
    return f"Discarded: {label}. Reason: {reason}"


def apply_failed(error: Exception) -> str:
    """What an author says stands for itself; anything else is told as what it is."""
    return str(error) if isinstance(error, ToolFailure) else f"Apply failed: {str(error) or type(error).__name__}"


def produced(value: Any, tool: str) -> Result | None:
    """What a callback gave back; None if that was nothing. It is done, whatever it is: what cannot be told is no reason
    to do it again."""
    if value is None:
        return None
    try:
        return to_result(value, tool)
    except Exception as error:
        return Result((Text(f"It is done, but what it gave back cannot be told: {in_words(error)}"),))


def details(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What every resolution tells of itself."""
    return {name: arguments[name] for name in ("action", "reason", "extra") if arguments.get(name) is not None}


def phrased(about: dict[str, Any], own: Result | None, otherwise: str, title: str) -> Result:
    """The producer's own result with what was resolved, or these words where it has none."""
    if own is None:
        return Result((Text(otherwise),), (Display("text", str(about["reason"]), title),), details=about)
    if own.details:
        about["sourceResultDetails"] = dict(own.details)
    shown = own.display or (Display("text", str(about["reason"]), title),)
    return Result(
        own.content or (Text(otherwise),),
        shown,
        own.is_error,
        own.code,
        about,
        own.artifacts,
        own.context_update,
    )


def bound(spec: ToolSpec, stack: Stack, staged: Staged, action: str, *, by: str = "model") -> Resolution:
    """The resolution of one staged action."""
    if action == "discard":
        return Discard(spec, stack, staged, by)
    kind = Change if staged.paths else Act
    return kind(spec, stack, staged, by)


def action_of(found: Accepted) -> tuple[str, str | None]:
    return str(found.arguments["action"]), cast("str | None", found.arguments.get("id"))
