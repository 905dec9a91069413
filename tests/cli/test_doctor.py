"""``callgate doctor``: what was seen, what is wrong, and what repairs it."""

import asyncio
import json
import os
import re
import shlex
import tomllib
from collections.abc import Sequence
from pathlib import Path
from threading import Event

import pytest

from callgate import Session, Store
from callgate.admin.doctor import CHECKS, Diagnosis, Patient, is_healthy, machine, run_checks
from callgate.admin.doctor.diagnosis import fine
from callgate.admin.installed import USES, app_packages, installation_of
from callgate.admin.provider_keys import first_run_page
from callgate.cli.command_parser import read_command
from callgate.config import load_config
from callgate.host.sandbox.bubblewrap import INSTALL
from callgate.policy import sandbox_proofs
from callgate.providers import keys
from callgate.testing import ScriptedModel, say, turn
from tests.cli.policy_kit import Person
from tests.host.sandbox.kit import best
from tests.providers.servers import Reply
from tests.providers.servers.server import serving

KEY = "sk-test-0123456789abcdef"
NOWHERE = "".join(
    f'[providers.{name}]\nbase_url = "http://127.0.0.1:1/v1"\n' for name in ("llamacpp", "lmstudio", "vllm")
)
"""No local server of the machine that runs the tests may answer."""


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Person:
    for name in [*os.environ]:
        if name.startswith("CALLGATE_") or name.endswith("_API_KEY") or name in ("VISUAL", "EDITOR", "TMUX"):
            monkeypatch.delenv(name)
    monkeypatch.setattr(keys.KeyStore.__init__, "__defaults__", (lambda: None,))
    made = Person(tmp_path, monkeypatch, capsys)
    made.set("OLLAMA_HOST", "127.0.0.1:1")
    made.user(NOWHERE)
    return made


def one(name: str, online: bool = False) -> Diagnosis:
    """The only outcome of one check here."""
    (found,) = all_of(name, online)
    return found


def all_of(name: str, online: bool = False) -> list[Diagnosis]:
    return run_checks(online=online, checks={name: CHECKS[name]})


@pytest.mark.spec("CLI-3")
def test_every_check_says_what_it_saw_and_each_problem_what_repairs_it(person: Person) -> None:
    ran = person.run("doctor", "--json")
    told = json.loads(ran.out)
    assert list(dict.fromkeys(row["check"] for row in told["checks"])) == list(CHECKS)
    assert all(row["saw"] for row in told["checks"])
    for row in told["checks"]:
        assert bool(row["problem"]) == (row["status"] in ("warning", "fault")), row
        if row["status"] == "fault":
            assert row["repair"], row
    assert (ran.code, told["ok"]) == (1, False), "there is no key"
    by_name = {row["check"]: row for row in told["checks"]}
    assert by_name["key"]["repair"] == ["callgate auth set anthropic", "callgate config set models.default ollama/NAME"]


@pytest.mark.spec("CLI-3")
@pytest.mark.parametrize(
    "settings",
    [
        "",
        "mode = 'wild'\n",
        "models.default = 'ollama/nothing'\nmodels.fallback = 'nosuch/model'\n",
        "models.default = 'anthropic/claude-unheard-of'\n[[hooks.Stop]]\ncommand = 'no-such-program'\n",
    ],
)
def test_every_command_that_repairs_something_is_one_that_there_is(person: Person, settings: str) -> None:
    person.user(settings + NOWHERE)
    person.project("permissions.allow = ['Bash']\n[[hooks.Stop]]\ncommand = 'true'\n")
    told = json.loads(person.run("doctor", "--json").out)["checks"]
    repairs = [line for row in told for line in row["repair"] if line.startswith("callgate ")]
    assert len(repairs) > 2
    for line in repairs:
        read_command(shlex.split(line)[1:])  # a fault would end the program


@pytest.mark.spec("CLI-3")
def test_warnings_do_not_count_and_the_output_is_for_people_too(person: Person) -> None:
    person.set("ANTHROPIC_API_KEY", KEY)
    ran = person.run("doctor")
    assert (ran.code, ran.err) == (0, ""), ran
    assert "✓ key            anthropic: a key from ANTHROPIC_API_KEY\n" in ran.out
    assert "anthropic/claude-opus-5-5 (answers)" in ran.out
    assert "sandbox        in force: " in ran.out or "repair: callgate sandbox prove" in ran.out
    assert re.search(r"\d warnings?\n$", ran.out)
    assert KEY[-4:] not in ran.out


def test_a_check_that_raises_or_hangs_is_a_finding_and_hides_no_other() -> None:
    never = Event()

    def broken(patient: Patient) -> Sequence[Diagnosis]:
        raise ValueError("oops\x1b[2J")

    def hangs(patient: Patient) -> Sequence[Diagnosis]:
        never.wait(60)
        return []

    def works(patient: Patient) -> Sequence[Diagnosis]:
        return [fine("all of it")]

    found = run_checks(checks={"a": broken, "b": hangs, "c": works}, patience=0.05)
    never.set()
    assert [(each.name, each.status) for each in found] == [("a", "fault"), ("b", "fault"), ("c", "ok")]
    assert "ValueError: oops" in found[0].problem
    assert "did not finish within 0.05 s" in found[1].problem
    assert not is_healthy(found)


def test_settings_that_cannot_be_read_are_a_finding_and_the_rest_goes_on(person: Person) -> None:
    person.set("CALLGATE_MODE", "wild")
    ran = person.run("doctor", "--json")
    told = {row["check"]: row for row in json.loads(ran.out)["checks"]}
    assert ran.code == 1
    assert "CALLGATE_MODE" in told["settings"]["problem"]
    assert told["settings"]["repair"] == ["unset CALLGATE_MODE"]
    assert told["python"]["status"] == "ok"
    assert {told[name]["status"] for name in ("key", "model", "trust", "hooks", "sandbox", "sessions")} == {"skipped"}


def test_faults_in_settings_are_told_with_file_line_and_the_command_that_opens_it(person: Person) -> None:
    file = person.user("mode = 'plan'\nlimits.max_turns = 'x'\n[permissions]\ndeny = ['Bash((']\n")
    found = all_of("settings")
    assert [(each.status, each.repair) for each in found] == [("fault", ("callgate config edit --user",))] * 2
    assert found[0].saw.startswith(f"{file}:2: limits.max_turns must be")
    assert found[1].saw.startswith(f"{file}:4: ")
    assert (one("key").status, one("model").status) == ("skipped", "skipped"), "the file may set a model"
    person.user("")
    person.project("permissions.allow = ['Bash']\n")
    (note,) = all_of("settings")
    assert (note.status, "allow rules are ignored" in note.problem) == ("warning", True)


def test_a_key_is_told_by_its_place_and_a_command_for_one_is_not_run(person: Person) -> None:
    marker = person.home / "ran"
    person.user(NOWHERE + f"[providers.openai]\nkey_command = 'touch {marker}'\n")
    assert one("key").saw == "openai: a key from its key_command, which doctor does not run"
    assert not marker.exists()
    person.user("models.default = 'gemini/gemini-3.8-flash'\nmodels.fallback = 'opus'\n" + NOWHERE)
    assert [each.repair for each in all_of("key")] == [("callgate auth set gemini",), ("callgate auth set anthropic",)]
    person.set("GEMINI_API_KEY", "not a key")
    assert "holds no valid key" in all_of("key")[0].problem
    person.user("models.default = 'ollama/qwen3'\n" + NOWHERE)
    assert one("key").saw == "ollama: no key, and none is needed"
    person.user(NOWHERE)
    person.set("ANTHROPIC_API_KEY", "not a key")
    assert (one("key").status, one("model").status) == ("fault", "ok")


def test_secrets_in_settings_and_hooks_are_masked(person: Person) -> None:
    secret = "sk-ant-api03-" + "a1B2" * 12
    hook = f"[[hooks.Stop]]\ncommand = 'no-such-program --token {secret}'\n"
    person.user(f"{NOWHERE}[providers.lab]\nbase_url = '{secret}'\n")
    assert "must be" in one("settings").saw
    assert secret not in person.run("doctor", "--json").out
    person.user(NOWHERE + hook)
    assert "no-such-program" in one("hooks").saw
    assert secret not in person.run("doctor").out


def test_a_folder_that_changed_is_told_by_the_check_of_trust_alone(person: Person) -> None:
    file = person.project("mode = 'plan'\n")
    digits = re.search(r"fingerprint (\w+)", person.run("trust", "show").out)
    assert digits is not None
    person.run("trust", "add", "--yes", digits[1])
    assert one("trust").saw == f"{person.work} is trusted"
    file.write_text("mode = 'plan'\n# changed\n")
    assert (one("trust").status, one("settings").status) == ("warning", "ok")


def test_a_model_that_cannot_be_or_is_not_known_is_told(person: Person) -> None:
    person.user("models.default = 'nobody/x'\n" + NOWHERE)
    assert (one("model").status, one("key").status) == ("fault", "skipped")
    person.user("models.default = 'ollama/own'\n" + NOWHERE)
    assert (one("model").status, one("local servers").status) == ("ok", "fault")
    person.user("models.default = 'claude-own-1'\n" + NOWHERE)
    assert one("model").status == "warning"
    assert one("model").problem.startswith("this model is not in the table")


def test_local_servers_are_named_with_their_ports_and_a_missing_model_is_a_fault(person: Person) -> None:
    listed = Reply([b'{"data": [{"id": "qwen3:8b"}]}'], headers={"content-type": "application/json"})
    with serving(listed, listed, listed) as server:
        person.set("OLLAMA_HOST", server.url)
        port = server.url.rpartition(":")[2].partition("/")[0]
        found = one("local servers")
        assert found.status == "ok"
        assert f"ollama at 127.0.0.1:{port} answers (qwen3:8b)" in found.saw
        assert "llamacpp at 127.0.0.1:1" in found.saw
        commands = re.findall(r"^    (.+)$", first_run_page(load_config()), re.MULTILINE)
        assert commands[1:] == ["callgate config set models.default ollama/qwen3:8b", "callgate demo"]
        person.user("models.default = 'ollama/other'\n" + NOWHERE)
        assert one("local servers").repair == ("ollama pull other",)


@pytest.mark.parametrize(("window", "small"), [(4_096, True), (12_288, True), (32_768, False)])
def test_the_window_of_a_local_server_is_reported(window: int, small: bool, person: Person) -> None:
    listed = json.dumps({"data": [{"id": "qwen3", "meta": {"n_ctx": window}}]}).encode()
    reply = Reply([listed], headers={"content-type": "application/json"})
    with serving(reply, reply) as server:
        person.user(f"models.default = 'llamacpp/qwen3'\n[providers.llamacpp]\nbase_url = '{server.url}/v1'\n")
        found = one("model")
    assert f"{window:,} tokens of context, reported by the server (/v1/models)" in found.saw
    assert ("short prompt and fewer tools" in found.saw) is small


def test_online_asks_the_model_for_an_answer(person: Person) -> None:
    body = b'data: {"id":"x","model":"m","choices":[{"index":0,"delta":{"content":"ready"}}]}\n\n'
    end = b'data: {"id":"x","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    with serving(Reply([body, end])) as server:
        person.user(f"models.default = 'lab/m'\n{NOWHERE}[providers.lab]\nbase_url = '{server.url}'\n")
        known, answered = all_of("model", online=True)
        assert (known.status, answered.status) == ("warning", "ok"), answered
        assert answered.saw.startswith("lab/m answers: 'ready'")
    _, silent = all_of("model", online=True)
    assert (silent.status, silent.repair) == ("fault", ("callgate auth test lab/m",))


def test_trust_says_what_does_nothing_and_how_to_trust(person: Person) -> None:
    assert one("trust").saw.endswith("needs no trust: it has no hooks, tools or skills")
    person.project("[[hooks.Stop]]\ncommand = 'make'\n")
    found = one("trust")
    assert (found.status, found.repair) == ("warning", ("callgate trust show", "callgate trust add"))


def test_a_hook_whose_program_or_module_is_not_there_is_a_fault(person: Person) -> None:
    script = person.work / "ok.sh"
    script.write_text("#!/bin/sh\n")
    lines = {
        "no-such-program --x": "there is no program no-such-program on PATH",
        "FOO=1 ./ok.sh": f"{person.work}/ok.sh is not executable",
        "$CALLGATE_PROJECT_DIR/gone.sh a b": f"there is no file {person.work}/gone.sh",
        "if true; then x; fi": "",
        "$WHO_KNOWS/x": "",
        "sh -c 'exit 0'": "",
        "it's": "",
    }
    hooks = "".join(f"[[hooks.Stop]]\ncommand = {json.dumps(line)}\n" for line in lines)
    python = "[[hooks.Stop]]\npython = 'no_such_module.x:y'\n[[hooks.Stop]]\npython = 'json:dumps'\n"
    person.user(NOWHERE + hooks + python)
    found = all_of("hooks")
    wanted = [problem for problem in lines.values() if problem] + ["there is no Python module no_such_module"]
    assert len(found) == len(wanted)
    for each, problem in zip(found, wanted, strict=True):
        assert (each.status, each.repair) == ("fault", ("callgate config edit --user",))
        assert each.problem.startswith(problem)
    person.user(NOWHERE)
    assert one("hooks").saw == "none"


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_a_data_folder_that_cannot_be_written_is_a_fault(person: Person) -> None:
    person.data.mkdir()
    person.data.chmod(0o500)
    try:
        assert one("data folder").status == "fault"
    finally:
        person.data.chmod(0o700)


def test_the_data_folder_and_its_sessions_are_looked_at_and_not_made(person: Person) -> None:
    assert "(created with the first session)" in one("data folder").saw
    assert one("sessions").saw == "0 of this folder"
    assert not person.data.exists()
    person.data.mkdir(mode=0o700)
    assert one("data folder").status == "ok"
    person.data.chmod(0o777)
    assert one("data folder").repair == (f"chmod go-w {person.data}",)
    person.set("CALLGATE_DATA_DIR", str(person.work / "data"))
    assert (one("trust").status, one("sandbox").status) == ("fault", "warning")


def test_a_session_that_is_open_is_named_with_its_holder(person: Person) -> None:
    async def held() -> tuple[str, Diagnosis]:
        journal = await Store(person.work, person.data).create()
        async with Session(ScriptedModel(turn(say("Hello."))), journal=journal) as session:
            await session.run("hi")
            return journal.session, await asyncio.to_thread(one, "sessions")

    name, found = asyncio.run(held())
    assert found.saw.startswith(f"1 of this folder; open now: {name} by process {os.getpid()} ")
    assert one("sessions").saw == "1 of this folder"
    (log,) = person.data.glob("projects/*/*.jsonl")
    log.write_bytes(b"")
    assert one("sessions").status in ("ok", "warning")


@pytest.mark.spec("GATE-13")
def test_the_sandbox_is_tested_and_without_one_the_reason_and_the_package_are_named(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    best()
    assert one("sandbox").saw.startswith("in force: ")
    monkeypatch.setattr(sandbox_proofs, "missing", lambda backend: f"it is not installed: {INSTALL}")
    found = one("sandbox")
    assert found.status == "warning"
    assert "bubblewrap: it is not installed: install the package bubblewrap (apt, dnf, pacman" in found.problem
    person.user("[sandbox]\ndisabled = true")
    assert one("sandbox").saw == "switched off by sandbox.disabled"


@pytest.mark.spec("BLT-7")
def test_the_search_is_told_by_mode_path_and_version_and_without_one_how_to_install_it(person: Person) -> None:
    found = one("search")
    assert re.fullmatch(r"ripgrep [\d.]+.* at /.*rg \((packaged|system)\)", found.saw), found
    person.set("CALLGATE_RIPGREP", "builtin")
    assert one("search").saw == "the built-in search, by CALLGATE_RIPGREP"
    person.set("CALLGATE_RIPGREP", "fast")
    assert (one("search").status, one("search").repair) == ("fault", ("unset CALLGATE_RIPGREP",))


@pytest.mark.spec("BLT-7")
def test_without_any_ripgrep_the_command_that_installs_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    built_in = machine.available_engine({"CALLGATE_RIPGREP": "builtin"})
    monkeypatch.setattr(machine, "available_engine", lambda environ: built_in)
    (found,) = machine.search(Patient(None, "", {}))
    assert (found.status, found.repair) == ("warning", ("pip install 'callgate[search]'",))


def test_an_editor_that_is_not_there_is_a_fault(person: Person) -> None:
    person.set("EDITOR", "no-such-editor -w")
    assert one("editor").problem == "there is no program no-such-editor"
    person.set("VISUAL", "sh -c")
    assert one("editor").saw.startswith("VISUAL=sh -c (/")
    person.set("VISUAL", "'")
    assert one("editor").problem == "this is no command"


def test_a_terminal_that_can_do_little_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setattr("shutil.get_terminal_size", lambda: (50, 20))
    (dumb, narrow) = machine.terminal(Patient(None, "", {"TERM": "dumb", "NO_COLOR": "1"}))
    assert "no colours (NO_COLOR)" in dumb.saw
    assert dumb.repair == ("export TERM=xterm-256color",)
    assert "50 columns are few" in narrow.problem
    monkeypatch.setattr("shutil.get_terminal_size", lambda: (100, 30))
    rich = {"TERM": "tmux-256color", "TMUX": "x", "SSH_CONNECTION": "y", "COLORTERM": "truecolor"}
    (found,) = machine.terminal(Patient(None, "", rich))
    assert found.status == "ok"
    assert found.saw == (
        "TERM=tmux-256color, 100 × 30, true colour, text in utf-8, pasted text is marked, in tmux, over SSH"
    )
    (found,) = machine.terminal(Patient(None, "", {**rich, "TERM": "xterm"}))
    assert found.repair == ("tmux set -g default-terminal tmux-256color",)


def test_every_package_of_the_extra_app_is_explained() -> None:
    project = tomllib.loads(Path("pyproject.toml").read_text())["project"]["optional-dependencies"]
    wanted = [line for line in project["app"] if not line.startswith("callgate[")]
    for extra in re.findall(r"callgate\[(.*)\]", " ".join(project["app"]))[0].split(","):
        wanted += project[extra]
    names = {re.split(r"[<>=\[]", line)[0].lower().replace("_", "-") for line in wanted}
    assert names == set(USES), "say in admin/installed.py what a new package is for"
    assert {each.name for each in app_packages()} <= set(USES)
    assert {each.name for each in app_packages() if each.needed} <= {
        "h11",
        "markdown-it-py",
        "prompt-toolkit",
        "pygments",
    }


@pytest.mark.parametrize(
    ("file", "direct", "installer", "said"),
    [
        ("pipx_metadata.json", None, "pip", "pipx upgrade callgate"),
        ("uv-receipt.toml", None, "uv", "uv tool upgrade callgate"),
        ("", None, "uv\n", "uv pip install --python /py --upgrade callgate"),
        ("", None, "pip\n", "/py -m pip install --upgrade callgate"),
        ("", "nonsense", None, "/py -m pip install --upgrade callgate"),
        (
            "",
            '{"url": "file:///src/call gate", "dir_info": {"editable": true}}',
            "pip",
            "git -C '/src/call gate' pull && /py -m pip install -e '/src/call gate'",
        ),
        (
            "",
            '{"url": "https://me:secret@host/callgate.git", "vcs_info": {"vcs": "git"}}',
            "pip",
            "/py -m pip install --upgrade 'callgate @ git+https://host/callgate.git'",
        ),
    ],
)
def test_the_command_that_renews_it_is_that_of_its_installer(
    tmp_path: Path, file: str, direct: str | None, installer: str | None, said: str
) -> None:
    from dataclasses import replace

    if file:
        (tmp_path / file).touch()
    assert replace(installation_of(direct, installer, tmp_path), python="/py").renew() == said


@pytest.mark.spec("SRC-11")
def test_the_mode_of_tool_search_is_told_with_the_number_of_deferred_tools_and_their_cost(person: Person) -> None:
    own = person.config / "tools"
    own.mkdir()
    (own / "loud.py").write_text("raise SystemExit('was run')\n")
    found = one("tool search")
    assert found.status == "ok"
    assert re.match(r"on: 5 tools are deferred; .* about [\d,]+ tokens \(built-in tools; ", found.saw)
    person.set("CALLGATE_TOOL_SEARCH", "off")
    assert one("tool search").saw.startswith("off: no tool is deferred")
    person.set("CALLGATE_TOOL_SEARCH", "perhaps")
    assert "CALLGATE_TOOL_SEARCH must be on, off, auto or auto:N" in one("settings").problem
