"""A settings file: what it says, and every way in which it can be wrong."""

import os
import sys
import tomllib
from hashlib import sha256
from pathlib import Path
from textwrap import dedent

import pytest

from callgate.policy import settings
from callgate.policy.entries import HookLine, Layer, RuleLine, SettingsFault
from callgate.policy.settings import LARGEST, LONGEST_LINE, LayerSettings, SetValue, faulty, read_settings, shown
from callgate.words.decisions import Origin
from tests.rows import rows

TOO_DEEP = "this is nested too deeply: simplify it"
WHOLE = """\
mode = "accept_edits"

[permissions]
allow = [
    "Bash(git status)",
    { rule = "Bash(npm run *)", match = ["npm run lint"], not_match = ["npm i"], expires = 2027-01-01, note = "ok" },
]
ask = ["Bash(git push:*)"]
deny = [{ rule = "Read(~/.ssh/**)", expires = "2d" }]

[[hooks.PreToolUse]]
command = "check.sh"
matcher = "Bash|Edit"
if = "Bash(git *)"
timeout = "5s"
fail_closed = true

[[hooks.PreToolUse]]
python = "package.module:function"

[[hooks.Stop]]
url = "http://127.0.0.1:1/x"

[questions]
deadline = "5m"
notify = "notify-send x"

[limits]
denials_in_a_row = 2
denials_in_session = 10
max_concurrency = 4
max_turns = 50
"""


def put(folder: Path, text: str | bytes, name: str = "settings.toml") -> Path:
    file = folder / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def fault_of(folder: Path, text: str | bytes, layer: Layer = "user") -> SettingsFault:
    found = read_settings(put(folder, text), layer)
    assert len(found.faults) == 1, found.faults
    assert found.faults[0].origin.file == str(folder / "settings.toml")
    assert found.faults[0].origin.layer == layer
    return found.faults[0]


@pytest.mark.spec("GATE-3")
def test_everything_that_can_be_said_is_read_with_its_line(tmp_path: Path) -> None:
    file = put(tmp_path, WHOLE)
    os.utime(file, (5_000.0, 1_000.0))

    def at(line: int) -> Origin:
        return Origin("user", str(file), line)

    assert read_settings(file, "user") == LayerSettings(
        "user",
        str(file),
        rules=(
            RuleLine("allow", "Bash(git status)", at(5)),
            RuleLine(
                effect="allow",
                text="Bash(npm run *)",
                origin=at(6),
                expires_at=1_798_761_600.0,
                note="ok",
                match=("npm run lint",),
                not_match=("npm i",),
            ),
            RuleLine("ask", "Bash(git push:*)", at(8)),
            RuleLine("deny", "Read(~/.ssh/**)", at(9), 1_000.0 + 2 * 86_400),
        ),
        hooks=(
            HookLine(
                event="PreToolUse",
                kind="command",
                target="check.sh",
                origin=at(11),
                matcher="Bash|Edit",
                condition="Bash(git *)",
                timeout=5.0,
                fail_closed=True,
            ),
            HookLine("PreToolUse", "python", "package.module:function", at(18)),
            HookLine("Stop", "http", "http://127.0.0.1:1/x", at(21)),
        ),
        plain=(
            SetValue("mode", "accept_edits", at(1)),
            SetValue("questions.deadline", 300.0, at(25)),
            SetValue("questions.notify", "notify-send x", at(26)),
            SetValue("limits.denials_in_a_row", 2, at(29)),
            SetValue("limits.denials_in_session", 10, at(30)),
            SetValue("limits.max_concurrency", 4, at(31)),
            SetValue("limits.max_turns", 50, at(32)),
        ),
        sha256=sha256(WHOLE.encode()).hexdigest(),
    )


def test_the_example_at_the_top_of_the_module_is_right(tmp_path: Path) -> None:
    text = dedent("    mode" + (settings.__doc__ or "").partition("    mode")[2].partition("``setting_rows``")[0])
    found = read_settings(put(tmp_path, text), "user")
    assert found.faults == ()
    assert (len(found.rules), len(found.hooks), len(found.plain)) == (3, 1, 1)


def test_an_empty_file_says_nothing_and_was_read(tmp_path: Path) -> None:
    file = put(tmp_path, "")
    assert read_settings(file, "local") == LayerSettings("local", str(file), sha256=sha256(b"").hexdigest())


def test_a_mark_at_the_beginning_that_some_editors_write_is_no_fault(tmp_path: Path) -> None:
    found = read_settings(put(tmp_path, b"\xef\xbb\xbfmode = 'plan'"), "user")
    assert [said.value for said in found.plain] == ["plan"]


@pytest.mark.spec("GATE-3")
def test_a_file_that_is_not_there_is_simply_absent(tmp_path: Path) -> None:
    file = tmp_path / "none" / "settings.toml"
    assert read_settings(file, "user") == LayerSettings("user", str(file))
    put(tmp_path, "", "none")
    assert read_settings(file, "user") == LayerSettings("user", str(file))


# ---- wrong files --------------------------------------------------------------------------------------------------


@pytest.mark.spec("GATE-3")
def test_a_folder_a_pipe_a_loop_and_a_link_to_nowhere_are_faults_and_hold_nobody_up(tmp_path: Path) -> None:
    def why(file: Path) -> str:
        found = read_settings(file, "project")
        assert (found.sha256, found.rules) == ("", ())
        (fault,) = found.faults
        assert fault.origin == Origin("project", str(file))
        return fault.text

    (tmp_path / "folder").mkdir()
    assert why(tmp_path / "folder") == "this cannot be read (it is a folder): make it a readable file, or remove it"
    os.mkfifo(tmp_path / "pipe")
    assert "it is not a regular file" in why(tmp_path / "pipe")
    assert "it is not a regular file" in why(Path("/dev/zero"))
    (tmp_path / "loop").symlink_to("loop")
    assert "Too many levels" in why(tmp_path / "loop")
    (tmp_path / "cut").symlink_to("nowhere")
    assert why(tmp_path / "cut") == "this link is broken: fix or remove it"
    assert why(tmp_path / "cut" / "settings.toml") == "this link is broken: fix or remove it"
    assert "null byte" in why(tmp_path / "a\0b")


def test_a_link_that_leads_to_a_file_is_followed(tmp_path: Path) -> None:
    put(tmp_path, "mode = 'plan'", "real.toml")
    (tmp_path / "link").symlink_to("real.toml")
    assert read_settings(tmp_path / "link", "user").plain[0].value == "plan"
    (tmp_path / "folder").symlink_to(".")
    assert read_settings(tmp_path / "folder" / "none", "user").faults == ()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_a_fault(tmp_path: Path) -> None:
    put(tmp_path, "").chmod(0)
    assert "Permission denied" in read_settings(tmp_path / "settings.toml", "user").faults[0].text


@pytest.mark.parametrize("layer", ["managed", "user", "command line", "session"])
def test_a_file_that_anybody_may_write_is_not_relied_on(tmp_path: Path, layer: Layer) -> None:
    file = put(tmp_path, "mode = 'bypass'")
    file.chmod(0o602)
    found = read_settings(file, layer)
    assert found.plain == ()
    assert "any user can write this file" in found.faults[0].text
    file.chmod(0o660)
    assert read_settings(file, layer).faults == ()


@pytest.mark.parametrize("layer", ["project", "local"])
def test_a_repository_may_be_anybodys_since_it_only_tightens(tmp_path: Path, layer: Layer) -> None:
    file = put(tmp_path, "mode = 'plan'")
    file.chmod(0o666)
    assert read_settings(file, layer).faults == ()


def test_a_file_may_be_large_and_not_too_large(tmp_path: Path) -> None:
    line = b"# " + b"x" * 97 + b"\n"
    fitting = line * (LARGEST // 100) + b"#" * (LARGEST % 100)
    assert read_settings(put(tmp_path, fitting), "user").faults == ()
    assert fault_of(tmp_path, fitting + b"#").text == "this is larger than 128 KiB: make it smaller"


def test_a_line_may_be_long_and_not_too_long(tmp_path: Path) -> None:
    assert read_settings(put(tmp_path, "#" * LONGEST_LINE), "user").faults == ()
    fault = fault_of(tmp_path, "\n" + "#" * (LONGEST_LINE + 1))
    assert (fault.origin.line, fault.text) == (2, "this line has 2001 characters, more than 2000: break it up")


def test_a_key_made_to_hang_the_start_is_refused(tmp_path: Path) -> None:
    assert "more than 2000" in fault_of(tmp_path, "a." * 60_000 + "a = 1").text
    assert "unknown setting 'a'" in fault_of(tmp_path, "a." * 900 + "a = 1").text


@rows("name", ["x", "mode", "permissions", "limits.max_turns"])
def test_nesting_has_an_end(tmp_path: Path, name: str) -> None:
    for depth in (20, 300, 900, 20_000):
        found = fault_of(tmp_path, name + " = " + "[\n" * depth + "1" + "]" * min(depth, 1_900))
        assert "unknown setting" in found.text or " must be " in found.text or found.text == TOO_DEEP, depth
    assert found.text == TOO_DEEP


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        (b"mode = 'plan'\n# \xff\n", 2, "this line is not UTF-8: save the file as UTF-8"),
        ("\n\nmode = \n", 3, "this is not TOML: Invalid value (column 8): correct this line"),
        ('\nmode = "', 2, "this is not TOML: Unterminated string: correct this line"),
        ("{", 1, "this is not TOML: Invalid statement (column 1): correct this line"),
        (
            "mode = 'plan'\nmode = 'plan'\n",
            2,
            "this is not TOML: Cannot overwrite a value (column 14): correct this line",
        ),
        ("limits.max_turns = " + "1" * 1_900 + "\n", 1, "limits.max_turns must be a whole number above 0, not 1111"),
        ("x = 1\nx = \x1b", 2, "this is not TOML: "),
        (b"x = '\x00'", 1, "this is not TOML: Found invalid character"),
    ],
    ids=["not-utf8", "no-value", "cut-off", "json", "twice", "digits", "escape", "nul"],
)
@pytest.mark.spec("GATE-3")
def test_a_file_that_is_no_toml_says_so_with_its_line(tmp_path: Path, text: str | bytes, line: int, says: str) -> None:
    fault = fault_of(tmp_path, text)
    assert fault.origin.line == line
    assert fault.text.startswith(says)
    assert fault.text.isprintable()
    assert read_settings(tmp_path / "settings.toml", "user").sha256


def test_a_number_that_python_does_not_read_is_no_toml(tmp_path: Path) -> None:
    limit = sys.get_int_max_str_digits()
    try:
        sys.set_int_max_str_digits(640)
        fault = fault_of(tmp_path, "\nlimits.max_turns = " + "1" * 700)
    finally:
        sys.set_int_max_str_digits(limit)
    assert fault.text.startswith("this is not TOML: Exceeds the limit")
    assert fault.origin.line == 2


# ---- wrong content ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("\nmoed = 'plan'", 2, "unknown setting 'moed': did you mean mode?"),
        ("MODE = 'plan'", 1, "unknown setting 'MODE': did you mean mode?"),
        ("permisions = {}", 1, "unknown setting 'permisions': did you mean permissions?"),
        ("zzzz = 1", 1, "unknown setting 'zzzz': possible keys: mode, permissions, hooks, questions, limits"),
        ("'a\u202eb' = 1", 1, "unknown setting 'a\\u202eb': possible keys"),
        ("mode = 'bypas'", 1, "mode must be one of default, accept_edits, plan, bypass, dont_ask, not 'bypas'"),
        ("mode = 1", 1, "mode must be one of default, accept_edits, plan, bypass, dont_ask, not 1"),
        ("permissions = 1", 1, "permissions must be a table, not 1"),
        ("hooks = []", 1, "hooks must be a table, not []"),
        ("questions = 'x'", 1, "questions must be a table, not 'x'"),
        ("limits = true", 1, "limits must be a table, not True"),
        ("[permissions]\n\ndeny = 'Bash'", 3, "permissions.deny must be a list of rules, each a text or a table"),
        ("[permissions]\ndeny = {}", 2, "permissions.deny must be a list of rules"),
        ("[permissions]\ndent = []", 2, "unknown setting 'permissions.dent': did you mean deny?"),
        ("[permissions]\ndefaultMode = 'x'", 2, "unknown setting 'permissions.defaultMode': possible keys: allow,"),
        ("[permissions]\nask = [\n1]", 3, "a rule must be a string or a table, not 1"),
        ("[permissions]\nask = [\n'']", 2, "permissions.ask must be a text that is not empty, not ''"),
        ("[permissions]\nask = [[]]", 2, "a rule must be a string or a table, not []"),
        ("[permissions]\nask = [{}]", 2, 'this table has no rule: add rule = "…"'),
        ("[permissions]\nask = [{rule = 1}]", 2, "permissions.ask.rule must be a text that is not empty, not 1"),
        ("[[permissions.ask]]\nrule='x'\nmatch='y'", 3, "permissions.ask.match must be a list of texts, not 'y'"),
        ("[[permissions.ask]]\nrule='x'\nnot_match=[1]", 3, "permissions.ask.not_match must be a list of texts"),
        ("[[permissions.ask]]\nrule='x'\nexpires=5", 3, "permissions.ask.expires must be a date or time (UTC by"),
        ("[[permissions.ask]]\nrule='x'\nexpires='soon'", 3, "permissions.ask.expires must be a date or time"),
        ("[[permissions.ask]]\nrule='x'\nexpire=5", 3, "unknown setting 'permissions.ask.expire': did you mean"),
        ("[hooks]\nPreTooluse = []", 2, "unknown setting 'hooks.PreTooluse': did you mean PreToolUse?"),
        ("[hooks.Stop]\ncommand = 'x'", 1, "hooks are a list of tables: begin each hook with [[hooks.Stop]]"),
        ("[hooks]\nStop = [\n'x']", 3, "hooks.Stop must be a table, not 'x'"),
        ("[[hooks.Stop]]\ntimeout = 5", 1, "a hook must have exactly one of command, python and url; this hook"),
        ("[[hooks.Stop]]\ncommand='x'\nurl='http://x'", 1, "a hook must have exactly one of command, python and"),
        ("[[hooks.Stop]]\ncommand='x'\ntimeout='x'", 3, "hooks.Stop.timeout must be seconds, or a text such as"),
        ("[[hooks.Stop]]\ncommand=''", 2, "hooks.Stop.command must be a text that is not empty, not ''"),
        ("[[hooks.Stop]]\npython='x'", 2, "hooks.Stop.python must be module:function, not 'x'"),
        ("[[hooks.Stop]]\nurl='x'", 2, "hooks.Stop.url must be a URL that begins with http:// or https://"),
        ("[[hooks.Stop]]\ncommand='x'\nmatcher='('", 3, "hooks.Stop.matcher must be a regular expression, not"),
        ("[[hooks.Stop]]\ncommand='x'\nif=1", 3, "hooks.Stop.if must be a text that is not empty, not 1"),
        ("[[hooks.Stop]]\ncommand='x'\nfail_closed=1", 3, "hooks.Stop.fail_closed must be true or false, not 1"),
        ("[[hooks.Stop]]\ncommand='x'\nmatchers=''", 3, "unknown setting 'hooks.Stop.matchers': did you mean mat"),
        ("[questions]\ndeadline = 0", 2, "questions.deadline must be seconds, or a text such as"),
        ("[questions]\nnotify = []", 2, "questions.notify must be a text that is not empty, not []"),
        ("[questions]\ndedline = 1", 2, "unknown setting 'questions.dedline': did you mean deadline?"),
        ("[limits]\nmax_turns = 0", 2, "limits.max_turns must be a whole number above 0, not 0"),
        ("[limits]\nmax_turn = 1", 2, "unknown setting 'limits.max_turn': did you mean max_turns?"),
        ("mode = '" + "x" * 200 + "'", 1, "mode must be one of default, accept_edits, plan, bypass, dont_ask, not 'x"),
    ],
    ids=lambda value: repr(value)[:30],
)  # fmt: skip
@pytest.mark.spec("GATE-3", "CLI-4")
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, text: str, line: int, says: str) -> None:
    tomllib.loads(text)
    fault = fault_of(tmp_path, text)
    assert fault.text.startswith(says)
    assert fault.origin.line == line


def test_two_targets_are_named(tmp_path: Path) -> None:
    fault = fault_of(tmp_path, "[[hooks.Stop]]\ncommand='x'\nurl='http://x'")
    assert fault.text.endswith("this hook has command and url")


@pytest.mark.spec("GATE-3")
def test_all_that_is_wrong_is_said_at_once_in_the_order_of_lines(tmp_path: Path) -> None:
    text = "mode='x'\n[limits]\nmax_turns='x'\n[permissions]\nfoo=1\nallow=1\n[[hooks.Stop]]\nif='Bash'\ntimeout=0\n"
    found = read_settings(put(tmp_path, text), "user")
    assert [fault.origin.line for fault in found.faults] == [1, 3, 5, 6, 7, 9]
    assert str(found.faults[0]).startswith(f"{tmp_path}/settings.toml:1: mode must be")


@pytest.mark.spec("GATE-3")
def test_a_file_with_a_fault_grants_and_runs_nothing_and_its_other_rules_stand(tmp_path: Path) -> None:
    text = WHOLE + "\n[nothing]\n"
    found = read_settings(put(tmp_path, text), "user")
    assert len(found.faults) == 1
    assert [(rule.effect, rule.text) for rule in found.rules] == [
        ("ask", "Bash(git push:*)"),
        ("deny", "Read(~/.ssh/**)"),
    ]
    assert (found.hooks, found.plain) == ((), ())
    assert found.sha256 == sha256(text.encode()).hexdigest()


def test_a_rule_or_hook_with_a_fault_is_not_half_taken(tmp_path: Path) -> None:
    text = "[permissions]\ndeny = [{rule='a', note=1}, 'b']\n[[hooks.Stop]]\ncommand='x'\ntimeout=0"
    found = read_settings(put(tmp_path, text), "user")
    assert [rule.text for rule in found.rules] == ["b"]


def test_a_file_can_be_faulty_without_being_opened(tmp_path: Path) -> None:
    origin = Origin("project", "/x")
    assert faulty(Path("/x"), "project", "no") == LayerSettings("project", "/x", faults=(SettingsFault("no", origin),))


def test_values_are_shown_whole_up_to_a_hundred_characters() -> None:
    assert shown("x" * 98) == "'" + "x" * 98 + "'"
    assert shown("x" * 99) == "'" + "x" * 79 + "… (21 more characters)"
    assert shown("a\x1b[31m\n") == "'a\\x1b[31m\\n'"
