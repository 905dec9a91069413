"""Many answers become one, the same in whichever order the hooks finish.

Deny before ask before allow; what is joined is joined in the order of the configuration. A hook of the repository can
only tighten: its allow is no opinion. An allow is for what its hook has seen: when another hook changed the arguments,
it is no opinion either.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from callgate.policy.hooks.protocol import STRICTEST_FIRST, HookAnswer, HookFailure
from callgate.words.decisions import Effect, Origin
from callgate.words.noun import noun


@noun
class HookReply:
    """One hook's answer. ``place`` is its place in the configuration, ``name`` what people call it by."""

    place: int
    name: str
    origin: Origin
    answer: HookAnswer | HookFailure
    fail_closed: bool = False
    only_tightens: bool = False


@noun
class HookNote:
    """Something to show the person."""

    text: str
    level: Literal["info", "warning"] = "warning"


@noun
class MergedAnswers:
    """The answers of hooks, merged. ``by`` names those who decided, ``origin`` is where the first of them is to be
    found; ``changed_by`` names whose arguments count, ``stop_by`` those who want the agent to stop."""

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


def merge(answers: Iterable[HookReply]) -> MergedAnswers:
    said = sorted(answers, key=lambda one: one.place)
    heard = [(one, answer) for one in said if (answer := _counted(one)) is not None]
    changes = [(one, answer.arguments) for one, answer in heard if answer.arguments is not None]
    first, arguments = changes[0] if changes else (None, None)
    opinions = [(one, answer) for one, answer in heard if _counts(one, answer, first)]
    given = {answer.verdict for _, answer in opinions}
    verdict: Effect | None = next((effect for effect in STRICTEST_FIRST if effect in given), None)
    deciding = [(one, answer) for one, answer in opinions if answer.verdict == verdict]
    stops = [(one, answer.stop) for one, answer in heard if answer.stop is not None]
    return MergedAnswers(
        verdict,
        _names(one for one, _ in deciding),
        _joined(answer.reason for _, answer in deciding),
        deciding[0][0].origin if deciding else None,
        arguments if verdict != "deny" else None,
        first.name if first and verdict != "deny" else "",
        tuple(answer.context for _, answer in heard if answer.context),
        _joined(reason for _, reason in stops) if stops else None,
        _names(one for one, _ in stops),
        (*(note for one in said for note in _notes(one)), *_conflicts(changes)),
    )


def _names(hooks: Iterable[HookReply]) -> str:
    return ", ".join(one.name for one in hooks)


def _joined(texts: Iterable[str]) -> str:
    return "\n".join(dict.fromkeys(text for text in texts if text))


def _counted(one: HookReply) -> HookAnswer | None:
    """The answer that counts for a hook: none when it failed, a denial when it must not fail."""
    if not isinstance(one.answer, HookFailure):
        return one.answer
    if not one.fail_closed:
        return None
    return HookAnswer("deny", f"{one.name} {one.answer.why}, and nothing goes on without its word")


def _counts(one: HookReply, answer: HookAnswer, changed: HookReply | None) -> bool:
    """True if it has an opinion that may decide."""
    if answer.verdict == "allow":
        return not one.only_tightens and (changed is None or changed is one)
    return answer.verdict is not None


def _notes(one: HookReply) -> Iterable[HookNote]:
    where = f"{one.name} ({one.origin})" if str(one.origin) else one.name
    if isinstance(one.answer, HookFailure):
        yield HookNote(f"{where} {one.answer.why}" + (f": {one.answer.detail}" if one.answer.detail else ""))
    else:
        yield from (HookNote(f"{where}: {text}", "info") for text in one.answer.shown)


def _conflicts(changes: list[tuple[HookReply, Mapping[str, Any]]]) -> Iterable[HookNote]:
    for one, arguments in changes[1:]:
        first, taken = changes[0]
        if arguments != taken:
            yield HookNote(
                f"{first.name} and {one.name} ({one.origin}) both changed the arguments; the first one's count"
            )
