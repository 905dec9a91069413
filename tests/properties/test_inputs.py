"""Whatever a session accepts can be read back: inputs with fields of any type are refused, or are on record whole."""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast, get_args

from hypothesis import example, given
from hypothesis import strategies as st

from callgate.conversation.ledger import Ledger
from callgate.transcript.store import Store
from callgate.words.inputs import Answer, Close, Input, Prompt
from callgate.words.messages import Image, Message, Text
from tests.profiles import fewer
from tests.transcript.kit import session_on

plain = (
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.floats(allow_nan=False) | st.binary(max_size=3)
)
odd = st.recursive(
    plain | st.builds(Text, plain) | st.builds(Image, plain, plain),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=5,
)
KINDS = [kind for kind in get_args(Input) if kind not in (Answer, Close)]


@st.composite
def inputs(draw: st.DrawFn) -> Any:
    kind: Any = draw(st.sampled_from([*KINDS, Prompt, Prompt, Prompt]))
    return kind(*(draw(odd) for _ in kind.__match_args__))


@given(st.lists(inputs(), min_size=1, max_size=6))
@example([Prompt("x", options=cast(Any, Text("another noun"))), Prompt("x", options=cast(Any, {}))])
@fewer(25)
def test_whatever_is_accepted_can_be_read_back(sent: list[Any]) -> None:
    async def main(folder: Path) -> tuple[Message, ...]:
        store = Store(folder, folder)
        async with session_on(await store.create()) as session:
            for each in [Prompt("begin"), *sent]:
                session.post(each)
            await session.send(Prompt("end"), until="idle")
            failure = session.controls.take_failure()
            assert failure is None, failure
            said = session.messages
        loaded = store.read()
        assert (loaded.unknown, loaded.damages) == (0, [])
        assert tuple(Ledger(loaded.events).messages) == said
        return said

    with TemporaryDirectory() as folder:
        assert asyncio.run(main(Path(folder)))
