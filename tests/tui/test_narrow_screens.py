"""Hints, lists and cards at 60 columns and fewer: no hint about a pressed key is lost, no word is cut."""

import pytest

from callgate.formats.columns import width
from callgate.tui.footer import fitted_parts
from callgate.tui.panels.list_panel import ListItem, ListPanel
from callgate.tui.panels.question_card import QuestionPanel
from callgate.tui.theme import Theme
from callgate.words.decisions import Choice, Pattern
from tests.rows import rows
from tests.tui.panel_terminal import PanelTerminal, shown
from tests.tui.test_cards import CHOICES, Cards, asked

TWICE, QUIT, ESC = "Work is in progress: Ctrl-D once more quits", "Ctrl-C once more quits", "Esc interrupts"
MONO = Theme("mono", colours=False)


def line(columns: int, pressed: bool, *texts: str) -> str:
    """The elements of one line of the footer: vim's mode, state, hint, mode, model, context, cost."""
    parts = {at: (text, "grey") for at, text in enumerate(texts)}
    return " · ".join(text for text, _ in fitted_parts(parts, 3, columns, pressed))


@rows(
    "columns, pressed, texts, wanted",
    [
        (59, True, ("", "runs Bash, 2.9 s", TWICE), f"runs Bash, 2… · {TWICE}"),
        (59, True, ("", "working, 2.9 s", TWICE), f"working, 2.9… · {TWICE}"),
        (59, True, ("INSERT", "working, 2.9 s", TWICE), f"working, 2.9… · {TWICE}"),
        (59, True, ("NORMAL", "mcp__calc__add is checked, 5.7 s", TWICE), f"mcp__calc__a… · {TWICE}"),
        (50, True, ("", "runs Bash, 2.9 s", TWICE), TWICE),
        (43, True, ("", "runs Bash, 2.9 s", TWICE), TWICE),
        (30, True, ("", "runs Bash, 2.9 s", TWICE), "Work is in progress: Ctrl-D o…"),
        (39, True, ("", "waits for the model, 12 s", QUIT), f"waits for the… · {QUIT}"),
        (59, True, ("", "idle", QUIT), f"idle · {QUIT}"),
        (59, True, ("", "runs Bash, 2.9 s", TWICE, "default mode", "m/x", "9% of context"), f"runs Bash, 2… · {TWICE}"),
        (59, False, ("", "runs mcp__tickets__search, 12 s", ESC), f"runs mcp__tickets__search, 12 s · {ESC}"),
        (
            59,
            False,
            ("", "runs mcp__tickets__search, 12 s", ESC, "plan mode"),
            "runs mcp__tickets__search, 12 s · plan mode",
        ),
        (45, False, ("", "runs mcp__tickets__search, 12 s", ESC), "runs mcp__tickets__search, 12 s"),
        (20, False, ("", "runs mcp__tickets__search, 12 s", ESC), "runs mcp__tickets__…"),
    ],
)
def test_the_hint_about_a_pressed_key_is_kept_and_the_state_gives_way(
    columns: int, pressed: bool, texts: tuple[str, ...], wanted: str
) -> None:
    found = line(columns, pressed, *texts)
    assert width(found) <= columns
    assert (TWICE[:20] in found or QUIT in found) == pressed
    assert found == wanted


WAYS = (
    ListItem("a", "the conversation only", "files stay as they are"),
    ListItem("b", "the conversation and files", "changes of files after it are taken back"),
    ListItem("c", "in a copy of this session", "this one stays as it is"),
)


@pytest.mark.parametrize("columns", [40, 50, 60, 70, 80, 100])
def test_every_title_and_the_detail_of_the_current_item_are_whole(columns: int) -> None:
    panel = ListPanel(PanelTerminal(MONO), "Choose", WAYS, print)
    for item in WAYS:
        found = shown(panel, columns, 18)
        assert [each.title for each in WAYS if each.title not in found] == []
        assert item.detail in " ".join(found.split())
        panel.act("down")


def test_a_short_list_has_no_line_for_the_search_until_something_is_typed() -> None:
    panel = ListPanel(PanelTerminal(MONO), "Undo", WAYS, print)
    assert "search" not in shown(panel)
    panel.typed("copy")
    assert "search: copy" in shown(panel)
    assert "search" in shown(
        ListPanel(PanelTerminal(MONO), "Many", [ListItem(str(n), str(n)) for n in range(6)], print)
    )


def _choice(rule: str, label: str) -> Choice:
    return Choice(label, Pattern("rule", rule), rule)


@rows(
    "rule, label",
    [
        ("Outside(git commit:*)", "commands that start with git commit, outside the sandbox"),
        ("Outside(npm run build:*)", "commands that start with npm run build, outside the sandbox"),
        ("Bash(docker compose up:*)", "commands that start with docker compose up"),
        ("mcp__tickets__search", "every call of mcp__tickets__search"),
        ("mcp__tickets", "every tool of the server tickets"),
        ("WebFetch(domain:docs.example.com)", "anything from docs.example.com"),
        ("Edit(/src/shop/**)", "Edit of anything in src/shop/"),
        ("Edit(/src/shop/prices.py)", "Edit of src/shop/prices.py"),
        ("send_mail(to=ann@example.com)", "calls with to ann@example.com"),
        ("Task(reviewer)", "agents of type reviewer"),
    ],
)
@pytest.mark.parametrize("columns", [60, 50])
def test_the_words_of_a_choice_for_always_are_not_cut(columns: int, rule: str, label: str) -> None:
    cards = Cards(asked(choices=(CHOICES[0], _choice(rule, label))), theme=MONO)
    cards.press("always")
    found = shown(cards.card, columns)
    whole = found.split()
    assert rule in found
    assert [word for word in label.split() if not any(word in each for each in whole)] == []


def test_the_card_has_no_keys_while_its_text_is_written_in_the_input_line() -> None:
    cards = Cards(asked(), theme=MONO)
    assert isinstance(cards.card, QuestionPanel)
    assert "y yes" in shown(cards.card)
    cards.press("no")
    assert "y yes" not in shown(cards.card)
    assert "..." not in shown(cards.card)
    cards.terminal.give(None)
    assert "y yes" in shown(cards.card)
