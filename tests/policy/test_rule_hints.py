"""Rules that can be read and are hardly meant that way."""

from callgate.policy.entries import RuleLine
from callgate.policy.rule_hints import hint, name_notes
from callgate.policy.rules import make_rule
from callgate.policy.well_known import TABLE, meant_by
from callgate.words.decisions import Effect, Origin
from tests.rows import rows


def said(effect: Effect, text: str) -> str | None:
    return hint(make_rule(RuleLine(effect, text, Origin()), root="/srv/app", home="/home/me"))


@rows(
    ("text", "says"),
    [
        ("Bash(* --version)", "allows nothing: write the program, or Bash alone for every command"),
        ("deploy(prod)", "the meaning of the content of deploy is known only when the tool is called"),
        ("Bash(* --version)", "allows nothing: write the program, or Bash alone"),
        ("Bash(git*)", "allows nothing: write Bash(git:*)"),
        ("Bash(git* log)", "allows nothing: write Bash(git:*)"),
        ("Edit(*.{ts,tsx})", "braces are not expanded: write one rule for each name"),
        ("mcp_server", "mcp__server__tool, with double underscores"),
        ("mcp-server", "mcp__server__tool, with double underscores"),
        ("mcp_server(a=1)", "mcp__server__tool, with double underscores"),
        ("bash", "names of tools must be exact: did you mean Bash?"),
        ("Websearch(query=x)", "did you mean WebSearch?"),
        ("Bash(git log:)", "this is the exact command: write Bash(git log:*)"),
        ("Bash(rm:)", "write Bash(rm:*)"),
        ("Outside(git commit:)", "write Outside(git commit:*)"),
        (r"Read(src\app.py)", "a backslash only escapes the next character: write src/app.py"),
        (r"Edit(.\src\**)", "write ./src"),
        (r"Write(C:\notes.txt)", "write C:/notes.txt"),
        ('mcp__db__query(table="users")', "the quotes are part of the value: write table=users"),
        ("mcp__db__query(mode=1, table='users')", "write table=users"),
        ('Deploy(to="*")', "write to=*"),
    ],
)
def test_what_is_hardly_meant_is_told_with_what_to_write(text: str, says: str) -> None:
    assert says in str(said("allow", text))


@rows(
    "text",
    [
        *("Bash", "Bash(git log:*)", "Bash(git log)", "Bash(npm run *)", "Bash(bash -c :)", "Bash(echo ::)"),
        *("Bash(curl https://x.test/*)", "Edit(*.ts)", "Edit({a})", "Edit(a,b)", "Read(x\\[1\\].txt)", "Read(\\!x)"),
        *("Edit({a/b,c})", "WebFetch(domain:x.test)", "Agent(explore)", "mcp__db", "mcp__db__*", "mcp__db__query"),
        *("mcp__db__query(table=users)", 'mcp__db__query(a=")', "Deploy", "Deploy(to=x)", "mcp"),
    ],
)
def test_what_looks_meant_is_left_alone(text: str) -> None:
    assert said("allow", text) is None


@rows(
    ("text", "meant"),
    [
        *(("mcp__evry", "every"), ("mcp__evry__echo", "every"), ("mcp__evry__*", "every"), ("mcp__tim(a=1)", "time")),
        *(("mcp__every", None), ("mcp__every__ecco", None), ("mcp__time__*", None), ("mcp__other", None)),
        *(("mcp__*", None), ("*", None), ("mcp__my_db__x", None)),
    ],
)
def test_a_server_is_named_that_a_rule_nearly_names(text: str, meant: str | None) -> None:
    servers = ["every", "time", "my_db"]
    found = [note.text for note in name_notes([RuleLine("deny", text, Origin())], (), servers)]
    assert found == ([f"deny {text}: unknown MCP server: did you mean mcp__{meant}?"] if meant else [])
    assert name_notes([RuleLine("deny", text, Origin())], (), ()) == []


@rows("effect", ["deny", "ask"])
def test_a_star_for_the_program_is_a_wide_net_in_a_deny_rule(effect: Effect) -> None:
    assert said(effect, "Bash(*)") is None
    assert said(effect, "Bash(* --force)") is None
    assert said(effect, "*") is None
    assert said(effect, "Bash(git*)") == "the star matches any program: write Bash(git:*)"


@rows(
    ("name", "meant"),
    [
        *(("bash", "Bash"), ("Bsh", "Bash"), ("webfetch", "WebFetch"), ("NoteBookEdit", "NotebookEdit")),
        *(("Deploy", None), ("mcp__bash", None), ("x", None), ("TodoWrit", "TodoWrite")),
    ],
)
def test_a_name_that_is_nearly_well_known_was_meant_to_be(name: str, meant: str | None) -> None:
    assert meant_by(name) == meant


@rows("name", sorted(TABLE))
def test_a_well_known_name_is_meant(name: str) -> None:
    assert meant_by(name) is None
    assert meant_by(name.lower()) == name
