"""Prompts that wait while the agent works: on record, seen, edited, taken back, and delivered by the next life."""

from collections.abc import Callable

import pytest

from callgate import Continue, Prompt, Session
from callgate.admin.sessions import Archive
from callgate.testing import ScriptedModel, call, say, turn
from callgate.words.events import InputRefused, PromptQueued
from callgate.words.inputs import Branch, Compact, EditPrompt, Interrupt, Rewind, Steer, WithdrawPrompt
from callgate.words.messages import Text
from callgate.words.turns import Compacted
from tests.flows.keep import Keep, on_disk, run
from tests.sessions import with_event

pytestmark = pytest.mark.spec("TRN-11")


def asked(session: Session) -> list[str]:
    return [message.text for message in session.messages if message.role == "user"]


async def at_work(keep: Keep, *sent: Prompt | Steer) -> tuple[Session, list[PromptQueued]]:
    """A session in the middle of a call, with these inputs sent meanwhile and on disk."""
    journal = await keep.store.create()
    session = await keep.session(ScriptedModel(turn(call("held")), otherwise=turn(say("ok"))), journal, mode="bypass")
    session.post(Prompt("go"))
    await keep.held.entered()
    queued: list[PromptQueued] = []
    session.listen(with_event(lambda event: queued.append(event) if isinstance(event, PromptQueued) else None))
    for each in sent:
        session.post(each)
    await on_disk(journal)
    session.controls.deliver()
    return session, queued


async def next_life(keep: Keep, which: str = "latest") -> Session:
    return await keep.session(ScriptedModel(otherwise=turn(say("ok"))), await keep.store.open(which))


def test_a_prompt_that_waits_is_on_record_after_a_kill_and_is_delivered_in_its_place(keep: Keep) -> None:
    async def main() -> None:
        session, queued = await at_work(keep, Prompt("one"), Prompt("two"))
        assert [event.text for event in queued] == ["one", "two"], "doors hear of it once it is durable"
        after = keep.crashed()
        session.post(Interrupt())
        keep.held.open()
        await session.aclose()
        (listed,) = after.store.list()
        assert len(listed.about.waiting) == 2
        async with await next_life(after) as resumed:
            assert (resumed.status, [each.text for each in resumed.waiting]) == ("paused", ["one", "two"])
            await resumed.send(Prompt("three"), until="idle")
            assert asked(resumed) == ["go", "one", "two", "three"]
            assert resumed.waiting == ()
        (listed,) = after.store.list()
        assert listed.about.waiting == ()

    run(main())


def test_a_prompt_that_waits_outlives_a_clean_close(keep: Keep) -> None:
    async def main() -> None:
        session, _ = await at_work(keep, Prompt("one"))
        keep.held.open()
        await session.aclose()
        async with await next_life(keep) as resumed:
            assert resumed.status == "paused"
            await resumed.send(Continue(), until="idle")
            assert asked(resumed) == ["go", "one"]

    run(main())


def test_steering_that_was_not_delivered_is_so_by_the_next_life(keep: Keep) -> None:
    async def main() -> None:
        session, _ = await at_work(keep, Steer("use tabs"))
        after = keep.crashed()
        keep.held.open()
        await session.aclose()
        async with await next_life(after) as resumed:
            await resumed.send(Continue(), until="idle")
            assert asked(resumed) == ["go", "use tabs"]

    run(main())


def test_a_person_can_edit_and_take_back_what_waits(keep: Keep) -> None:
    async def main() -> None:
        session, queued = await at_work(keep, Prompt("one"), Prompt("two"), Prompt("three"))
        session.post(EditPrompt(queued[0].id, "one, please"))
        session.post(WithdrawPrompt(queued[1].id))
        assert [each.text for each in session.waiting] == ["one, please", "three"]
        heard = session.send(WithdrawPrompt("q99"), until="idle")
        keep.held.open()
        refused = [event for event in await heard if isinstance(event, InputRefused)]
        assert [event.input for event in refused] == ["WithdrawPrompt"]
        assert asked(session) == ["go", "one, please", "three"]
        await session.aclose()

    run(main())


def test_an_edit_outlives_the_program_too(keep: Keep) -> None:
    async def main() -> None:
        session, queued = await at_work(keep, Prompt("one"), Prompt("two"))
        session.post(EditPrompt(queued[0].id, (Text("first"),)))
        session.post(WithdrawPrompt(queued[1].id))
        keep.held.open()
        await session.aclose()
        async with await next_life(keep) as resumed:
            assert [each.text for each in resumed.waiting] == ["first"]

    run(main())


@pytest.mark.parametrize("move", [Rewind, Branch])
def test_a_prompt_that_was_delivered_does_not_wait_again_on_another_branch(
    keep: Keep, move: Callable[[str], Rewind | Branch]
) -> None:
    async def main() -> None:
        session, _ = await at_work(keep, Prompt("one"))
        keep.held.open()
        await session.send(Prompt("two"), until="idle")
        said = next(message.id for message in session.messages if message.text == ("one" if move is Rewind else "ok"))
        await session.send(move(said))
        assert session.waiting == ()
        await session.aclose()
        async with await next_life(keep) as resumed:
            assert resumed.waiting == ()

    run(main())


def test_a_fork_leaves_the_prompts_that_wait_to_the_original(keep: Keep) -> None:
    async def main() -> None:
        session, _ = await at_work(keep, Prompt("one"))
        keep.held.open()
        await session.aclose()
        model, journal = ScriptedModel(otherwise=turn(say("ok"))), await keep.store.fork()
        async with await keep.session(model, journal, summarize=lambda history, wish: "short") as forked:
            assert forked.waiting == ()
            await forked.send(Prompt("hello"))
            assert any(isinstance(event, Compacted) for event in await forked.send(Compact()))
        async with await next_life(keep, forked.id) as again:  # behind the boundary nothing says that it is a fork
            assert again.waiting == ()
        async with await next_life(keep, session.id) as resumed:
            assert [each.text for each in resumed.waiting] == ["one"]

    run(main())


def test_session_show_lists_the_prompts_that_wait(keep: Keep) -> None:
    async def main() -> None:
        session, _ = await at_work(keep, Prompt("one"))
        shown = Archive(keep.folder, keep.store.data).show(None)
        assert [each.text for each in shown.waiting] == ["one"]
        keep.held.open()
        await session.aclose()

    run(main())
