"""Runs hooks: selects the hooks that match an event, runs them, and merges their answers.

The merged answer does not depend on the order in which the hooks finish. A deny overrides an ask, and an ask overrides
an allow. Texts are joined in the order of the configuration. The allow of a hook of the repository is ignored. An allow
is also ignored if another hook changed the arguments.
"""

import json
import os
from asyncio import TaskGroup
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from callgate.core.ports import Case, Check, Clock, Hooked
from callgate.host.environment import scrubbed
from callgate.host.threads import in_thread
from callgate.policy.entries import EVENTS, HookLine, SettingsFault
from callgate.policy.hooks.hook_matchers import Hook, load, merge_duplicate_hooks
from callgate.policy.hooks.hook_protocol import (
    CALL_EVENTS,
    EVENTS_NOT_BLOCKABLE,
    STRICTEST_FIRST,
    SUBJECTS,
    HookAnswer,
    HookFailure,
    facts_of_call,
    facts_of_result,
)
from callgate.policy.hooks.hook_runners import Function, HookEnvironment, ask
from callgate.policy.placement import OUTSIDE_CHECK
from callgate.policy.settings_commands import SettingsCommands
from callgate.words.calls import HOOK_STOP, Result
from callgate.words.decisions import Allow, Ask, Deny, Effect, Origin
from callgate.words.errors import UsageError, in_words
from callgate.words.events import Noted
from callgate.words.messages import Text
from callgate.words.noun import noun
from callgate.words.turns import PhaseEnded, PhaseStarted

HookReply = tuple[Hook, HookAnswer | HookFailure]


@noun
class HookNote:
    text: str
    level: Literal["info", "warning"] = "warning"


@noun
class MergedAnswers:
    """The merged answer of several hooks.

    by          the names of the hooks that decided
    origin      the origin of the first hook that decided
    changed_by  the hook whose arguments are used
    stop_by     the names of the hooks that stop the agent
    """

    verdict: Effect | None = None
    by: str = ""
    reason: str = ""
    origin: Origin | None = None
    arguments: Mapping[str, Any] | None = None
    changed_by: str = ""
    context: tuple[str, ...] = ()
    stop: str | None = None
    stop_by: str = ""
    notes: tuple[HookNote, ...] = ()


def merge(replies: Iterable[HookReply]) -> MergedAnswers:
    ordered = sorted(replies, key=lambda reply: reply[0].place)
    heard = [(hook, counted) for hook, answer in ordered if (counted := _counted(hook, answer)) is not None]
    changes = [(hook, answer.arguments) for hook, answer in heard if answer.arguments is not None]
    first, arguments = changes[0] if changes else (None, None)
    opinions = [(hook, answer) for hook, answer in heard if _counts(hook, answer, first)]
    given = {answer.verdict for _, answer in opinions}
    verdict: Effect | None = next((effect for effect in STRICTEST_FIRST if effect in given), None)
    deciding = [(hook, answer) for hook, answer in opinions if answer.verdict == verdict]
    stops = [(hook, answer.stop) for hook, answer in heard if answer.stop is not None]
    changed = first is not None and verdict != "deny"
    return MergedAnswers(
        verdict=verdict,
        by=_names(hook for hook, _ in deciding),
        reason=_joined(answer.reason for _, answer in deciding),
        origin=deciding[0][0].line.origin if deciding else None,
        arguments=arguments if changed else None,
        changed_by=first.name if first is not None and changed else "",
        context=tuple(answer.context for _, answer in heard if answer.context),
        stop=_joined(reason for _, reason in stops) if stops else None,
        stop_by=_names(hook for hook, _ in stops),
        notes=(*(note for reply in ordered for note in _notes(*reply)), *_conflicts(changes)),
    )


def _names(hooks: Iterable[Hook]) -> str:
    return ", ".join(hook.name for hook in hooks)


def _joined(texts: Iterable[str]) -> str:
    return "\n".join(dict.fromkeys(text for text in texts if text))


def _counted(hook: Hook, answer: HookAnswer | HookFailure) -> HookAnswer | None:
    """Return the answer of a hook. After a failure, return a denial if the hook fails closed, otherwise None."""
    if isinstance(answer, HookAnswer):
        return answer
    if not hook.fail_closed:
        return None
    return HookAnswer("deny", f"{hook.name} {answer.why}, and fail_closed = true denies the call")


def _counts(hook: Hook, answer: HookAnswer, changed: Hook | None) -> bool:
    if answer.verdict == "allow":
        return not hook.only_tightens and (changed is None or changed is hook)
    return answer.verdict is not None


def _notes(hook: Hook, answer: HookAnswer | HookFailure) -> Iterable[HookNote]:
    where = f"{hook.name} ({hook.line.origin})" if str(hook.line.origin) else hook.name
    if isinstance(answer, HookFailure):
        yield HookNote(f"{where} {answer.why}" + (f": {answer.detail}" if answer.detail else ""))
    else:
        yield from (HookNote(f"{where}: {text}", "info") for text in answer.shown)


def _conflicts(changes: list[tuple[Hook, Mapping[str, Any]]]) -> Iterable[HookNote]:
    for hook, arguments in changes[1:]:
        first, taken = changes[0]
        if arguments != taken:
            both = f"{first.name} and {hook.name} ({hook.line.origin})"
            yield HookNote(f"{both} both changed the arguments; the changes of the first are used")


@noun
class Outcome:
    """The merged answer of the hooks to an event.

    blocked  why the action is blocked, or None
    stop     why the agent must stop, or None
    context  texts for the model
    """

    blocked: str | None = None
    context: tuple[str, ...] = ()
    stop: str | None = None
    by: str = ""


UNTOUCHED = Outcome()
_CHANGED = HookFailure("was not run", "files of this folder changed since you trusted it; see callgate trust")


class Hooks:
    """The hooks of a session. All hooks that match an event run concurrently.

    covers     callback that returns whether a rule matches a call, for the conditions of hooks
    report     callback for notes about failures
    phase      callback for the start and end of each hook
    functions  the Python hooks registered in code, by target
    trusted    callback that returns whether the user still trusts the files of the repository; if not, hooks of the
               repository fail
    commands   places the commands of hooks inside or outside the sandbox

    While ``faults`` is not empty, the gate denies every call. A hook with a fault never runs.
    """

    def __init__(
        self,
        lines: Iterable[HookLine],
        *,
        root: str | Path,
        covers: Callable[[str, Case], bool],
        clock: Clock,
        report: Callable[[Noted], object],
        session: str = "",
        transcript: str = "",
        environ: Mapping[str, str] | None = None,
        functions: Mapping[str, Function] | None = None,
        trusted: Callable[[], bool] = lambda: True,
        phase: Callable[[PhaseStarted | PhaseEnded], object] = lambda event: None,
        commands: SettingsCommands | None = None,
    ) -> None:
        given = functions or {}
        self._hooks, faults = load(lines, given)
        self.faults: tuple[SettingsFault, ...] = faults
        environ = scrubbed(os.environ if environ is None else environ)
        self._around = HookEnvironment(str(root), clock, environ, given, commands)
        self._covers = covers
        self._report = report
        self._trusted = trusted
        self._known = {"session_id": session, "transcript_path": transcript, "cwd": str(root)}
        self._phase = phase
        self._asked = 0
        self.seconds = 0.0
        """The total run time of all hooks in seconds."""
        self.before = Check("hooks", self._before)
        """The check that runs the hooks of PreToolUse. It returns None without awaiting if no hook matches."""

    def _before(self, case: Case) -> Awaitable[Hooked] | None:
        if case.hooked is not None:  # hooks run once
            return None
        chosen = self._chosen("PreToolUse", case.name, case)
        return self._judged(chosen, case) if chosen else None

    async def _judged(self, chosen: Sequence[Hook], case: Case) -> Hooked:
        merged = await self._ask("PreToolUse", chosen, facts_of_call(case), case)
        denied = _denied(merged)
        if denied is not None:
            return Hooked(denied.by, denied, context=merged.context)
        decision = None
        if merged.verdict == "ask":
            decision = Ask(merged.by, merged.reason or "a hook asks the user to decide", unconditional=True)
        elif merged.verdict == "allow":
            decision = Allow(merged.by, merged.reason)
        if decision is not None:
            decision = replace(decision, origin=merged.origin)
        return Hooked(merged.changed_by or merged.by, decision, merged.arguments, merged.context)

    def asked(self, case: Case, ask: Ask) -> Awaitable[Allow | Deny | None] | None:
        """Run the hooks that answer a question in place of the user. Return None without awaiting if no hook
        matches. A hook never allows a call whose question is unconditional, or a command outside the sandbox."""
        chosen = self._chosen("PermissionRequest", case.name, case)
        return self._answered(chosen, case, ask) if chosen else None

    async def _answered(self, chosen: Sequence[Hook], case: Case, ask: Ask) -> Allow | Deny | None:
        told = {**facts_of_call(case), "asked_by": ask.by, "message": ask.reason}
        merged = await self._ask("PermissionRequest", chosen, told, case)
        answerable = not ask.unconditional and ask.by != OUTSIDE_CHECK
        if merged.verdict == "allow" and merged.stop is None and answerable:
            changed = merged.arguments
            return Allow(merged.by, merged.reason, arguments=changed, origin=merged.origin, context=merged.context)
        return _denied(merged)

    def after(self, case: Case, result: Result) -> Result | Awaitable[Result]:
        """Run the hooks after a call. Return the result with the texts of the hooks appended to its content. If a
        hook stops the agent, ``details`` contains the key HOOK_STOP."""
        event = "PostToolUseFailure" if result.is_error else "PostToolUse"
        chosen = self._chosen(event, case.name, case)
        return self._seen(event, chosen, case, result) if chosen else result

    async def _seen(self, event: str, chosen: Sequence[Hook], case: Case, result: Result) -> Result:
        merged = await self._ask(event, chosen, {**facts_of_call(case), **facts_of_result(result)}, case)
        said = [f"[{merged.by} reports a problem: {merged.reason}]"] if merged.verdict == "deny" else []
        said += [f"[A hook after {case.name} adds: {context}]" for context in merged.context]
        if said:
            result = replace(result, content=(*result.content, *map(Text, said)))
        if merged.stop is not None:
            result = replace(result, details={**result.details, HOOK_STOP: merged.stop})
        return result

    async def happened(self, event: str, /, **payload: Any) -> Outcome:
        """Run the hooks of an event that does not belong to a call, and return their merged answer."""
        if event not in EVENTS or event in CALL_EVENTS:
            raise UsageError(f"{event} is not an event of sessions")
        chosen = self._chosen(event, str(payload.get(SUBJECTS.get(event, ""), "")), None)
        if not chosen:
            return UNTOUCHED
        merged = await self._ask(event, chosen, payload, None)
        blocked = merged.reason if merged.verdict == "deny" else None
        if blocked is not None and event in EVENTS_NOT_BLOCKABLE:
            self._tell(f"{merged.by} cannot block this event: {blocked}", None)
            blocked = None
        return Outcome(blocked, merged.context, merged.stop, merged.by or merged.stop_by)

    def _chosen(self, event: str, subject: str, case: Case | None) -> Sequence[Hook]:
        if event not in self._hooks:
            return ()
        found = [hook for hook in self._hooks[event] if hook.matches(subject)]
        return merge_duplicate_hooks(hook for hook in found if self._covered(hook, case)) if found else ()

    def _covered(self, hook: Hook, case: Case | None) -> bool:
        condition = hook.line.condition
        if not condition or case is None:
            return True
        try:
            return self._covers(condition, case)
        except Exception as error:
            self._tell(f"the condition of {hook.name} ({hook.line.origin}) failed: {in_words(error)}", case)
            return hook.fail_closed

    async def _ask(
        self, event: str, hooks: Sequence[Hook], told: Mapping[str, Any], case: Case | None
    ) -> MergedAnswers:
        around = self._around
        payload = json.dumps({**self._known, **told, "hook_event_name": event}, allow_nan=False).encode()
        strangers = [hook for hook in hooks if hook.only_tightens]
        began = around.clock.monotonic()
        barred = strangers if strangers and not await in_thread(self._trusted) else ()
        try:
            async with TaskGroup() as group:
                tasks = [group.create_task(self._reply(hook, payload, case, barred=hook in barred)) for hook in hooks]
        finally:
            self.seconds += around.clock.monotonic() - began
        merged = merge(task.result() for task in tasks)
        for note in merged.notes:
            self._report(Noted(around.clock.now(), note.text, note.level, _own_call(case)))
        return merged

    async def _reply(self, hook: Hook, payload: bytes, case: Case | None, *, barred: bool) -> HookReply:
        if barred:
            return hook, _CHANGED
        clock, call_id = self._around.clock, _own_call(case)
        self._asked += 1
        name, began = f"hook-{self._asked}", clock.monotonic()
        self._phase(PhaseStarted(clock.now(), name, "hook", hook.name, call_id))
        try:
            return hook, await ask(hook.line, payload, self._around)
        finally:
            took = max(clock.monotonic() - began, 0.0)
            self._phase(PhaseEnded(at=clock.now(), id=name, kind="hook", name=hook.name, seconds=took, call_id=call_id))

    def _tell(self, text: str, case: Case | None) -> None:
        self._report(Noted(self._around.clock.now(), text, "warning", _own_call(case)))


def _denied(merged: MergedAnswers) -> Deny | None:
    if merged.stop is not None:
        by = merged.by if merged.verdict == "deny" else merged.stop_by
        reason = f"{merged.reason}\n{merged.stop}" if merged.verdict == "deny" else merged.stop
        return Deny(by, reason, "blocked_by_hook", stop=True, origin=merged.origin)
    if merged.verdict == "deny":
        return Deny(merged.by, merged.reason, "blocked_by_hook", origin=merged.origin)
    return None


def _own_call(case: Case | None) -> str | None:
    """Return the id of the call, or None for a call of a nested session."""
    return None if case is None or case.path else case.call_id
