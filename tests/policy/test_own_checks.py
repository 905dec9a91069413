"""Checks of an embedding program beside the rules: they may forbid and ask anywhere, and allow what allow rules may."""

import asyncio
from collections.abc import Awaitable
from dataclasses import replace

import pytest

from callgate.core.gate import CheckGate
from callgate.core.ports import Case, Check, Verdict
from callgate.policy.checks import standard_checks
from callgate.policy.rules import EMPTY, Rulebook
from callgate.words.decisions import Allow, Ask, Decision, Deny
from tests.policy.gate_kit import HOME, ROOT, case_of, rules, shell

HERE = replace(EMPTY, root=ROOT, home=HOME)


def judged(case: Case, said: Verdict | type[Exception], book: Rulebook = HERE, *, later: bool = False) -> Decision:
    asked: list[Case] = []

    def answer(case: Case) -> Verdict | Awaitable[Verdict]:
        asked.append(case)
        if isinstance(said, type):
            raise said
        return asyncio.sleep(0, said) if later else said

    gate = CheckGate(standard_checks(book, own=[Check("own", answer)]))

    async def wait(found: Awaitable[Decision]) -> Decision:
        return await found

    found = gate.judge(case)
    decision = found if isinstance(found, Decision) else asyncio.run(wait(found))
    assert len(asked) <= 1
    return decision


@pytest.mark.parametrize("later", [False, True], ids=["at once", "later"])
def test_an_own_check_is_weighed_with_the_rules(later: bool) -> None:
    deploy, danger = case_of("Deploy"), shell("rm -rf ~/.ssh")
    no, ask, yes = Deny("own", "no"), Ask("own", "sure?"), Allow("own", "fine")
    wrong: list[str] = []
    table: list[tuple[Case, Verdict, Rulebook, type[Decision], str]] = [
        (deploy, None, HERE, Ask, "default"),
        (deploy, yes, HERE, Allow, "own"),
        (deploy, ask, rules(allow=["Deploy"]), Ask, "own"),
        (deploy, no, rules(allow=["Deploy"]), Deny, "own"),
        (deploy, no, rules(ask=["Deploy"]), Deny, "own"),
        (deploy, yes, rules(ask=["Deploy"]), Ask, "Deploy"),
        (deploy, yes, rules(deny=["Deploy"]), Deny, "Deploy"),
        (danger, yes, HERE, Ask, "hard safety"),
        (replace(deploy, mode="plan"), yes, HERE, Deny, "mode plan"),
        (replace(deploy, mode="bypass"), no, HERE, Deny, "own"),
        (replace(deploy, mode="bypass"), ask, HERE, Ask, "own"),
    ]
    for case, said, book, kind, by in table:
        found = judged(case, said, book, later=later)
        if type(found) is not kind or found.by != by:
            wrong.append(f"{case.name} {case.mode} {said} {book.rules}: {found}")
    assert wrong == []


def test_an_own_check_that_fails_denies() -> None:
    assert isinstance(judged(case_of("Deploy"), RuntimeError), Deny)


def test_a_denial_of_an_own_check_is_judged_again_for_other_arguments() -> None:
    gate = CheckGate(standard_checks(HERE, own=[Check("own", lambda case: Deny("own", "no"))]))
    assert gate.judge_again(case_of("Deploy")) == Deny("own", "no")
