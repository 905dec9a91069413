"""Lanes and LockTable against the obvious way to say who has to wait."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.core.lanes import Claim, Lanes, LockTable, Placed, place
from callgate.testing import MemoryHost
from callgate.words.traits import Locks, exclusive, reads, shared, writes
from tests.properties.oracle import conflict, kin
from tests.properties.strategies import locks, path_locks

NORMAL = MemoryHost().normal


@dataclass(eq=False)
class Waiting:
    """A claimant that counts how often it was told to go."""

    label: str
    told: int = 0


@dataclass
class Played:
    """The claims made so far in order of entry, those that left taken out."""

    lanes: Lanes
    order: list[Claim] = field(default_factory=list[Claim])
    made: int = 0

    def enter(self, wanted: Locks, lineage: tuple[str, ...] = ()) -> Claim:
        self.made += 1
        who = Waiting(f"c{self.made}")
        claim = Claim(who, place(wanted, NORMAL), _tell, (*lineage, who.label))
        free = self.lanes.enter(claim)
        assert free == claim.free
        assert who.told == 0, "whoever is free at once is not told again"
        self.order.append(claim)
        return claim

    def leave(self, claim: Claim) -> None:
        self.order.remove(claim)
        self.lanes.leave(claim)

    def told(self) -> dict[Claim, int]:
        return {claim: _who(claim).told for claim in self.order}


def _tell(who: Waiting) -> None:
    who.told += 1


def _who(claim: Claim) -> Waiting:
    assert isinstance(claim.who, Waiting)
    return claim.who


def free_by_the_book(order: list[Claim]) -> set[Claim]:
    """Whoever has no earlier claim in conflict."""
    return {
        claim for at, claim in enumerate(order) if not any(conflict(before.locks, claim.locks) for before in order[:at])
    }


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
def test_a_claim_is_free_exactly_when_no_earlier_one_conflicts(script: list[tuple[str, int, Locks | None]]) -> None:
    played = Played(Lanes())
    for what, which, wanted in script:
        before_free = free_by_the_book(played.order)
        before_told = played.told()
        relocked: Claim | None = None
        if what == "enter":
            assert wanted is not None
            played.enter(wanted)
        elif played.order:
            claim = played.order[which % len(played.order)]
            if what == "leave":
                played.leave(claim)
            else:
                assert wanted is not None
                relocked = claim
                played.lanes.relock(claim, place(wanted, NORMAL))
        free = free_by_the_book(played.order)
        assert {claim for claim in played.order if claim.free} == free
        for claim, times in before_told.items():
            if claim in played.order and claim is not relocked:
                newly = claim in free and claim not in before_free
                assert _who(claim).told == times + newly, "told once, at the moment it becomes free"
    for claim in list(played.order):
        played.leave(claim)
    assert len(played.lanes) == 0


@pytest.mark.spec("EXE-2")
@given(st.lists(locks, max_size=12))
def test_leaving_front_to_back_lets_everybody_run_in_the_end(wanted: list[Locks]) -> None:
    played = Played(Lanes())
    for each in wanted:
        played.enter(each)
    while played.order:
        first = played.order[0]
        assert first.free
        played.leave(first)


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
    played = Played(LockTable())
    agents: list[tuple[str, ...]] = []
    for what, which, wanted in script:
        if what == "leave":
            able = may_leave(played)
            if able:
                played.leave(able[which % len(able)])
            check(played)
            continue
        assert wanted is not None
        above = agents + [claim.lineage for claim in played.order if claim.free and parents is None]
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
    free = [claim for claim in played.order if claim.free]
    for at, one in enumerate(free):
        for other in free[at + 1 :]:
            assert kin(one.lineage, other.lineage) or not conflict(one.locks, other.locks)


def nobody_waits_without_cause(played: Played) -> None:
    for claim in played.order:
        for blocker in claim.blockers or ():
            assert blocker in played.order
            assert conflict(claim.locks, blocker.locks)
            assert not kin(claim.lineage, blocker.lineage), "nobody waits for an ancestor"


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
    assert len(played.lanes) == 0


@pytest.mark.spec("EXE-4")
@given(family)
def test_agents_that_hold_no_path_themselves_never_lock_each_other_out(
    script: list[tuple[str, int, Locks | None]],
) -> None:
    """Parents hold ``shared``: then some free claim without children can always end, until the table is empty."""
    played = play_family(script, no_two_in_conflict_are_free, parents=shared)
    while played.order:
        able = [claim for claim in may_leave(played) if claim.free]
        assert able, "everybody waits: a dead-lock"
        played.leave(able[0])


@pytest.mark.spec("EXE-4")
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 30), locks), max_size=20))
def test_without_families_the_table_is_first_come_first_served(script: list[tuple[bool, int, Locks]]) -> None:
    played = Played(LockTable())
    for enters, which, wanted in script:
        if enters or not played.order:
            played.enter(wanted)
        else:
            played.leave(played.order[which % len(played.order)])
        assert {claim for claim in played.order if claim.free} == free_by_the_book(played.order)


@pytest.mark.spec("EXE-1")
@given(path_locks, path_locks)
def test_two_claims_overlap_exactly_when_they_do_not_conflict(one: Locks, other: Locks) -> None:
    played = Played(Lanes())
    first, second = played.enter(one), played.enter(other)
    assert first.free
    assert second.free != conflict(first.locks, second.locks)


@pytest.mark.spec("EXE-1")
def test_a_neighbour_with_the_same_beginning_is_not_below() -> None:
    assert not conflict(Placed("paths", (), ("/workspace/a",)), Placed("paths", ("/workspace/ab",)))
    played = Played(Lanes())
    played.enter(Locks(writes=("a",)))
    assert played.enter(Locks(reads=("ab",))).free
