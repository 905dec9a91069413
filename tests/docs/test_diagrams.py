"""Mermaid diagrams are drawn as SVG for the site."""

import pytest

from callgate.words.calls import TRANSITIONS
from scripts.diagrams import drawn, state_diagram
from scripts.docs import transitions_mermaid


def test_every_status_and_every_move_is_in_the_drawing() -> None:
    svg = state_diagram(transitions_mermaid())
    assert all(f">{status.replace('_', ' ')}</text>" in svg for status in TRANSITIONS)
    assert all(f"{before} to {after}" in svg for before, moves in TRANSITIONS.items() for after in moves)


def test_a_diagram_takes_the_place_of_its_source_and_another_kind_is_refused() -> None:
    page = drawn("before\n```mermaid\nstateDiagram-v2\n    a --> b\n```\nafter\n")
    assert page.startswith("before\n<div>\n<svg ")
    assert "mermaid" not in page
    with pytest.raises(ValueError, match="state diagrams"):
        drawn("```mermaid\ngraph TD\n```\n")
