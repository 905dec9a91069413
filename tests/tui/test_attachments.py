"""Pasted texts and images of the input line, names of files in a text, and earlier messages: without a terminal."""

import pytest

from callgate.tui.composer.attachments import Attachments, clean, dropped_images, image_paths, mention_at, mention_of
from callgate.tui.composer.recall import Recall, RecalledPrompt
from callgate.words.messages import Image, Text

LONG = "\n".join(f"row {number}" for number in range(10_000))
PICTURE = Image("image/png", b"\x89PNG\r\n\x1a\n" + bytes(3_000))


def test_a_long_text_is_one_character_with_a_label_and_is_whole_when_it_is_sent() -> None:
    attachments = Attachments()
    mark = attachments.paste(LONG)
    assert len(mark) == 1
    text = f"look: {mark} please"
    assert attachments.labelled(text) == "look: [Pasted #1: 10,000 lines] please"
    assert attachments.parts(text) == f"look: {LONG} please"
    assert attachments.paste("x" * 1_001) != mark
    assert attachments.paste(LONG) == mark, "the same text once more is the same attachment"


@pytest.mark.parametrize("text", ["short", "\n".join("ten lines!"), "x" * 1_000])
def test_a_short_text_is_pasted_as_it_is(text: str) -> None:
    assert Attachments().paste(text) == text


def test_the_history_keeps_long_texts_whole_and_images_by_their_paths() -> None:
    attachments = Attachments()
    text = f"{attachments.paste(LONG)} and {attachments.picture('a.png', PICTURE, 'shots/a.png')}"
    kept, pasted = attachments.kept(text)
    assert kept == "[Pasted #1: 10,000 lines] and shots/a.png"
    later = Attachments()
    assert later.parts(later.restored(kept, pasted)) == f"{LONG} and shots/a.png"


def test_images_stand_behind_the_text_which_names_them() -> None:
    attachments = Attachments()
    text = f"what is {attachments.picture('a.png', PICTURE, 'shots/a.png')}?"
    assert attachments.labelled(text) == "what is [Image #1: a.png 2 KB]?"
    assert attachments.parts(text) == (Text("what is [Image #1: shots/a.png]?"), PICTURE)
    back = attachments.taken_back((Text("what is [Image #1: shots/a.png]?"), PICTURE))
    assert attachments.labelled(back) == "what is [Image #1: shots/a.png]?[Image #2: image 2 KB]"


def test_nothing_that_a_terminal_acts_on_stays_in_a_pasted_text() -> None:
    hostile = (
        "a\x1b[31mred\x1b[0m\x1b]0;title\x07\x1b]52;c;eA==\x1b\\\rb\x00\x07\x9b1m\u202egnp\U000e0041\tc\r\nd\U0010f000"
    )
    assert clean(hostile) == "ared\nb1mgnp\tc\nd"
    assert clean("naïve\u00a0— 👩\u200d💻 日本") == "naïve\u00a0— 👩\u200d💻 日本"


@pytest.mark.parametrize(
    ("before", "typed"),
    [("@", ""), ("look at @src/ma", "src/ma"), ('see (@"my fi', "my fi"), ("mail me@home", None), ("@a b", None)],
)
def test_a_mention_begins_a_word(before: str, typed: str | None) -> None:
    found = mention_at(before)
    assert (found and found.typed) == typed
    assert found is None or before[found.start] == "@"


def test_paths_with_blanks_are_quoted() -> None:
    assert [mention_of("a/b.py"), mention_of("a b.py")] == ["@a/b.py", '@"a b.py"']


def test_paths_of_images_are_found_in_a_text_however_they_are_written() -> None:
    text = r"""see shot.png, @"my shot.JPG" 'b c.gif' d\ e.webp file:///tmp/f%20g.jpeg and notes.txt (h.png)."""
    assert image_paths(text) == ["shot.png", "my shot.JPG", "b c.gif", "d e.webp", "/tmp/f g.jpeg", "h.png"]
    assert dropped_images("'/tmp/a b.png' /tmp/c.png ") == ["/tmp/a b.png", "/tmp/c.png"]
    assert dropped_images("look at /tmp/c.png") == []


def test_earlier_messages_come_back_one_by_one_and_the_draft_last() -> None:
    recall = Recall()
    assert recall.add(RecalledPrompt("one"))
    assert not recall.add(RecalledPrompt("one")), "none twice in a row"
    recall.load([RecalledPrompt("old")])
    older = [recall.older("draft"), recall.older(""), recall.older("")]
    assert [each and each.text for each in older] == ["one", "old", None]
    assert [recall.newer(), recall.newer(), recall.newer()] == [RecalledPrompt("one"), "draft", None]


def test_a_search_finds_beginnings_first_then_the_newest_each_once() -> None:
    recall = Recall()
    recall.load([RecalledPrompt(text) for text in ("fix the bug", "run tests", "please fix it", "fix the bug")])
    assert [each.text for each in recall.found("FIX")] == ["fix the bug", "please fix it"]
    assert len(recall.found("")) == 3
