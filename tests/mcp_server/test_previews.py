"""Edits of MCP clients: shown first, then applied or discarded with ``resolve``, exactly as shown."""

from pathlib import Path

import pytest

from tests.mcp_server.kit import ERAS, Person, bench, code_of, pending_of, run, text_of

pytestmark = pytest.mark.spec("MCP-5")
era_of = pytest.mark.parametrize("era", ERAS)
CHANGE = {"file_path": "a.txt", "old_string": "two", "new_string": "three"}


def resolve(action: str, of: str) -> dict[str, str]:
    return {"action": action, "reason": "seen", "id": of}


@era_of
def test_an_edit_answers_with_its_diff_and_is_made_when_it_is_applied(era: str, tmp_path: Path) -> None:
    async def main() -> None:
        person = Person(["yes"])
        async with bench(tmp_path) as made, made.client(era, person) as client:
            file = made.write("a.txt", "one\ntwo\n")
            await client.call_tool("Read", {"file_path": "a.txt"})
            shown = await client.call_tool("Edit", CHANGE)
            assert "-two\n+three\n" in text_of(shown)
            assert file.read_text() == "one\ntwo\n"
            assert not person.asked
            applied = await client.call_tool("resolve", resolve("apply", pending_of(shown)))
            assert not applied.is_error
            assert file.read_text() == "one\nthree\n"
            assert "+three" in person.asked[0], "the person sees the diff"
            again = await client.call_tool("resolve", resolve("apply", pending_of(shown)))
            assert again.is_error

    run(main)


def test_several_changes_may_be_pending_and_are_resolved_in_any_order(tmp_path: Path) -> None:
    async def main() -> None:
        async with bench(tmp_path, mode="accept_edits") as made, made.client("legacy") as client:
            first = await client.call_tool("Write", {"file_path": "a.txt", "content": "a\n"})
            second = await client.call_tool("Write", {"file_path": "b.txt", "content": "b\n"})
            dropped = await client.call_tool("resolve", resolve("discard", pending_of(first)))
            assert not dropped.is_error
            assert not (await client.call_tool("resolve", resolve("apply", pending_of(second)))).is_error
            assert not (made.work / "a.txt").exists()
            assert (made.work / "b.txt").read_text() == "b\n"

    run(main)


def test_a_file_that_changed_since_it_was_shown_is_left_alone_and_the_change_stays_pending(tmp_path: Path) -> None:
    async def main() -> None:
        async with bench(tmp_path, mode="accept_edits") as made, made.client("legacy") as client:
            file = made.write("a.txt", "one\ntwo\n")
            await client.call_tool("Read", {"file_path": "a.txt"})
            shown = await client.call_tool("Edit", CHANGE)
            file.write_text("another\ntwo\n")
            applied = await client.call_tool("resolve", resolve("apply", pending_of(shown)))
            assert applied.is_error
            assert file.read_text() == "another\ntwo\n"
            assert not (await client.call_tool("resolve", resolve("discard", pending_of(shown)))).is_error

    run(main)


def test_a_change_that_was_applied_is_known_so_that_the_next_edit_needs_no_read(tmp_path: Path) -> None:
    async def main() -> None:
        async with bench(tmp_path, mode="accept_edits") as made, made.client("legacy") as client:
            file = made.write("a.txt", "one\ntwo\n")
            await client.call_tool("Read", {"file_path": "a.txt"})
            shown = await client.call_tool("Edit", CHANGE)
            await client.call_tool("resolve", resolve("apply", pending_of(shown)))
            more = {"file_path": "a.txt", "old_string": "three", "new_string": "four"}
            next_one = await client.call_tool("Edit", more)
            await client.call_tool("resolve", resolve("apply", pending_of(next_one)))
            assert file.read_text() == "one\nfour\n"

    run(main)


def test_showing_is_judged_as_reading_and_applying_as_an_edit(tmp_path: Path) -> None:
    async def main() -> None:
        deny = ["Read(hidden.txt)", "Edit(fixed.txt)"]
        async with bench(tmp_path, mode="accept_edits", deny=deny) as made, made.client("legacy") as client:
            made.write("hidden.txt", "key\n")
            made.write("fixed.txt", "one\n")
            patch = "--- a/{0}\n+++ b/{0}\n@@ -1 +1,2 @@\n {1}\n+more\n"
            hidden = await client.call_tool("ApplyPatch", {"patch": patch.format("hidden.txt", "key")})
            assert code_of(hidden) == "denied"
            fixed = await client.call_tool("ApplyPatch", {"patch": patch.format("fixed.txt", "one")})
            refused = await client.call_tool("resolve", resolve("apply", pending_of(fixed)))
            assert code_of(refused) == "denied"
            assert "Edit(fixed.txt)" in text_of(refused)
            assert (made.work / "fixed.txt").read_text() == "one\n"

    run(main)


def test_plan_mode_shows_changes_and_applies_none(tmp_path: Path) -> None:
    async def main() -> None:
        async with bench(tmp_path, mode="plan") as made, made.client("legacy", Person()) as client:
            shown = await client.call_tool("Write", {"file_path": "a.txt", "content": "a\n"})
            assert "+a" in text_of(shown)
            assert code_of(await client.call_tool("resolve", resolve("apply", pending_of(shown)))) == "denied"
            assert not (made.work / "a.txt").exists()

    run(main)


def test_a_pending_change_waits_while_other_calls_change_things(tmp_path: Path) -> None:
    async def main() -> None:
        async with bench(tmp_path, mode="bypass") as made, made.client("auto") as client:
            shown = await client.call_tool("Write", {"file_path": "a.txt", "content": "a\n"})
            for number in range(6):
                done = await client.call_tool("Bash", {"command": f"touch {number}"})
                assert not done.is_error, text_of(done)
            assert not (await client.call_tool("resolve", resolve("apply", pending_of(shown)))).is_error
            assert (made.work / "a.txt").read_text() == "a\n"

    run(main)
