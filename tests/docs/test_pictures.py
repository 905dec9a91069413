"""The pictures of the terminal: every scene has one, of a reasonable size, and none is left over."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from pyte.screens import Char

from scripts.pictures import PICTURES, SCENES, taken
from scripts.terminal_svg import drawn


def test_every_scene_has_its_picture_and_each_is_readable_and_small() -> None:
    files = {file.stem: file for file in PICTURES.glob("*.svg")}
    assert files.keys() == SCENES.keys(), "take them with: python -m scripts.pictures"
    for file in files.values():
        assert 1_000 < file.stat().st_size < 60_000, file.name
        root = ElementTree.fromstring(file.read_text(encoding="utf-8"))
        assert len(root.findall(".//{http://www.w3.org/2000/svg}text")) > 5, file.name


def test_pictures_say_nothing_of_the_machine_they_were_taken_on() -> None:
    found = [file.name for file in PICTURES.glob("*.svg") if re.search(r"/tmp|/home|/root", file.read_text())]
    assert found == []


def test_a_screen_is_drawn_with_its_colours_on_a_grid() -> None:
    row = [
        Char("a", fg="red"),
        Char("<", fg="red"),
        Char(" "),
        Char("b", bg="00ff00", bold=True),
        Char("c", reverse=True),
    ]
    svg = ElementTree.fromstring(drawn([row], "a & b"))
    name = "{http://www.w3.org/2000/svg}"
    texts = svg.findall(f"./{name}g/{name}text")
    assert [(text.text, text.get("fill"), text.get("font-weight")) for text in texts] == [
        ("a<", "#ff7b72", None),
        ("b", None, "bold"),
        ("c", "#0d1117", None),
    ]
    assert float(texts[1].get("x", "0")) - float(texts[0].get("x", "0")) == pytest.approx(3 * 8.4)
    assert {rect.get("fill") for rect in svg.findall(f"./{name}g/{name}rect")} == {"#00ff00", "#e6edf3"}


@pytest.mark.slow
def test_the_pictures_can_be_taken(tmp_path: Path) -> None:
    svg = taken(SCENES["question"], tmp_path / "scene", tmp_path / "data")
    assert "prices.py" in svg
