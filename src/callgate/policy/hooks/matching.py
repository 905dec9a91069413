"""Hooks by event: lines of settings with their matchers compiled, and their faults."""

import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import isfinite

from callgate.policy.entries import IN_REPOSITORY, HookLine, SettingsFault
from callgate.policy.hooks.addresses import parse_address
from callgate.policy.hooks.protocol import CALL_EVENTS, SUBJECTS, HookAnswer, HookFailure
from callgate.policy.hooks.runners import Function, target_fault
from callgate.policy.keys import EVENTS
from callgate.words.noun import noun

_ALL = ("", "*")


@noun
class Hook:
    """A hook that may be asked. ``answered`` is its answer when something is wrong with it: it is not run then.
    ``place`` is its place in the configuration; one that ``only_tightens`` is from the repository."""

    place: int
    line: HookLine
    name: str
    pattern: re.Pattern[str] | None = None
    answered: HookAnswer | HookFailure | None = None
    fail_closed: bool = False
    only_tightens: bool = False

    def matches(self, subject: str) -> bool:
        return self.pattern is None or self.pattern.fullmatch(subject) is not None


def load(
    lines: Iterable[HookLine], functions: Mapping[str, Function]
) -> tuple[Mapping[str, tuple[Hook, ...]], tuple[SettingsFault, ...]]:
    """The hooks of each event, and the faults of their lines."""
    hooks: dict[str, tuple[Hook, ...]] = {}
    faults: list[SettingsFault] = []
    for place, line in enumerate(lines):
        if line.event not in EVENTS:
            faults.append(SettingsFault(f"there is no event {line.event!r} for hooks", line.origin))
            continue
        hook, wrong = _ready(place, line, functions)
        hooks[line.event] = (*hooks.get(line.event, ()), hook)
        faults += [SettingsFault(f"{hook.name}: {text}", line.origin) for text in wrong]
    return hooks, tuple(faults)


def _ready(place: int, line: HookLine, functions: Mapping[str, Function]) -> tuple[Hook, list[str]]:
    answered: HookAnswer | HookFailure | None = None
    wrong: list[str] = []
    never = target_fault(line, functions) or _timeout_fault(line.timeout)
    if never is not None:
        wrong.append(never)
        answered = HookFailure(f"cannot be asked: {never}")
    pattern = None
    if line.matcher not in _ALL:
        try:
            pattern = _compiled(line.matcher)
        except ValueError as error:
            wrong.append(f"its matcher is no regular expression: {error}")
            answered = HookAnswer("deny", "the hook's matcher is no regular expression, so it may be meant for this")
        if line.event not in SUBJECTS:
            wrong.append(f"there is nothing to match for {line.event}; leave the matcher out")
            pattern = None
    if line.condition and line.event not in CALL_EVENTS:
        wrong.append(f"a condition is about a call, and {line.event} is not; leave it out")
    only_tightens = line.origin.layer in IN_REPOSITORY
    return Hook(
        place=place,
        line=line,
        name=_named(line),
        pattern=pattern,
        answered=answered,
        fail_closed=line.fail_closed,
        only_tightens=only_tightens,
    ), wrong


def _compiled(matcher: str) -> re.Pattern[str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return re.compile(matcher)
    except (re.error, Warning, OverflowError, RecursionError) as error:
        raise ValueError(str(error)) from None


def _timeout_fault(timeout: float) -> str | None:
    return None if isfinite(timeout) and timeout > 0 else "its timeout must be a number of seconds above 0"


def _named(line: HookLine) -> str:
    target = line.target
    if line.kind == "http":
        try:
            target = parse_address(target).shown
        except ValueError:
            target = "(an address that cannot be used)"
    shown = " ".join(target.split())
    return f"hook {line.event} {shown if len(shown) <= 60 else shown[:57] + '...'}"


def without_twins(hooks: Iterable[Hook]) -> list[Hook]:
    """Hooks with the same target are one, as strict as the strictest and as trusted as the most trusted of them."""
    found: dict[object, Hook] = {}
    for hook in hooks:
        key = hook.place if hook.answered is not None else (hook.line.kind, hook.line.target)
        first = found.get(key)
        found[key] = hook if first is None else _one_of(first, hook)
    return list(found.values())


def _one_of(first: Hook, twin: Hook) -> Hook:
    return replace(
        first,
        fail_closed=first.fail_closed or twin.fail_closed,
        only_tightens=first.only_tightens and twin.only_tightens,
    )
