"""Hooks of a session for everything but its calls: start, prompt, stop, compaction, questions, end."""

import asyncio
import os
from collections.abc import Callable, Coroutine
from dataclasses import replace
from functools import partial
from typing import Any

from callgate.conversation.record import Record
from callgate.core.ports import Clock
from callgate.host.environment import scrubbed
from callgate.host.processes import run_process
from callgate.policy.hooks.hook_protocol import AGENT_EVENTS
from callgate.policy.hooks.hooks import UNTOUCHED, Hooks, Outcome
from callgate.session.run import last_answer
from callgate.session.tasks import TaskSet
from callgate.words.decisions import Question
from callgate.words.errors import in_words
from callgate.words.events import Noted
from callgate.words.messages import HOOK_ADDED, Part, Text
from callgate.words.noun import noun

_NOTIFY_TIMEOUT = 60.0
_LAST_WORDS, _GRACE = 10.0, 5.0
_INTERRUPTED = "it was interrupted"


@noun
class Agent:
    """The nested session whose work hooks are told of: its type and its path from the root. ``borrowed``: the hooks are
    those of the session above, which are told of the agent's start and end and of nothing else in it."""

    kind: str
    path: tuple[str, ...]
    result: Callable[[], str]
    borrowed: bool = False


def agent_of(kind: str, path: tuple[str, ...], record: Record) -> Agent:
    return Agent(kind, path, lambda: last_answer(record.ledger.messages))


class SessionHooks:
    """Runs the hooks of each event and reads their answers. ``notify`` is a command line that is run for every
    question, to tell people who are away; ``report`` takes a note for the record. ``agent`` is given for a nested
    session: then SubagentStart and SubagentStop are told, and never Stop."""

    def __init__(
        self,
        hooks: Hooks,
        *,
        root: str,
        clock: Clock,
        report: Callable[[Noted], object],
        notify: str | None = None,
        agent: Agent | None = None,
    ) -> None:
        self._hooks = hooks
        self._agent = agent
        self._working = False  # SubagentStart was told, and SubagentStop not yet
        self._root = root
        self._clock = clock
        self._report = report
        self._notify = notify
        self._started = False
        self._context: tuple[str, ...] = ()
        self._tasks = TaskSet()
        self._given_up: asyncio.Future[None] | None = None

    def for_agent(self, agent: Agent, report: Callable[[Noted], object]) -> "SessionHooks":
        """The same hooks for a nested session that has none of its own."""
        borrowed = replace(agent, borrowed=True)
        return SessionHooks(self._hooks, root=self._root, clock=self._clock, report=report, agent=borrowed)

    @property
    def seconds(self) -> float:
        """The time that hooks have taken so far."""
        return self._hooks.seconds

    @property
    def _borrowed(self) -> bool:
        return self._agent is not None and self._agent.borrowed

    def interrupt(self) -> None:
        """Stops waiting for the hooks under way; their tasks are cancelled."""
        if self._given_up is not None and not self._given_up.done():
            self._given_up.set_result(None)

    async def _told(self, event: str, **payload: Any) -> Outcome | None:
        """Runs the hooks of an event; None when it was interrupted."""
        if self._borrowed and event not in AGENT_EVENTS:
            return UNTOUCHED
        loop = asyncio.get_running_loop()
        asked = loop.create_task(self._hooks.happened(event, **payload))
        self._given_up = given_up = loop.create_future()
        try:
            await asyncio.wait((asked, given_up), return_when=asyncio.FIRST_COMPLETED)
            if asked.done():
                return asked.result()
            return None
        finally:
            self._given_up = None
            if not asked.done():
                asked.cancel()
                self._go(asyncio.wait((asked,)))

    async def started(self, *, resumed: bool) -> str | None:
        """Runs SessionStart before the first work. Gives the reason if a hook does not let the session start."""
        if self._started:
            return None
        begun = await self._told("SessionStart", source="resume" if resumed else "startup")
        if begun is None:
            return _INTERRUPTED
        if begun.blocked is not None or begun.stop is not None:
            return f"{begun.by} does not let the session start: {begun.blocked or begun.stop}"
        self._started, self._context = True, begun.context
        if self._agent is not None:
            told = await self._told("SubagentStart", **self._about(self._agent))
            self._working = True
            self._context = (*self._context, *(() if told is None else told.context))
        return None

    def _about(self, agent: Agent) -> dict[str, Any]:
        return {"agent_type": agent.kind, "agent_path": list(agent.path)}

    async def prompted(self, parts: tuple[Part, ...]) -> tuple[Part, ...] | str:
        """Runs UserPromptSubmit. Gives the prompt with the hooks' context, or the reason why it is not sent."""
        text = "".join(part.text for part in parts if isinstance(part, Text))
        outcome = await self._told("UserPromptSubmit", prompt=text)
        if outcome is None:
            return _INTERRUPTED
        if outcome.blocked is not None or outcome.stop is not None:
            return f"{outcome.by} does not let this be sent: {outcome.blocked or outcome.stop}"
        said, self._context = (*self._context, *outcome.context), ()
        return (*parts, *(Text(f"{HOOK_ADDED}{each}]") for each in said))

    async def ending(self, again: bool) -> str | None:
        """Runs Stop, or SubagentStop of a nested session, before the agent ends its work. Gives the text of a hook that
        makes it go on. ``again``: a hook has done so before in this run."""
        if self._agent is None:
            outcome = await self._told("Stop", stop_hook_active=again)
        else:
            told = {**self._about(self._agent), "result": self._agent.result()}
            outcome = await self._told("SubagentStop", stop_hook_active=again, **told)
        goes_on = None if outcome is None or outcome.stop is not None else outcome.blocked
        self._working = self._working and goes_on is not None
        return goes_on

    async def compacting(self, event: str, text: str, trigger: str) -> str | None:
        """Runs PreCompact or PostCompact. Gives the reason if a hook does not let the history be compacted."""
        told = {"custom_instructions": text} if event == "PreCompact" else {"compact_summary": text}
        outcome = await self._told(event, trigger=trigger, **told)
        if outcome is None:
            return _INTERRUPTED
        blocked = outcome.blocked or outcome.stop
        return None if blocked is None else f"{outcome.by}: {blocked}"

    def asked(self, question: Question) -> None:
        """Starts the Notification hooks and the notify command for an open question."""
        if self._borrowed:
            return  # the session above is told of the question itself
        message = f"{question.tool} needs an answer: {question.reason or question.by}"
        self._go(self._hooks.happened("Notification", message=message, notification_type="permission_prompt"))
        if self._notify is not None:
            self._go(self._run_notify(self._notify, message))

    async def ended(self, reason: str) -> None:
        """Runs SessionEnd and waits for every hook task, up to a time limit. An agent whose work was cut short is told
        to have stopped."""
        if self._agent is not None and self._working:
            told = {**self._about(self._agent), "result": self._agent.result()}
            self._go(self._hooks.happened("SubagentStop", stop_hook_active=False, **told))
        if not self._borrowed:
            self._go(self._hooks.happened("SessionEnd", reason=reason))
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        timers = (
            self._clock.call_later(_LAST_WORDS, self._give_up),
            self._clock.call_later(_LAST_WORDS + _GRACE, partial(over.set_result, None)),
        )
        await self._tasks.finished(over)
        for timer in timers:
            timer.cancel()

    def _give_up(self) -> None:
        self._tasks.cancel()
        self._report(Noted(self._clock.now(), f"hooks took longer than {_LAST_WORDS:g} s and were ended", "warning"))

    def _go(self, work: Coroutine[Any, Any, object]) -> None:
        self._tasks.start(self._do(work))

    async def _do(self, work: Coroutine[Any, Any, object]) -> None:
        try:
            await work
        except Exception as error:  # no caller waits for it, so it is reported here
            self._report(Noted(self._clock.now(), f"a notification failed: {in_words(error)}", "warning"))

    async def _run_notify(self, line: str, message: str) -> None:
        environment = scrubbed(os.environ) | {"CALLGATE_EVENT": "Notification"}
        finished = await run_process(
            ["/bin/sh", "-c", line],
            cwd=self._root,
            env=environment,
            clock=self._clock,
            stdin=message.encode(),
            timeout=_NOTIFY_TIMEOUT,
        )
        if finished.timed_out or finished.returncode:
            how = "took too long" if finished.timed_out else f"ended with {finished.returncode}"
            self._report(Noted(self._clock.now(), f"the notification command {how}", "warning"))
