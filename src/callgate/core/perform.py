"""The steps of a call that run code of tools, hooks and toolboxes: read the arguments, preview, run, post hooks.

Only this module converts exceptions to results. Exceptions that stop the program propagate.
"""

# Tools and hooks of other packages may violate their types.
# pyright: reportUnnecessaryIsInstance=false

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import partial
from json import dumps, loads
from logging import NullHandler, getLogger
from types import MappingProxyType
from typing import Any

from callgate.core import outcomes
from callgate.core.call import Call, CallRun, CallSetup, RunContext, SharedRun, Sink
from callgate.core.capabilities import facts_of
from callgate.core.gate import is_shutdown
from callgate.core.lanes import EXCLUSIVE, BoundLocks, bind_locks, check_covered
from callgate.core.ports import Case, Tool, Unknown
from callgate.core.sizes import cut_to, encodable, named_if_empty, size_of, spilled
from callgate.words.calls import CODES, Accepted, ContextUpdate, Rejected, Result
from callgate.words.changes import ChangeSet
from callgate.words.decisions import Allow, Ask, arguments_hash
from callgate.words.errors import HalfApplied, ToolFailure, in_words
from callgate.words.events import Noted
from callgate.words.messages import Image, Resource, Text
from callgate.words.noun import maker
from callgate.words.plain import NotPlain, plain_copy, plain_json
from callgate.words.traits import Effects, Traits, workspace

TOOLS_LOG = getLogger("callgate.tools")
"""Receives the unexpected exceptions of tools with their tracebacks. ``assembly`` masks secrets in it."""
getLogger("callgate").addHandler(NullHandler())  # nothing is printed unless the program configures logging

_CONTENT = (Text, Image, Resource)
_make_case = maker(Case)
_EMPTY: Mapping[str, Any] = MappingProxyType({})
# For a call whose traits raise: its subject is unknown, so the user has to allow the call.
_UNKNOWN = Traits(requires_interaction=True)


class Performer:
    """Runs the code of tools, hooks and toolboxes for calls, and converts the outcomes to results.

    progress  called with the progress of a call, on the thread of the event loop
    changes   the number of calls with effects that have begun
    """

    def __init__(self, setup: CallSetup, progress: Sink) -> None:
        self.changes = 0
        self._resolve = setup.toolbox.resolve
        self._after = setup.gate.after
        self._host = host = setup.host
        self._normal, self._resolve_path = host.normal, host.resolve_path
        self._workspace = bind_locks(workspace, host.normal)
        self._clock = host.clock
        self._record = setup.record
        self._ledger = setup.record.ledger
        self._settings = setup.settings
        self._make_shared = partial(SharedRun, host, setup.lineage, setup.deps, progress)
        self._shared: SharedRun | None = None

    # ---- name and arguments -------------------------------------------------------------------------------------

    def read(self, call: Call) -> Accepted | Result:
        """Find the tool of a call and validate the arguments. Return a Result if either fails."""
        given = call.given
        written = given.raw_arguments
        raw = given.arguments if given.arguments or given.edited is not None or written is None else written
        try:
            found = self._resolve(given.name, raw)
            if isinstance(found, Unknown):
                return outcomes.unknown_tool(found)
            call.name = name = found.tool.spec.name
            return self._read(call, found.tool, found.raw, name, self._ledger.hashes_before(given.id))
        except BaseException as error:
            return _failed_to_read(call.given.name, error)

    def read_again(self, call: Call, decision: Allow | Ask) -> Accepted | Result:
        """Validate arguments that the user or a hook changed. Return a Result if they are invalid."""
        case = call.case
        title = f"{call.name} (changed by {decision.by})"
        try:
            return self._read(call, case.tool, decision.arguments or {}, title, case.recent)
        except BaseException as error:
            return _failed_to_read(call.name, error)

    def _read(
        self, call: Call, tool: Tool, raw: str | Mapping[str, Any], title: str, recent: Sequence[str]
    ) -> Accepted | Result:
        read = tool.read(raw)
        if isinstance(read, Rejected):
            return outcomes.invalid_arguments(title, read.errors)
        arguments = read.arguments
        call.bound = self.changes
        traits = _UNKNOWN
        try:
            found = tool.traits(arguments)
            if not isinstance(found, Traits):
                raise TypeError(f"they are {type(found).__name__} instead of Traits")
            traits = found
            locks = traits.locks
            call.locks = self._workspace if locks is workspace else bind_locks(locks, self._normal)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            traits = self._most_restrictive(call, traits, error)
        if self._settings.independent:
            traits = replace(traits, cascade=False, repeats=True)
        if traits.failed:
            call.note = traits.failed
            TOOLS_LOG.error("%s", traits.failed)
        call.early, call.cascade, call.yields = traits.effects == "none", traits.cascade, traits.interrupt == "cancel"
        ledger = self._ledger
        call.case = _make_case(
            call_id=call.id,
            tool=tool,
            name=traits.judged_as or call.name,
            arguments=arguments,
            arguments_hash=arguments_hash(call.name, arguments),
            traits=traits,
            policies=ledger.policies,
            mode=ledger.mode,
            now=self._clock.now(),
            recent=recent,
            normal=self._normal,
            resolve_path=self._resolve_path,
        )
        return read

    def _most_restrictive(self, call: Call, traits: Traits, error: BaseException) -> Traits:
        """Return the most restrictive traits, for a tool whose traits function raised an exception: exclusive locks,
        effects, no interrupt."""
        call.locks = EXCLUSIVE
        TOOLS_LOG.error("the traits of %s raised %s", call.name, in_words(error), exc_info=error)
        call.note = (
            f"the traits of {call.name} failed, so the call runs alone and is treated as mutating: {in_words(error)}"
        )
        return replace(traits, effects="mutating", interrupt="block")

    def rebind_locks(self, call: Call) -> BoundLocks:
        """Return the locks of a call. Resolve their paths again if calls with effects have begun in the meantime."""
        if call.bound == self.changes or call.locks.scope != "paths":
            return call.locks
        call.bound = self.changes
        return bind_locks(call.case.traits.locks, self._normal)

    # ---- run ----------------------------------------------------------------------------------------------------

    async def preview(self, call: Call) -> ChangeSet | Result:
        """Make the preview of a call. The id of the preview consists of the ids of the message and the call. Return
        a Result on failure."""
        try:
            return await self._previewed(call, self.make_run(call))
        except BaseException as error:
            if is_shutdown(error):
                raise
            return _from_exception(call.name, error, "none")

    async def _previewed(self, call: Call, run: CallRun) -> ChangeSet:
        case = call.case
        changes = await case.tool.preview(case.arguments, run)
        check_covered(changes, call.locks, run.host.normal)
        named = "/".join(name for name in run.lineage[-2:] if not name.startswith("~"))
        return replace(changes, id=named, tool=changes.tool or call.name)

    async def run(self, call: Call, run: CallRun) -> Result:
        """Apply the preview, if the tool has one, and run the tool."""
        case = call.case
        effects = case.traits.effects
        try:
            if case.tool.previews:
                refused = await self._apply(call, run)
                if refused is not None:
                    return refused
            result = _consistent(call.name, await case.tool.run(case.arguments, run))
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError) and call.reason is not None:
                return self.with_progress(call, outcomes.stopped(call.reason, call.because, effects))
            if is_shutdown(error):
                raise
            result = _from_exception(call.name, error, effects)
        if call.reason is None:
            return result
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            task.uncancel()  # the tool caught the cancel of its call
        return _after_cancel(call, result)

    async def _apply(self, call: Call, run: CallRun) -> Result | None:
        """Apply the preview of a call; if there is none, make the preview first. Return a Result on failure. On
        failure no file is changed, except after HalfApplied."""
        try:
            changes = call.preview or await self._previewed(call, run)
        except Exception as error:
            return _from_exception(call.name, error, "none")
        except asyncio.CancelledError:
            if call.reason is None:
                raise
            return outcomes.stopped(call.reason, call.because, "none")
        if call.reason is not None:  # the preview ignored the cancel
            return outcomes.stopped(call.reason, call.because, "none")
        try:
            run.changes = await self._host.apply(changes)
            for note in run.changes.notes:
                self._record.write(Noted(self._clock.now(), note, "warning", call.id))
        except ToolFailure as failure:
            refused = facts_of(call.case.tool).refused
            if refused is not None:
                return _consistent(call.name, refused(call.case.arguments, failure))
            return outcomes.failed(str(failure), "mutating" if isinstance(failure, HalfApplied) else "none")
        return None

    # ---- afterwards ---------------------------------------------------------------------------------------------

    async def finish(self, call: Call, result: Result) -> Result:
        """Run the post hooks on a result and apply the size limit."""
        try:
            after = self._after(call.case, result)
            if not isinstance(after, Result):
                changed = await after
                if not isinstance(changed, Result):
                    raise TypeError(f"it returned {type(changed).__name__} instead of a Result")
                after = _consistent(call.name, changed)
            result = after
        except BaseException as error:
            if is_shutdown(error):
                raise
            note = f"A hook after {call.name} failed: {in_words(error)}"
            self._record.write(Noted(self._clock.now(), note, "error", call.id))
            result = _noted(result, f"[{note}]")
        return await self._complete(call, result)

    async def _complete(self, call: Call, result: Result) -> Result:
        """Add notes about empty output, changed arguments and hooks to the result. If the result is over the limit,
        store it as an artifact."""
        result = encodable(named_if_empty(call.name, result))
        decision, edited = call.decision, self._ledger.calls[call.id].edited
        if edited is not None:
            changed = dumps(call.case.arguments, ensure_ascii=False)
            result = _noted(result, f"[{edited.by} changed the arguments to {changed}]")
        if isinstance(decision, Allow) and decision.context:
            for text in decision.context:
                result = _noted(result, f"[hook: {text}]")
        if call.blocks:
            result = _noted(result, f"[{call.blocks}]")
        limit = self._limit_of(call)
        if result.is_error or size_of(result) <= limit:
            return result
        return await spilled(call.name, call.id, result, limit, self._host)

    def with_progress(self, call: Call, stopped: Result) -> Result:
        """Return the result of a cancelled call with the progress that its tool reported."""
        return outcomes.with_output(stopped, self._ledger.calls[call.id].live_output)

    def broken_off(self, call: Call) -> Result:
        """Return the result of a call that was running when the program stopped."""
        return call.finished or self.with_progress(call, broken_off(call))

    def cut(self, call: Call, result: Result) -> Result:
        """Shorten a result over the limit to its head and tail, without storing an artifact."""
        return cut_to(result, self._limit_of(call))

    def _limit_of(self, call: Call) -> int:
        return call.case.traits.max_result_chars or self._settings.max_result_chars

    def make_run(self, call: Call) -> CallRun:
        context = self._ledger.context
        if self._shared is None:
            self._shared = self._make_shared()
        call.run = run = CallRun(call, RunContext(context) if context else _EMPTY, self._shared)
        if call.case.traits.asks and isinstance(call.decision, Allow):
            run.answers = call.decision.answers
        return run

    def evaluate(self, update: ContextUpdate) -> Mapping[str, Any]:
        """Return a context update as JSON data.

        Raise TypeError or ValueError if the update is not JSON data. Exceptions of an update function propagate.
        """
        context = self._ledger.context
        data: Mapping[str, Any] = update(MappingProxyType(deepcopy(dict(context)))) if callable(update) else update
        try:
            return plain_copy(dict(data))
        except (NotPlain, RecursionError):
            return loads(dumps(dict(data), allow_nan=False))


def _noted(result: Result, note: str) -> Result:
    return replace(result, content=(*result.content, Text(f"\n{note}" if result.content else note)))


def broken_off(call: Call) -> Result:
    """Return the result of a call that had not ended when the program stopped."""
    return outcomes.stopped(call.reason or "user", "The program stopped.", call.case.traits.effects)


def _failed_to_read(name: str, error: BaseException) -> Result:
    if isinstance(error, KeyboardInterrupt):
        raise error
    return _from_exception(name, error, "none")


def _from_exception(name: str, error: BaseException, effects: Effects) -> Result:
    """Return the result for an exception of a tool. Log the exception unless it is an intended failure."""
    if not isinstance(error, ToolFailure):
        TOOLS_LOG.error("the tool %s raised %s", name, in_words(error), exc_info=error)
    return outcomes.from_exception(error, effects)


def _after_cancel(call: Call, result: Result) -> Result:
    """Return the result of a tool that ended after a cancel: the result of the tool if it has content, otherwise a
    standard result."""
    assert call.reason is not None
    effects = call.case.traits.effects
    if call.reason == "discarded":
        done = effects != "none" and not result.is_error
        stopped = outcomes.stopped("discarded", call.because, effects)
        return replace(stopped, details={**stopped.details, "effects": "done"}) if done else stopped
    if not result.content or result.is_error:
        known = "none" if result.effects == "none" else effects
        return outcomes.with_output(outcomes.stopped(call.reason, call.because, known), result)
    return outcomes.too_late(call.because, result, effects) if call.reason == "timed_out" else result


def _consistent(name: str, result: object) -> Result:
    """Return the value of a tool or a hook as a valid Result."""
    if not isinstance(result, Result):
        return outcomes.failed(f"{name} returned {type(result).__name__} instead of a Result", "mutating")
    content = result.content
    for part in content if isinstance(content, tuple) else (content,):
        if not isinstance(part, _CONTENT):
            what = f"a Result whose content is {type(part).__name__}"
            return outcomes.failed(f"{name} returned {what} instead of a tuple of Text, Image and Resource", "mutating")
    if result.details:
        result = replace(result, details=plain_json(result.details))
    if result.is_error and result.code == "ok":
        return replace(result, code="tool_error")
    if result.code not in CODES:
        return replace(result, code="tool_error", is_error=True)
    if result.code != "ok" and not result.is_error:
        return replace(result, is_error=True)
    return result
