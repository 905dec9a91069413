"""The command as people and scripts meet it: help, exit codes, one line for every fault."""

import inspect
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import callgate
from callgate.cli.command_parser import ELSEWHERE
from callgate.cli.command_rows import GROUPS, all_commands
from callgate.cli.terminal import Span, clip, fit, paragraph, plain, safe, width

COMMANDS = [*GROUPS]
TOOL = {"name": "t", "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}}


def run(
    *words: str, given: str | None = None, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "callgate", *words],
        input=given,
        stdin=subprocess.DEVNULL if given is None else None,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
    )


def one_line(ran: subprocess.CompletedProcess[str]) -> str:
    """What a fault says: a single line on stderr and nothing else."""
    assert ran.stdout == ""
    (line,) = ran.stderr.splitlines()
    return line


def test_the_version_is_that_of_the_package() -> None:
    ran = run("--version")
    assert (ran.returncode, ran.stdout) == (0, f"callgate {callgate.__version__}\n")


def test_the_version_is_printed_without_loading_the_command_line() -> None:
    program = "import sys; sys.argv = ['callgate', '--version']; from callgate.__main__ import run; run()"
    ran = subprocess.run(
        [sys.executable, "-c", f"{program}; print(*sys.modules)"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    version, modules = ran.stdout.splitlines()
    assert version == f"callgate {callgate.__version__}"
    assert {name for name in modules.split() if name.startswith("callgate.")} == {
        "callgate.__main__",
        "callgate._version",
    }


def test_a_module_in_the_workspace_is_not_loaded_in_place_of_one_of_ours(tmp_path: Path) -> None:
    for name in ("argparse", "tomllib", "pydantic", "difflib"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('loaded from the workspace')")
    ran = subprocess.run(
        [sys.executable, "-m", "callgate", "policy", "explain", "Bash", "ls"],
        cwd=tmp_path,
        env={
            "PATH": "/usr/bin:/bin",
            "HOME": str(tmp_path / "home"),
            "CALLGATE_DATA_DIR": str(tmp_path.parent / "data"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, "loaded from the workspace" in ran.stderr) == (0, False), ran.stderr


@pytest.mark.spec("CLI-1")
def test_the_help_is_short_and_lists_every_command_once_under_a_topic() -> None:
    ran = run("--help")
    assert ran.returncode == 0
    lines = ran.stdout.splitlines()
    assert len(lines) <= 45
    assert max(map(len, lines)) <= 80
    assert re.findall(r"^  ([a-z]+)  ", ran.stdout, re.MULTILINE) == COMMANDS
    assert "0 done, 1 failed, 2 usage, 3 a question is open" in " ".join(ran.stdout.split())
    assert "callgate -p --help" in ran.stdout
    narrow = run("--help", environment={"COLUMNS": "60"}).stdout
    assert max(map(len, narrow.splitlines())) <= 60
    assert narrow.split() == ran.stdout.split()


def test_the_help_of_a_group_lists_its_commands() -> None:
    lines = run("tools", "--help").stdout.splitlines()
    rows = lines[lines.index("commands:") + 1 :]
    found = [line.split()[0] for line in rows if line.startswith("  ") and line[2] != " "]
    assert found == ["list", "new", "rank", "validate"]


@pytest.mark.spec("CLI-1")
def test_every_command_has_help_of_its_own_and_a_function_that_takes_its_arguments() -> None:
    for path, command in all_commands().items():
        assert command.about, path
        assert bool(command.help) == (" " in path), path
        assert all(row.help or row.parameter in ("key", "debug") for row in command.arguments), path
        inspect.signature(command.function).bind(**{row.parameter: None for row in command.arguments})


def test_a_group_has_the_commands_that_its_module_lists() -> None:
    for group in GROUPS.values():
        paths = {row.path for row in group.commands.values()}
        assert paths, group.name
        assert group.about if group.name not in group.commands else paths == {group.name}, group.name


@pytest.mark.parametrize("words", [("--help",), ("-p", "--help"), ("config", "--help"), ("completion", "fish")])
def test_a_terminal_without_unicode_gets_the_help_too(words: tuple[str, ...]) -> None:
    ran = run(*words, environment={"PYTHONIOENCODING": "ascii", "LC_ALL": "C"})
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.isascii()


HELP_BUDGET = 115
"""Modules that the help may load, beyond those of a fresh interpreter: it is the first thing that is tried."""


@pytest.mark.spec("CLI-1")
@pytest.mark.parametrize("words", [["--help"], ["-p", "--help"]])
def test_the_help_loads_few_modules(
    tmp_path: Path, words: list[str], record_property: Callable[[str, object], None]
) -> None:
    probe = (
        "import sys; before = set(sys.modules)\n"
        "import contextlib, io\n"
        "from callgate.cli import main\n"
        "with contextlib.redirect_stdout(io.StringIO()):\n"
        f"    assert main({words}) == 0\n"
        "print(len(set(sys.modules) - before))\n"
    )
    ran = subprocess.run([sys.executable, "-I", "-c", probe], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert ran.stderr == ""
    loaded = int(ran.stdout)
    record_property("report", f"callgate {' '.join(words)}: {loaded} modules of at most {HELP_BUDGET}")
    assert loaded <= HELP_BUDGET


@pytest.mark.parametrize("words", [(), ("--debug",), ("tools",)])
def test_a_command_line_without_a_command_shows_the_help_as_a_fault(words: tuple[str, ...]) -> None:
    ran = run(*words)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("usage: callgate")
    assert ran.stderr.endswith("callgate -p PROMPT\n") == (words != ("tools",))


def test_help_is_a_command_too() -> None:
    assert run("help").stdout == run("--help").stdout
    assert run("help", "config", "set").stdout == run("config", "set", "--help").stdout


@pytest.mark.spec("CLI-3", "CLI-12")
def test_the_commands_that_people_look_for_are_there() -> None:
    groups = {"auth": "set list remove", "config": "get set list edit path", "session": "list show", "tools": "list"}
    wanted = {f"{group} {name}" for group, names in groups.items() for name in names.split()}
    assert {*wanted, "doctor", "undo", "audit", "demo", "log", "update", "completion", "policy list"} <= {
        *all_commands()
    }


def test_no_word_that_leads_elsewhere_is_a_command() -> None:
    assert set(ELSEWHERE).isdisjoint(COMMANDS)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("dmo",), "callgate: there is no command 'dmo'; did you mean demo?"),
        (("tols", "validate"), "callgate: there is no command 'tols'; did you mean tools?"),
        (("tools", "validat"), "callgate tools: there is no command 'validat'; did you mean validate?"),
        (
            ("xyz",),
            f"callgate: there is no command 'xyz'; there are {', '.join(COMMANDS)}; as a prompt: callgate -p 'xyz'",
        ),
        (("d\x1bmo",), "callgate: there is no command 'd\\x1bmo'; did you mean demo?"),
        (("--foo",), "callgate: --foo is not known here; see callgate --help"),
        (("--versoin",), "callgate: --versoin is not known here, did you mean --version; see callgate --help"),
        (("--VERSION",), "callgate: --VERSION is not known here, did you mean --version; see callgate --help"),
        (("-V",), "callgate: -V is not known here, did you mean callgate --version; see callgate --help"),
        (("mcp", "-v"), "callgate mcp: -v is not known here, did you mean callgate --version; see callgate mcp --help"),
        (("--hlep",), "callgate: --hlep is not known here, did you mean --help; see callgate --help"),
        (("--Continue",), "callgate: --Continue is not known here, did you mean --continue; see callgate --help"),
        (("--resmue",), "callgate: --resmue is not known here, did you mean --resume; see callgate --help"),
        (
            ("doctor", "--onlin"),
            "callgate doctor: --onlin is not known here, did you mean --online; see callgate doctor --help",
        ),
        (
            ("session", "list", "--JSON"),
            "callgate session list: --JSON is not known here, did you mean --json; see callgate session list --help",
        ),
        (
            ("-p", "--output-fromat", "json", "x"),
            "callgate -p: --output-fromat is not known here, did you mean --output-format or --input-format;"
            " see callgate -p --help",
        ),
        (("--modle", "x"), "callgate: --modle is not known here, did you mean --mode or --model; see callgate --help"),
        (("version",), "callgate: there is no command 'version'; say callgate --version"),
        (("resume",), "callgate: there is no command 'resume'; say callgate --resume"),
        (("help", "dmo"), "callgate: there is no command 'dmo'; did you mean demo?"),
        (("Fix the tests.",), "callgate: this is not a terminal; in a script, use callgate -p 'Fix the tests.'"),
        (("--continue",), "callgate: this is not a terminal; in a script, use callgate -p PROMPT"),
        (("demo", "--jsno"), "callgate demo: --jsno is not known here, did you mean --json; see callgate demo --help"),
        (("demo", "\x1b[2J"), "callgate demo: <U+001B>[2J is not known here; see callgate demo --help"),
        (
            ("undo", "--chnage", "1"),
            "callgate undo: --chnage is not known here, did you mean --change; see callgate undo --help",
        ),
        (
            ("demo", "--no-color", "--speed"),
            "callgate demo: --speed needs a value: --speed X (the speed factor (default 1, or "
            "$CALLGATE_DEMO_SPEED)); see callgate demo --help",
        ),
        (
            ("trust", "add", "--yes"),
            "callgate trust add: --yes needs a value: --yes FINGERPRINT (do not ask; pass the fingerprint from "
            "`callgate trust show`); see callgate trust add --help",
        ),
        (("--agent", "x"), "callgate: leave out --agent: custom agents are not supported yet; see callgate --help"),
    ],
)
def test_a_fault_is_one_line_that_says_what_to_do(words: tuple[str, ...], said: str) -> None:
    ran = run(*words)
    assert (ran.returncode, one_line(ran)) == (2, said)


@pytest.mark.parametrize("speed", ["0", "-1", "nan", "inf", "fast", "1e9"])
def test_a_speed_that_is_none_is_refused_wherever_it_comes_from(speed: str) -> None:
    said = f"callgate demo: {{}} must be a number above 0 and up to 1000, not {speed!r}; see callgate demo --help"
    given = run("demo", f"--speed={speed}")
    assert (given.returncode, one_line(given)) == (2, said.format("--speed"))
    found = run("demo", environment={"CALLGATE_DEMO_SPEED": speed})
    assert (found.returncode, one_line(found)) == (2, said.format("CALLGATE_DEMO_SPEED"))


def test_tools_validate_answers_every_line(tmp_path: Path) -> None:
    raws = ['{"n": 1}', '{"n": "2"}', '{"n": "x"}']
    lines = "".join(json.dumps({"tool": TOOL, "raw": raw}) + "\n" for raw in raws)
    ran = run("tools", "validate", "--jsonl", given=lines)
    assert (ran.returncode, ran.stderr) == (0, "")
    answers = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [answer["outcome"] for answer in answers] == ["accepted", "repaired", "rejected"]
    assert [answer["arguments"] for answer in answers] == [{"n": 1}, {"n": 2}, None]

    file = tmp_path / "lines.jsonl"
    file.write_text(lines, encoding="utf-8")
    assert run("tools", "validate", "--jsonl", str(file)).stdout == ran.stdout
    assert run("tools", "validate", str(file)).stdout == ran.stdout


@pytest.mark.spec("SRC-3", "SRC-9")
def test_tools_rank_answers_every_line_by_words_alone_if_asked() -> None:
    tools = {"tools": [{"name": "send_message"}, {"name": "read_file"}]}
    lines = json.dumps(tools) + "\n" + json.dumps({"query": "messages", "k": 1}) + "\n"
    ran = run("tools", "rank", "--jsonl", "--embeddings", "off", given=lines)
    assert (ran.returncode, ran.stdout) == (0, '{"ready": true}\n{"names": ["send_message"]}\n')


def test_tools_validate_goes_on_after_a_line_it_cannot_use_and_says_so_in_the_end() -> None:
    good = json.dumps({"tool": TOOL, "raw": '{"n": 1}'})
    ran = run("tools", "validate", "--jsonl", given=f"nonsense\n{good}\n")
    assert ran.returncode == 1
    assert [json.loads(line)["outcome"] for line in ran.stdout.splitlines()] == ["error", "accepted"]


def test_a_failure_is_one_line_and_debug_shows_where_it_happened(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing.jsonl")
    ran = run("tools", "validate", "--jsonl", missing)
    assert (ran.returncode, one_line(ran)) == (1, f"callgate: No such file or directory: {missing}")
    ran = run("tools", "validate", "--jsonl", missing, "--debug")
    assert ran.returncode == 1
    assert ran.stderr.startswith("Traceback")
    assert "FileNotFoundError" in ran.stderr


def test_a_reader_that_has_gone_is_no_reason_to_complain(tmp_path: Path) -> None:
    file = tmp_path / "lines.jsonl"
    file.write_text(json.dumps({"tool": TOOL, "raw": '{"n": 1}'}) + "\n", encoding="utf-8")
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "callgate", "tools", "validate", "--jsonl", str(file)]
    ran = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, timeout=60)
    os.close(writer)
    assert (ran.returncode, ran.stderr) == (0, b"")


def test_a_non_blocking_terminal_gets_each_line_at_once() -> None:
    terminal, output = pty.openpty()
    os.set_blocking(output, False)
    code = "import sys; from callgate.cli import main; main(); print(sys.stdout.line_buffering, file=sys.stderr)"
    command = [sys.executable, "-c", code, "--version"]
    environment = {**os.environ, "PYTHONUNBUFFERED": ""}
    ran = subprocess.run(command, stdout=output, stderr=subprocess.PIPE, env=environment, timeout=60)
    os.close(output)
    os.close(terminal)
    assert (ran.returncode, ran.stderr) == (0, b"True\n")


def test_what_comes_from_elsewhere_cannot_steer_the_terminal() -> None:
    assert safe("a\x1b[31mb\x07\n") == "a<U+001B>[31mb<U+0007><U+000A>"
    assert safe("\x9b\u202e\udc80\x7f") == "<U+009B><U+202E><U+DC80><U+007F>"
    assert safe("grün 日本\tx") == "grün 日本<U+0009>x"
    assert safe(safe("\x1b")) == safe("\x1b")
    assert fit(clip("\x1b", 20), 10) == "<U+001B>  "
    assert plain((Span(clip("\x1b", 20)), Span("<U+001B>"))) == "<U+001B><U+003C>U+001B>"
    assert plain(paragraph("\x1b" * 3, 20, indent=50)[0]).endswith(" <U+001B>")


def test_text_is_cut_by_columns_and_not_by_characters() -> None:
    assert [width(text) for text in ("abc", "日本", "e\u0301")] == [3, 4, 1]
    assert clip("abcdef", 6) == "abcdef"
    assert clip("abcdef", 5) == "abcd…"
    assert clip("日本語です", 6) == "日本…"
    assert clip("abc", 0) == ""


def test_a_file_in_the_current_folder_does_not_stand_in_for_a_module_of_python(tmp_path: Path) -> None:
    for name in ("difflib", "argparse", "json", "typing", "tomllib"):
        (tmp_path / f"{name}.py").write_text("print('not yours to run')\nraise SystemExit(7)\n")
    for words in ([], ["-X", "utf8"]):
        ran = subprocess.run(
            [sys.executable, *words, "-m", "callgate", "policy", "check"], cwd=tmp_path, capture_output=True, text=True
        )
        assert ran.returncode == 0, ran
        assert "not yours" not in ran.stdout
