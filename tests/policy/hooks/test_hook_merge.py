"""Many answers become one, in whichever order they come."""

import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.policy.entries import HookLine
from callgate.policy.hooks.hook_matchers import Hook
from callgate.policy.hooks.hook_protocol import SILENT, HookAnswer, HookFailure
from callgate.policy.hooks.hooks import HookNote, HookReply, MergedAnswers, merge
from callgate.words.decisions import Origin

HERE = Origin("user", "settings.toml", 3)


def said(place: int, answer: HookAnswer | HookFailure, origin: Origin | None = None, **more: Any) -> HookReply:
    at = Origin("user", "settings.toml", place) if origin is None else origin
    return Hook(place=place, line=HookLine("PreToolUse", "command", "true", at), name=f"h{place}", **more), answer


def test_nobody_said_anything() -> None:
    assert merge([]) == MergedAnswers()
    assert merge([said(0, SILENT), said(1, SILENT)]) == MergedAnswers()


@pytest.mark.spec("HOOK-1")
@pytest.mark.parametrize(
    ("first", "second", "verdict", "by", "reason"),
    [
        ("deny", "allow", "deny", "h0", "r0"),
        ("allow", "deny", "deny", "h1", "r1"),
        ("deny", "ask", "deny", "h0", "r0"),
        ("ask", "deny", "deny", "h1", "r1"),
        ("deny", "deny", "deny", "h0, h1", "r0\nr1"),
        ("ask", "allow", "ask", "h0", "r0"),
        ("allow", "ask", "ask", "h1", "r1"),
        ("ask", "ask", "ask", "h0, h1", "r0\nr1"),
        ("allow", "allow", "allow", "h0, h1", "r0\nr1"),
        (None, "allow", "allow", "h1", "r1"),
        (None, "ask", "ask", "h1", "r1"),
        (None, "deny", "deny", "h1", "r1"),
    ],
)
def test_deny_before_ask_before_allow(first: Any, second: Any, verdict: Any, by: str, reason: str) -> None:
    both = [said(0, HookAnswer(first, "r0")), said(1, HookAnswer(second, "r1"))]
    merged = merge(both)
    assert (merged.verdict, merged.by, merged.reason) == (verdict, by, reason)
    assert merged.origin == Origin("user", "settings.toml", int(by[1]))
    assert merge(both[::-1]) == merged


def test_a_reason_given_twice_is_said_once_and_an_empty_one_not_at_all() -> None:
    merged = merge([said(n, HookAnswer("deny", reason)) for n, reason in enumerate(["a", "", "b", "a"])])
    assert merged.reason == "a\nb"


def test_an_allow_from_the_repository_is_no_opinion() -> None:
    theirs = said(0, HookAnswer("allow", "theirs"), only_tightens=True)
    assert merge([theirs]) == MergedAnswers()
    assert merge([theirs, said(1, HookAnswer("allow", "mine"))]).by == "h1"
    for verdict in ("ask", "deny"):
        assert merge([said(0, HookAnswer(verdict, "r"), only_tightens=True)]).verdict == verdict


@pytest.mark.spec("HOOK-1")
def test_the_first_change_of_the_arguments_counts_and_others_are_reported() -> None:
    changes = [said(n, HookAnswer(arguments={"n": n})) for n in (4, 2, 7)]
    merged = merge(changes)
    assert (merged.arguments, merged.changed_by) == ({"n": 2}, "h2")
    assert merged.notes == (
        HookNote("h2 and h4 (user, settings.toml:4) both changed the arguments; the changes of the first are used"),
        HookNote("h2 and h7 (user, settings.toml:7) both changed the arguments; the changes of the first are used"),
    )


def test_the_same_change_twice_is_no_conflict() -> None:
    merged = merge([said(n, HookAnswer(arguments={"a": []})) for n in range(2)])
    assert (merged.arguments, merged.notes) == ({"a": []}, ())


def test_arguments_may_be_none_at_all() -> None:
    merged = merge([said(0, HookAnswer(arguments={})), said(1, HookAnswer(arguments={"a": 1}))])
    assert merged.arguments == {}


def test_a_denied_call_has_no_new_arguments_but_the_conflict_is_still_reported() -> None:
    merged = merge([said(0, HookAnswer("deny", "r", {"a": 1})), said(1, HookAnswer(arguments={"a": 2}))])
    assert (merged.arguments, merged.changed_by, len(merged.notes)) == (None, "", 1)


def test_an_allow_is_for_the_arguments_its_hook_has_seen() -> None:
    change = said(1, HookAnswer(arguments={"command": "other"}))
    allow = said(0, HookAnswer("allow", "harmless"))
    assert merge([change, allow]).verdict is None
    assert merge([change, said(0, HookAnswer("ask"))]).verdict == "ask"
    assert merge([change, said(0, HookAnswer("deny"))]).verdict == "deny"
    itself = said(1, HookAnswer("allow", "mine", {"command": "other"}))
    assert (merge([itself, allow]).verdict, merge([itself, allow]).by) == ("allow", "h1")


@pytest.mark.spec("HOOK-2")
def test_a_failure_is_reported_and_counts_only_when_it_must_not_happen() -> None:
    failure = HookFailure("took longer than 60 s", "stderr")
    note = HookNote("h0 (user, settings.toml) took longer than 60 s: stderr")
    open_ = merge([said(0, failure)])
    assert open_ == MergedAnswers(notes=(note,))
    closed = merge([said(0, failure, fail_closed=True)])
    assert (closed.verdict, closed.by, closed.notes) == ("deny", "h0", (note,))
    assert closed.reason == "h0 took longer than 60 s, and fail_closed = true denies the call"


def test_what_is_shown_and_what_failed_is_told_in_the_order_of_the_configuration() -> None:
    merged = merge(
        [
            said(2, HookFailure("failed")),
            said(1, HookAnswer(shown=("hello",)), Origin()),
            said(0, HookAnswer(shown=("a", "b")), Origin()),
        ]
    )
    assert merged.notes == (
        HookNote("h0: a", "info"),
        HookNote("h0: b", "info"),
        HookNote("h1: hello", "info"),
        HookNote("h2 (user, settings.toml:2) failed"),
    )


def test_contexts_and_stops_are_in_the_order_of_the_configuration() -> None:
    merged = merge([said(n, HookAnswer(context=f"c{n}", stop=f"s{n}")) for n in (1, 0)])
    assert (merged.context, merged.stop, merged.stop_by) == (("c0", "c1"), "s0\ns1", "h0, h1")
    assert merged.verdict is None


# ---- any order ----------------------------------------------------------------------------------------------------

SHORT = st.text("ab", max_size=2)
GIVEN = st.builds(
    HookAnswer,
    st.sampled_from([None, "allow", "ask", "deny"]),
    SHORT,
    st.none() | st.dictionaries(SHORT, st.integers(0, 2), max_size=1),
    SHORT,
    st.none() | st.text("st", min_size=1, max_size=2),
    st.lists(st.text("xy", min_size=1, max_size=2), max_size=2).map(tuple),
)
ANSWERS = st.lists(
    st.tuples(GIVEN | st.builds(HookFailure, st.text("f", min_size=1, max_size=2)), st.booleans(), st.booleans()),
    max_size=5,
)


def oracle(answers: Sequence[HookReply]) -> tuple[Any, ...]:
    """The same, written out plainly and in order."""
    changed, verdicts, contexts, stops = None, [], [], []
    for hook, answer in answers:
        if isinstance(answer, HookFailure):
            verdicts.append(("deny" if hook.fail_closed else None, hook))
            continue
        if answer.arguments is not None and changed is None:
            changed = (hook, answer.arguments)
        verdicts.append((answer.verdict, hook))
        contexts += [answer.context] if answer.context else []
        stops += [answer.stop] if answer.stop else []
    verdict = None
    for wanted in ("allow", "ask", "deny"):
        for given_verdict, hook in verdicts:
            weak = wanted == "allow" and (hook.only_tightens or (changed is not None and changed[0] is not hook))
            if given_verdict == wanted and not weak:
                verdict = wanted
    arguments = changed[1] if changed is not None and verdict != "deny" else None
    return verdict, arguments, tuple(contexts), "\n".join(dict.fromkeys(stops)) or None


@pytest.mark.spec("HOOK-1")
@given(ANSWERS, st.randoms(use_true_random=False))
def test_any_order_gives_the_same_and_what_the_rules_say(answers: list[Any], chance: random.Random) -> None:
    listed = [
        said(place, answer, fail_closed=closed, only_tightens=tightens)
        for place, (answer, closed, tightens) in enumerate(answers)
    ]
    merged = merge(listed)
    shuffled = list(listed)
    chance.shuffle(shuffled)
    assert merge(shuffled) == merged
    assert (merged.verdict, merged.arguments, merged.context, merged.stop) == oracle(listed)
    failures = [answer for _, answer in listed if isinstance(answer, HookFailure)]
    assert len([note for note in merged.notes if note.level == "warning"]) >= len(failures)


@given(ANSWERS, st.sampled_from(["ask", "deny"]))
def test_one_more_objection_never_permits_more(answers: list[Any], objection: Any) -> None:
    listed = [said(n, answer, fail_closed=closed) for n, (answer, closed, _) in enumerate(answers)]
    rank = {None: 0, "allow": 0, "ask": 1, "deny": 2}
    before, after = merge(listed), merge([*listed, said(99, HookAnswer(objection))])
    assert rank[after.verdict] >= max(rank[before.verdict], rank[objection])
