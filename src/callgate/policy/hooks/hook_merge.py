"""Merges the answers of hooks into one answer. The result does not depend on the order in which the hooks finish.

A deny overrides an ask, and an ask overrides an allow. Texts are joined in the order of the configuration. The allow
of a hook of the repository is ignored. An allow is also ignored if another hook changed the arguments.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from callgate.policy.hooks.hook_matchers import Hook
from callgate.policy.hooks.hook_protocol import STRICTEST_FIRST, HookAnswer, HookFailure
from callgate.words.decisions import Effect, Origin
from callgate.words.noun import noun

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
