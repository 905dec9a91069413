"""Token counts: those of the provider where there are any, and estimates that are marked as such."""

import pytest

from callgate.conversation.view import View
from callgate.transcript.token_count import TokenCount, TokenMeter
from callgate.words.messages import CallPart, Image, Message, Opaque, Part, Resource, ResultPart, Text, Thinking, Usage
from callgate.words.model import ToolSpec
from callgate.words.window import CHARS_PER_TOKEN, IMAGE_TOKENS, part_chars, spec_chars

TOLD = Usage(input=1_000, cache_read=9_000, cache_write=500, output=100)


def said(*parts: Part, id: str = "u1", role: str = "user", usage: Usage | None = None) -> Message:
    return Message(id, role, parts, None, usage)  # type: ignore[arg-type]


def view_of(*messages: Message) -> View:
    view = View()
    for message in messages:
        view.add(message)
    return view


@pytest.mark.spec("CMP-4")
def test_the_providers_count_is_taken_with_an_estimate_of_what_came_since() -> None:
    view = view_of(
        said(Text("go")),
        said(CallPart("c1", "Read", {}), id="a1", role="assistant", usage=TOLD),
        said(ResultPart("c1", "Read", (Text("x" * 3_500),)), id="r1", role="tool"),
    )
    meter = TokenMeter()
    count = meter.count(view, fixed=42_000)
    assert count.reported == 10_600
    assert meter.per_token == pytest.approx(42_000 / 10_600, rel=0.01), "as the provider counts"
    assert count.estimated == pytest.approx(3_500 / meter.per_token, rel=0.02)
    assert str(count).startswith("about ")
    assert str(TokenCount(10_600)) == "10,600"


@pytest.mark.spec("CMP-4")
@pytest.mark.parametrize(
    "usage",
    [
        pytest.param(None, id="none"),
        pytest.param(Usage(output=7), id="of the answer alone"),
        pytest.param(Usage(input=90_000, estimated=True), id="an estimate itself"),
        pytest.param(Usage(input=10, output=5), id="one that cannot be"),
    ],
)
def test_without_a_count_of_the_provider_all_is_estimated(usage: Usage | None) -> None:
    view = view_of(said(Text("go")), said(Text("y" * 7_000), id="a1", role="assistant", usage=usage))
    count = TokenMeter().count(view, fixed=3_500)
    assert count.reported == 0
    assert count.estimated == pytest.approx(10_500 / CHARS_PER_TOKEN, rel=0.02)


@pytest.mark.spec("CMP-4")
def test_a_count_from_before_a_boundary_a_snip_or_a_replacement_is_not_believed() -> None:
    def fresh() -> View:
        return view_of(
            said(Text("go")),
            said(CallPart("c1", "Read", {}), id="a1", role="assistant", usage=TOLD),
            said(ResultPart("c1", "Read", (Text("x" * 900),)), id="r1", role="tool"),
        )

    compacted, snipped, replaced = fresh(), fresh(), fresh()
    compacted.compact(said(Text("before"), id="s"), "a1")
    snipped.snip(["u1"])
    replaced.replace("r1", "c1", (Text("short"),))
    for view in (compacted, snipped, replaced):
        assert TokenMeter().count(view, 0).reported == 0
        view.add(said(Text("well"), id="a2", role="assistant", usage=TOLD))
        assert TokenMeter().count(view, 0) == TokenCount(10_600, 0)


def test_the_characters_in_a_token_are_never_absurd() -> None:
    meter = TokenMeter()
    for fixed in (0, 200_000):
        meter.count(view_of(said(Text("go")), said(Text("a"), id="a1", role="assistant", usage=TOLD)), fixed)
        assert 1.0 <= meter.per_token <= 6.0


@pytest.mark.parametrize(
    ("part", "least", "most"),
    [
        (Text("x" * 100), 100, 120),
        (Thinking("x" * 100, "sig"), 100, 150),
        (CallPart("c", "Write", {"path": "a", "lines": ["x" * 100, 3, None]}), 120, 200),
        (CallPart("c", "Write", {}, raw_arguments="x" * 100, kept=Opaque("p", b"x" * 100)), 200, 250),
        (ResultPart("c", "Write", (Text("x" * 100), Resource("file:///a", text="x" * 100))), 200, 260),
        (Image("image/png", b"x" * 1_000_000), 5_000, round(IMAGE_TOKENS * 4)),
        (Opaque("p", {"a": ["x" * 100]}), 100, 120),
        (Resource("file:///a", data=b"x" * 100), 100, 120),
    ],
)
def test_each_part_has_a_size(part: Part, least: int, most: int) -> None:
    assert least <= part_chars(part) <= most


@pytest.mark.spec("CMP-5")
def test_the_shares_of_a_window_add_up() -> None:
    view = view_of(
        said(Text("go" * 100), Image("image/png", b"")),
        said(
            Thinking("h" * 50),
            Opaque("p", b"x" * 50),
            Text("ok" * 50),
            CallPart("c1", "Read", {"path": "a" * 50}),
            id="a1",
            role="assistant",
        ),
        said(ResultPart("c1", "Read", (Text("x" * 3_500),)), id="r1", role="tool"),
    )
    view.compact(said(Text("before" * 20), id="s"), "u1")
    specs = [ToolSpec("Read", "Reads." * 50, {"type": "object", "properties": {"path": {"type": "string"}}})]
    shares = TokenMeter().shares(view, {"system": 180, "tools": spec_chars(specs)}, 10_000)
    assert [share.kind for share in shares] == [
        *(
            "system",
            "tools",
            "summary",
            "prompts",
            "images",
            "thinking",
            "provider's own",
            "answers",
            "calls",
            "results",
        )
    ]
    assert sum(share.tokens for share in shares) == 10_000
