"""What becomes of a pending action whose callback fails, or whose files have changed."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from callgate import Prompt, Store, ToolFailure
from callgate.testing import ScriptedTurn, raw_call, turn
from callgate.tools.staging import Callbacks
from callgate.words.calls import Result
from callgate.words.messages import Text
from callgate.words.model import Request
from tests.flows.keep import run
from tests.flows.resolving.kit import Bench, apply, discard, pending, stages


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def failing_once(bench: Bench, error: BaseException, gives: str = "done at last") -> Callbacks:
    left = [error]

    def once(reason: str, extra: Any) -> str:
        bench.heard.append(("apply", reason, extra))
        if left:
            raise left.pop()
        return gives

    return Callbacks(once)


# ---- apply raises ---------------------------------------------------------------------------------------------------


@pytest.mark.spec("RES-5")
@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("the server is away"), "Apply failed: the server is away"),
        (OSError(28, "No space left on device"), "Apply failed: [Errno 28] No space left on device"),
        (RuntimeError(), "Apply failed: RuntimeError"),
        (KeyError("name"), "Apply failed: 'name'"),
        (TimeoutError(), "Apply failed: TimeoutError"),
        (ToolFailure("Rename by hand: two names clash."), "Rename by hand: two names clash."),
        (ToolFailure("Apply failed: twice"), "Apply failed: twice"),
    ],
    ids=["message", "system", "none", "key", "timeout", "own words", "own words that look alike"],
)
def test_an_apply_that_raises_is_told_in_these_words(bench: Bench, error: Exception, text: str) -> None:
    async def main() -> None:
        bench.put("rename", failing_once(bench, error))
        told = await bench.run(turn(stages("rename")), turn(apply()), turn(apply()))
        assert (told["call_2"].is_error, told["call_2"].code, told["call_2"].text) == (True, "tool_error", text)
        assert told["call_2"].display[0].title == "Failed: rename"

    run(main())


@pytest.mark.spec("RES-5")
def test_an_action_whose_apply_raised_stays_pending_under_its_id_and_is_reminded_of(bench: Bench) -> None:
    bench.put("older", bench.callbacks("older"))
    bench.put("rename", failing_once(bench, ValueError("not now")))

    async def main() -> None:
        # given an action that cannot be applied the first time
        async with bench.open(
            turn(stages("older")), turn(stages("rename")), turn(apply("a")), turn(apply("b", id=pending(2)))
        ):
            await bench.say(Prompt("go"))
            # then it is where it was, in front of the older one
            assert bench.pending[2:5] == [(pending(2), pending(1)), (pending(2), pending(1)), (pending(1),)]
            # and the model was told of it twice, of the older one when it was first staged and when it was its turn
            assert (bench.reminders(pending(2)), bench.reminders(pending(1))) == (2, 2)
        # and the second try is the one that counts
        told = bench.results()["call_4"]
        assert (told.is_error, told.text) == (False, "done at last")
        assert [each[:2] for each in bench.heard[:2]] == [("apply", "a"), ("apply", "b")]
        assert bench.resolved()[0] == (pending(2), "applied")

    run(main())


@pytest.mark.spec("RES-5")
def test_after_a_failure_the_action_may_still_be_discarded(bench: Bench) -> None:
    bench.put("rename", failing_once(bench, ValueError("not now")))

    async def main() -> None:
        told = await bench.run(turn(stages("rename")), turn(apply()), turn(discard("then not")))
        assert told["call_3"].text == "Discarded: rename. Reason: then not"
        assert bench.resolved() == [(pending(1), "discarded")]

    run(main())


@pytest.mark.spec("RES-5")
def test_an_older_action_that_fails_keeps_its_place(bench: Bench) -> None:
    bench.put("rename", failing_once(bench, ValueError("not now")))
    bench.put("newer", bench.callbacks("newer"))

    async def main() -> None:
        await bench.run(turn(stages("rename")), turn(stages("newer")), turn(apply(id=pending(1))), turn(apply()))
        assert bench.pending[3:5] == [(pending(2), pending(1)), (pending(1),)]
        assert bench.ran == ["apply", "apply newer"]

    run(main())


@pytest.mark.spec("RES-5")
def test_a_producer_that_gives_an_error_back_has_failed_too(bench: Bench) -> None:
    bench.put("rename", bench.callbacks("rename", gives=Result((Text("half of it clashes"),), is_error=True)))

    async def main() -> None:
        told = await bench.run(turn(stages("rename")), turn(apply()))
        assert (told["call_2"].is_error, told["call_2"].text) == (True, "half of it clashes")
        assert bench.pending[2] == (pending(1),)

    run(main())


@pytest.mark.spec("RES-5")
@pytest.mark.parametrize("kind", ["async", "plain"])
@pytest.mark.parametrize("error", [SystemExit(3), asyncio.CancelledError()], ids=["exit", "cancelled"])
def test_an_apply_that_tries_to_end_the_program_only_fails(bench: Bench, kind: str, error: BaseException) -> None:
    async def waiting(reason: str, extra: Any) -> None:
        raise error

    def plain(reason: str, extra: Any) -> None:
        raise error

    bench.put("rename", Callbacks(waiting if kind == "async" else plain))

    async def main() -> None:
        told = await bench.run(turn(stages("rename")), turn(apply()), turn(discard()))
        assert told["call_2"].is_error
        assert bench.pending[2] == (pending(1),)
        assert told["call_3"].text == "Discarded: rename. Reason: not wanted"

    run(main())


@pytest.mark.spec("RES-5")
def test_what_an_apply_gives_back_is_no_reason_to_do_it_again(bench: Bench) -> None:
    """It has run to its end: only its result cannot be told."""
    bench.put("rename", bench.callbacks("rename", gives=sys))

    async def main() -> None:
        told = await bench.run(turn(stages("rename")), turn(apply()))
        assert told["call_2"].text
        assert bench.ran == ["apply rename"], "it must not be told as discarded afterwards"
        assert bench.resolved() == [(pending(1), "applied")]

    run(main())


# ---- reject raises --------------------------------------------------------------------------------------------------


@pytest.mark.spec("RES-5")
@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ToolFailure("It is half applied: finish it."), "It is half applied: finish it."),
        (ValueError("no such lease"), "ValueError: no such lease"),
    ],
    ids=["own words", "any other"],
)
def test_a_reject_that_raises_passes_unwrapped_and_the_action_stays(bench: Bench, error: Exception, text: str) -> None:
    async def main() -> None:
        left = [error]

        def reject(reason: str, extra: Any) -> None:
            if left:
                raise left.pop()

        bench.put("rename", Callbacks(bench.callbacks("rename").apply, reject))
        async with bench.open(turn(stages("rename")), turn(discard()), turn(apply())):
            await bench.say(Prompt("go"))
            assert bench.reminders(pending(1)) == 2
        told = bench.results()["call_2"]
        assert (told.is_error, told.text) == (True, text)
        assert bench.pending[2] == (pending(1),)
        assert bench.resolved() == [(pending(1), "applied")]

    run(main())


# ---- files that changed ---------------------------------------------------------------------------------------------


@pytest.mark.spec("CHG-2", "RES-5")
@pytest.mark.parametrize("kept", [False, True], ids=["in memory", "kept"])
def test_a_file_that_changed_since_the_preview_stops_all_of_it(bench: Bench, kept: bool) -> None:
    bench.put("rename", bench.change("a.py", "b.py"))

    async def main() -> None:
        options: dict[str, Any] = {}
        if kept:
            options["journal"] = await Store(bench.root, bench.folder / "data").create()

        def meanwhile(_request: Any) -> Any:
            (bench.root / "b.py").write_text("mine\n")
            return turn(apply())

        def put_right(_request: Any) -> Any:
            (bench.root / "b.py").write_text("old\n")
            return turn(apply(id=pending(1)))

        # given two files of which somebody changes one after the preview
        async with bench.open(turn(stages("rename")), meanwhile, put_right, **options):
            await bench.say(Prompt("go"))
            assert bench.reminders(pending(1)) == 2
        told = bench.results()
        # then nothing is written, the file is named and what differs is shown
        assert told["call_2"].is_error
        assert "b.py" in told["call_2"].text
        assert "a.py" not in told["call_2"].text
        assert "mine" in told["call_2"].text
        assert told["call_2"].details["effects"] == "none"
        assert bench.pending[2] == (pending(1),)
        # and when it is as it was, the same action goes through
        assert told["call_3"].text == "Applied: rename (2 files, +2 −2). Reason: fine"
        assert (bench.text("a.py"), bench.text("b.py")) == ("new\n", "new\n")
        assert bench.resolved() == [(pending(1), "applied")]

    run(main())


@pytest.mark.spec("CHG-2", "RES-5")
def test_changes_that_do_not_fit_any_more_can_be_discarded(bench: Bench) -> None:
    bench.put("rename", bench.change("a.py"))

    async def main() -> None:
        journal = await Store(bench.root, bench.folder / "data").create()
        (bench.root / "a.py").write_text("mine\n")
        told = await bench.run(turn(stages("rename")), turn(apply()), turn(discard("changed")), journal=journal)
        assert told["call_3"].text == "Discarded: rename. Reason: changed"
        assert bench.text("a.py") == "mine\n"

    run(main())


@pytest.mark.spec("RES-5")
def test_a_try_that_is_repeated_as_it_stands_in_the_history_goes_through(bench: Bench) -> None:
    """What was put into the arguments for the record is in the history, and models copy what they see there."""
    bench.put("rename", failing_once(bench, ValueError("not now")))

    def again(request: Request) -> ScriptedTurn:
        (before,) = [part for message in request.messages for part in message.calls if part.name == "resolve"]
        return turn(raw_call("resolve", before.arguments))

    async def main() -> None:
        told = await bench.run(turn(stages("rename")), turn(apply()), again)
        assert told["call_3"].text == "done at last"

    run(main())
