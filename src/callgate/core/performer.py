"""Runs the tool of one call and makes a Result of whatever it does.

The only place where an exception becomes a Result.
"""

# Tools and checks come from outside and may not keep to their types.
# pyright: reportUnnecessaryIsInstance=false

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from copy import deepcopy
from dataclasses import replace
from json import dumps
from threading import Lock
from types import MappingProxyType
from typing import Any

from callgate.core import outcomes
from callgate.core.gate import going_down
from callgate.core.outlet import Outlet, cut_progress, cut_to, named_if_empty, size_of, spilled
from callgate.core.ports import Gate, Host
from callgate.core.record import Record
from callgate.core.ticket import CallRun, Ticket, Tickets, previewed
from callgate.words.calls import CODE_STATUS, Result
from callgate.words.decisions import Allow
from callgate.words.errors import HalfApplied, ToolFailure, in_words
from callgate.words.events import CallProgressed, CallStarted, Noted
from callgate.words.jsonable import plain_json
from callgate.words.limits import ExecutorSettings
from callgate.words.messages import Image, Resource, Text

_CONTENT = (Text, Image, Resource)
_EMPTY: Mapping[str, Any] = MappingProxyType({})


class Performer:
    """``cancel`` is the executor's: a timeout is a cancel with its own reason."""

    def __init__(
        self,
        gate: Gate,
        host: Host,
        record: Record,
        tickets: Tickets,
        outlet: Outlet,
        settings: ExecutorSettings,
        lineage: tuple[str, ...],
        *,
        cancel: Callable[[Ticket, str, str], None],
    ) -> None:
        self._gate = gate
        self._host = host
        self._clock = host.clock
        self._record = record
        self._ledger = record.ledger
        self._tickets = tickets
        self._outlet = outlet
        self._settings = settings
        self._lineage = lineage
        self._lock = Lock()
        self._cancel = cancel
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop that runs this message, looked up once."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        return self._loop

    async def perform(self, ticket: Ticket) -> Result:
        """Run the tool; whatever it does becomes a Result."""
        if ticket.reason is not None:  # cancelled between being started and its first step
            return outcomes.not_started(ticket.reason, ticket.because)
        tool, traits, run = ticket.tool, ticket.traits, None
        ticket.started = self._clock.monotonic()
        try:
            started = CallStarted(self._clock.now(), ticket.id, ticket.attempt)
            if traits.effects == "none":
                self._record.write(started)
            else:  # that a call with effects starts is durable before it does
                waiting = self._record.write_first(started)
                if waiting is not None:
                    await waiting
            run = self.make_run(ticket)
            if traits.timeout is not None:
                self._limit(ticket, run, traits.timeout)
            refused = await self._apply(ticket, run) if tool.previews else None
            if refused is not None:
                return refused
            result = _sound(ticket.name, await tool.run(ticket.arguments, run))
        except BaseException as error:
            cancelled = isinstance(error, asyncio.CancelledError)
            if cancelled and ticket.reason is not None:
                if run is None:
                    return outcomes.not_started(ticket.reason, ticket.because)
                return outcomes.stopped(ticket.reason, ticket.because, traits.effects)
            if going_down(error):
                raise
            result = outcomes.unrecorded(error) if run is None else outcomes.from_exception(error, traits.effects)
        if ticket.reason is None:
            return result
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            task.uncancel()  # the tool took the cancel and went on: it is not the program's
        return self._late(ticket, result)

    async def _apply(self, ticket: Ticket, run: CallRun) -> Result | None:
        """Apply what was shown, or what would have been. A refusal has changed nothing, unless it is HalfApplied."""
        try:
            changes = ticket.preview or await previewed(ticket, run)
        except Exception as error:
            return outcomes.from_exception(error, "none")
        except asyncio.CancelledError:
            if ticket.reason is None:
                raise
            return outcomes.stopped(ticket.reason, ticket.because, "none")
        if ticket.reason is not None:  # the preview came although it was cancelled
            return outcomes.stopped(ticket.reason, ticket.because, "none")
        try:
            run.changes = await self._host.apply(changes)
        except ToolFailure as failure:
            refused = getattr(ticket.tool, "refused", None)
            if refused is not None:
                return _sound(ticket.name, refused(ticket.arguments, failure))
            return outcomes.failed(str(failure), "mutating" if isinstance(failure, HalfApplied) else "none")
        return None

    def _limit(self, ticket: Ticket, run: CallRun, timeout: float) -> None:
        run.deadline = self._clock.monotonic() + timeout
        because = f"Timed out after {timeout:g} s."
        ticket.timer = self._clock.call_later(timeout, lambda: self._cancel(ticket, "timed_out", because))

    def _late(self, ticket: Ticket, result: Result) -> Result:
        """It ended although it was being cancelled: what it says of itself is the truth, if it says anything."""
        assert ticket.reason is not None
        effects = ticket.traits.effects
        if ticket.reason == "discarded":
            done = effects != "none" and not result.is_error
            stopped = outcomes.stopped("discarded", ticket.because, effects)
            return replace(stopped, details={**stopped.details, "effects": "done"}) if done else stopped
        if not result.content or result.is_error:
            known = "none" if result.effects == "none" else effects
            return outcomes.stopped(ticket.reason, ticket.because, known, result.text)
        return outcomes.too_late(ticket.because, result, effects) if ticket.reason == "timed_out" else result

    def finish(self, ticket: Ticket, result: Result) -> Result | Awaitable[Result]:
        """Post hooks, then the size limit; awaitable only where there is something to wait for."""
        if ticket.reason is None:
            ticket.stop_timer()
        try:
            after = self._gate.after(ticket.case, result)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            after = self._hook_failed(ticket, result, error)
        if isinstance(after, Result):
            after = self._complete(ticket, after)
            return self._spilled(ticket, after) if self._too_big(ticket, after) else after
        return self._finish_later(ticket, result, after)

    async def _finish_later(self, ticket: Ticket, result: Result, after: Awaitable[Result]) -> Result:
        try:
            changed = await after
            if not isinstance(changed, Result):
                raise TypeError(f"it gave back {type(changed).__name__} instead of a Result")
            result = _sound(ticket.name, changed)
        except BaseException as error:
            if going_down(error):
                raise
            result = self._hook_failed(ticket, result, error)
        result = self._complete(ticket, result)
        return await self._spilled(ticket, result) if self._too_big(ticket, result) else result

    def _hook_failed(self, ticket: Ticket, result: Result, error: BaseException) -> Result:
        note = f"A hook after {ticket.name} failed: {in_words(error)}"
        self._record.write(Noted(self._clock.now(), note, "error", ticket.id))
        return replace(result, content=outcomes.with_note(result.content, f"[{note}]"))

    def _complete(self, ticket: Ticket, result: Result) -> Result:
        """Nothing is left for the model to guess: no output is said, and so is a change of its arguments."""
        result = named_if_empty(ticket.name, result)
        edited = self._ledger.calls[ticket.id].edited
        if edited is not None:
            note = f"[{edited.by} changed the arguments to {dumps(ticket.arguments, ensure_ascii=False)}]"
            result = replace(result, content=outcomes.with_note(result.content, note))
        decision = ticket.decision
        if isinstance(decision, Allow) and decision.context:
            for said in decision.context:
                result = replace(result, content=outcomes.with_note(result.content, f"[hook: {said}]"))
        return result

    def cut(self, ticket: Ticket, result: Result) -> Result:
        """For a result that must leave now: its head and tail, without an artifact."""
        return cut_to(result, self._limit_of(ticket))

    def _too_big(self, ticket: Ticket, result: Result) -> bool:
        return not result.is_error and size_of(result) > self._limit_of(ticket)

    def _limit_of(self, ticket: Ticket) -> int:
        return ticket.traits.max_result_chars or self._settings.max_result_chars

    async def _spilled(self, ticket: Ticket, result: Result) -> Result:
        return await spilled(ticket.name, ticket.id, result, self._limit_of(ticket), self._host)

    def make_run(self, ticket: Ticket) -> CallRun:
        context = self._ledger.context
        ticket.run = run = CallRun(
            ticket.id,
            ticket.attempt,
            self._host,
            MappingProxyType(deepcopy(dict(context))) if context else _EMPTY,
            (*self._lineage, ticket.id),
            self.loop,
            self._progress,
            self._lock,
        )
        return run

    def _progress(self, call_id: str, text: str, current: float | None, total: float | None) -> None:
        event = CallProgressed(self._clock.now(), call_id, cut_progress(text), current, total)
        if self._outlet.open:
            self._record.tell(event)
            self._outlet.progress(event)
            self._tickets.changed.set()


def _sound(name: str, result: object) -> Result:
    """What a tool or a hook gave back, as a Result that holds together."""
    if not isinstance(result, Result):
        return outcomes.failed(f"{name} gave back {type(result).__name__} instead of a Result", "mutating")
    content = result.content
    for part in content if isinstance(content, tuple) else (content,):
        if not isinstance(part, _CONTENT):
            what = f"a Result whose content is {type(part).__name__}"
            return outcomes.failed(f"{name} gave back {what}, wanted a tuple of Text, Image and Resource", "mutating")
    if result.details:
        result = replace(result, details=plain_json(result.details))
    if result.is_error and result.code == "ok":
        return replace(result, code="tool_error")
    if result.code not in CODE_STATUS:
        return replace(result, code="tool_error", is_error=True)
    if result.code != "ok" and not result.is_error:
        return replace(result, is_error=True)
    return result
