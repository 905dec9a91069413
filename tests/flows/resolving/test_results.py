"""What a ``resolve`` says when it went well: whose words, which details, which block for people."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from callgate import Prompt
from callgate.testing import turn
from callgate.tools.staging import Callbacks
from callgate.words.calls import Display, Result
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.messages import Text
from tests.flows.keep import run
from tests.flows.resolving.kit import Bench, apply, discard, pending, stages


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def about(action: str, reason: str = "fine", **more: Any) -> dict[str, Any]:
    """The details of a resolution of the first action; ``more`` are those that not every one has."""
    named = {"sourceToolName": "Renamer", "label": "rename", "id": pending(1)}
    return {"action": action, "reason": reason, **named, **more}


# ---- apply ----------------------------------------------------------------------------------------------------------


@pytest.mark.spec("RES-3")
def test_apply_hands_reason_and_extra_to_the_producer_and_says_what_it_said(bench: Bench) -> None:
    bench.put("rename", bench.callbacks("rename", gives="12 names changed"))

    async def main() -> None:
        told = await bench.run(turn(stages("rename")), turn(apply("looks right", extra={"depth": [1, {"a": None}]})))
        assert bench.heard == [("apply rename", "looks right", {"depth": [1, {"a": None}]})]
        assert (told["call_2"].is_error, told["call_2"].text) == (False, "12 names changed")
        assert bench.resolved() == [(pending(1), "applied")]

    run(main())


@pytest.mark.spec("RES-3")
def test_without_extra_the_producer_gets_none(bench: Bench) -> None:
    bench.put("rename", bench.callbacks("rename"))

    async def main() -> None:
        await bench.run(turn(stages("rename")), turn(apply()))
        assert bench.heard == [("apply rename", "fine", None)]

    run(main())


@pytest.mark.spec("RES-3")
def test_a_producer_that_says_nothing_is_spoken_for(bench: Bench) -> None:
    bench.put("rename", bench.callbacks("rename"))

    async def main() -> None:
        told = await bench.run(turn(stages("rename")), turn(apply()))
        assert told["call_2"].text == "Applied: rename. Reason: fine"
        assert told["call_2"].display == (Display("text", "fine", "Accepted: rename"),)

    run(main())


@pytest.mark.spec("RES-3")
def test_an_async_callback_and_an_object_that_can_be_called_do_as_well(bench: Bench) -> None:
    class Rename:
        async def __call__(self, reason: str, extra: Any) -> str:
            return f"{reason}, {extra}"

    async def rename(reason: str, extra: Any) -> str:
        return f"{reason} and {extra}"

    bench.put("function", Callbacks(rename))
    bench.put("object", Callbacks(Rename()))

    async def main() -> None:
        told = await bench.run(
            turn(stages("function"), stages("object")), turn(apply(extra={"n": 1})), turn(apply(extra={"n": 2}))
        )
        assert (told["call_3"].text, told["call_4"].text) == ("fine, {'n': 1}", "fine and {'n': 2}")

    run(main())


@pytest.mark.spec("RES-3")
def test_applying_changes_writes_the_bytes_that_were_shown(bench: Bench) -> None:
    changes = bench.change("a.py", "b.py")
    bench.put("rename", changes)

    async def main() -> None:
        told = await bench.run(turn(stages("rename")), turn(apply()))
        assert told["call_1"].text.endswith(
            f"[Staged as {pending(1)}: rename (2 files, +2 −2). It is not applied until you call resolve.]"
        )
        assert (bench.text("a.py"), bench.text("b.py")) == ("new\n", "new\n")
        assert told["call_2"].text == "Applied: rename (2 files, +2 −2). Reason: fine"
        assert told["call_2"].display[0].title == "Accepted: rename"

    run(main())


@pytest.mark.spec("RES-3")
def test_creating_deleting_and_renaming_are_applied_together(bench: Bench) -> None:
    for name in ("gone.py", "from.py"):
        (bench.root / name).write_text("x\n")
    files = (
        FileChange("new/deep.py", None, b"y\n"),
        FileChange("gone.py", b"x\n", None),
        FileChange("to.py", b"x\n", b"x\n", source="from.py"),
    )
    bench.put("rename", ChangeSet("all kinds", files))

    async def main() -> None:
        async with bench.open(turn(stages("rename")), turn(apply())) as session:
            await bench.say(Prompt("go"))
            assert session.status == "idle"
        there = sorted(str(file.relative_to(bench.root)) for file in bench.root.rglob("*.py"))
        assert there == ["new/deep.py", "to.py"]

    run(main())


@pytest.mark.spec("RES-3")
def test_a_change_set_without_a_file_is_not_staged(bench: Bench) -> None:
    bench.put("rename", ChangeSet("nothing to do", ()))

    async def main() -> None:
        told = await bench.run(turn(stages("rename")), turn(apply()))
        assert told["call_1"].is_error
        assert "the change is empty" in told["call_1"].text
        assert bench.resolved() == []

    run(main())


# ---- discard --------------------------------------------------------------------------------------------------------


@pytest.mark.spec("RES-3")
def test_discard_hands_reason_and_extra_to_the_producer_and_says_what_it_said(bench: Bench) -> None:
    bench.put("rename", bench.callbacks("rename", rejects="put back on the shelf"))

    async def main() -> None:
        told = await bench.run(turn(stages("rename")), turn(discard("too much", extra={"again": True})))
        assert bench.heard == [("reject rename", "too much", {"again": True})]
        assert (told["call_2"].is_error, told["call_2"].text) == (False, "put back on the shelf")
        assert bench.resolved() == [(pending(1), "discarded")]

    run(main())


@pytest.mark.spec("RES-3")
@pytest.mark.parametrize("kind", ["no reject", "reject gives nothing", "changes"])
def test_a_discard_that_nobody_speaks_for_has_words_of_its_own(bench: Bench, kind: str) -> None:
    quiet = bench.callbacks("rename")
    acts = {"no reject": Callbacks(quiet.apply), "reject gives nothing": quiet, "changes": bench.change("a.py")}
    bench.put("rename", acts[kind])

    async def main() -> None:
        told = await bench.run(turn(stages("rename")), turn(discard("too much")))
        assert (told["call_2"].is_error, told["call_2"].text) == (False, "Discarded: rename. Reason: too much")
        assert told["call_2"].display == (Display("text", "too much", "Discarded: rename"),)
        assert bench.resolved() == [(pending(1), "discarded")]
        assert "apply rename" not in bench.ran
        if kind == "changes":
            assert bench.text("a.py") == "old\n"

    run(main())


# ---- details --------------------------------------------------------------------------------------------------------


@pytest.mark.spec("RES-4")
@pytest.mark.parametrize("action", ["apply", "discard"])
@pytest.mark.parametrize("extra", [None, {}, {"a": 1}], ids=["none", "empty", "some"])
def test_the_details_carry_what_was_resolved_and_why(bench: Bench, action: str, extra: Any) -> None:
    bench.put("rename", bench.callbacks("rename"))
    more = {} if extra is None else {"extra": extra}
    said = apply("fine", **more) if action == "apply" else discard("fine", **more)

    async def main() -> None:
        told = await bench.run(turn(stages("rename")), turn(said))
        assert dict(told["call_2"].details) == about(action, **more)

    run(main())


@pytest.mark.spec("RES-4")
@pytest.mark.parametrize("action", ["apply", "discard"])
def test_the_details_of_changes_to_files_are_the_same(bench: Bench, action: str) -> None:
    bench.put("rename", bench.change("a.py"), details={"ops": 3})

    async def main() -> None:
        said = apply(extra={"a": 1}) if action == "apply" else discard("fine", extra={"a": 1})
        told = await bench.run(turn(stages("rename")), turn(said))
        assert dict(told["call_2"].details) == about(action, extra={"a": 1}, details={"ops": 3})

    run(main())


@pytest.mark.spec("RES-4")
@pytest.mark.parametrize("action", ["apply", "discard"])
def test_details_of_the_producer_are_kept_apart(bench: Bench, action: str) -> None:
    own = Result((Text("done"),), details={"action": "mine", "count": 12})
    bench.put("rename", bench.callbacks("rename", gives=own, rejects=own))

    async def main() -> None:
        told = await bench.run(turn(stages("rename")), turn(apply() if action == "apply" else discard("fine")))
        assert told["call_2"].text == "done"
        expected = about(action, sourceResultDetails={"action": "mine", "count": 12})
        assert dict(told["call_2"].details) == expected

    run(main())


@pytest.mark.spec("RES-4")
@pytest.mark.parametrize("gives", ["text", Result((Text("done"),))], ids=["text", "without details"])
def test_a_producer_without_details_adds_none(bench: Bench, gives: Any) -> None:
    bench.put("rename", bench.callbacks("rename", gives=gives))

    async def main() -> None:
        told = await bench.run(turn(stages("rename")), turn(apply()))
        assert dict(told["call_2"].details) == about("apply")

    run(main())


@pytest.mark.spec("RES-4")
def test_what_was_said_when_it_was_staged_reaches_both_results(bench: Bench) -> None:
    bench.put("rename", bench.callbacks("rename"), details={"files": ["a.py"]})

    async def main() -> None:
        told = await bench.run(turn(stages("rename")), turn(apply()))
        (staged,) = told["call_1"].details["pending"]
        expected = {"id": pending(1), "label": "rename", "sourceToolName": "Renamer", "details": {"files": ["a.py"]}}
        assert dict(staged) == expected
        assert told["call_2"].details["details"] == {"files": ["a.py"]}

    run(main())


@pytest.mark.spec("RES-16")
def test_a_callback_gets_the_extra_if_it_takes_it_and_the_reason_alone_otherwise(bench: Bench) -> None:
    heard: list[Any] = []

    async def alone(reason: str) -> None:
        heard.append(("async alone", reason))

    class Owner:
        def alone(self, reason: str) -> None:
            heard.append(("method alone", reason))

    def by_name(reason: str, *, extra: Any) -> None:
        heard.append(("by name", reason, extra))

    def optional(reason: str, extra: Any = None) -> None:
        heard.append(("optional", reason, extra))

    def rest(*given: Any) -> None:
        heard.append(("rest", *given))

    callbacks = [lambda reason: heard.append(("plain alone", reason)), alone, Owner().alone, by_name, optional, rest]
    bench.put("all", *(Callbacks(each, each) for each in callbacks))
    each_once = [turn(apply(extra={"n": 1})) for _ in callbacks]

    async def main() -> None:
        told = await bench.run(turn(stages("all")), *each_once, turn(stages("all")))
        assert all(not result.is_error for result in told.values())

    run(main())
    given = [each[1:] for each in sorted(heard, key=lambda each: each[0])]
    both, tidied = ("fine", {"n": 1}), ("tidied up", None)
    one, swept = ("fine",), ("tidied up",)
    assert given == [one, swept, both, tidied, one, swept, both, tidied, one, swept, both, tidied]


@pytest.mark.spec("RES-18")
@pytest.mark.parametrize(
    ("resolves", "title"),
    [(apply(), "Accepted: rename"), (discard(), "Discarded: rename")],
    ids=["applied", "discarded"],
)
def test_what_a_producer_displays_is_below_the_block(bench: Bench, resolves: Any, title: str) -> None:
    shown = (Display("table", {"columns": ["name"], "rows": [["a"]]}, "Names"), Display("text", "more"))
    own = Result((Text("done"),), shown)
    bench.put("rename", bench.callbacks("rename", gives=own, rejects=own))

    async def main() -> None:
        told = await bench.run(turn(stages("rename")), turn(resolves))
        block, *rest = told["call_2"].display
        assert block.title == title
        assert tuple(rest) == shown

    run(main())


@pytest.mark.spec("RES-18")
def test_a_failure_that_a_producer_returns_is_said_above_what_it_displays(bench: Bench) -> None:
    shown = Display("diff", "-a\n+b", "The rest")
    failed = Result((Text("no"),), (shown,), is_error=True, code="tool_error")
    bench.put("rename", bench.callbacks("rename", gives=failed))

    async def main() -> None:
        told = await bench.run(turn(stages("rename")), turn(apply()))
        block, below = told["call_2"].display
        assert block.title == "Failed: rename"
        assert below == shown

    run(main())


@pytest.mark.spec("RES-4")
def test_a_result_of_the_producer_passes_whole(bench: Bench) -> None:
    def grown(context: Mapping[str, Any]) -> dict[str, Any]:
        return {**context, "renamed": context.get("renamed", 0) + 1}

    shown = Display("table", {"columns": ["name"], "rows": [["a"]]}, "Names")
    bench.put("rename", bench.callbacks("rename", gives=Result((Text("done"),), (shown,), context_update=grown)))

    async def main() -> None:
        async with bench.open(turn(stages("rename")), turn(apply())) as session:
            await bench.say(Prompt("go"))
            assert session.context == {"renamed": 1}
        block = Display("text", "fine", "Accepted: rename")
        assert bench.results()["call_2"].display == (block, shown)

    run(main())


@pytest.mark.spec("RES-4")
def test_the_details_of_a_failure_say_what_was_tried(bench: Bench) -> None:
    bench.put("rename", bench.callbacks("rename", raises=ValueError("no")))

    async def main() -> None:
        async with bench.open(turn(stages("rename")), turn(apply(extra={"a": 1}))):
            await bench.say(Prompt("go"))
        told = bench.results()["call_2"].details
        assert {name: told[name] for name in about("apply", extra={})} == about("apply", extra={"a": 1})

    run(main())


@pytest.mark.spec("RES-4")
def test_the_details_of_changes_that_do_not_fit_say_what_was_tried(bench: Bench) -> None:
    bench.put("rename", bench.change("a.py"))

    async def main() -> None:
        (bench.root / "a.py").write_text("somebody else\n")
        told = await bench.run(turn(stages("rename")), turn(apply()))
        assert told["call_2"].is_error
        assert {name: told["call_2"].details.get(name) for name in about("apply")} == about("apply")
        assert told["call_2"].display[0].title == "Failed: rename"

    run(main())
