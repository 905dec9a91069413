"""The gate of a nested session, which also asks the gates of all parent sessions."""

# Gates come from outside and may not keep to their types.
# pyright: reportUnnecessaryIsInstance=false

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from functools import partial
from inspect import isawaitable
from typing import Any

from callgate.core.gate import Steps, driven, refused, unasked, with_arguments
from callgate.core.ports import Case, Gate, Hooked
from callgate.session.nesting import NestingPart
from callgate.words.calls import Result
from callgate.words.decisions import Allow, Ask, Choice, Decision, Deny
from callgate.words.modes import MODES, Mode

_DECISIONS = (Allow, Ask, Deny)
Level = tuple[Gate, Callable[[Case], Case]]
"""A gate, and the function that makes the case for it: with the mode and the remembered answers of its session."""


class NestedGate:
    """A gate that asks the gates of all parent sessions, the root first, and then the session's own gate.

    One Deny denies the call, one Ask asks the user, and an Allow needs all gates. A question of one gate may be
    answered by hooks of the same session or of a parent session, and by a remembered answer that all gates accept.
    """

    def __init__(self, own: Gate, place: NestingPart) -> None:
        self._own = own
        self._place = place
        self._asking: dict[str, int] = {}  # the outermost level that asks about a call

    def _levels(self) -> Iterator[Level]:
        around = self._place.around
        for part in around:
            yield part.gate, partial(_seen_from, part, self._place)
        nearest = next((part for part in reversed(around) if not part.inherits_gate), None)
        if self._place.inherits_gate and nearest is not None and nearest.mode != self._place.mode:
            yield nearest.gate, partial(_in_own_mode, nearest, self._place)
        yield self._own, lambda case: case

    # ---- before it runs -----------------------------------------------------------------------------------------

    def judge(self, case: Case) -> Decision | Awaitable[Decision]:
        return driven(self._judged(case, again=False))

    def judge_again(self, case: Case) -> Any:
        return driven(self._judged(case, again=True))

    def _judged(self, case: Case, *, again: bool) -> Steps[Any]:
        asks: list[Ask] = []
        allow: Allow | None = None
        context: tuple[str, ...] = ()
        arguments, changed_by = None, ""
        self._asking.pop(case.call_id, None)
        for level, (gate, seen) in enumerate(self._levels()):
            try:
                verdict: Any = gate.judge_again(seen(case)) if again else gate.judge(seen(case))
                if isawaitable(verdict):
                    verdict = yield verdict
            except Exception as error:
                return refused("gate", error)
            if verdict is None and again:
                continue
            if not isinstance(verdict, _DECISIONS):
                return refused("gate", TypeError(f"a gate answered {type(verdict).__name__}, wanted a decision"))
            if isinstance(verdict, Deny):
                return verdict
            context += verdict.context
            if verdict.arguments is not None:
                arguments, changed_by = verdict.arguments, verdict.changed_by or verdict.by
                changed = with_arguments(case, arguments, changed_by)
                if isinstance(changed, Deny):
                    return changed
                case = changed
            if isinstance(verdict, Ask):
                self._asking.setdefault(case.call_id, level)
                asks.append(verdict)
            elif allow is None or gate is not self._own or not self._place.inherits_gate:
                allow = verdict
        found = next((ask for ask in asks if ask.unconditional), asks[0] if asks else allow)
        silent: Mode | None = next((part.mode for part in self._place.around if MODES[part.mode].never_asks), None)
        if isinstance(found, Ask) and silent is not None:
            return unasked(found, silent)
        return found and replace(found, arguments=arguments, changed_by=changed_by, context=context)

    # ---- while it waits, and afterwards -------------------------------------------------------------------------

    def requested(self, case: Case, ask: Ask) -> Awaitable[Allow | Deny | None] | None:
        pending = [(level, found) for level, found in self._requested(case, ask) if found is not None]
        return self._answered(case, pending) if pending else None

    def _requested(self, case: Case, ask: Ask) -> Iterator[tuple[int, Awaitable[Allow | Deny | None] | None]]:
        asked: list[Gate] = []
        for level, (gate, seen) in enumerate(self._levels()):
            if gate not in asked:
                asked.append(gate)
                yield level, gate.requested(seen(case), ask)

    async def _answered(
        self, case: Case, pending: list[tuple[int, Awaitable[Allow | Deny | None]]]
    ) -> Allow | Deny | None:
        given: Allow | None = None
        outermost = self._asking.get(case.call_id, 0)
        answers = [(level, await answer) for level, answer in pending]
        for level, answer in answers:
            if isinstance(answer, Deny):
                return answer
            if answer is not None and level <= outermost:
                given = given or answer
        return given

    def remembered(self, case: Case, /) -> Allow | None:
        found = [gate.remembered(seen(case)) for gate, seen in self._levels() if gate is not self._own]
        if not self._place.inherits_gate:
            found.append(self._own.remembered(case))
        return next(iter(found), None) if all(found) else None

    def choices(self, case: Case, /) -> tuple[Choice, ...]:
        return self._own.choices(case)

    def after(self, case: Case, result: Result) -> Result | Awaitable[Result]:
        return driven(self._run_after(case, result))

    def _run_after(self, case: Case, result: Result) -> Steps[Result]:
        """Run the ``after`` step of each gate, the innermost gate first, and return the result."""
        levels = {id(gate): (gate, seen) for gate, seen in self._levels()}
        for gate, seen in reversed(levels.values()):
            found: Any = gate.after(seen(case), result)
            result = (yield found) if isawaitable(found) else found
        return result


def _in_own_mode(part: NestingPart, place: NestingPart, case: Case) -> Case:
    """Return the case for the rules of a parent session, with the mode of the nested session. Hooks are not run
    again."""
    return replace(_seen_from(part, place, case), mode=case.mode, hooked=Hooked())


def _seen_from(part: NestingPart, place: NestingPart, case: Case) -> Case:
    """Return the case of a call in the nested session ``place`` for the gate of its parent session ``part``."""
    return replace(case, path=place.path[len(part.path) :], mode=part.mode, policies=part.policies)
