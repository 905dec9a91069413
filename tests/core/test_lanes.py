"""Which claims may go, and which wait for whom."""

from posixpath import join, normpath

import pytest

from callgate.core.lanes import Claim, Lanes, LockTable, Placed, place
from callgate.words.traits import Locks, Traits, exclusive, reads, shared, workspace, writes


class Named:
    def __init__(self, label: str) -> None:
        self.label = label


def normal(path: str) -> str:
    return normpath(join("/w", path))


def placed(locks: Locks) -> Placed:
    return place(locks, normal)


class Row:
    """Claims that enter one after the other; ``freed`` notes who was told to go."""

    def __init__(self, lanes: Lanes | None = None) -> None:
        self.lanes = Lanes() if lanes is None else lanes
        self.freed: list[str] = []

    def enter(self, name: str, locks: Locks, lineage: tuple[str, ...] = ()) -> Claim:
        claim = Claim(Named(name), placed(locks), lambda who: self.freed.append(who.label), lineage)
        self.lanes.enter(claim)
        return claim


def overlap(first: Locks, second: Locks) -> bool:
    row = Row()
    row.enter("first", first)
    return row.enter("second", second).free


@pytest.mark.spec("EXE-1")
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (reads("a.py"), reads("a.py")),
        (reads("a.py"), writes("b.py")),
        (writes("a.py"), writes("b.py")),
        (writes("src/a"), writes("src/ab")),
        (shared, shared),
        (shared, reads("a.py")),
        (writes("a.py"), shared),
        (shared, writes()),
    ],
)
def test_claims_that_do_not_conflict_are_free_together(first: Locks, second: Locks) -> None:
    assert overlap(first, second)


@pytest.mark.spec("EXE-1")
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (reads("a.py"), writes("a.py")),
        (writes("a.py"), reads("a.py")),
        (writes("a.py"), writes("a.py")),
        (exclusive, shared),
        (shared, exclusive),
        (exclusive, reads("a.py")),
        (writes("a.py"), exclusive),
        (exclusive, exclusive),
    ],
)
def test_claims_that_conflict_wait(first: Locks, second: Locks) -> None:
    assert not overlap(first, second)


@pytest.mark.spec("EXE-1")
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (writes("src"), reads("src/deep/a.py")),
        (reads("src/deep/a.py"), writes("src")),
        (writes("src/a.py"), reads("src")),
        (writes("."), reads("src/a.py")),
        (reads("."), writes("src/a.py")),
    ],
)
def test_a_path_lock_covers_its_subtree(first: Locks, second: Locks) -> None:
    assert not overlap(first, second)


@pytest.mark.spec("EXE-1")
def test_two_spellings_of_one_place_are_one_lock() -> None:
    assert not overlap(writes("src/../a.py"), reads("./a.py"))


@pytest.mark.spec("EXE-1")
def test_without_locks_a_tool_without_effects_reads_the_whole_workspace() -> None:
    assert Traits(effects="none").locks == workspace == reads(".")


@pytest.mark.spec("EXE-1")
@pytest.mark.parametrize("effects", ["idempotent", "mutating"])
def test_without_locks_any_other_tool_is_exclusive(effects: str) -> None:
    assert Traits(effects=effects).locks == exclusive  # pyright: ignore[reportArgumentType]


@pytest.mark.spec("EXE-1")
def test_a_reader_of_the_whole_workspace_lets_other_readers_pass_and_holds_back_a_writer() -> None:
    row = Row()
    row.enter("all", workspace)
    assert row.enter("reader", reads("a.py")).free
    assert not row.enter("writer", writes("b.py")).free


@pytest.mark.spec("EXE-1")
def test_joined_declarations_lock_all_that_each_of_them_locks() -> None:
    both = reads("src") | writes("out")
    assert not overlap(both, writes("src/a.py"))
    assert not overlap(both, reads("out/b"))
    assert overlap(both, reads("src/a.py"))


@pytest.mark.spec("EXE-1")
def test_paths_joined_with_exclusive_are_exclusive() -> None:
    assert not overlap(reads("a.py") | exclusive, shared)


@pytest.mark.spec("EXE-2")
def test_an_exclusive_claim_waits_for_all_before_it() -> None:
    row = Row()
    one, two = row.enter("one", reads("a.py")), row.enter("two", shared)
    row.enter("alone", exclusive)
    row.lanes.leave(one)
    assert row.freed == []
    row.lanes.leave(two)
    assert row.freed == ["alone"]


@pytest.mark.spec("EXE-2")
def test_everything_after_an_exclusive_claim_waits_for_it() -> None:
    row = Row()
    alone = row.enter("alone", exclusive)
    after = [row.enter("one", reads("a.py")), row.enter("two", shared)]
    assert not any(claim.free for claim in after)
    row.lanes.leave(alone)
    assert row.freed == ["one", "two"]


@pytest.mark.spec("EXE-2")
def test_a_claim_never_overtakes_a_waiting_one_that_it_conflicts_with() -> None:
    # given a reader of a.py that runs, and a writer of a.py that waits for it
    row = Row()
    first = row.enter("reader", reads("a.py"))
    row.enter("writer", writes("a.py"))
    # then a second reader of a.py, which could share the lock, still waits behind the writer
    second = row.enter("second reader", reads("a.py"))
    assert not second.free
    row.lanes.leave(first)
    assert row.freed == ["writer"]


@pytest.mark.spec("EXE-2")
def test_a_claim_passes_a_waiting_one_that_it_does_not_conflict_with() -> None:
    row = Row()
    row.enter("reader", reads("a.py"))
    row.enter("writer", writes("a.py"))
    assert row.enter("other", writes("b.py")).free


@pytest.mark.spec("EXE-2")
def test_when_a_waiting_exclusive_claim_leaves_those_behind_it_still_wait_for_those_before_it() -> None:
    # given a writer, an exclusive claim behind it and a reader of the same file behind both
    row = Row()
    writer = row.enter("writer", writes("a.py"))
    alone = row.enter("alone", exclusive)
    row.enter("reader", reads("a.py"))
    row.enter("other", reads("b.py"))
    # when the exclusive one is withdrawn before its turn
    row.lanes.leave(alone)
    # then only the claim that does not conflict with the writer is freed
    assert row.freed == ["other"]
    row.lanes.leave(writer)
    assert row.freed == ["other", "reader"]


@pytest.mark.spec("EXE-2")
def test_freed_claims_are_told_in_order_of_arrival() -> None:
    row = Row()
    first = row.enter("first", exclusive)
    for name in ("a", "b", "c", "d"):
        row.enter(name, shared)
    row.lanes.leave(first)
    assert row.freed == ["a", "b", "c", "d"]


def test_leaving_twice_changes_nothing() -> None:
    row = Row()
    first = row.enter("first", exclusive)
    row.enter("second", exclusive)
    row.lanes.leave(first)
    row.lanes.leave(first)
    assert row.freed == ["second"]
    assert len(row.lanes) == 1


@pytest.mark.spec("EXE-22")
def test_other_locks_keep_the_place_and_free_those_that_waited_for_the_old_ones() -> None:
    row = Row()
    claim = row.enter("changed", writes("a.py"))
    row.enter("a", reads("a.py"))
    late = row.enter("b", reads("b.py"))
    row.lanes.relock(claim, placed(writes("b.py")))
    assert row.freed == ["a"]
    assert not late.free


@pytest.mark.spec("EXE-22")
def test_other_locks_may_put_the_claim_itself_behind_an_earlier_one() -> None:
    row = Row()
    first = row.enter("first", writes("b.py"))
    claim = row.enter("changed", writes("a.py"))
    row.lanes.relock(claim, placed(writes("b.py")))
    assert not claim.free
    row.lanes.leave(first)
    assert row.freed == ["changed"]


@pytest.mark.spec("EXE-4")
def test_a_claim_waits_for_all_its_locks_and_holds_none_meanwhile_against_earlier_ones() -> None:
    # given one that holds a.py, one that wants a.py and b.py
    row = Row(LockTable())
    holder = row.enter("holder", writes("a.py"))
    both = row.enter("both", writes("a.py", "b.py"))
    assert not both.free
    # when the holder leaves, it gets everything at once
    row.lanes.leave(holder)
    assert row.freed == ["both"]
    assert both.free


@pytest.mark.spec("EXE-4")
def test_locks_are_given_first_come_first_served() -> None:
    row = Row(LockTable())
    claims = [row.enter(name, writes("a.py")) for name in ("one", "two", "three")]
    row.lanes.leave(claims[0])
    row.lanes.leave(claims[1])
    assert row.freed == ["two", "three"]


@pytest.mark.spec("EXE-4")
def test_two_wishes_for_the_same_locks_in_other_order_do_not_block_each_other_for_ever() -> None:
    row = Row(LockTable())
    first = row.enter("first", writes("a.py", "b.py"))
    second = row.enter("second", writes("b.py", "a.py"))
    assert (first.free, second.free) == (True, False)
    row.lanes.leave(first)
    assert second.free


@pytest.mark.spec("EXE-4")
@pytest.mark.parametrize("held", [exclusive, writes("a.py"), reads()])
def test_a_descendant_does_not_conflict_with_what_its_ancestor_holds(held: Locks) -> None:
    row = Row(LockTable())
    row.enter("parent", held, ("p",))
    assert row.enter("grandchild", writes("a.py"), ("p", "c", "g")).free


@pytest.mark.spec("EXE-4")
def test_a_descendant_conflicts_with_everybody_elses_locks() -> None:
    row = Row(LockTable())
    row.enter("parent", shared, ("p",))
    row.enter("stranger", writes("a.py"), ("s",))
    assert not row.enter("child", writes("a.py"), ("p", "c")).free


@pytest.mark.spec("EXE-4")
def test_two_children_of_one_parent_conflict_with_each_other() -> None:
    row = Row(LockTable())
    row.enter("parent", exclusive, ("p",))
    assert row.enter("one", writes("a.py"), ("p", "1")).free
    assert not row.enter("two", writes("a.py"), ("p", "2")).free


@pytest.mark.spec("EXE-4")
def test_a_descendant_passes_one_that_waits_for_its_ancestor() -> None:
    # given a stranger that waits for the parent's lock
    row = Row(LockTable())
    parent = row.enter("parent", writes("a.py"), ("p",))
    stranger = row.enter("stranger", writes("a.py"), ("s",))
    # then the child is not queued behind it, which would be a deadlock
    child = row.enter("child", writes("a.py"), ("p", "c"))
    assert child.free
    # and the stranger waits for both
    row.lanes.leave(parent)
    assert not stranger.free
    row.lanes.leave(child)
    assert row.freed == ["stranger"]


@pytest.mark.spec("EXE-18")
def test_a_waiting_claim_can_name_those_it_waits_for() -> None:
    table = LockTable()
    row = Row(table)
    row.enter("Bash(make)", writes("out"))
    row.enter("Read(b)", reads("b"))
    waiting = row.enter("Read(out/log)", reads("out/log"))
    assert table.holders(waiting) == ["Bash(make)"]
