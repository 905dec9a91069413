"""Which claims may go, and which wait for whom."""

import sys
from collections.abc import Callable
from functools import partial
from posixpath import join, normpath
from types import FrameType
from typing import Any

import pytest

from callgate.core.lanes import BoundLocks, Lanes, bind_locks
from callgate.core.locks import Claim, LockTable
from callgate.words.traits import Locks, Traits, exclusive, reads, shared, workspace, writes


class Named:
    def __init__(self, label: str) -> None:
        self.label = label


def normal(path: str) -> str:
    return normpath(join("/w", path))


def placed(locks: Locks) -> BoundLocks:
    return bind_locks(locks, normal)


class Row:
    """Calls that enter one after the other; ``freed`` notes those that became free after they had to wait."""

    def __init__(self) -> None:
        self.lanes = Lanes()
        self.names: list[str] = []
        self.freed: list[str] = []

    def enter(self, name: str, locks: Locks) -> bool:
        """Whether it is free at once."""
        self.names.append(name)
        self.lanes.put(len(self.names) - 1, placed(locks))
        return self.free(name)

    def free(self, name: str) -> bool:
        return self.lanes.free(self.names.index(name))

    def leave(self, name: str) -> None:
        self._note(self.lanes.leave(self.names.index(name)))

    def relock(self, name: str, locks: Locks) -> None:
        self._note(self.lanes.relock(self.names.index(name), placed(locks)))

    def _note(self, freed: list[int]) -> None:
        self.freed += [self.names[number] for number in freed]


class Table:
    """Claims on the locks of a host; ``granted`` notes those that got their locks after they had to wait."""

    def __init__(self) -> None:
        self.locks = LockTable()
        self.granted: list[str] = []

    def enter(self, name: str, locks: Locks, lineage: tuple[str, ...] = ()) -> Claim:
        claim = Claim(Named(name), placed(locks), lambda who: self.granted.append(who.label), lineage)
        self.locks.enter(claim)
        return claim


def overlap(first: Locks, second: Locks) -> bool:
    row = Row()
    row.enter("first", first)
    return row.enter("second", second)


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
    assert row.enter("reader", reads("a.py"))
    assert not row.enter("writer", writes("b.py"))


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
    row.enter("one", reads("a.py"))
    row.enter("two", shared)
    row.enter("alone", exclusive)
    row.leave("one")
    assert row.freed == []
    row.leave("two")
    assert row.freed == ["alone"]


@pytest.mark.spec("EXE-2")
def test_everything_after_an_exclusive_claim_waits_for_it() -> None:
    row = Row()
    row.enter("alone", exclusive)
    assert not row.enter("one", reads("a.py"))
    assert not row.enter("two", shared)
    row.leave("alone")
    assert row.freed == ["one", "two"]


@pytest.mark.spec("EXE-2")
def test_a_claim_never_overtakes_a_waiting_one_that_it_conflicts_with() -> None:
    # given a reader of a.py that runs, and a writer of a.py that waits for it
    row = Row()
    row.enter("reader", reads("a.py"))
    row.enter("writer", writes("a.py"))
    # then a second reader of a.py, which could share the lock, still waits behind the writer
    assert not row.enter("second reader", reads("a.py"))
    row.leave("reader")
    assert row.freed == ["writer"]


@pytest.mark.spec("EXE-2")
def test_a_claim_passes_a_waiting_one_that_it_does_not_conflict_with() -> None:
    row = Row()
    row.enter("reader", reads("a.py"))
    row.enter("writer", writes("a.py"))
    assert row.enter("other", writes("b.py"))


@pytest.mark.spec("EXE-2")
def test_when_a_waiting_exclusive_claim_leaves_those_behind_it_still_wait_for_those_before_it() -> None:
    # given a writer, an exclusive claim behind it and a reader of the same file behind both
    row = Row()
    row.enter("writer", writes("a.py"))
    row.enter("alone", exclusive)
    row.enter("reader", reads("a.py"))
    row.enter("other", reads("b.py"))
    # when the exclusive one is withdrawn before its turn
    row.leave("alone")
    # then only the claim that does not conflict with the writer is freed
    assert row.freed == ["other"]
    row.leave("writer")
    assert row.freed == ["other", "reader"]


@pytest.mark.spec("EXE-2")
def test_freed_claims_come_in_order_of_arrival() -> None:
    row = Row()
    row.enter("first", exclusive)
    for name in ("a", "b", "c", "d"):
        row.enter(name, shared)
    row.leave("first")
    assert row.freed == ["a", "b", "c", "d"]


def test_leaving_twice_changes_nothing() -> None:
    row = Row()
    row.enter("first", exclusive)
    row.enter("second", exclusive)
    row.leave("first")
    row.leave("first")
    assert row.freed == ["second"]
    assert len(row.lanes) == 1


@pytest.mark.spec("EXE-22")
def test_other_locks_keep_the_place_and_free_those_that_waited_for_the_old_ones() -> None:
    row = Row()
    row.enter("changed", writes("a.py"))
    row.enter("a", reads("a.py"))
    row.enter("b", reads("b.py"))
    row.relock("changed", writes("b.py"))
    assert row.freed == ["a"]
    assert not row.free("b")


@pytest.mark.spec("EXE-22")
def test_other_locks_may_put_the_claim_itself_behind_an_earlier_one() -> None:
    row = Row()
    row.enter("first", writes("b.py"))
    row.enter("changed", writes("a.py"))
    row.relock("changed", writes("b.py"))
    assert not row.free("changed")
    row.leave("first")
    assert row.freed == ["changed"]


@pytest.mark.spec("EXE-4")
def test_a_claim_waits_for_all_its_locks_and_holds_none_meanwhile_against_earlier_ones() -> None:
    # given one that holds a.py, one that wants a.py and b.py
    table = Table()
    holder = table.enter("holder", writes("a.py"))
    both = table.enter("both", writes("a.py", "b.py"))
    assert not both.holds
    # when the holder leaves, it gets everything at once
    table.locks.leave(holder)
    assert table.granted == ["both"]
    assert both.holds


@pytest.mark.spec("EXE-4")
def test_locks_are_given_first_come_first_served() -> None:
    table = Table()
    claims = [table.enter(name, writes("a.py")) for name in ("one", "two", "three")]
    table.locks.leave(claims[0])
    table.locks.leave(claims[1])
    assert table.granted == ["two", "three"]


@pytest.mark.spec("EXE-4")
def test_two_wishes_for_the_same_locks_in_other_order_do_not_block_each_other_for_ever() -> None:
    table = Table()
    first = table.enter("first", writes("a.py", "b.py"))
    second = table.enter("second", writes("b.py", "a.py"))
    assert (first.holds, second.holds) == (True, False)
    table.locks.leave(first)
    assert second.holds


@pytest.mark.spec("EXE-4")
@pytest.mark.parametrize("held", [exclusive, writes("a.py"), reads()])
def test_a_descendant_does_not_conflict_with_what_its_ancestor_holds(held: Locks) -> None:
    table = Table()
    table.enter("parent", held, ("p",))
    assert table.enter("grandchild", writes("a.py"), ("p", "c", "g")).holds


@pytest.mark.spec("EXE-4")
def test_a_descendant_conflicts_with_everybody_elses_locks() -> None:
    table = Table()
    table.enter("parent", shared, ("p",))
    table.enter("stranger", writes("a.py"), ("s",))
    assert not table.enter("child", writes("a.py"), ("p", "c")).holds


@pytest.mark.spec("EXE-4")
def test_two_children_of_one_parent_conflict_with_each_other() -> None:
    table = Table()
    table.enter("parent", exclusive, ("p",))
    assert table.enter("one", writes("a.py"), ("p", "1")).holds
    assert not table.enter("two", writes("a.py"), ("p", "2")).holds


@pytest.mark.spec("EXE-4")
def test_a_descendant_passes_one_that_waits_for_its_ancestor() -> None:
    # given a stranger that waits for the parent's lock
    table = Table()
    parent = table.enter("parent", writes("a.py"), ("p",))
    stranger = table.enter("stranger", writes("a.py"), ("s",))
    # then the child is not queued behind it, which would be a deadlock
    child = table.enter("child", writes("a.py"), ("p", "c"))
    assert child.holds
    # and the stranger waits for both
    table.locks.leave(parent)
    assert not stranger.holds
    table.locks.leave(child)
    assert table.granted == ["stranger"]


@pytest.mark.spec("EXE-18")
def test_a_waiting_claim_can_name_those_it_waits_for() -> None:
    table = Table()
    table.enter("Bash(make)", writes("out"))
    table.enter("Read(b)", reads("b"))
    waiting = table.enter("Read(out/log)", reads("out/log"))
    assert table.locks.holders(waiting) == ["Bash(make)"]


@pytest.mark.spec("EXE-4")
def test_a_deferred_claim_keeps_its_place_in_front_of_those_that_came_later_and_wait() -> None:
    table = Table()
    holder = table.enter("holder", writes("a.py"))
    first, second, third = (table.enter(name, writes("a.py")) for name in ("first", "second", "third"))
    table.locks.leave(holder)
    # when the first gives way because it has no slot, the others wait for it
    table.locks.defer(first)
    assert not (first.holds)
    assert not (second.holds)
    assert not (third.holds)
    assert not table.enter("fourth", writes("a.py")).holds
    assert table.enter("other", writes("b.py")).holds
    # then the first wants it again, and gets it
    assert table.locks.retry(first)
    table.locks.leave(first)
    assert table.granted == ["first", "second"]
    assert not third.holds


@pytest.mark.spec("EXE-4")
def test_a_deferred_claim_that_leaves_holds_nobody_back() -> None:
    table = Table()
    first = table.enter("first", writes("a.py"))
    table.locks.defer(first)
    second = table.enter("second", writes("a.py"))
    table.locks.leave(first)
    table.locks.leave(first)
    assert table.granted == ["second"]
    table.locks.leave(second)
    assert table.enter("second", writes("a.py")).holds
    assert len(table.locks) == 1


@pytest.mark.spec("EXE-4")
def test_a_deferred_nested_claim_gets_no_locks_when_another_claim_of_its_tree_is_deferred() -> None:
    table = Table()
    first = table.enter("first", writes("a.py"), ("agent", "1"))
    nested = table.enter("nested", writes("b.py"), ("agent", "2", "n"))
    # given a nested claim that waits for a place to run
    table.locks.defer(nested)
    # when a call of the message around it is deferred too
    table.locks.defer(first)
    # then the nested claim still waits for its place, ahead of the other one
    assert not nested.holds
    assert table.granted == []
    assert table.locks.retry(nested)
    table.locks.leave(nested)
    assert table.locks.retry(first)
    table.locks.leave(first)
    assert len(table.locks) == 0


def steps_of(work: Callable[[], object]) -> int:
    """Lines of the lock code that the work passes: a measure of its cost that no machine changes."""
    count = 0

    def trace(frame: FrameType, event: str, _arg: object) -> Any:
        nonlocal count
        if "/core/l" not in frame.f_code.co_filename:
            return None
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def many_on_one_host(number: int) -> None:
    """Executors that all want one file, one after the other."""
    table = Table()
    claims = [table.enter(str(n), writes("a.py"), (f"root{n}", "m", "c")) for n in range(number)]
    for claim in claims:
        table.locks.leave(claim)


def many_in_one_message(number: int) -> None:
    row = Lanes()
    for n in range(number):
        row.put(n, placed(writes("a.py")))
        row.free(n)
    for n in range(number):
        row.leave(n)


def many_edited(number: int) -> None:
    """Each of many questions about one file is answered with other arguments."""
    row = Lanes()
    for n in range(number):
        row.put(n, placed(writes(f"f{n}")))
        row.free(n)
    for n in range(number):
        row.relock(n, placed(writes("a.py")))
        row.free(n)
    for n in range(number):
        row.leave(n)


def many_that_give_up(number: int) -> None:
    """Cancelled from the last to the first, as a message is."""
    row = Lanes()
    for n in range(number):
        row.put(n, placed(exclusive if n % 2 else reads(f"f{n}")))
        row.free(n)
    for n in reversed(range(number)):
        row.leave(n)


@pytest.mark.spec("EXE-1", "EXE-4")
@pytest.mark.parametrize("work", [many_on_one_host, many_in_one_message, many_edited, many_that_give_up])
def test_the_cost_of_many_claims_on_one_path_grows_with_their_number_alone(work: Callable[[int], None]) -> None:
    few, many = (steps_of(partial(work, number)) for number in (100, 400))
    assert many < 5 * few
