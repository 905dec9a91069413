"""Lanes and LockTable against the obvious way to say who has to wait."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.core.lanes import BoundLocks, Lanes, bind_locks
from callgate.core.lanes import conflict as lanes_conflict
from callgate.core.locks import Claim, LockTable
from callgate.testing import MemoryHost
from callgate.words.traits import Locks, exclusive, reads, shared, writes
from tests.properties.oracle import conflict, kin
from tests.properties.strategies import locks, path_locks

NORMAL = MemoryHost().normal


@dataclass(eq=False)
class Waiting:
    """A claimant that counts how often it was granted its locks after it had to wait."""

    label: str
    told: int = 0


@dataclass
class Played:
    """The claims on a host in order of entry, those that left taken out."""

    table: LockTable = field(default_factory=LockTable)
    order: list[Claim] = field(default_factory=list[Claim])
    made: int = 0

    def enter(self, wanted: Locks, lineage: tuple[str, ...] = ()) -> Claim:
        self.made += 1
        who = Waiting(f"c{self.made}")
        claim = Claim(who, bind_locks(wanted, NORMAL), _tell, (*lineage, who.label))
        holds = self.table.enter(claim)
        assert holds == claim.holds
        assert who.told == 0, "a claim that holds its locks at once is not told again"
        self.order.append(claim)
        return claim

    def leave(self, claim: Claim) -> None:
        self.order.remove(claim)
        self.table.leave(claim)


def _tell(who: Waiting) -> None:
    who.told += 1


def free_by_the_book(order: list[BoundLocks]) -> set[int]:
    """Those that have no earlier one in conflict."""
    return {at for at, locks in enumerate(order) if not any(conflict(before, locks) for before in order[:at])}


steps = st.lists(
    st.one_of(
        st.tuples(st.just("enter"), st.just(0), locks),
        st.tuples(st.just("enter"), st.just(0), locks),
        st.tuples(st.just("leave"), st.integers(0, 30), st.none()),
        st.tuples(st.just("relock"), st.integers(0, 30), locks),
    ),
    max_size=25,
)


@pytest.mark.spec("EXE-1", "EXE-2", "EXE-22")
@given(steps)
def test_a_call_is_free_exactly_when_no_earlier_one_conflicts(script: list[tuple[str, int, Locks | None]]) -> None:
    lanes, order, waits = Lanes(), dict[int, BoundLocks](), set[int]()
    for number, (what, which, wanted) in enumerate(script):
        freed: list[int] = []
        changed = number
        if what == "enter":
            assert wanted is not None
            order[number] = bind_locks(wanted, NORMAL)
            lanes.put(number, order[number])
        elif order:
            changed = list(order)[which % len(order)]
            if what == "leave":
                del order[changed]
                freed = lanes.leave(changed)
            else:
                assert wanted is not None
                order[changed] = bind_locks(wanted, NORMAL)
                freed = lanes.relock(changed, order[changed])
        free = {list(order)[at] for at in free_by_the_book(list(order.values()))}
        assert freed == sorted((waits & free) - {changed}), "told once, at the moment it becomes free"
        assert {each for each in order if lanes.free(each)} == free
        waits = order.keys() - free
    for each in list(order):
        lanes.leave(each)
    assert len(lanes) == 0


@pytest.mark.spec("EXE-2")
@given(st.lists(locks, max_size=12))
def test_leaving_front_to_back_lets_everybody_run_in_the_end(wanted: list[Locks]) -> None:
    lanes = Lanes()
    for number, each in enumerate(wanted):
        lanes.put(number, bind_locks(each, NORMAL))
    for number in range(len(wanted)):
        assert lanes.free(number)
        lanes.leave(number)


# ---- the table of a host: lineages ----------------------------------------------------------------------------------

few_locks = st.sampled_from((writes("a"), writes("d"), writes("a", "d"), reads("a"), reads(), exclusive, shared))
family = st.lists(
    st.one_of(
        st.tuples(st.just("enter"), st.integers(0, 30), few_locks),
        st.tuples(st.just("child"), st.integers(0, 30), few_locks),
        st.tuples(st.just("child"), st.integers(0, 30), few_locks),
        st.tuples(st.just("leave"), st.integers(0, 30), st.none()),
    ),
    max_size=25,
)


def play_family(
    script: list[tuple[str, int, Locks | None]], check: Callable[[Played], None], parents: Locks | None = None
) -> Played:
    """Children are made by free claims only, and nobody leaves before its children: as calls do.

    What is shared holds nothing on a host: it has a lineage and no claim. ``parents`` are the locks of everybody who
    will have children.
    """
    played = Played()
    agents: list[tuple[str, ...]] = []
    for what, which, wanted in script:
        if what == "leave":
            able = may_leave(played)
            if able:
                played.leave(able[which % len(able)])
            check(played)
            continue
        assert wanted is not None
        above = agents + [claim.lineage for claim in played.order if claim.holds and parents is None]
        if what == "child" and not above:
            continue
        lineage = above[which % len(above)] if what == "child" else ()
        if parents is not None and which % (5 if lineage else 2) == 1:
            wanted = parents
        if wanted.scope == "shared":
            agents.append((*lineage, f"agent{len(agents)}"))
        else:
            played.enter(wanted, lineage)
        check(played)
    return played


def may_leave(played: Played) -> list[Claim]:
    """Running calls without children; and any that waits may give up."""
    return [claim for claim in played.order if not children(played, claim)]


def children(played: Played, claim: Claim) -> list[Claim]:
    return [
        other
        for other in played.order
        if len(other.lineage) > len(claim.lineage) and other.lineage[: len(claim.lineage)] == claim.lineage
    ]


def no_two_in_conflict_are_free(played: Played) -> None:
    free = [claim for claim in played.order if claim.holds]
    for at, one in enumerate(free):
        for other in free[at + 1 :]:
            assert kin(one.lineage, other.lineage) or not conflict(one.locks, other.locks)


def nobody_waits_without_cause(played: Played) -> None:
    for claim in played.order:
        if not claim.holds:
            others = [other for other in played.order if other is not claim and not kin(other.lineage, claim.lineage)]
            assert any(conflict(claim.locks, other.locks) for other in others), "nobody waits for an ancestor"
            assert played.table.holders(claim)


@pytest.mark.spec("EXE-4")
@given(family)
def test_the_table_never_grants_two_conflicting_claims_except_to_a_family(
    script: list[tuple[str, int, Locks | None]],
) -> None:
    def check(played: Played) -> None:
        no_two_in_conflict_are_free(played)
        nobody_waits_without_cause(played)

    played = play_family(script, check)
    for claim in sorted(played.order, key=lambda claim: -len(claim.lineage)):
        played.leave(claim)
    assert len(played.table) == 0


@pytest.mark.spec("EXE-4")
@given(family)
def test_agents_that_hold_no_path_themselves_never_lock_each_other_out(
    script: list[tuple[str, int, Locks | None]],
) -> None:
    """Parents hold ``shared``: then some free claim without children can always end, until the table is empty."""
    played = play_family(script, no_two_in_conflict_are_free, parents=shared)
    while played.order:
        able = [claim for claim in may_leave(played) if claim.holds]
        assert able, "everybody waits: a dead-lock"
        played.leave(able[0])


@pytest.mark.spec("EXE-4")
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 30), locks), max_size=20))
def test_without_families_the_table_is_first_come_first_served(script: list[tuple[bool, int, Locks]]) -> None:
    played = Played()
    for enters, which, wanted in script:
        if enters or not played.order:
            played.enter(wanted)
        else:
            played.leave(played.order[which % len(played.order)])
        held = {at for at, claim in enumerate(played.order) if claim.holds}
        assert held == free_by_the_book([claim.locks for claim in played.order])


@pytest.mark.spec("EXE-1")
@given(path_locks, path_locks)
def test_two_claims_overlap_exactly_when_they_do_not_conflict(one: Locks, other: Locks) -> None:
    played = Played()
    first, second = played.enter(one), played.enter(other)
    assert first.holds
    assert second.holds != conflict(first.locks, second.locks)
    assert lanes_conflict(first.locks, second.locks) == conflict(first.locks, second.locks)


@pytest.mark.spec("EXE-1")
def test_a_neighbour_with_the_same_beginning_is_not_below() -> None:
    assert not conflict(BoundLocks("paths", (), ("/workspace/a",)), BoundLocks("paths", ("/workspace/ab",)))
    played = Played()
    played.enter(Locks(writes=("a",)))
    assert played.enter(Locks(reads=("ab",))).holds
