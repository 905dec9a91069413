"""How Sphinx makes the site of this folder: `make docs`. See decisions/0039."""

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scripts.diagrams import drawn

project = "Callgate"
extensions = ["myst_parser"]
# A link to a heading is checked as a link to a page is; GitHub makes the same anchors.
myst_heading_anchors = 4
html_theme = "furo"
html_title = "Callgate"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_copyright = False
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
# Code is coloured where the language is known; console sessions and drawings are left as they are.
highlight_language = "none"
pygments_style = "friendly"
pygments_dark_style = "github-dark"
html_theme_options: dict[str, Any] = {"navigation_with_keys": True, "footer_icons": []}


def _draw(_app: Any, _page: str, source: list[str]) -> None:
    source[0] = drawn(source[0])


def setup(app: Any) -> None:
    app.connect("source-read", _draw)
