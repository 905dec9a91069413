"""Which of several pending actions a ``resolve`` is about."""

from pathlib import Path

import pytest

from callgate.testing import call, limit, raw_call, say, turn
from callgate.words.events import CallArrived
from tests.flows.keep import run
from tests.flows.resolving.kit import NOTHING, UNSEEN, Bench, apply, discard, pending, stages


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    bench = Bench(tmp_path)
    for name in ("one", "two", "three"):
        bench.put(name, bench.callbacks(name))
    return bench


@pytest.mark.spec("RES-1")
def test_without_an_id_the_newest_is_resolved_first(bench: Bench) -> None:
    async def main() -> None:
        await bench.run(turn(stages("one")), turn(stages("two")), turn(apply()), turn(apply()))
        assert bench.ran == ["apply two", "apply one"]
        assert bench.pending == [(), (pending(1),), (pending(2), pending(1)), (pending(1),), ()]

    run(main())


@pytest.mark.spec("RES-1")
@pytest.mark.parametrize("number", [1, 2, 3])
def test_with_an_id_exactly_that_one_is_resolved(bench: Bench, number: int) -> None:
    async def main() -> None:
        staging = [turn(stages(name)) for name in ("one", "two", "three")]
        await bench.run(*staging, turn(apply(id=pending(number))))
        assert bench.ran[0] == f"apply {('one', 'two', 'three')[number - 1]}"
        assert bench.pending[4] == tuple(pending(n) for n in (3, 2, 1) if n != number)
        assert bench.ran[1:] == [
            f"reject {name}" for name in ("three", "two", "one") if f"apply {name}" != bench.ran[0]
        ]

    run(main())


@pytest.mark.spec("RES-1")
def test_previews_with_the_same_label_do_not_collide(bench: Bench) -> None:
    bench.put("a", bench.change("a.py"), label="rename it")
    bench.put("b", bench.change("b.py"), label="rename it")

    async def main() -> None:
        await bench.run(turn(stages("a")), turn(stages("b")), turn(apply(id=pending(1))), turn(discard()))
        assert bench.staged() == [pending(1), pending(2)]
        assert bench.resolved() == [(pending(1), "applied"), (pending(2), "discarded")]
        assert (bench.text("a.py"), bench.text("b.py")) == ("new\n", "old\n")

    run(main())


@pytest.mark.spec("RES-1")
def test_the_same_call_twice_makes_two_actions(bench: Bench) -> None:
    async def main() -> None:
        await bench.run(turn(stages("one"), stages("one")), turn(apply()), turn(apply()))
        assert bench.pending[1:] == [(pending(2), pending(1)), (pending(1),), ()]
        assert bench.ran == ["apply one", "apply one"]

    run(main())


@pytest.mark.spec("RES-1")
def test_one_call_may_stage_several_and_the_last_is_the_newest(bench: Bench) -> None:
    bench.put("both", bench.callbacks("first"), bench.callbacks("second"))

    async def main() -> None:
        told = await bench.run(turn(stages("both")), turn(apply()), turn(apply()))
        assert bench.ran == ["apply second", "apply first"]
        assert [each["id"] for each in told["call_1"].details["pending"]] == [pending(1), pending(2)]

    run(main())


@pytest.mark.spec("RES-1")
def test_an_id_is_never_given_twice(bench: Bench) -> None:
    async def main() -> None:
        await bench.run(turn(stages("one")), turn(discard()), turn(stages("one")), turn(apply()))
        assert bench.staged() == [pending(1), pending(2)]

    run(main())


@pytest.mark.spec("RES-1")
def test_which_one_was_meant_goes_on_record_with_the_call(bench: Bench) -> None:
    async def main() -> None:
        await bench.run(turn(stages("one")), turn(stages("two")), turn(apply()), turn(discard()))
        arrived = [event for event in bench.events if isinstance(event, CallArrived) and event.name == "resolve"]
        assert [event.arguments["id"] for event in arrived] == [pending(2), pending(1)]

    run(main())


@pytest.mark.spec("RES-1")
def test_an_unknown_id_is_an_error_that_names_what_is_pending(bench: Bench) -> None:
    async def main() -> None:
        told = await bench.run(turn(stages("one")), turn(stages("two")), turn(apply(id="pending-action:Renamer:7")))
        text = f"There is no pending action 'pending-action:Renamer:7'. Pending: {pending(2)}, {pending(1)}."
        assert (told["call_3"].is_error, told["call_3"].text) == (True, text)
        assert "apply one" not in bench.ran
        assert bench.pending[3] == (pending(2), pending(1))

    run(main())


@pytest.mark.spec("RES-1")
def test_an_action_that_is_over_cannot_be_resolved_again(bench: Bench) -> None:
    async def main() -> None:
        told = await bench.run(
            turn(stages("one")), turn(stages("two")), turn(apply(id=pending(1))), turn(discard(id=pending(1)))
        )
        assert told["call_4"].is_error
        assert pending(1) in told["call_4"].text
        assert bench.ran[0] == "apply one"
        assert bench.ran.count("reject one") == 0

    run(main())


@pytest.mark.spec("RES-2")
@pytest.mark.parametrize("action", ["apply", "discard"])
@pytest.mark.parametrize("more", [{}, {"id": "pending-action:Renamer:1"}], ids=["newest", "by id"])
def test_with_nothing_pending_there_is_nothing_to_resolve(bench: Bench, action: str, more: dict[str, str]) -> None:
    async def main() -> None:
        told = await bench.run(turn(call("resolve", action=action, reason="why not", **more)))
        assert (told["call_1"].is_error, told["call_1"].text) == (True, NOTHING)

    run(main())


@pytest.mark.spec("RES-2")
def test_when_all_is_resolved_there_is_nothing_left_to_resolve(bench: Bench) -> None:
    async def main() -> None:
        told = await bench.run(turn(stages("one")), turn(apply()), turn(apply()))
        assert (told["call_2"].is_error, told["call_3"].text) == (False, NOTHING)
        assert bench.ran == ["apply one"]

    run(main())


# ---- several in one message -----------------------------------------------------------------------------------------


@pytest.mark.spec("RES-1")
def test_two_resolutions_in_one_message_take_the_two_newest(bench: Bench) -> None:
    async def main() -> None:
        staging = [turn(stages(name)) for name in ("one", "two", "three")]
        await bench.run(*staging, turn(apply(), discard()), turn(apply()))
        assert bench.ran == ["apply three", "reject two", "apply one"]

    run(main())


@pytest.mark.spec("RES-1")
@pytest.mark.parametrize("by_id", [False, True], ids=["newest", "by id"])
def test_one_action_is_resolved_once_however_often_a_message_says_so(bench: Bench, by_id: bool) -> None:
    async def main() -> None:
        more = {"id": pending(1)} if by_id else {}
        told = await bench.run(turn(stages("one")), turn(apply(**more), apply(**more)))
        assert bench.ran == ["apply one"]
        assert [told[each].is_error for each in ("call_2", "call_3")] == [False, True]
        assert bench.pending[2] == ()

    run(main())


@pytest.mark.spec("RES-1")
def test_apply_and_discard_of_one_action_in_one_message_do_one_of_the_two(bench: Bench) -> None:
    async def main() -> None:
        told = await bench.run(turn(stages("one")), turn(apply(id=pending(1)), discard(id=pending(1))))
        assert bench.ran == ["apply one"]
        assert told["call_3"].is_error
        assert bench.resolved() == [(pending(1), "applied")]

    run(main())


@pytest.mark.spec("RES-1")
def test_two_changes_of_the_same_file_in_one_message_do_not_both_go_through(bench: Bench) -> None:
    bench.put("a", bench.change("a.py", after="a\n"))
    bench.put("b", bench.change("a.py", after="b\n"))

    async def main() -> None:
        told = await bench.run(turn(stages("a")), turn(stages("b")), turn(apply(), apply()))
        assert bench.text("a.py") == "b\n"
        assert "a.py" in told["call_4"].text
        assert bench.pending[3] == (pending(1),), "what could not be applied stays"

    run(main())


# ---- the message that stages ----------------------------------------------------------------------------------------


@pytest.mark.spec("RES-10")
@pytest.mark.parametrize("action", ["apply", "discard"])
@pytest.mark.parametrize("more", [{}, {"id": pending(1)}], ids=["newest", "by the id it will have"])
def test_what_a_message_stages_it_cannot_resolve(bench: Bench, action: str, more: dict[str, str]) -> None:
    async def main() -> None:
        told = await bench.run(
            turn(stages("one"), call("resolve", action=action, reason="quick", **more)), turn(apply("seen"))
        )
        assert (told["call_2"].is_error, told["call_2"].text) == (True, UNSEEN)
        assert bench.pending[1] == (pending(1),)
        assert bench.heard == [("apply one", "seen", None)]

    run(main())


@pytest.mark.spec("RES-10")
def test_a_resolve_before_the_staging_call_of_its_message_finds_nothing(bench: Bench) -> None:
    async def main() -> None:
        told = await bench.run(turn(apply(), stages("one")))
        assert (told["call_1"].is_error, told["call_1"].text) == (True, NOTHING)
        assert bench.pending[1] == (pending(1),)
        assert bench.ran == ["reject one"]

    run(main())


@pytest.mark.spec("RES-10")
@pytest.mark.parametrize("first", ["stages", "resolves"])
def test_beside_a_staging_call_the_newest_of_earlier_messages_is_meant(bench: Bench, first: str) -> None:
    async def main() -> None:
        calls = (stages("two"), apply()) if first == "stages" else (apply(), stages("two"))
        await bench.run(turn(stages("one")), turn(*calls), turn(apply()))
        assert bench.ran == ["apply one", "apply two"]
        assert bench.pending[1:] == [(pending(1),), (pending(2),), ()]

    run(main())


@pytest.mark.spec("RES-10")
def test_the_id_an_action_will_have_does_not_open_it_beside_an_older_one(bench: Bench) -> None:
    async def main() -> None:
        told = await bench.run(turn(stages("one")), turn(stages("two"), apply(id=pending(2))))
        assert told["call_3"].is_error
        assert bench.ran == ["reject two", "reject one"], "neither the new one nor the older one in its place"
        assert bench.pending[2] == (pending(2), pending(1))

    run(main())


@pytest.mark.spec("RES-10")
def test_two_resolutions_beside_a_staging_call_do_not_reach_what_it_stages(bench: Bench) -> None:
    async def main() -> None:
        told = await bench.run(turn(stages("one")), turn(stages("two"), apply(), apply()), turn(discard()))
        assert bench.ran == ["apply one", "reject two"]
        assert (told["call_4"].is_error, told["call_4"].text) == (True, UNSEEN)

    run(main())


@pytest.mark.spec("RES-10")
def test_a_call_that_fails_stages_nothing(bench: Bench) -> None:
    async def main() -> None:
        told = await bench.run(turn(stages("one", fails=True)), turn(apply()))
        assert told["call_1"].is_error
        assert (bench.staged(), bench.ran, told["call_2"].text) == ([], [], NOTHING)

    run(main())


@pytest.mark.spec("RES-10")
def test_a_message_that_is_cut_off_stages_nothing(bench: Bench) -> None:
    async def main() -> None:
        told = await bench.run(turn(stages("one"), limit()), turn(apply()), turn(say("then not")))
        assert told["call_1"].code == "not_run_truncated"
        assert (bench.staged(), bench.ran, told["call_2"].text) == ([], [], NOTHING)

    run(main())


# ---- the arguments --------------------------------------------------------------------------------------------------


@pytest.mark.spec("RES-15")
@pytest.mark.parametrize("reason", ["", " ", "\n\t ", "\u00a0\u2003"], ids=["empty", "blank", "lines", "wide"])
@pytest.mark.parametrize("action", ["apply", "discard"])
def test_a_reason_must_not_be_blank(bench: Bench, action: str, reason: str) -> None:
    async def main() -> None:
        told = await bench.run(turn(stages("one")), turn(call("resolve", action=action, reason=reason)))
        assert told["call_2"].code == "invalid_arguments"
        assert "reason" in told["call_2"].text
        assert bench.pending[2] == (pending(1),)
        assert bench.heard == [("reject one", "tidied up", None)]

    run(main())


@pytest.mark.spec("RES-15")
@pytest.mark.parametrize(
    "arguments",
    [
        '{"action": "apply"}',
        '{"action": "apply", "reason": null}',
        '{"action": "maybe", "reason": "x"}',
        '{"reason": "x"}',
        '{"action": "apply", "reason": "x", "staged": "0123456789abcdef"}',
        "[1]",
    ],
    ids=["no reason", "null", "another word", "no action", "a token of its own", "a list"],
)
def test_arguments_that_do_not_say_what_is_meant_do_nothing(bench: Bench, arguments: str) -> None:
    async def main() -> None:
        told = await bench.run(turn(stages("one")), turn(raw_call("resolve", arguments)))
        assert told["call_2"].code == "invalid_arguments"
        assert bench.pending[2] == (pending(1),)
        assert bench.ran == ["reject one"]

    run(main())
