"""One call of a message is cancelled; the others go on."""

import asyncio

import pytest

from callgate import Session, tool
from callgate.testing import MemoryHost, ScriptedModel, call, say, turn
from callgate.words.events import CallSettled, CallStarted, InputRefused
from callgate.words.inputs import CancelCall


@pytest.mark.spec("EXE-14")
def test_cancelling_one_call_leaves_its_siblings_and_its_turn_alone() -> None:
    async def main() -> None:
        go_on, running = asyncio.Event(), set[str]()

        @tool(effects="none")
        async def wait(name: str) -> str:
            await go_on.wait()
            return name

        model = ScriptedModel(turn(call("wait", name="a"), call("wait", name="b")), turn(say("done")))
        async with Session(model, [wait], host=MemoryHost()) as session:
            settled: dict[str, str] = {}
            refused: list[str] = []
            reply = session.send("go")
            async for event in reply:
                if isinstance(event, CallStarted):
                    running.add(event.call_id)
                    if len(running) == 2:
                        session.post(CancelCall("nobody"))
                        session.post(CancelCall(min(running), "Not this one."))
                elif isinstance(event, InputRefused):
                    refused.append(event.reason)
                elif isinstance(event, CallSettled):
                    settled[event.call_id] = event.result.text
                    go_on.set()
            first, second = sorted(running)
            assert settled[first].startswith("Not this one.")
            assert settled[second] == "b"
            assert refused == ["no call 'nobody' is running"]
            assert session.messages[-1].text == "done"

    asyncio.run(main())
