"""The pane with a whole conversation: what is in view, wherever one has scrolled to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.tui.blocks import Block, NoticeBlock, text_of
from callgate.tui.panels.panel_page import CODES
from callgate.tui.panels.scroll_panel import Pane

sizes = st.lists(st.integers(0, 5), max_size=12)
moves = st.lists(st.sampled_from(("up", "down", "page up", "page down", "start", "end")), max_size=12)


def _pane(sizes: list[int], painted: list[int] | None = None) -> tuple[Pane[Block], list[str]]:
    blocks: list[Block] = [NoticeBlock(f"block {number}") for number in range(len(sizes))]
    lines = {f"block {number}": [f"{number}.{line}" for line in range(size)] for number, size in enumerate(sizes)}

    def paint(block: Block) -> list[str]:
        assert isinstance(block, NoticeBlock)
        if painted is not None:
            painted.append(int(block.text.split()[1]))
        return lines[block.text]

    return Pane(blocks, paint, text_of), [line for each in lines.values() for line in each]


@given(sizes, moves, st.integers(1, 8))
def test_the_view_is_a_part_of_all_lines_and_full_if_there_are_enough(
    sizes: list[int], moves: list[str], height: int
) -> None:
    pane, every = _pane(sizes)
    at = max(len(every) - height, 0)  # the first line in view
    assert pane.lines(height) == every[at:]
    last = at
    for move in moves:
        match move:
            case "start":
                pane.to_start()
                at = 0
            case "end":
                pane.to_end()
                at = last
            case _:
                lines = max(height - 2, 1) if "page" in move else 1
                by = -lines if "up" in move else lines
                pane.scroll(by)
                at = min(max(at + by, 0), last)
        assert pane.lines(height) == every[at : at + height]


def test_only_what_comes_into_view_is_painted() -> None:
    painted: list[int] = []
    pane, _every = _pane([3] * 10_000, painted)
    pane.lines(20)
    pane.scroll(-10)
    pane.lines(20)
    assert len(painted) < 15


@pytest.mark.spec("TUI-9")
def test_a_search_goes_to_the_next_and_the_previous_place_and_begins_anew_at_the_other_end() -> None:
    pane, _every = _pane([1] * 30)
    pane.lines(5)
    pane.to_start()
    assert pane.seek("BLOCK 1") is False
    assert pane.seek("block 1")
    assert pane.lines(1) == ["1.0"]
    assert pane.seek("block 1", -1)
    assert pane.lines(1) == ["19.0"]


@pytest.mark.spec("TUI-9")
def test_a_search_finds_every_line_of_a_block_and_forgets_its_place_for_another_text() -> None:
    text = "\n".join(f"{'match' if row % 3 == 0 else 'other'} {row}" for row in range(10))
    pane = Pane([NoticeBlock("before"), NoticeBlock(text), NoticeBlock("after")], _by_lines, text_of)
    pane.lines(2)
    found = [_plain(pane.lines(2)[0]) for _ in range(5) if pane.seek("match", -1)]
    assert found == ["match 9", "match 6", "match 3", "match 0", "match 9"]
    assert pane.at_found
    assert pane.seek("match")
    assert _plain(pane.lines(1)[0]) == "match 0"
    assert pane.seek("after")
    assert _plain(pane.lines(1)[0]) == "after"
    pane.scroll(-2)
    assert not pane.at_found


def _by_lines(block: Block) -> list[str]:
    assert isinstance(block, NoticeBlock)
    return [f"\x1b[1m{line[:3]}\x1b[0m{line[3:]}" for line in block.text.split("\n")]


def _plain(line: str) -> str:
    return CODES.sub("", line)
