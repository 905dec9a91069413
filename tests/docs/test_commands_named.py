"""The documents name no command that is not there."""

import re

from callgate.cli.command_rows import GROUPS, all_commands
from callgate.cli.start_options import headless_parser
from callgate.policy.setting_rows import VARIABLES
from callgate.tui.commands.command_table import COMMANDS as SLASH_COMMANDS
from callgate.tui.commands.command_table import MISSING
from tests.docs.kit import ROOT

FOLDERS = ("guides", "concepts", "reference")
PAGES = [ROOT / "README.md", ROOT / "docs/tutorial.md", ROOT / "docs/index.md"]
PAGES += [file for folder in FOLDERS for file in sorted((ROOT / "docs" / folder).glob("*.md"))]
PLACES = {"dev", "etc", "proc", "tmp", "usr"}
"""Folders, which look as a command does."""
OWN = {"fix", "release"}
"""Examples of commands that people write."""


_SLASH = re.compile(r"/([a-z]+)(?: [\w\[<].*)?$")


def spans(text: str) -> list[str]:
    """Code within a line."""
    return re.findall(r"(?<!`)`([^`\n]+)`(?!`)", text)


def typed(text: str) -> list[str]:
    """Code within a line, and lines that begin with the program."""
    return [*spans(text), *re.findall(r"^\$? ?(callgate .*)$", text, re.MULTILINE)]


def test_every_slash_command_that_is_named_is_in_the_table() -> None:
    known = {name for each in SLASH_COMMANDS for name in (each.name, *each.aliases)} | MISSING.keys() | PLACES | OWN
    named = [(page, found[1]) for page in PAGES for each in spans(page.read_text()) if (found := _SLASH.match(each))]
    assert len(named) > 5
    assert [f"{page.name}: /{name}" for page, name in named if name not in known] == []


def test_every_command_of_the_shell_that_is_named_is_there() -> None:
    first = {"help", *(name for name in GROUPS)}
    named = [
        (page, word)
        for page in PAGES
        for line in typed(page.read_text())
        for word in re.findall(r"(?:^|[|;] *)callgate ([a-z]+)\b", line)
    ]
    assert len(named) > 100
    assert sorted({f"{page.name}: callgate {word}" for page, word in named if word not in first}) == []


def test_every_flag_of_the_agent_is_in_the_table_of_headless_runs() -> None:
    table = (ROOT / "docs/reference/headless.md").read_text().split("## Exit codes")[0]
    flags = [name for each in headless_parser()._actions for name in each.option_strings if each.dest != "help"]
    assert [flag for flag in flags if f"`{flag}" not in table] == []


def test_every_flag_and_variable_that_is_named_is_there() -> None:
    flags = (
        {*headless_parser()._option_string_actions}
        | {"--version"}
        | {name for each in all_commands().values() for row in each.arguments for name in row.names}
    )
    variables = {each.name for each in VARIABLES} | {"CALLGATE_EVENT", "CALLGATE_PROJECT_DIR", "CALLGATE_MOED"}
    unknown: list[str] = []
    named = 0
    for page in PAGES:
        text = page.read_text()
        lines = [line.split(" -- ")[0] for line in typed(text) if line.startswith("callgate ")]
        found = [flag for line in lines for flag in re.findall(r"(?<![\w-])--[a-z][a-z-]*", line)]
        named += len(found)
        unknown += [f"{page.name}: {flag}" for flag in found if flag not in flags]
        unknown += [f"{page.name}: {name}" for name in re.findall(r"CALLGATE_[A-Z_]+", text) if name not in variables]
    assert named > 100
    assert unknown == []
