"""Skills: where they are found, which files are none, and what the model gets."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from callgate import ToolFailure, builtin_tools
from callgate.testing import PlainRun
from callgate.tools.builtin.skill import skill
from callgate.tools.front_matter import FrontMatterFault, read_markdown
from callgate.tools.skills import FoundSkills, SkillFolder, filled_in, find_skills, listing, skill_folders

pytestmark = pytest.mark.spec("SKL-2")


def put(folder: Path, name: str, body: str = "Do it.", **values: str) -> Path:
    lines = "".join(
        f"{key}: {value}\n" for key, value in {"name": name, "description": f"About {name}", **values}.items()
    )
    path = folder / name / "SKILL.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\n{lines}---\n{body}\n", encoding="utf-8")
    return path


def found_in(*folders: Path) -> FoundSkills:
    return find_skills(SkillFolder(folder) for folder in folders)


def use(made: Any, name: str, args: str = "") -> str:
    return asyncio.run(made.run({"skill": name, "args": args}, PlainRun())).text


# ---- found --------------------------------------------------------------------------------------------------------


def test_they_are_found_in_the_project_and_the_home_and_the_nearest_wins(tmp_path: Path) -> None:
    root, home, own = (tmp_path / name for name in ("root", "home", "own"))
    places = (
        *(root / f".{name}/skills" for name in ("callgate", "agents", "claude")),
        own / "skills",
        *(home / f".{name}/skills" for name in ("callgate", "agents", "claude")),
    )
    for number, place in enumerate(places):
        put(place, "shared-one", description=f"from {number}")
        put(place, f"only-{number}")
    folders = skill_folders(root, home=home, own=own)
    assert tuple(folder.path for folder in folders) == places
    found = find_skills(folders)
    assert found.problems == ()
    assert found.by_name["shared-one"].description == "from 0"
    assert len(found.by_name) == len(places) + 1
    untrusted = find_skills(skill_folders(root, home=home, own=own, project=False))
    assert untrusted.by_name["shared-one"].description == "from 3"
    assert "only-0" not in untrusted.by_name


def test_the_tool_by_itself_has_the_skills_of_the_home_and_not_those_of_a_project_that_may_not_be_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "work" / ".agents" / "skills", "theirs")
    put(tmp_path / "home" / ".agents" / "skills", "mine")
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (made,) = builtin_tools("Skill")
    assert "mine" in made.spec.description
    assert "theirs" not in made.spec.description


def test_a_file_that_is_no_skill_is_named_by_file_and_line_and_the_rest_works(tmp_path: Path) -> None:
    put(tmp_path, "good")
    put(tmp_path, "Bad_Name")
    put(tmp_path, "other").write_text("---\nname: another\ndescription: d\n---\n")
    put(tmp_path, "blank", description='" "')
    put(tmp_path, "long", description="x" * 1_025)
    put(tmp_path, "flag", **{"disable-model-invocation": "perhaps"})
    put(tmp_path, "bare").write_text("no front matter")
    put(tmp_path, "nested").write_text("---\nname: nested\ndescription: &a b\n---\n")
    put(tmp_path, "bytes").write_bytes(b"---\nname: bytes\ndescription: \xff\n---\n")
    put(tmp_path, "huge", "x" * 100_001)
    (tmp_path / "folder" / "SKILL.md").mkdir(parents=True)
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    put(tmp_path, ".hidden")
    if hasattr(os, "mkfifo"):
        (tmp_path / "pipe").mkdir()
        os.mkfifo(tmp_path / "pipe" / "SKILL.md")
    found = found_in(tmp_path)
    assert list(found.by_name) == ["good"]
    told = {Path(problem.split(": ")[0]).parent.name: problem.split(": ", 1)[1] for problem in found.problems}
    wanted = {
        "Bad_Name": "name must consist of lowercase letters, digits and single hyphens",
        "other": "name is 'another', but its folder is 'other'",
        "blank": "description must be a text of 1 to 1,024 characters",
        "long": "description must be a text of 1 to 1,024 characters",
        "flag": "disable-model-invocation must be true or false",
        "bare": "line 1: the file must begin with ---",
        "nested": "line 3: put this text in quotes: '&a b'",
        "bytes": "it is not UTF-8 (byte 29)",
        "huge": "it has more than 100,000 bytes",
        "folder": "it is not a regular file",
        "pipe": "it is not a regular file",
    }
    wrong = {name: told.get(name) for name, text in wanted.items() if not told.get(name, "").startswith(text)}
    assert {name: text for name, text in wrong.items() if name != "pipe" or hasattr(os, "mkfifo")} == {}


def test_links_of_a_project_do_not_lead_out_of_it(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    put(outside, "leak")
    place = root / ".claude/skills"
    place.mkdir(parents=True)
    (place / "leak").symlink_to(outside / "leak")
    put(root / "docs", "inside")
    (place / "inside").symlink_to(root / "docs" / "inside")
    found = find_skills(skill_folders(root))
    assert list(found.by_name) == ["inside"]
    assert "leak/SKILL.md: it is a link to a place outside of" in found.problems[0]
    home = find_skills(skill_folders(tmp_path / "none", home=root))
    assert sorted(home.by_name) == ["inside", "leak"]  # people link their own skills from wherever they keep them


# ---- used ---------------------------------------------------------------------------------------------------------


def test_the_body_is_read_on_use_in_its_newest_form(tmp_path: Path) -> None:
    path = put(tmp_path, "release", "Version $1 of $2.\nAll: $ARGUMENTS. $10 stays.")
    made = skill([SkillFolder(tmp_path)])
    assert "- release: About release" in made.spec.description
    assert use(made, "release", "'1 0' app") == (
        f"Skill release, folder {path.parent}\n\nVersion 1 0 of app.\nAll: '1 0' app. $10 stays."
    )
    put(tmp_path, "release", "New form.")
    assert use(made, "release").endswith("\n\nNew form.")
    path.write_text("broken")
    with pytest.raises(ToolFailure, match=r"The skill release cannot be used: .*line 1: the file must begin"):
        use(made, "release")
    path.unlink()
    with pytest.raises(ToolFailure, match="it cannot be read: No such file"):
        use(made, "release")


def test_a_name_is_looked_up_and_never_a_path(tmp_path: Path) -> None:
    place = tmp_path / "skills"
    put(tmp_path, "secret")
    put(place, "release-app")
    put(place, "people-only", **{"disable-model-invocation": "true"})
    put(place, "broken").write_text("no")
    made = skill([SkillFolder(place)])
    for name in ("../secret", "release-app/../release-app", str(tmp_path / "secret"), "SKILL.md"):
        with pytest.raises(ToolFailure, match="There is no skill"):
            use(made, name)
    with pytest.raises(ToolFailure, match="Did you mean release-app"):
        use(made, "release_app")
    with pytest.raises(ToolFailure, match=r"The skill broken cannot be used: .*line 1"):
        use(made, "broken")
    with pytest.raises(ToolFailure, match="can only be used by the user"):
        use(made, "people-only")
    assert "people-only" not in made.spec.description
    with pytest.raises(ToolFailure, match="and no other skill"):
        use(skill([]), "any")
    assert "There are no skills." in skill([]).spec.description


def test_arguments_are_filled_in_once_and_never_lost() -> None:
    rows = [
        ("$1 and $2", "a", "a and "),
        ("$ARGUMENTS", "$1 $ARGUMENTS", "$1 $ARGUMENTS"),
        ("plain", "x y", "plain\n\nArguments: x y"),
        ("plain", " ", "plain"),
        ("$1", "it's open", "it's"),
        ("$ARGUMENTSX $0", "a", "$ARGUMENTSX $0\n\nArguments: a"),
    ]
    assert [(body, args) for body, args, wanted in rows if filled_in(body, args) != wanted] == []


def test_the_listing_is_bounded(tmp_path: Path) -> None:
    for number in range(60):
        put(tmp_path, f"skill-{number:03}", description="long words " * 40)
    text = listing(found_in(tmp_path).by_name.values())
    assert len(text) <= 12_100
    assert text.startswith("- skill-000: long words")
    assert "…\n- skill-001" in text
    lines = text.split("\n")
    assert any(line == f"- skill-{number:03}" for number, line in enumerate(lines))  # names alone, where room is scarce


def test_a_folder_with_too_many_entries_says_so(tmp_path: Path) -> None:
    for number in range(501):
        (tmp_path / f"n{number}").mkdir()
    (problem,) = found_in(tmp_path).problems
    assert "only the first 500 of 501 entries are read" in problem


# ---- front matter -------------------------------------------------------------------------------------------------

READ: dict[str, Any] = {
    "a: b": {"a": "b"},
    "a: b c - d": {"a": "b c - d"},
    "a: http://x/y": {"a": "http://x/y"},
    'a: "b: c # d \\" \\n"': {"a": 'b: c # d " \n'},
    "a: 'it''s: so'": {"a": "it's: so"},
    "a: true\nb: false": {"a": True, "b": False},
    "a:": {"a": ""},
    "a: [b, 'c d']": {"a": ("b", "c d")},
    "a: []": {"a": ()},
    "a:\n  - b\n  - c": {"a": ("b", "c")},
    "a:\n- b\n- c\nd: e": {"a": ("b", "c"), "d": "e"},
    "a: |\n  one\n    two\n\n  three\nb: c": {"a": "one\n  two\n\nthree", "b": "c"},
    "a: >\n  one\n  two\n\n  three": {"a": "one two\n\nthree"},
    "a: >-\n  one\n  two": {"a": "one two"},
    "a:\n  b: c\n  d: 'e'": {"a": {"b": "c", "d": "e"}},
    "# note\n\na: b": {"a": "b"},
}
FAULTS: dict[str, tuple[int, str]] = {
    "a: b\na: c": (3, "a occurs twice"),
    "a: b: c": (2, "put this text in quotes"),
    "a: {b: c}": (2, "put this text in quotes"),
    "a: *b": (2, "put this text in quotes"),
    "a: !!python/object b": (2, "put this text in quotes"),
    "a: b # c": (2, "put this text in quotes"),
    "a: 'b": (2, "put this text in quotes"),
    "a: b\n  c": (3, "a text of several lines must begin with"),
    "just words": (2, "expected a line such as name: value"),
    " a: b": (2, "expected a line such as name: value"),
    "a:b": (2, "expected a line such as name: value"),
    "a:\n  b:\n    c: d": (4, "expected name: value or a list"),
    "a:\n  - b\n  c: d": (3, "expected name: value or a list"),
}


def test_front_matter_is_read_as_yaml_reads_it() -> None:
    assert {text: read_markdown(f"---\n{text}\n---\nbody\n").values for text in READ} == READ
    assert read_markdown("\ufeff---\r\na: b\r\n---\r\n\r\nbody\r\n").body == "body"


def test_what_yaml_could_read_in_another_way_is_a_fault_with_its_line() -> None:
    wrong: dict[str, object] = {}
    for text, (line, said) in FAULTS.items():
        try:
            wrong[text] = read_markdown(f"---\n{text}\n---\n").values
        except FrontMatterFault as fault:
            if fault.line != line or said not in str(fault):
                wrong[text] = str(fault)
    assert wrong == {}
    for text in ("", "text", "---\na: b", "---\n" + "a: b\n" * 300 + "---"):
        with pytest.raises(FrontMatterFault):
            read_markdown(text)
