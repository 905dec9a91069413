"""The feature ``hooks``: runs the hooks of the user at the start and the end of a session, at prompts, compactions
and questions."""

import asyncio
import os
from collections.abc import Callable, Coroutine
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from callgate.conversation.feature import Feature, FeaturePart, OpenSession
from callgate.conversation.record import Record
from callgate.core.ports import Case
from callgate.host.environment import scrubbed
from callgate.host.ports import Command
from callgate.host.processes import run_process
from callgate.policy.hooks.hook_protocol import AGENT_EVENTS
from callgate.policy.hooks.hooks import UNTOUCHED, Hooks, Outcome
from callgate.tools.staging import TaskSet
from callgate.words.decisions import Question
from callgate.words.errors import in_words
from callgate.words.events import Event, Noted, QuestionAsked
from callgate.words.messages import HOOK_ADDED, Text
from callgate.words.messages import Part as MessagePart
from callgate.words.noun import noun

_NOTIFY_TIMEOUT = 60.0
_LAST_WORDS, _GRACE = 10.0, 5.0
_INTERRUPTED = "the hook was interrupted"


@noun
class Agent:
    """A nested session for which hooks are run: its type, its path from the root, and a function that returns its
    result.

    borrowed  True if the hooks belong to the parent session; they run only at the start and the end of the agent
    """

    kind: str
    path: tuple[str, ...]
    result: Callable[[], str]
    borrowed: bool = False


def agent_of(kind: str, path: tuple[str, ...], record: Record) -> Agent:
    return Agent(kind, path, lambda: record.ledger.answer.text)


class GateHooks(FeaturePart):
    """The hooks for calls.

    concerns  callback that the gate sets; it returns True if the condition of a hook matches a call
    """

    def __init__(self, hooks: Hooks) -> None:
        self.hooks = hooks
        self.concerns: Callable[[str, Case], bool] = lambda rule, case: True

    @property
    def seconds(self) -> float:
        return self.hooks.seconds


class SessionHooks(GateHooks):
    """The hooks of one session. It runs the hooks of each event and applies their answers.

    notify  a command line that is run for every question, to notify an absent user
    place   places this command inside or outside the sandbox
    agent   set for a nested session: SubagentStart and SubagentStop are run instead of Stop
    """

    def __init__(
        self,
        hooks: Hooks,
        opened: OpenSession,
        *,
        root: str,
        notify: str | None = None,
        place: Callable[[Command], Command] | None = None,
        agent: Agent | None = None,
    ) -> None:
        super().__init__(hooks)
        self._agent = agent
        self._working = False  # after SubagentStart and before SubagentStop
        self._root = root
        self._record = opened.record
        self._clock = opened.host.clock
        self._notify = notify
        self._place = place
        self._started = False
        self._context: tuple[str, ...] = ()
        self._programs: set[str] = set()  # programs whose calls the prompt hooks have allowed
        self._tasks = TaskSet()
        self._given_up: asyncio.Future[None] | None = None

    def for_agent(self, agent: Agent, opened: OpenSession) -> "SessionHooks":
        """Return the hooks of this session for a nested session without its own hooks."""
        return SessionHooks(self.hooks, opened, root=self._root, agent=replace(agent, borrowed=True))

    @property
    def _borrowed(self) -> bool:
        return self._agent is not None and self._agent.borrowed

    def begin(self) -> None:
        if not self._borrowed:  # the parent session receives the question itself
            self._record.on_event(self._on_event)

    def _on_event(self, event: Event) -> None:
        if isinstance(event, QuestionAsked):
            self._notify_of(event.question)

    def interrupt(self, because: str) -> bool:
        """Cancel the running hooks. Always return False: an interrupt is refused if nothing else is running."""
        if self._given_up is not None and not self._given_up.done():
            self._given_up.set_result(None)
        return False

    async def _run(self, event: str, **payload: Any) -> Outcome | None:
        """Run the hooks of an event and return their outcome, or None if the hooks were interrupted."""
        if self._borrowed and event not in AGENT_EVENTS:
            return UNTOUCHED
        loop = asyncio.get_running_loop()
        running = loop.create_task(self.hooks.happened(event, **payload))
        self._given_up = given_up = loop.create_future()
        try:
            await asyncio.wait((running, given_up), return_when=asyncio.FIRST_COMPLETED)
            return running.result() if running.done() else None
        finally:
            self._given_up = None
            if not running.done():
                running.cancel()
                self._start(asyncio.wait((running,)))

    async def starting(self, *, resumed: bool) -> str | None:
        if self._started:
            return None
        begun = await self._run("SessionStart", source="resume" if resumed else "startup")
        if begun is None:
            return _INTERRUPTED
        if begun.blocked is not None or begun.stop is not None:
            return f"{begun.by} blocked the start of the session: {begun.blocked or begun.stop}"
        self._started, self._context = True, begun.context
        if self._agent is not None:
            told = await self._run("SubagentStart", **self._about(self._agent))
            self._working = True
            self._context = (*self._context, *(() if told is None else told.context))
        return None

    def _about(self, agent: Agent) -> dict[str, Any]:
        return {"agent_type": agent.kind, "agent_path": list(agent.path)}

    async def prompted(self, parts: tuple[MessagePart, ...]) -> tuple[MessagePart, ...] | str:
        text = "".join(part.text for part in parts if isinstance(part, Text))
        outcome = await self._run("UserPromptSubmit", prompt=text)
        if outcome is None:
            return _INTERRUPTED
        if outcome.blocked is not None or outcome.stop is not None:
            return f"{outcome.by} blocked the prompt: {outcome.blocked or outcome.stop}"
        said, self._context = (*self._context, *outcome.context), ()
        return (*parts, *(Text(f"{HOOK_ADDED}{each}]") for each in said))

    async def calling(self, by: str) -> str | None:
        """Run the prompt hooks before the first calls of a program. Return the reason if a hook refuses the program."""
        if by in self._programs:
            return None
        found = await self.prompted((Text(f"{by} calls tools."),))
        if isinstance(found, str):
            return found
        self._programs.add(by)
        self._context = tuple(part.text for part in found[1:] if isinstance(part, Text))
        return None

    async def ending(self, *, again: bool) -> str | None:
        if self._agent is None:
            outcome = await self._run("Stop", stop_hook_active=again)
        else:
            told = {**self._about(self._agent), "result": self._agent.result()}
            outcome = await self._run("SubagentStop", stop_hook_active=again, **told)
        more = None if outcome is None or outcome.stop is not None else outcome.blocked
        self._working = self._working and more is not None
        return more

    async def compacting(self, event: Literal["PreCompact", "PostCompact"], text: str, trigger: str) -> str | None:
        told = {"custom_instructions": text} if event == "PreCompact" else {"compact_summary": text}
        outcome = await self._run(event, trigger=trigger, **told)
        if outcome is None:
            return _INTERRUPTED
        blocked = outcome.blocked or outcome.stop
        return None if blocked is None else f"{outcome.by}: {blocked}"

    def _notify_of(self, question: Question) -> None:
        message = f"{question.tool} needs an answer: {question.reason or question.by}"
        self._start(self.hooks.happened("Notification", message=message, notification_type="permission_prompt"))
        if self._notify is not None:
            self._start(self._run_notify(self._notify, message))

    async def close(self, *, discard: bool) -> None:
        """Run the SessionEnd hooks, and the SubagentStop hooks of an unfinished agent. Wait for all hooks, up to a
        time limit."""
        if self._agent is not None and self._working:
            told = {**self._about(self._agent), "result": self._agent.result()}
            self._start(self.hooks.happened("SubagentStop", stop_hook_active=False, **told))
        if not self._borrowed:
            self._start(self.hooks.happened("SessionEnd", reason="closed"))
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
        self._record.write(
            Noted(self._clock.now(), f"hooks took longer than {_LAST_WORDS:g} s and were stopped", "warning")
        )

    def _start(self, work: Coroutine[Any, Any, object]) -> None:
        self._tasks.start(self._do(work))

    async def _do(self, work: Coroutine[Any, Any, object]) -> None:
        try:
            await work
        except Exception as error:  # no caller waits for it, so it is reported here
            self._record.write(Noted(self._clock.now(), f"a notification failed: {in_words(error)}", "warning"))

    async def _run_notify(self, line: str, message: str) -> None:
        environment = scrubbed(os.environ) | {"CALLGATE_EVENT": "Notification"}
        finished = await run_process(
            ["/bin/sh", "-c", line],
            cwd=self._root,
            env=environment,
            clock=self._clock,
            stdin=message.encode(),
            timeout=_NOTIFY_TIMEOUT,
            place=self._place,
        )
        if finished.timed_out or finished.returncode:
            how = "timed out" if finished.timed_out else f"exited with status {finished.returncode}"
            self._record.write(Noted(self._clock.now(), f"the notification command {how}", "warning"))


def inherited_hooks(outer: FeaturePart) -> Feature:
    """Return the hooks feature for a nested session without its own hooks. The feature uses the hooks of the parent
    session."""

    def open_hooks(opened: OpenSession) -> FeaturePart:
        if not isinstance(outer, SessionHooks):
            return FeaturePart()
        return outer.for_agent(agent_of(opened.label, opened.path, opened.record), opened)

    return Feature("hooks", open_hooks)
