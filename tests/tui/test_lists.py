"""Lists to choose from."""

from callgate.tui.composer.candidates import Candidate, CandidateList
from callgate.tui.panels.list_panel import ListItem, ListPanel
from callgate.tui.theme import Theme
from tests.tui.panel_terminal import PanelTerminal, shown


def _list(count: int = 3, **more: object) -> tuple[PanelTerminal, ListPanel, list[str]]:
    taken: list[str] = []
    terminal = PanelTerminal(Theme("mono", colours=False, unicode=False))
    items = [ListItem(f"k{n}", f"Title {n}", f"{n} messages", words="odd" if n % 2 else "even") for n in range(count)]
    panel = ListPanel(terminal, "Choose", items, lambda item: taken.append(item.key), **more)  # pyright: ignore[reportArgumentType]
    terminal.open_panel(panel)
    return terminal, panel, taken


def test_a_list_is_moved_through_and_one_item_taken() -> None:
    terminal, panel, taken = _list()
    panel.act("down")
    assert "> Title 1" in shown(panel)
    assert "2 of 3" in shown(panel)
    panel.act("choose")
    assert taken == ["k1"]
    assert not terminal.panels


def test_typing_filters_by_every_word_and_escape_first_drops_the_filter() -> None:
    terminal, panel, taken = _list(10_000)
    for sign in "ODD 77":
        panel.typed(sign)
    assert all("77" in each.title for each in panel.shown)
    assert panel.current is not None
    assert panel.current.key == "k77"
    panel.act("erase")
    assert panel.filter == "ODD 7"
    panel.act("cancel")
    assert terminal.panels
    assert len(panel.shown) == 10_000
    panel.act("cancel")
    assert not terminal.panels
    assert not taken


def test_long_lists_scroll_with_the_cursor() -> None:
    _, panel, _ = _list(100)
    shown(panel, height=14)
    for _ in range(3):
        panel.act("page_down")
    assert "> Title 30" in shown(panel, height=14)
    panel.act("up")
    assert "> Title 29" in shown(panel, height=14)
    assert panel.lines(40, 8)


def test_a_preview_stands_beside_the_list_or_below_it_where_there_is_room() -> None:
    _, panel, _ = _list(100, preview=lambda item: f"about {item.key}\nmore of it" + "\nand more" * 50)
    for columns in (50, 60, 80):
        narrow = shown(panel, width=columns, height=20).splitlines()
        rule = next(at for at, line in enumerate(narrow) if line.startswith("--"))
        assert "Title 0" in narrow[2]
        assert [line.strip() for line in narrow[rule + 1 : rule + 3]] == ["about k0", "more of it"]
    assert "about" not in shown(panel, width=60, height=12)
    wide = shown(panel, width=120).splitlines()
    assert "Title 0" in wide[2]
    assert "about k0" in wide[2]
    assert "more of it" in wide[3]


def test_another_list_keeps_the_cursor_at_its_item_and_an_empty_one_says_so() -> None:
    _, panel, taken = _list()
    panel.act("down")
    panel.set_items([ListItem("new", "New"), *panel.shown])
    assert panel.current is not None
    assert panel.current.key == "k1"
    panel.typed("zzz")
    assert "nothing matches" in shown(panel)
    panel.act("choose")
    assert not taken


def test_a_detail_has_the_room_that_its_title_leaves() -> None:
    terminal, detail = PanelTerminal(Theme("mono", colours=False)), "failed  it ended with exit status 1"
    panel = ListPanel(terminal, "Choose", [ListItem("a", "every", detail), ListItem("b", "t" * 80, detail)], print)
    rows = [line for line in panel.lines(60, 20) if "failed" in line]
    assert rows[0].endswith(detail)
    assert rows[1].endswith("…")
    assert all(len(row) < 60 for row in rows)


def test_a_list_for_completion_uses_the_width_and_cuts_addresses_in_the_middle() -> None:
    long = "srv:file:///archive/of/the/project/with/long/names/of/its/chapters/"
    theme = Theme("mono", colours=False)
    found = CandidateList("resources", 0, [Candidate("", long + name) for name in ("alpha.md", "beta.md")])
    for width in (60, 30):
        one, two = found.lines(theme, width)
        assert one.endswith("alpha.md")
        assert two.endswith("beta.md")
        assert one[1:5] == two[1:5] == "srv:"
        assert width - 5 < len(one) < width
    assert long in found.lines(theme, 100)[0]
    helped = CandidateList("words", 0, [Candidate("", "w" * 80, "what it does")])
    assert "what it does" in helped.lines(theme, 60)[0]
