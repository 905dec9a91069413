"""Compiles the hooks of settings by event, and finds their faults."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from math import isfinite

from callgate.policy.entries import EVENTS, HookLine, SettingsFault
from callgate.policy.hooks.hook_protocol import CALL_EVENTS, SUBJECTS
from callgate.policy.hooks.hook_runners import Function, is_from_repository, parse_address, shown_address, target_fault
from callgate.policy.setting_kinds import EXPRESSION
from callgate.words.noun import noun

_ALL = ("", "*")


@noun
class Hook:
    """A compiled hook without a fault.

    place          the position of the hook in the configuration
    only_tightens  the hook is from the repository, so its allow is ignored
    """

    place: int
    line: HookLine
    name: str
    pattern: re.Pattern[str] | None = None
    fail_closed: bool = False
    only_tightens: bool = False

    def matches(self, subject: str) -> bool:
        return self.pattern is None or self.pattern.fullmatch(subject) is not None


def load(
    lines: Iterable[HookLine], functions: Mapping[str, Function]
) -> tuple[Mapping[str, tuple[Hook, ...]], tuple[SettingsFault, ...]]:
    """Return the hooks of each event, and the faults. A hook with a fault is omitted; while there is a fault, the
    gate denies every call."""
    hooks: dict[str, tuple[Hook, ...]] = {}
    faults: list[SettingsFault] = []
    for place, line in enumerate(lines):
        found = [SettingsFault(text, line.origin) for text in _faults(line, functions)]
        faults += found
        if not found:
            hook = Hook(
                place=place,
                line=line,
                name=_named(line),
                pattern=None if line.matcher in _ALL else re.compile(line.matcher),
                fail_closed=line.fail_closed,
                only_tightens=is_from_repository(line),
            )
            hooks[line.event] = (*hooks.get(line.event, ()), hook)
    return hooks, tuple(faults)


def _faults(line: HookLine, functions: Mapping[str, Function]) -> Iterator[str]:
    name = _named(line)
    if line.event not in EVENTS:
        yield f"unknown hook event {line.event!r}"
        return
    if why := target_fault(line, functions):
        yield f"{name}: {why}"
    if not (isfinite(line.timeout) and line.timeout > 0):
        yield f"{name}: the timeout must be a number of seconds above 0"
    if line.matcher not in _ALL:
        try:
            EXPRESSION.read(line.matcher)
        except ValueError as error:
            yield f"{name}: its matcher is invalid: {error}"
        if line.event not in SUBJECTS:
            yield f"{name}: matchers are not supported for {line.event}; remove the matcher"
    if line.condition and line.event not in CALL_EVENTS:
        yield f"{name}: a condition applies to calls, and {line.event} has no call; remove the condition"


def _named(line: HookLine) -> str:
    target = line.target
    if line.kind == "http":
        try:
            target = shown_address(parse_address(target))
        except ValueError:
            target = "(an invalid URL)"
    shown = " ".join(target.split())
    return f"hook {line.event} {shown if len(shown) <= 60 else shown[:57] + '...'}"


def merge_duplicate_hooks(hooks: Iterable[Hook]) -> list[Hook]:
    """Merge hooks with the same target into one hook. The merged hook fails closed if any of the hooks fails closed,
    and may allow if any of the hooks may allow."""
    found: dict[tuple[str, str], Hook] = {}
    for hook in hooks:
        key = (hook.line.kind, hook.line.target)
        twin = found.setdefault(key, hook)
        if twin is not hook:
            closed, tightens = twin.fail_closed or hook.fail_closed, twin.only_tightens and hook.only_tightens
            found[key] = replace(twin, fail_closed=closed, only_tightens=tightens)
    return list(found.values())
