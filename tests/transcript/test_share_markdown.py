"""A session leaves as Markdown that no text inside can break."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.transcript.share.claude_import import read_claude
from callgate.transcript.share.html import to_html
from callgate.transcript.share.markdown import model_text, to_markdown
from callgate.transcript.share.session_page import Exported, Mark, read_page
from callgate.words.calls import Result
from callgate.words.decisions import Allow, Ask, Confirmation, Deny
from callgate.words.events import (
    CallArrived,
    CallDecided,
    CallSettled,
    CallStarted,
    Durable,
    MessageAdded,
    MetadataSet,
    Noted,
    QuestionAnswered,
    RunEnded,
    SessionOpened,
)
from callgate.words.messages import CallPart, Image, Message, Opaque, Resource, ResultPart, Text, Thinking
from callgate.words.turns import Compacted, Snipped

pytestmark = pytest.mark.spec("TRS-12")

DATA = Path(__file__).parents[1] / "data" / "claude"
AT = 1_772_355_600.0


def page(*events: Durable, title: str = "A title") -> str:
    return to_markdown(Exported("s1", title, "/home/ada", events))


def said(role: str, *parts: object, name: str = "m1") -> MessageAdded:
    return MessageAdded(AT, Message(name, role, tuple(parts)))  # type: ignore[arg-type]


def outside_fences(text: str) -> list[str]:
    """The lines a reader of Markdown takes as structure."""
    out: list[str] = []
    fence = ""
    for line in text.split("\n"):
        opened = re.match(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})", line)
        if fence:
            fence = "" if re.fullmatch(rf" {{0,3}}{fence}{fence[0]}*[ \t]*", line) else fence
        elif opened:
            fence = opened[1]
        else:
            out.append(line)
    assert not fence, "a code block is left open"
    return out


def test_a_session_is_told_in_order_with_its_dates() -> None:
    imported = read_claude((DATA / "parallel.jsonl").read_bytes().split(b"\n"))
    text = to_markdown(Exported("s1", imported.title, imported.workspace, imported.events))
    wanted = [
        "# Count the beds",
        "- Folder: `/home/ada/garden`",
        "- From 2026-03-01 09:00:01 UTC to 2026-03-01 09:00:12 UTC",
        "## 1. User · 2026-03-01 09:00:01 UTC",
        "How many beds are in plan.txt",
        "<details><summary>Thinking</summary>",
        "I look at both files.",
        "### Call `Read` · ok",
        '  "file_path": "/home/ada/garden/plan.txt"',
        "1→four beds\n2→a pond",
        "*Image, image\\/png, 70 bytes*",
        "### Call `Bash` · tool error",
        "- Outcome: `tool_error`",
        "There are **four** beds.",
    ]
    places = [text.index(piece) for piece in wanted]
    assert places == sorted(places)


def test_who_decided_is_said_with_the_answer_and_changed_arguments() -> None:
    part = CallPart("c1", "write", {"path": "a"})
    text = page(
        CallArrived(at=AT, call_id="c1", name="write", arguments={"path": "a"}, index=0, message_id="m1"),
        said("assistant", part),
        CallDecided(AT, "c1", Ask("rule 3", "writes outside"), "h"),
        QuestionAnswered(AT, Confirmation("c1", "yes_always", "h", "ada", arguments={"path": "b"}, note="go on")),
        CallDecided(AT, "c1", Allow("ada"), "h"),
        CallSettled(AT, "c1", Result((Text("written"),))),
        said("tool", ResultPart("c1", "write", (Text("written"),)), name="r1"),
    )
    lines = [line for line in text.split("\n") if line.startswith("- Decided")]
    assert lines == [
        "- Decided: a question\\, because of rule 3\\: writes outside",
        "- Decided: ada answered yes\\, always\\: go on",
        "- Decided: allowed by ada",
    ]
    assert 'The arguments were changed to:\n\n```json\n{\n  "path": "b"\n}\n```' in text
    assert text.count("written") == 1, "the result is told with its call, not again with its message"


def test_boundaries_snips_and_notes_are_marked() -> None:
    text = page(
        said("user", Text("secret plan")),
        Snipped(AT, ("m1",)),
        Compacted(AT, "they spoke of a plan", trigger="manual"),
        Noted(AT, "disk is nearly full", "warning"),
        RunEnded(AT, "interrupted", "by ada"),
    )
    assert "*snipped: the model no longer sees it*" in text
    assert "> **Snipped** · 2026-03-01 09:00:00 UTC · Hidden from the model" in text
    assert "> **Compacted** ·" in text
    assert "they spoke of a plan" in text
    assert "> **Note** · 2026-03-01 09:00:00 UTC · warning\\: disk is nearly full" in text
    assert "The run ended\\: The run was interrupted\\. by ada" in text


def test_every_kind_of_part_is_shown_or_named() -> None:
    parts = (Image("image/png", b"abc"), Resource("file:///a", "inside"), Resource("https://b"), Opaque("x", {}))
    text = page(said("user", *parts), said("assistant", Thinking("hm\n</details>\n# no"), name="m2"))
    for piece in (
        "*Image, image\\/png, 3 bytes*",
        "`file:///a`",
        "```text\ninside\n```",
        "`https://b`",
        "a private format of x",
    ):
        assert piece in text
    assert "# no" not in outside_fences(text)


def test_dates_are_those_of_messages_and_never_run_backwards() -> None:
    asked, told = said("user", Text("q")), said("assistant", Text("a"), name="m2")
    later = MessageAdded(AT + 5, told.message)
    text = page(SessionOpened(AT + 9e6, "1", "/w"), later, asked, MetadataSet(AT + 9e6, "title", "x"))
    assert "- From 2026-03-01 09:00:00 UTC to 2026-03-01 09:00:05 UTC\n" in text
    assert "From" not in page(SessionOpened(AT, "1", "/w"))


@pytest.mark.parametrize(
    ("attempts", "left"),
    [
        ((), "not started"),
        ((1,), "had started; its outcome is unknown"),
        ((1, 2), "had started (attempt 2); its outcome is unknown"),
    ],
    ids=["never", "once", "again"],
)
def test_a_call_without_a_result_says_how_far_it_came(attempts: tuple[int, ...], left: str) -> None:
    started = [CallStarted(AT, "c1", attempt) for attempt in attempts]
    text = page(
        CallArrived(at=AT, call_id="c1", name="read", arguments={}, index=0, message_id="m1"),
        said("assistant", CallPart("c1", "read", {})),
        *started,
    )
    assert f"### Call `read` · {left}\n" in text


def test_a_call_that_settled_nowhere_and_one_whose_message_never_came_are_shown() -> None:
    text = page(
        said("assistant", CallPart("c1", "read", {})),
        CallArrived(at=AT, call_id="c2", name="write", arguments={}, index=0, message_id="never", raw_arguments='{"pa'),
        CallDecided(AT, "c2", Deny("rule 1"), "h"),
    )
    assert "### Call `read` · not started" in text
    assert "### Call `write`" in text
    assert '```text\n{"pa\n```' in text
    assert "- Decided: denied by rule 1" in text


def test_a_result_without_a_call_is_still_there() -> None:
    assert "stray" in page(said("tool", ResultPart("c9", "read", (Text("stray"),))))


HOSTILE = [
    "# heading",
    "```\n# heading",
    "~~~~\n# heading",
    "````text\n```\n# heading",
    "</details>\n# heading",
    "a\r# heading",
    "<!-- open\n\n# heading",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_quoted_text_stays_in_its_block(text: str) -> None:
    call = CallPart("c1", f"read{text}", {"text": text})
    events = (
        said("user", Text(text)),
        said("assistant", Thinking(text), call, name="m2"),
        CallDecided(AT, "c1", Allow(text, text), "h"),
        CallSettled(AT, "c1", Result((Text(text), Resource(text)))),
        Noted(AT, text),
        Compacted(AT, text),
    )
    lines = outside_fences(page(*events, title=text))
    assert "# heading" not in lines
    assert not any(
        "<!--" in line.replace("\\<", "") and not line.startswith(("### Call", "*Resource*")) for line in lines
    )
    assert sum(line == "</details>" for line in lines) == 2
    assert [line[:4] for line in lines if line.startswith("#")] == [
        "# \\#" if text[0] == "#" else lines[0][:4],
        "## 1",
        "## 2",
        "### ",
    ]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        pytest.param("# Plan\n\n- **a** `<b>` <https://c.d>", "# Plan\n\n- **a** `<b>` <https://c.d>", id="as written"),
        pytest.param("1 < 2 and x<3", "1 < 2 and x<3", id="no tag"),
        pytest.param("```html\n<b>\n```\n<b>", "```html\n<b>\n```\n&lt;b>", id="tags only in code"),
        pytest.param("- a:\n  ```html\n  <b>\n  ```\n- b", "- a:\n  ```html\n  <b>\n  ```\n- b", id="code in a list"),
        pytest.param("```\nnever closed", "```\nnever closed\n```", id="left open"),
        pytest.param("~~~~ x\n~~~\n````", "~~~~ x\n~~~\n````\n~~~~", id="other marks do not close"),
        pytest.param("<!-- <?php <![CDATA[ </p>", "&lt;!-- &lt;?php &lt;![CDATA[ &lt;/p>", id="openings"),
        pytest.param("`a\nb` <i> `c`", "`a\nb` &lt;i> `c`", id="spans over lines do not count"),
        pytest.param("| ` | <i> | ` |", "| ` | &lt;i> | ` |", id="spans over cells do not count"),
        pytest.param("\\`<i>`", "\\`&lt;i>`", id="escaped backtick"),
        pytest.param("  ```\nx", "````markdown\n  ```\nx\n````", id="not certain where it ends"),
        pytest.param("```a|b\n-|-\n<b>", "````markdown\n```a|b\n-|-\n<b>\n````", id="perhaps a table"),
        pytest.param(
            "   ```\n    ```\nx", "````markdown\n   ```\n    ```\nx\n````", id="a closing fence that may be none"
        ),
    ],
)
def test_text_of_the_model_is_its_own_markdown_and_ends_with_it(text: str, wanted: str) -> None:
    assert model_text(text) == wanted


pieces = st.lists(
    st.sampled_from(["```", "~~~", "````", "\n", "\n\n", "  ", "<!--", "<b>", "# h", "a", "`", "- ", "\ud800", "\t"])
)


@given(pieces.map("".join))
def test_what_follows_a_text_of_the_model_is_never_swallowed(text: str) -> None:
    shown = page(said("assistant", Text(text)), said("user", Text("after"), name="m2"))
    shown.encode()
    assert "## 2. User · 2026-03-01 09:00:00 UTC" in outside_fences(shown)


@pytest.mark.spec("CMP-8")
def test_a_boundary_is_one_line_with_its_summary_below() -> None:
    boundary = Compacted(
        at=1.0,
        summary="They talked.",
        restored="(files)",
        trigger="automatic",
        focus="the\ntests",
        covered=4,
        tokens_before=160_000,
        tokens_after=9_000,
        model="anthropic/claude",
        cost=0.0421,
    )
    (shown,) = read_page(Exported("s", "", "", (boundary,)))
    assert isinstance(shown, Mark)
    assert shown.body == "They talked."
    assert shown.text == (
        "The history was compacted (automatic): 4 messages, about 160,000 tokens became 9,000, with focus on "
        "'the tests', "
        "by anthropic/claude for $0.0421; from here on the model sees this summary instead"
    )


def test_signatures_and_thinking_without_words_are_not_shown() -> None:
    """Of a provider's own parts only those are named that stand for something the model did."""
    signature = Opaque("gemini", {"on": "text", "chars": 4, "thoughtSignature": "c2ln"})
    parts = (Thinking("", "signed"), Text("Done"), signature)
    assert page(said("assistant", *parts)) == page(said("assistant", Text("Done")))
    exported = Exported("s1", "T", "/home/ada", (said("assistant", *parts),))
    plain = Exported("s1", "T", "/home/ada", (said("assistant", Text("Done")),))
    assert to_html(exported) == to_html(plain)
    assert "a private format of gemini" in page(said("assistant", Opaque("gemini", {"executableCode": {}})))
