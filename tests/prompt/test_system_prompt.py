"""The order of the parts of a system prompt, and the files that take the place of shipped ones."""

from importlib.resources import files
from pathlib import Path

import pytest

from callgate.prompt.system_prompt import (
    OWN_FILE,
    SECTIONS,
    PromptFacts,
    PromptPart,
    PromptWishes,
    SystemPrompt,
    build_prompt,
    enclosed,
)
from callgate.tools.builtin import BUILTIN
from callgate.words.errors import UsageError
from callgate.words.modes import MODES


def part(name: str) -> PromptPart:
    return PromptPart(name, f"the {name} text", f"the {name} flag")


def names(built: SystemPrompt) -> list[str]:
    return [each.name for each in built.parts]


FACTS = PromptFacts(
    tools=("Read", "Bash"),
    mode="plan",
    attended=False,
    instructions=[PromptPart("project", "use tabs", "/w/AGENTS.md")],
    environment="<environment>here</environment>",
)
BEHIND = ["calls", "mode", "unattended", "project", "environment"]


@pytest.mark.spec("TRN-9")
def test_the_shipped_text_comes_first_and_the_environment_last() -> None:
    built = build_prompt(FACTS, PromptWishes(appended=part("appended")))
    assert names(built) == [*SECTIONS, "appended", *BEHIND]
    assert built.text == "\n\n".join(each.text for each in built.parts)
    assert all(each.origin for each in built.parts)


@pytest.mark.spec("TRN-9")
@pytest.mark.parametrize("chosen", ["coordinator", "agent", "own"])
def test_another_text_takes_the_place_of_the_shipped_sections_alone(chosen: str) -> None:
    wishes = PromptWishes(**{chosen: part(chosen), "appended": part("appended")})
    assert names(build_prompt(FACTS, wishes)) == [chosen, "appended", *BEHIND]


@pytest.mark.spec("TRN-9")
def test_an_agent_comes_before_the_persons_own_text_and_an_override_is_all() -> None:
    both = PromptWishes(agent=part("agent"), own=part("own"))
    assert names(build_prompt(FACTS, both))[0] == "agent"
    override = PromptWishes(override=part("override"), agent=part("agent"), appended=part("appended"))
    assert build_prompt(FACTS, override).text == "the override text"


@pytest.mark.spec("TRN-9")
def test_an_agent_together_with_the_coordinator_is_refused() -> None:
    with pytest.raises(UsageError, match="coordinator mode and an agent cannot be combined"):
        build_prompt(FACTS, PromptWishes(coordinator=part("coordinator"), agent=part("agent")))


def test_a_file_of_the_person_replaces_a_section_and_an_empty_one_removes_it(tmp_path: Path) -> None:
    (tmp_path / "prompt" / "modes").mkdir(parents=True)
    (tmp_path / "prompt" / "code.md").write_text("Write Haskell.\n{Bash}- Run ghc.\n{Write}- Write.\n")
    (tmp_path / "prompt" / "answers.md").write_text("")
    (tmp_path / "prompt" / "modes" / "plan.md").write_text("Plan well.")
    built = build_prompt(PromptFacts(tools=("Bash",), mode="plan", folder=tmp_path))
    found = {each.name: each for each in built.parts}
    assert found["code"] == PromptPart("code", "Write Haskell.\n- Run ghc.", str(tmp_path / "prompt" / "code.md"))
    assert found["mode"].text == "Plan well."
    assert "answers" not in found


def test_a_file_of_the_person_is_their_own_prompt(tmp_path: Path) -> None:
    (tmp_path / OWN_FILE).write_text("You are a pirate.\n")
    built = build_prompt(PromptFacts(folder=tmp_path))
    assert (names(built), built.text) == (["own"], "You are a pirate.")
    assert names(build_prompt(PromptFacts(folder=tmp_path), PromptWishes(own=part("own"))))[0] == "own"


def test_a_section_that_cannot_be_read_is_the_shipped_one_and_said(tmp_path: Path) -> None:
    (tmp_path / "prompt").mkdir()
    (tmp_path / "prompt" / "role.md").write_bytes(b"\xff\xfe\x00")
    built = build_prompt(PromptFacts(folder=tmp_path))
    assert built.parts[0].text.startswith("You are Callgate")
    assert "role.md was not read, so the built-in text is used" in built.notes[0]


def test_lines_about_missing_tools_are_left_out() -> None:
    every = build_prompt(PromptFacts(tools=tuple(BUILTIN))).text
    few = build_prompt(PromptFacts(tools=("Read",))).text
    for tool in ("Bash", "WebFetch", "to-do list", "AstEdit"):
        assert (tool in every, tool in few) == (True, False)
    assert "{" not in every + few


def test_every_mode_has_its_note_and_every_name_in_the_texts_is_a_tool() -> None:
    texts = files("callgate.prompt") / "texts"
    assert {each.name for each in (texts / "modes").iterdir()} == {f"{mode}.md" for mode in MODES if mode != "default"}
    needed = {
        name
        for folder in (texts, texts / "modes")
        for file in folder.iterdir()
        if file.name.endswith(".md")
        for line in file.read_text(encoding="utf-8").split("\n")
        if line.startswith("{")
        for name in line[1 : line.index("}")].split(",")
    }
    assert needed <= set(BUILTIN)


def test_the_same_facts_give_the_same_bytes() -> None:
    assert build_prompt(FACTS).text == build_prompt(FACTS).text


def test_a_tag_inside_cannot_end_the_tags_around_it() -> None:
    assert enclosed("a", "x</a>y", source='b"c') == '<a source="b’c">\nx‹/a>y\n</a>'
