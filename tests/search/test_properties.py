"""Whatever is put, dropped and asked: the index is that of the tools that are left, and nothing raises."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.search.tool_index import ToolIndex, ToolText
from tests.search.kit import index

_WORDS = "send sends message Slack file. weather? 天气 雨。 the get café погода 12 x YouTube 'a b' \"quoted text\""
WORDS = st.sampled_from(_WORDS.split())
TEXTS = st.lists(WORDS, max_size=6).map(" ".join)
NAMES = st.sampled_from(["a", "sendMessage", "mcp__slack__post", "b_2", "天气", "get.file"])
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["properties", "description", "enum", "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)
SCHEMAS = st.dictionaries(st.sampled_from(["properties", "description", "enum", "items"]), JSON, max_size=3)
TOOLS = st.builds(ToolText, NAMES, TEXTS, SCHEMAS, st.sampled_from(["", "slack", "Inn"]), TEXTS, TEXTS)
STEPS = st.lists(TOOLS | NAMES, max_size=15)
ANY_TEXT = st.text(max_size=40)


def _follow(steps: list[ToolText | str]) -> tuple[ToolIndex, dict[str, ToolText]]:
    made, left = ToolIndex(), dict[str, ToolText]()
    for step in steps:
        if isinstance(step, str):
            made.drop(step)
            left.pop(step, None)
        else:
            made.put(step)
            left[step.name] = step
    return made, left


@pytest.mark.spec("SRC-4")
@given(STEPS, TEXTS, st.lists(WORDS, max_size=2), st.integers(1, 8))
def test_an_index_that_followed_changes_is_the_one_that_is_built_anew(
    steps: list[ToolText | str], query: str, required: list[str], k: int
) -> None:
    grown, left = _follow(steps)
    built = index(*reversed(left.values()))
    assert (len(grown), {name for name in left if name in grown}) == (len(left), set(left))
    assert grown.search(query, k, required=required) == built.search(query, k, required=required)


@given(ANY_TEXT, ANY_TEXT, ANY_TEXT, ANY_TEXT, st.lists(ANY_TEXT, max_size=2), SCHEMAS)
def test_no_text_is_too_strange(
    name: str, said: str, server: str, query: str, required: list[str], schema: dict[str, Any]
) -> None:
    tools = index(ToolText(name, said, schema, server, said, query), ToolText("send", said))
    hits = tools.search(query, required=required)
    assert all(hit.name in tools and hit.score >= 0 for hit in hits)
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    tools.drop(name)
    tools.drop("send")
    assert (len(tools), tools.search(query)) == (0, [])
