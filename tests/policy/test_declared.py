"""Tools of any name in the gate: rules and hard safety go by what a tool declares."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from callgate.core.gate import CheckGate
from callgate.core.ports import Case, Tool
from callgate.host.paths import Resolver
from callgate.policy.checks import standard_checks
from callgate.policy.entries import RuleLine
from callgate.policy.rules import Rulebook
from callgate.tools.tool import schema_tool, tool
from callgate.words.changes import ChangeSet
from callgate.words.decisions import Effect, Origin, arguments_hash
from callgate.words.modes import Mode
from callgate.words.traits import Traits, exclusive, shared
from tests.policy.gate_kit import case_of, outcome, rules
from tests.rows import rows

pytestmark = pytest.mark.spec("TOOL-9")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root, home = tmp_path / "work", tmp_path / "home"
    for folder in (root / "src", root / ".git", home / ".ssh", tmp_path / "private"):
        folder.mkdir(parents=True)
    for file in (root / "notes.txt", root / "src/a.py", root / ".git/config", home / ".ssh/id_rsa", root / ".env"):
        file.write_text("x")
    (tmp_path / "private" / "notes").write_text("x")
    return root


class Desk:
    """Judges calls of real tools in a real folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._resolver = Resolver(str(root))

    def __call__(
        self,
        made: Tool,
        arguments: dict[str, Any],
        *,
        mode: Mode = "default",
        allow: Sequence[str] = (),
        ask: Sequence[str] = (),
        deny: Sequence[str] = (),
    ) -> str:
        listed: tuple[tuple[Effect, Sequence[str]], ...] = (("allow", allow), ("ask", ask), ("deny", deny))
        lines = [RuleLine(effect, text, Origin("user")) for effect, texts in listed for text in texts]
        book = Rulebook.of(lines, root=str(self.root), home=str(self.root.parent / "home"))
        assert book.faults == ()
        case = Case(
            call_id="c1",
            tool=made,
            name=made.spec.name,
            arguments=arguments,
            arguments_hash=arguments_hash(made.spec.name, arguments),
            traits=made.traits(arguments),
            mode=mode,
            resolve_path=self._resolver.resolve_path,
        )
        return type(CheckGate(standard_checks(book)).judge(case)).__name__.lower()


@pytest.fixture
def judged(root: Path) -> Desk:
    return Desk(root)


@tool(command="line", folder="cwd", environment="env")
def terminal(
    line: str,
    cwd: str = ".",
    env: dict[str, str] | None = None,
    label: str = "",
    shell: str = "",
    args: list[str] | None = None,
    environment: dict[str, str] | None = None,
) -> str:
    return ""


@tool(effects="none")
def shell(command: str) -> str:
    return ""


@tool(effects="none", reads="name")
def show(name: str) -> str:
    return ""


@tool(writes="name")
def put(name: str, text: str = "") -> str:
    return ""


@tool(effects="none", address="link")
def download(link: str) -> str:
    return ""


@tool(address="link")
def post(link: str) -> str:
    return ""


@tool(agent="kind")
def start(kind: str) -> str:
    return ""


@tool(effects="none")
def peek(fn: str) -> str:
    return ""


@tool(effects="none")
def load(path: str) -> str:
    return ""


@tool(effects="none")
def browse(url: str) -> str:
    return ""


def test_rules_on_commands_reach_every_tool_that_declares_one(judged: Desk) -> None:
    assert judged(terminal, {"line": "touch a"}) == "ask"
    assert judged(terminal, {"line": "touch a"}, allow=["Bash(touch:*)"]) == "allow"
    assert judged(terminal, {"line": "touch a"}, allow=["terminal(touch:*)"]) == "allow"
    assert judged(terminal, {"line": "touch a"}, allow=["Bash"]) == "allow"
    assert judged(terminal, {"line": "touch a && rm a"}, allow=["Bash(touch:*)"]) == "ask"
    assert judged(terminal, {"line": "rm a"}, allow=["terminal"], deny=["Bash(rm:*)"]) == "deny"
    assert judged(terminal, {"line": "rm a"}, allow=["Bash"], deny=["terminal(rm:*)"]) == "deny"
    assert judged(terminal, {"line": "cat src/a.py"}) == "allow"
    assert judged(terminal, {"line": "touch a"}, mode="plan") == "deny"
    assert judged(terminal, {"line": "rm -rf ~/.ssh"}, mode="bypass") == "ask"


def test_rules_on_paths_hosts_and_agents_reach_every_tool_that_declares_them(judged: Desk) -> None:
    assert judged(show, {"name": "notes.txt"}) == "allow"
    assert judged(show, {"name": "notes.txt"}, deny=["Read(notes.txt)"]) == "deny"
    assert judged(show, {"name": "../private/notes"}) == "ask"
    assert judged(put, {"name": "src/a.py"}) == "ask"
    assert judged(put, {"name": "src/a.py"}, allow=["Edit(/src/**)"]) == "allow"
    assert judged(put, {"name": "src/a.py"}, allow=["put(/src/**)"]) == "allow"
    assert judged(put, {"name": "src/a.py"}, mode="accept_edits") == "allow"
    assert judged(put, {"name": ".git/config"}, mode="bypass") == "ask"
    assert judged(download, {"link": "https://x.test/a"}) == "ask"
    assert judged(download, {"link": "https://x.test/a"}, allow=["WebFetch(domain:x.test)"]) == "allow"
    assert judged(download, {"link": "https://x.test/a"}, allow=["download(domain:x.test)"]) == "allow"
    assert judged(download, {"link": "https://x.test/a"}, deny=["WebFetch(domain:x.test)"], mode="bypass") == "deny"
    assert judged(post, {"link": "https://x.test/a"}, allow=["WebFetch(domain:x.test)"]) == "ask", "it may do more"
    assert judged(post, {"link": "https://x.test/a"}, deny=["WebFetch(domain:x.test)"], mode="bypass") == "deny"
    assert judged(start, {"kind": "explore"}, allow=["Agent(explore)"]) == "allow"
    assert judged(start, {"kind": "deploy"}, allow=["Agent(explore)"]) == "ask"
    assert judged(start, {"kind": "deploy"}, deny=["Agent(deploy)"], mode="bypass") == "deny"


def test_a_rule_on_one_part_does_not_allow_a_tool_that_has_another(judged: Desk) -> None:
    @tool(command="line", address="host")
    def remote(line: str, host: str) -> str:
        return ""

    given = {"line": "git log", "host": "x.test"}
    assert judged(remote, given, allow=["Bash(git log:*)"]) == "ask"
    assert judged(remote, given, allow=["WebFetch(domain:x.test)"]) == "ask"
    assert judged(remote, given, allow=["remote"]) == "allow"
    assert judged(remote, given, deny=["Bash(git:*)"], mode="bypass") == "deny"


def test_an_undeclared_command_counts_against_the_call_and_never_for_it(judged: Desk) -> None:
    assert judged(shell, {"command": "rm -rf ~/.ssh"}) == "ask"
    assert judged(shell, {"command": "rm -rf ~/.ssh"}, mode="bypass") == "ask"
    assert judged(shell, {"command": "touch a"}) == "ask"
    assert judged(shell, {"command": "touch a"}, mode="plan") == "deny"
    assert judged(shell, {"command": "touch a"}, allow=["Bash(touch:*)"]) == "ask"
    assert judged(shell, {"command": "touch a"}, deny=["Bash(touch:*)"], mode="bypass") == "deny"
    assert judged(shell, {"command": "cat src/a.py"}) == "allow"
    for name in ("shell_command", "command_line", "cmdline", "script", "bash", "commands", "argv"):
        assert judged(peek, {name: "rm -rf ~/.ssh"}) == "ask", name
        assert judged(peek, {name: ["rm -rf build"]}, deny=["Bash(rm:*)"]) == "deny", name
    assert judged(peek, {"argv": ["rm", "-rf", "build"]}, deny=["Bash(rm:*)"]) == "deny"
    assert judged(peek, {"cmd": "ls src", "n": "1"}) == "allow"
    assert judged(browse, {"url": "https://x.test"}) == "ask"
    assert judged(browse, {"url": "https://x.test"}, allow=["WebFetch(domain:x.test)"]) == "ask"
    assert judged(browse, {"url": "https://x.test"}, deny=["WebFetch(domain:x.test)"], mode="bypass") == "deny"


def test_an_undeclared_text_that_names_a_file_counts_against_the_call(judged: Desk, root: Path) -> None:
    home = root.parent / "home"
    assert judged(peek, {"fn": "src/a.py"}) == "allow"
    assert judged(peek, {"fn": "hello"}) == "allow"
    assert judged(peek, {"fn": "notes.txt"}, deny=["Read(notes.txt)"]) == "deny"
    assert judged(peek, {"fn": str(home / ".ssh/id_rsa")}, mode="bypass") == "ask"
    assert judged(peek, {"fn": "~/.ssh/id_rsa"}, mode="bypass") == "ask"
    assert judged(peek, {"fn": {"deep": ["../private/notes"]}}) == "ask"
    for text in (f"file://{home}/.ssh/id_rsa", f"@{home}/.ssh/id_rsa", f" {home}/.ssh/id_rsa", "@notes.txt"):
        assert judged(peek, {"fn": text}, deny=["Read(notes.txt)"], mode="bypass") != "allow", text
    assert judged(load, {"path": "../private/new"}) == "ask", "a path by its name, though it is not there yet"
    assert judged(peek, {"fn": "../private/new"}) == "allow", "any text"


@pytest.mark.spec("GATE-16")
def test_folder_environment_and_every_other_argument_of_a_command_are_judged(judged: Desk, root: Path) -> None:
    private = str(root.parent / "private")
    allow = ["Bash(grep:*)", "Bash(git status)", "Bash(npm test:*)"]
    cases: list[tuple[dict[str, Any], str]] = [
        ({"line": "grep -n x src/a.py"}, "allow"),
        ({"line": "grep -r x .", "cwd": "src"}, "allow"),
        ({"line": "grep -r . ", "cwd": private}, "ask"),
        ({"line": "ls", "cwd": private}, "ask"),
        ({"line": "ls", "cwd": "~/.ssh"}, "ask"),
        ({"line": "npm test", "cwd": "src"}, "allow"),
        ({"line": "npm test", "env": {"LANG": "C"}}, "allow"),
        ({"line": "npm test", "env": {"PATH": "./evil"}}, "ask"),
        ({"line": "npm test", "env": {"LD_PRELOAD": "x.so"}}, "ask"),
        ({"line": "ls", "env": {"LD_PRELOAD": "x.so"}}, "ask"),
        ({"line": "git status"}, "allow"),
        ({"line": "git status", "cwd": "src"}, "ask"),
        ({"line": "ls", "label": "the list"}, "allow"),
        ({"line": "ls", "label": private}, "ask"),
        ({"line": "ls", "shell": "./evil"}, "ask"),
        ({"line": "ls", "args": ["/root/.ssh"]}, "ask"),
        ({"line": "npm test", "environment": {"LD_PRELOAD": "x.so"}}, "ask"),
        ({"line": "npm test", "shell": ""}, "allow"),
    ]
    wrong = {str(given): found for given, wanted in cases if (found := judged(terminal, given, allow=allow)) != wanted}
    assert wrong == {}


class Shows:
    """A tool that shows a change first and says nothing of where."""

    previews = True

    def __init__(self, traits: Traits) -> None:
        self.spec = put.spec
        self.aliases: Sequence[str] = ()
        self._traits = traits

    read = put.read
    run = put.run

    def traits(self, arguments: object) -> Traits:
        return self._traits

    async def preview(self, arguments: object, run: object) -> ChangeSet:
        raise NotImplementedError


def test_a_tool_that_shows_a_change_without_saying_where_is_judged_by_its_arguments(judged: Desk) -> None:
    for locks in (exclusive, shared, None):
        made = Shows(Traits("mutating", locks))
        assert judged(made, {"name": ".git/config"}, mode="bypass") == "ask"
        assert judged(made, {"name": ".git/hooks/new"}, mode="bypass") == "ask"
        assert judged(made, {"name": "src/new.py"}, mode="bypass") == "allow"


SERVERS: list[tuple[str, str, str, bool, bool]] = [
    # rule, name of the tool, its server, does a deny apply, does an allow
    ("mcp__a", "mcp__a__b", "", True, True),
    ("mcp__a", "mcp__a__b__c", "", True, False),
    ("mcp__a", "mcp__a__b__c", "a", True, True),
    ("mcp__a", "mcp__a__b__c", "a__b", False, False),
    ("mcp__a__*", "mcp__a__b__c", "a__b", False, False),
    ("mcp__a", "mcp__a___b", "", True, False),
    ("mcp__a", "mcp__ab__c", "", False, False),
    ("mcp__a__b", "mcp__a__b__c", "a__b", True, False),
    ("mcp__a__b", "mcp__a__b", "", True, True),
]


def test_a_rule_on_a_server_is_about_the_server_the_tool_says_it_belongs_to(judged: Desk) -> None:
    wrong: list[str] = []
    for rule, name, server, denied, allowed in SERVERS:
        made = schema_tool(name, "", peek.spec.parameters, lambda given: given, server=server)
        found = judged(made, {"fn": "x"}, deny=[rule]) == "deny", judged(made, {"fn": "x"}, allow=[rule]) == "allow"
        if found != (denied, allowed):
            wrong.append(f"{rule} on {name} of {server or '?'}: {found}")
    assert wrong == []


@pytest.mark.spec("TOOL-8")
def test_a_tool_that_needs_no_question_yields_to_rules_modes_and_hard_safety(judged: Desk) -> None:
    @tool(needs_no_question=lambda a: a.n < 10, reads=None)
    def spend(n: int, path: str = "") -> str:
        return ""

    assert judged(spend, {"n": 1}) == "allow"
    assert judged(spend, {"n": 10}) == "ask"
    assert judged(spend, {"n": 1}, deny=["spend"]) == "deny"
    assert judged(spend, {"n": 1}, ask=["spend"]) == "ask"
    assert judged(spend, {"n": 1}, mode="plan") == "deny"
    assert judged(spend, {"n": 1, "path": ".git/config"}) == "ask"
    assert judged(spend, {"n": 1, "path": "../private/notes"}) == "ask"


@pytest.mark.spec("TOOL-8")
def test_a_tool_that_changes_the_sessions_own_state_yields_to_rules(judged: Desk) -> None:
    @tool(own_state=True)
    def remember(text: str) -> str:
        return ""

    assert judged(remember, {"text": "x"}) == "allow"
    assert judged(remember, {"text": "x"}, mode="plan") == "allow"
    assert judged(remember, {"text": "x"}, deny=["remember"]) == "deny"
    assert judged(remember, {"text": "x"}, ask=["remember"]) == "ask"


HIDDEN: list[tuple[dict[str, Any], str]] = [
    ({"items": [*(f"word {number}" for number in range(150)), ".env"]}, "ask"),
    ({"paths": [*(f"w{number}" for number in range(150)), ".env"]}, "ask"),
    ({"items": [*(f"word {number}" for number in range(4_000)), "keys/id_rsa"]}, "ask"),
    ({"items": [*(f"word {number}" for number in range(9_000)), ".env"]}, "ask"),
    ({"items": [*(f"word {number}" for number in range(9_000))]}, "ask"),
    ({"deep": {"er": [{"x": "a"}] * 150 + [{"y": ".env"}]}}, "ask"),
    ({"a": ["x"] * 99, "b": ["y"] * 99, "c": ".env"}, "ask"),
    ({"path": ".env\n"}, "ask"),
    ({"file": "\t.env"}, "ask"),
    ({"path": "./" * 700 + ".env"}, "ask"),
    ({"target": "src/../" * 200 + ".env"}, "ask"),
    ({"path": "/etc/shadow\r\n"}, "ask"),
    ({"items": [f"word {number}" for number in range(150)]}, "allow"),
    ({"text": "word\n" * 5_000}, "allow"),
]


@pytest.mark.spec("GATE-17")
@rows("arguments, expected", HIDDEN)
def test_no_number_or_length_of_texts_hides_a_path(arguments: dict[str, Any], expected: str) -> None:
    case = case_of("mcp__files__show", arguments, traits=Traits("none"))
    assert outcome(case) == expected
    denied = outcome(case, rules(deny=["Read(.env)", "Read(id_rsa)", "Read(//etc/shadow)"]))
    assert denied != "allow" or expected == "allow"
