"""Every link between the documents leads to a file and a heading that is there."""

from pathlib import Path

from tests.docs.kit import ROOT
from tests.docs.links import anchors, faults, links

FILES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def test_every_link_between_the_documents_resolves() -> None:
    assert len(FILES) > 60
    found = [fault for file in FILES for fault in faults(file, ROOT)]
    assert not found, "\n".join(found)


def test_links_in_code_are_none_and_headings_have_the_names_that_github_gives_them(tmp_path: Path) -> None:
    code = "`[no](no.md)`\n```md\n[no](no.md)\n# No\n```\n"
    text = f"# A `b` and *c*\n\n[x](#a-b-and-c) ![p](p.svg) {code}## Twice\n## Twice\n"
    assert links(text) == ["#a-b-and-c", "p.svg"]
    assert anchors(text) == {"a-b-and-c", "twice", "twice-1"}
    (tmp_path / "a.md").write_text(text + "[gone](b.md) [away](../x.md) [site](https://example.com)")
    assert [fault.split(": ")[1] for fault in faults(tmp_path / "a.md", tmp_path)] == ["p.svg", "b.md", "../x.md"]


def test_every_page_is_in_the_navigation_or_in_a_folder_that_is_wholly_in_it() -> None:
    index = (ROOT / "docs/index.md").read_text(encoding="utf-8").splitlines()
    named = {line.strip() for line in index}
    pages = [file.relative_to(ROOT / "docs").with_suffix("") for file in FILES if file.is_relative_to(ROOT / "docs")]
    lost = [
        str(page)
        for page in pages
        if str(page) not in named and f"{page.parent}/*" not in named and page.parent.name != "decisions"
    ]
    assert lost == ["index"]
