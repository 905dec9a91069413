"""The tool ``resolve``, which applies or discards a staged action.

A call of ``resolve`` has the traits of its action, so the gate, the locks and the questions handle the call like the
action.
"""

from asyncio import CancelledError, ensure_future, shield
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Protocol, cast

from callgate.core.capabilities import ToolFacts
from callgate.core.ports import Run
from callgate.staging.stack import Stack, called
from callgate.tools.arguments import Arguments
from callgate.tools.staging import Callbacks
from callgate.tools.values import to_result
from callgate.words.calls import Accepted, Display, Known, Rejected, Repair, Result
from callgate.words.changes import ChangeSet
from callgate.words.errors import HalfApplied, ToolFailure, in_words
from callgate.words.events import ActionResolved
from callgate.words.messages import Text
from callgate.words.model import ToolSpec
from callgate.words.pending import RESOLVE, Ended, ResolveAction, Staged
from callgate.words.traits import Traits, shared, writes

NOTHING = "No pending action to resolve. Nothing to apply or discard."
EDITS = "Edit"
"""The tool name in rules about changes of files."""

_NOT_BEGUN = "The resolution had not started. The action is still pending."
_PARAMETERS: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "action": {"type": "string", "enum": ["apply", "discard"]},
        "reason": {"type": "string", "minLength": 1, "description": "the reason in a few words, for the user"},
        "extra": {"type": "object", "description": "only fields that the staging tool requests"},
        "id": {"type": "string", "description": "the id of the action; default: the newest"},
    },
    "required": ["action", "reason"],
    "additionalProperties": False,
}
_arguments = Arguments(dict(_PARAMETERS))
_FACTS = ToolFacts(title="Apply or discard", always_loaded=True, general_traits=lambda: Traits("mutating"))


@cache
def resolve_spec() -> ToolSpec:
    described = Path(__file__).with_name("resolve.md").read_text(encoding="utf-8").strip()
    return ToolSpec(RESOLVE, described, _PARAMETERS)


def read(raw: str | Mapping[str, Any]) -> Accepted | Rejected:
    """Return the checked arguments of a call of ``resolve``, or their errors."""
    found = _arguments.read(raw)
    if isinstance(found, Accepted) and not str(found.arguments["reason"]).strip():
        return Rejected(("$.reason: must not be blank; give a reason",))
    return found


class Resolution:
    """A call of ``resolve`` without an action. It fails with the reason ``why``."""

    previews = False

    def __init__(self, why: str = NOTHING) -> None:
        self.spec = resolve_spec()
        self._why = why

    @property
    def facts(self) -> ToolFacts:
        return _FACTS

    @property
    def aliases(self) -> tuple[str, ...]:
        return ()

    def read(self, raw: str | Mapping[str, Any]) -> Accepted | Rejected:
        """Return the checked arguments with an empty id, so that a resumed call does not resolve another action."""
        return _with_id(read(raw), "", "filled in: no pending action")

    def traits(self, arguments: Mapping[str, Any]) -> Traits:
        return Traits("none", shared, declared_icon="edit")

    async def preview(self, arguments: Mapping[str, Any], run: Run) -> ChangeSet:
        raise ToolFailure("there is no change to show")

    async def run(self, arguments: Mapping[str, Any], run: Run) -> Result:
        raise ToolFailure(self._why)


class EndedResolution(Resolution):
    """A call of ``resolve`` for an action that has already ended. The call fails unless it repeats a successful
    attempt after a crash."""

    def __init__(self, ended: ActionResolved) -> None:
        super().__init__()
        self._ended = ended

    def read(self, raw: str | Mapping[str, Any]) -> Accepted | Rejected:
        return read(raw)

    async def run(self, arguments: Mapping[str, Any], run: Run) -> Result:
        ended, done = self._ended, {"apply": "applied", "discard": "discarded"}[str(arguments["action"])]
        if ended.ended == done and run.attempt > 1:  # by the first attempt, before a crash
            about = {**details(arguments), "label": ended.label, "id": ended.id}
            block = "Accepted" if done == "applied" else "Discarded"
            text = f"{done.capitalize()}: {ended.label}. Reason: {ended.reason}"
            return phrased(about, None, text, f"{block}: {ended.label}")
        why = f": {ended.reason}" if ended.reason else ""
        raise ToolFailure(f"{ended.label} ({ended.id}) is no longer pending; it was {ended.ended}{why}.")


class Finisher(Protocol):
    """The callbacks of an action, and the operations that end the action. Stack implements Finisher for staged
    actions, SessionHandler for default handlers."""

    def resolving(self, staged: Staged, run: Run) -> AbstractContextManager[None]: ...

    def callbacks(self, staged: Staged) -> Callbacks | None: ...

    def resolved(self, staged: Staged, ended: Ended, reason: str, by: str) -> None: ...

    async def discarded(self, staged: Staged, reason: str, by: str) -> None: ...


class _Bound(Resolution):
    """A call of ``resolve`` for one action. ``by`` is ``model`` or ``person``."""

    def __init__(self, finisher: Finisher, staged: Staged, by: str, action: ResolveAction) -> None:
        super().__init__()
        self._finisher = finisher
        self._staged = staged
        self._by = by
        self._action: ResolveAction = action

    def read(self, raw: str | Mapping[str, Any]) -> Accepted | Rejected:
        """Return the checked arguments with the id of the action, so that the id is recorded. Reject another id or
        action."""
        found, staged = read(raw), self._staged
        if isinstance(found, Rejected):
            return found
        if found.arguments.get("id") not in (None, staged.id):
            return Rejected((f"$.id: this call resolves {staged.id}; it cannot be changed to another action",))
        if found.arguments["action"] != self._action:
            return Rejected((f"$.action: this call is to {self._action}; that cannot be changed",))
        return _with_id(found, staged.id, "filled in: the pending action")

    def _details(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        staged = self._staged
        about = {"sourceToolName": staged.source, "label": staged.label, "id": staged.id}
        if staged.details is not None:
            about["details"] = staged.details
        return details(arguments) | about

    def _done(self, arguments: Mapping[str, Any], own: Result | None, otherwise: str, block: str) -> Result:
        return phrased(self._details(arguments), own, otherwise, f"{block}: {self._staged.label}")

    def _failed(self, arguments: Mapping[str, Any], text: str, effects: Known) -> Result:
        display = (Display("text", str(arguments["reason"]), f"Failed: {self._staged.label}"),)
        about = {**self._details(arguments), "effects": effects}
        return Result((Text(text),), display, is_error=True, code="tool_error", details=about)


class ChangeResolution(_Bound):
    """A call of ``resolve`` that applies staged changes of files. The changes are the preview of the call, so the
    executor shows and applies them."""

    previews = True
    _finisher: Stack

    def traits(self, arguments: Mapping[str, Any]) -> Traits:
        staged = self._staged
        return Traits("mutating", writes(*staged.paths), requires_interaction=staged.careful, judged_as=EDITS)

    async def preview(self, arguments: Mapping[str, Any], run: Run) -> ChangeSet:
        with self._finisher.resolving(self._staged, run):
            found = await self._finisher.changes(self._staged)
        wanted = self._files(arguments)
        return found if wanted is None else _only(found, wanted)

    async def run(self, arguments: Mapping[str, Any], run: Run) -> Result:
        from callgate.tools.files.read_marks import marks_after  # loaded with the first change

        reason, wanted = str(arguments["reason"]), self._files(arguments)
        if wanted is not None:
            left = [path for path in self._staged.paths if path not in wanted]
            reason = f"{reason} (only {', '.join(wanted)}; not applied: {', '.join(left)})" if left else reason
            await self._finisher.forget(self._staged)
        self._finisher.resolved(self._staged, "applied", reason, self._by)
        text = f"Applied: {self._staged.label} ({self._staged.summary}). Reason: {reason}"
        return replace(self._done(arguments, None, text, "Accepted"), context_update=marks_after(run))

    def _files(self, arguments: Mapping[str, Any]) -> list[str] | None:
        """Return the files that the user selected in ``extra``; None if all files are applied. A model always
        applies all files."""
        extra = arguments.get("extra")
        if self._by != "person" or not isinstance(extra, Mapping):
            return None
        chosen: Any = cast("Mapping[str, Any]", extra).get("files")
        return [str(each) for each in chosen] if isinstance(chosen, list) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]

    @property
    def facts(self) -> ToolFacts:
        return replace(_FACTS, refused=self._refused)

    def _refused(self, arguments: Mapping[str, Any], failure: ToolFailure) -> Result:
        return self._failed(arguments, str(failure), "unknown" if isinstance(failure, HalfApplied) else "none")


def _only(changes: ChangeSet, paths: Sequence[str]) -> ChangeSet:
    """Return a change set with the selected files. A partial change set is not linked to the staged change in the
    history. Raise ToolFailure if a path is not in the changes."""
    files = tuple(each for each in changes.files if each.path in paths)
    unknown = [path for path in paths if path not in {each.path for each in files}]
    if unknown or not files:
        there = ", ".join(each.path for each in changes.files)
        raise ToolFailure(f"{unknown[0] if unknown else 'No file'} is not in {changes.label}; it changes {there}")
    return changes if len(files) == len(changes.files) else replace(changes, files=files, staged=None)


class CallbackResolution(_Bound):
    """A call of ``resolve`` that runs the ``apply`` or ``reject`` callback of an action. The gate checks an apply
    like a call of the staging tool. A reject is always allowed, because it changes only the state of the session."""

    @property
    def aliases(self) -> tuple[str, ...]:
        return self._staged.aliases if self._action == "apply" else ()

    def traits(self, arguments: Mapping[str, Any]) -> Traits:
        if self._action == "discard":
            return Traits("mutating", shared, own_state=True)
        return Traits("mutating", judged_as=self._staged.tool, choices_for_always=())

    async def run(self, arguments: Mapping[str, Any], run: Run) -> Result:
        work = ensure_future(self._finish(arguments, run))
        try:
            return await shield(work)
        except CancelledError:  # a second cancel, sent at the end of the program, stops waiting
            if work.cancelled():
                raise
            return await shield(work)

    async def _finish(self, arguments: Mapping[str, Any], run: Run) -> Result:
        staged, reason, extra = self._staged, str(arguments["reason"]), arguments.get("extra")
        if run.cancelled:
            return self._failed(arguments, _NOT_BEGUN, "none")
        with self._finisher.resolving(staged, run):
            callbacks = self._finisher.callbacks(staged)
            if self._action == "discard":
                reject = None if callbacks is None else callbacks.reject
                own = produced(None if reject is None else await called(reject, reason, extra), staged.source)
                await self._finisher.discarded(staged, reason, self._by)
                return self._done(arguments, own, f"Discarded: {staged.label}. Reason: {reason}", "Discarded")
            if callbacks is None:
                raise ToolFailure(f"{staged.label} was lost when the program that staged it ended.")
            try:
                own = produced(await called(callbacks.apply, reason, extra), staged.source)
            except Exception as error:
                plain = f"Apply failed: {str(error) or type(error).__name__}"
                return self._failed(arguments, str(error) if isinstance(error, ToolFailure) else plain, "unknown")
            failed = own is not None and own.is_error
            if not failed:
                self._finisher.resolved(staged, "applied", reason, self._by)
        text = f"Applied: {staged.label}. Reason: {reason}"
        return self._done(arguments, own, text, "Failed" if failed else "Accepted")


def produced(value: Any, tool: str) -> Result | None:
    """Convert the return value of a callback into a Result; None stays None. A value that cannot be converted
    becomes a successful result, so that the action is not repeated."""
    if value is None:
        return None
    try:
        return to_result(value, tool)
    except Exception as error:
        return Result((Text(f"The action is done, but its return value cannot be shown: {in_words(error)}"),))


def details(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the details that the results of all resolutions have."""
    return {name: arguments[name] for name in ("action", "reason", "extra") if arguments.get(name) is not None}


def phrased(about: dict[str, Any], own: Result | None, otherwise: str, title: str) -> Result:
    """Return the result of a resolution. The result displays the end of the action, then the display of the
    callback."""
    block = Display("text", str(about["reason"]), title)
    if own is None:
        return Result((Text(otherwise),), (block,), details=about)
    if own.details:
        about["sourceResultDetails"] = dict(own.details)
    return Result(
        content=own.content or (Text(otherwise),),
        display=(block, *own.display),
        is_error=own.is_error,
        code=own.code,
        details=about,
        artifacts=own.artifacts,
        context_update=own.context_update,
    )


def bound(stack: Stack, staged: Staged, action: ResolveAction, *, by: str = "model") -> Resolution:
    """Return the call of ``resolve`` for a staged action. ``by`` is ``model`` or ``person``."""
    kind = ChangeResolution if staged.paths and action == "apply" else CallbackResolution
    return kind(stack, staged, by, action)


def _with_id(found: Accepted | Rejected, action_id: str, note: str) -> Accepted | Rejected:
    if isinstance(found, Rejected) or "id" in found.arguments:
        return found
    return Accepted({**found.arguments, "id": action_id}, (*found.repairs, Repair("$.id", note)))
