"""The gate of a nested session, which also asks the gates of all parent sessions."""

# Gates come from outside and may not keep to their types.
# pyright: reportUnnecessaryIsInstance=false

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from inspect import isawaitable
from typing import Any

from callgate.core.gate import Steps, driven, refused, unasked, with_arguments
from callgate.core.ports import Case, Gate, Hooked
from callgate.session.nesting import CUT_OFF, NestingPart
from callgate.words.calls import Result
from callgate.words.decisions import Allow, Ask, Choice, Decision, Deny
from callgate.words.modes import MODES, Mode
from callgate.words.resolved_path import ResolvedPath

_DECISIONS = (Allow, Ask, Deny)
Level = tuple[int, Gate, Callable[[Case], Case]]
"""The depth of a session, a gate that judges for it, and the function that makes the case for this gate: with the mode
and the remembered answers of the session."""


class NestedGate:
    """A gate that asks the gates of all parent sessions, the root first, and then the gate of the session.

    One Deny denies the call, one Ask asks the user, and the call is allowed only if all gates allow it. If a gate
    changes the arguments, the gates before it judge the new arguments. A question of one gate may be answered by
    hooks of the same session or of a parent session, or by a remembered answer that all gates accept.
    """

    def __init__(self, own: Gate, place: NestingPart) -> None:
        self._own = own
        self._place = place
        self._asking: dict[str, int] = {}  # the smallest depth of a session that asks about a call

    def _levels(self) -> Iterator[Level]:
        """Yield the gates of all sessions, the root first. A session without its own rules inherits the rules of
        another gate; this gate is yielded first and judges in the mode of the session."""
        ruled: NestingPart | None = None
        for depth, part in enumerate((*self._place.around, self._place)):
            if not part.inherits_gate:
                ruled = part
            elif ruled is not None and ruled.mode != part.mode:
                yield depth, ruled.gate, partial(_in_mode_of, part, ruled, self._place)
            if part is not self._place:
                yield depth, part.gate, partial(_seen_from, part, self._place)
        yield len(self._place.around), self._own, lambda case: case

    # ---- before it runs -----------------------------------------------------------------------------------------

    def judge(self, case: Case) -> Decision | Awaitable[Decision]:
        return driven(self._judged(case, again=False))

    def judge_again(self, case: Case) -> Any:
        return driven(self._judged(case, again=True))

    def _judged(self, case: Case, *, again: bool) -> Steps[Any]:
        """Ask the gates until every gate has judged the same arguments. The hooks of each gate run once."""
        if self._place.is_cut_off:
            return Deny("nesting", CUT_OFF)
        levels = [*self._levels()]
        verdicts: dict[int, Allow | Ask] = {}
        judged: dict[int, str] = {}  # the hash of the arguments that each gate judged last
        context: tuple[str, ...] = ()
        arguments, changed_by, changes = None, "", 0
        self._asking.pop(case.call_id, None)
        while (at := _first_other(judged, case.arguments_hash, len(levels))) is not None:
            _, gate, seen = levels[at]
            shown = replace(seen(case), hooked=Hooked()) if at in judged or (again and changes) else seen(case)
            try:
                verdict: Any = gate.judge_again(shown) if again and not changes else gate.judge(shown)
                if isawaitable(verdict):
                    verdict = yield verdict
            except Exception as error:
                return refused("gate", error)
            judged[at] = case.arguments_hash
            if verdict is None and again and not changes:
                continue
            if not isinstance(verdict, _DECISIONS):
                return refused("gate", TypeError(f"a gate returned {type(verdict).__name__} instead of a decision"))
            if isinstance(verdict, Deny):
                return verdict
            context += tuple(each for each in verdict.context if each not in context)
            verdicts[at] = _stricter(verdicts.get(at), verdict)
            if verdict.arguments is None:
                continue
            arguments, changed_by = verdict.arguments, verdict.changed_by or verdict.by
            changed = with_arguments(case, arguments, changed_by)
            if isinstance(changed, Deny):
                return changed
            changes += changed.arguments_hash != case.arguments_hash
            if changes > 2 * len(levels):
                return Deny(changed_by, "the parent sessions changed the arguments of the call in different ways")
            case = changed
            judged[at] = case.arguments_hash
        found = self._combined(case, levels, verdicts)
        if found is None or isinstance(found, Deny):
            return found
        return replace(found, arguments=arguments, changed_by=changed_by, context=context)

    def _combined(self, case: Case, levels: Sequence[Level], verdicts: Mapping[int, Allow | Ask]) -> Any:
        """Return the decision that combines all verdicts; None without verdicts."""
        asks: list[Ask] = []
        allow: Allow | None = None
        for at, verdict in sorted(verdicts.items()):
            depth, gate, _ = levels[at]
            if isinstance(verdict, Ask):
                self._asking.setdefault(case.call_id, depth)
                asks.append(verdict)
            elif allow is None or gate is not self._own or not self._place.inherits_gate:
                allow = verdict
        found = next((ask for ask in asks if ask.unconditional), asks[0] if asks else allow)
        silent: Mode | None = next((part.mode for part in self._place.around if MODES[part.mode].never_asks), None)
        return unasked(found, silent) if isinstance(found, Ask) and silent is not None else found

    # ---- while it waits, and afterwards -------------------------------------------------------------------------

    def requested(self, case: Case, ask: Ask) -> Awaitable[Allow | Deny | None] | None:
        pending = [(depth, found) for depth, found in self._requested(case, ask) if found is not None]
        return self._answered(case, pending) if pending else None

    def _requested(self, case: Case, ask: Ask) -> Iterator[tuple[int, Awaitable[Allow | Deny | None] | None]]:
        asked: list[Gate] = []
        for depth, gate, seen in self._levels():
            if gate not in asked:
                asked.append(gate)
                yield depth, gate.requested(seen(case), ask)

    async def _answered(
        self, case: Case, pending: list[tuple[int, Awaitable[Allow | Deny | None]]]
    ) -> Allow | Deny | None:
        given: tuple[int, Allow] | None = None
        outermost = self._asking.get(case.call_id, 0)
        answers = [(depth, await answer) for depth, answer in pending]
        for depth, answer in answers:
            if isinstance(answer, Deny):
                return answer
            if answer is not None and depth <= outermost:
                given = given or (depth, answer)
        return None if given is None else await self._accepted(case, *given)

    async def _accepted(self, case: Case, depth: int, answer: Allow) -> Allow | Deny | None:
        """Return the answer if the gates of all parent sessions allow the arguments that the answer changes. Return
        None if one of the gates asks, and the Deny if one of the gates denies."""
        if answer.arguments is None:
            return answer
        changed = with_arguments(case, answer.arguments, answer.changed_by or answer.by)
        if isinstance(changed, Deny):
            return changed
        for level, gate, seen in self._levels():
            if level >= depth:
                break
            verdict: Any = gate.judge(replace(seen(changed), hooked=Hooked()))
            verdict = await verdict if isawaitable(verdict) else verdict
            if isinstance(verdict, Deny):
                return verdict
            if not isinstance(verdict, Allow) or verdict.arguments is not None:
                return None
        return answer

    def remembered(self, case: Case, /) -> Allow | None:
        found = [gate.remembered(seen(case)) for _, gate, seen in self._levels() if gate is not self._own]
        if not self._place.inherits_gate:
            found.append(self._own.remembered(case))
        return next(iter(found), None) if all(found) else None

    def choices(self, case: Case, /) -> tuple[Choice, ...]:
        return self._own.choices(case)

    def after(self, case: Case, result: Result) -> Result | Awaitable[Result]:
        return driven(self._run_after(case, result))

    def _run_after(self, case: Case, result: Result) -> Steps[Result]:
        """Run the ``after`` step of each gate, the innermost gate first, and return the result."""
        levels = {id(gate): (gate, seen) for _, gate, seen in self._levels()}
        for gate, seen in reversed(levels.values()):
            found: Any = gate.after(seen(case), result)
            result = (yield found) if isawaitable(found) else found
        return result


def _first_other(judged: Mapping[int, str], wanted: str, count: int) -> int | None:
    """Return the index of the first gate that has not judged the arguments with this hash, or None."""
    return next((at for at in range(count) if judged.get(at) != wanted), None)


def _stricter(before: Allow | Ask | None, verdict: Allow | Ask) -> Allow | Ask:
    """Return the stricter of two verdicts of a gate about one call; if they are equally strict, the later verdict."""
    if not isinstance(before, Ask):
        return verdict
    return verdict if isinstance(verdict, Ask) and verdict.unconditional >= before.unconditional else before


def _in_mode_of(part: NestingPart, ruled: NestingPart, place: NestingPart, case: Case) -> Case:
    """Return a copy of the case that uses the rules of the parent session ``ruled`` and the mode of the session
    ``part``. Hooks are not run again."""
    return replace(_seen_from(ruled, place, case), mode=part.mode, hooked=Hooked())


def _seen_from(part: NestingPart, place: NestingPart, case: Case) -> Case:
    """Return the case of a call in the nested session ``place`` for the gate of its parent session ``part``."""
    seen = replace(case, path=place.path[len(part.path) :], mode=part.mode, policies=part.policies)
    if part.root == place.root:
        given = (each for each in place.given if each in case.policies and each.scope == "session")
        return replace(seen, policies=(*part.policies, *(each for each in given if each not in part.policies)))
    return replace(seen, root=part.root, resolve_path=partial(_resolved_for, part.root, case.resolve_path))


def _resolved_for(root: str, resolve_path: Callable[[str], ResolvedPath], path: str) -> ResolvedPath:
    found, top = resolve_path(path), root.rstrip("/") + "/"
    return replace(found, inside=all(f"{hop}/".startswith(top) for hop in found.hops))
