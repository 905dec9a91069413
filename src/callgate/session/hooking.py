"""What the hooks of a session hear besides its calls, and what comes of what they say."""

import asyncio
import os
from collections.abc import Callable, Coroutine
from typing import Any

from callgate.core.ports import Clock
from callgate.gatehouse import Gatehouse
from callgate.host.processes import run_process
from callgate.policy.hooks.environment import scrubbed
from callgate.policy.hooks.hooks import Hooks, Outcome
from callgate.words.decisions import Question
from callgate.words.errors import in_words
from callgate.words.events import Noted
from callgate.words.messages import Part, Text

_NOTIFY_TIMEOUT = 60.0
_LAST_WORDS, _GRACE = 10.0, 5.0
_INTERRUPTED = "it was interrupted"


def session_hooks(house: Gatehouse, clock: Clock, report: Callable[[Noted], None]) -> "SessionHooks | None":
    """None where nobody wants to hear of anything but calls."""
    config = house.config
    if not config.hooks and config.questions.notify is None:
        return None
    notify = config.questions.notify
    return SessionHooks(house.hooks, root=str(config.root), clock=clock, report=report, notify=notify)


class SessionHooks:
    """``notify`` is a command line that tells people who are away of a question."""

    def __init__(
        self,
        hooks: Hooks,
        *,
        root: str,
        clock: Clock,
        report: Callable[[Noted], None],
        notify: str | None = None,
    ) -> None:
        self._hooks = hooks
        self._root = root
        self._clock = clock
        self._report = report
        self._notify = notify
        self._started = False
        self._context: tuple[str, ...] = ()
        self._tasks: set[asyncio.Task[None]] = set()
        self._given_up: asyncio.Future[None] | None = None

    def interrupt(self) -> None:
        """Nobody waits any more for what the hooks have to say."""
        if self._given_up is not None and not self._given_up.done():
            self._given_up.set_result(None)

    async def _told(self, event: str, **payload: Any) -> Outcome | None:
        """What the hooks make of it; None when it was interrupted."""
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
                self._go(self._ends(asked))

    async def _ends(self, asked: asyncio.Task[Outcome]) -> None:
        await asyncio.wait((asked,))

    async def started(self, *, resumed: bool) -> str | None:
        """Before the first work of the session: why there must be none."""
        if self._started:
            return None
        begun = await self._told("SessionStart", source="resume" if resumed else "startup")
        if begun is None:
            return _INTERRUPTED
        if begun.blocked is not None or begun.stop is not None:
            return f"{begun.by} does not let the session start: {begun.blocked or begun.stop}"
        self._started, self._context = True, begun.context
        return None

    async def prompted(self, parts: tuple[Part, ...]) -> tuple[Part, ...] | str:
        """The prompt as the model gets it, or why it does not."""
        text = "".join(part.text for part in parts if isinstance(part, Text))
        outcome = await self._told("UserPromptSubmit", prompt=text)
        if outcome is None:
            return _INTERRUPTED
        if outcome.blocked is not None or outcome.stop is not None:
            return f"{outcome.by} does not let this be sent: {outcome.blocked or outcome.stop}"
        said, self._context = (*self._context, *outcome.context), ()
        return (*parts, *(Text(f"\n[hook: {each}]") for each in said))

    async def ending(self, again: bool) -> str | None:
        """The agent is through with its work: why it has to go on, if a hook says so. ``again``: it has gone on before
        because of that."""
        outcome = await self._told("Stop", stop_hook_active=again)
        return None if outcome is None or outcome.stop is not None else outcome.blocked

    async def compacting(self, event: str, text: str) -> str | None:
        """Before and after the history is compacted: why it must not be."""
        told = {"custom_instructions": text} if event == "PreCompact" else {"compact_summary": text}
        outcome = await self._told(event, trigger="manual", **told)
        if outcome is None:
            return _INTERRUPTED
        blocked = outcome.blocked or outcome.stop
        return None if blocked is None else f"{outcome.by}: {blocked}"

    def asked(self, question: Question) -> None:
        """A person is being asked and may be away."""
        message = f"{question.tool} needs an answer: {question.reason or question.by}"
        self._go(self._hooks.happened("Notification", message=message, notification_type="permission_prompt"))
        if self._notify is not None:
            self._go(self._run_notify(self._notify, message))

    async def ended(self, reason: str) -> None:
        """The session is over. Whatever is still being told is waited for, but nobody can hold up the end for long."""
        self._go(self._hooks.happened("SessionEnd", reason=reason))
        over = asyncio.get_running_loop().create_future()

        def end() -> None:
            over.cancel()

        timers = (
            self._clock.call_later(_LAST_WORDS, self._give_up),
            self._clock.call_later(_LAST_WORDS + _GRACE, end),
        )
        while self._tasks and not over.done():
            await asyncio.wait((*self._tasks, over), return_when=asyncio.FIRST_COMPLETED)
        for timer in timers:
            timer.cancel()

    def _give_up(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._report(Noted(self._clock.now(), f"hooks took longer than {_LAST_WORDS:g} s and were ended", "warning"))

    def _go(self, work: Coroutine[Any, Any, object]) -> None:
        task = asyncio.get_running_loop().create_task(self._do(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _do(self, work: Coroutine[Any, Any, object]) -> None:
        try:
            await work
        except Exception as error:  # nobody waits for it, so it is said here
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
