"""A session gives the sandbox in force to its tools, and commands that run in it need no question."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import get_ident
from typing import Any

import pytest

from callgate import Prompt, Session
from callgate.config import Config
from callgate.core.capabilities import SessionFacts, ToolFacts
from callgate.core.ports import Run, Tool
from callgate.host.sandbox.proven_sandbox import NONE_IN_FORCE, ProvenSandbox
from callgate.host.sandbox.sandbox import INDISPENSABLE, AttackOutcome, Backend, Proof
from callgate.policy import sandbox_proofs as sandboxing
from callgate.policy.well_known import StandIn
from callgate.testing import ScriptedModel, call, turn
from callgate.tools.builtin.bash import bash
from callgate.words.calls import Result
from callgate.words.events import CallProgressed, CallSettled, Event, Noted, QuestionAsked
from callgate.words.messages import Text
from tests.flows.gated import DONE, of
from tests.host.sandbox.kit import best
from tests.host.sandbox.proxy_kit import page, server

REFUSAL = "curl: (6) Could not resolve host: example.com"


class Shell(StandIn):
    """A shell that says where a command would run; one with curl in it fails inside."""

    def __init__(self) -> None:
        super().__init__("Bash")
        self.facts = ToolFacts(takes_sandbox=True)
        self.sandbox: ProvenSandbox | None = None
        self.ran: list[tuple[str, bool]] = []

    def bind(self, facts: SessionFacts) -> None:
        self.sandbox = facts.sandbox
        self.facts = ToolFacts(takes_sandbox=True, sandbox=self.sandbox)

    async def run(self, arguments: Mapping[str, Any], run: Run) -> Result:
        command = arguments["command"]
        inside = self.sandbox is not None and self.sandbox.takes(run.call_id, command)
        self.ran.append((command, inside))
        if inside and self.sandbox is not None and "curl" in command:
            self.sandbox.denied(command, REFUSAL, 6, ())
        return Result((Text("done"),))


@pytest.fixture
def config(tmp_path: Path) -> Config:
    base = Path(os.path.realpath(tmp_path))
    for name in ("work", "home"):
        (base / name).mkdir()
    return Config(base / "work", base / "home", base / "data")


def prove(config: Config, backend: Backend | None = None) -> None:
    """Puts a proof on record without trying anything."""
    held = Proof(backend or best(), tuple(AttackOutcome(name, "held") for name in INDISPENSABLE))
    kept = sandboxing.KeptProofs(1, sandboxing._key(), (held,))  # pyright: ignore[reportPrivateUsage]
    sandboxing.write_record(config.data / "sandbox" / "proof.json", sandboxing.to_json(kept))


def events_of(config: Config, shell: Tool, *messages: Sequence[str]) -> list[Event]:
    """One message of the model for each list of commands."""
    model = ScriptedModel(*(turn(*(call("Bash", command=each) for each in listed)) for listed in messages), DONE)

    async def main() -> list[Event]:
        async with Session(model, [shell], config=config) as session:
            found: list[Event] = []
            async for event in session.send(Prompt("go")):
                found.append(event)
                if isinstance(event, QuestionAsked):
                    break
            return found

    return asyncio.run(main())


@pytest.mark.spec("GATE-13")
def test_a_command_inside_runs_without_a_question(config: Config) -> None:
    prove(config)
    shell = Shell()
    events = events_of(config, shell, ["npm test", "make"])
    assert of(events, QuestionAsked) == []
    assert sorted(shell.ran) == [("make", True), ("npm test", True)]


@pytest.mark.spec("GATE-13")
def test_the_first_command_tests_the_sandbox_in_a_thread_and_nobody_is_asked(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    best()
    threads: list[int] = []
    test = sandboxing.Proofs.test

    def noted(proofs: sandboxing.Proofs) -> object:
        threads.append(get_ident())
        return test(proofs)

    monkeypatch.setattr(sandboxing.Proofs, "test", noted)
    shell = Shell()
    events = events_of(config, shell, ["npm test", "make"], ["npm run build"])
    assert of(events, QuestionAsked) == []
    assert [each.text for each in of(events, Noted)] == []
    assert sorted(shell.ran) == [("make", True), ("npm run build", True), ("npm test", True)]
    assert len(threads) == 1
    assert threads[0] != get_ident()
    assert (config.data / "sandbox" / "proof.json").exists()


@pytest.mark.spec("GATE-13")
def test_without_a_sandbox_the_first_command_says_so_once_and_commands_ask(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandboxing.Proofs, "test", lambda proofs: "bubblewrap: it is not installed")
    shell = Shell()
    assert of(events_of(config, shell), Noted) == []
    events = events_of(config, shell, ["ls", "ls -l"], ["npm test"])
    assert len(of(events, QuestionAsked)) == 1
    assert shell.ran == [("ls", False), ("ls -l", False)]
    assert [each.text for each in of(events, Noted)] == [f"{NONE_IN_FORCE} (bubblewrap: it is not installed)"]


@pytest.mark.spec("GATE-13")
def test_a_sandbox_that_is_disabled_is_neither_tested_nor_used(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandboxing.Proofs, "test", lambda proofs: pytest.fail("it is disabled"))
    without = replace(config, settings=replace(config.settings, sandbox_disabled=True))
    shell = Shell()
    events = events_of(without, shell, ["ls"], ["npm test"])
    assert (len(of(events, QuestionAsked)), of(events, Noted), shell.ran) == (1, [], [("ls", False)])


@pytest.mark.spec("GATE-13")
def test_a_command_that_was_refused_something_asks_the_next_time(config: Config) -> None:
    prove(config)
    shell = Shell()
    events = events_of(config, shell, ["curl example.com"], ["curl example.com"])
    (asked,) = of(events, QuestionAsked)
    assert "the sandbox blocked this command: network access to example.com" in (asked.question.reason or "")
    assert shell.ran == [("curl example.com", True)]


def test_a_tool_that_takes_no_sandbox_is_not_told_of_one(config: Config) -> None:
    events = events_of(config, Shell(), ["ls"])
    assert of(events, QuestionAsked) == []

    async def main() -> list[Event]:
        async with Session(ScriptedModel(DONE), [], config=config) as session:
            return [event async for event in session.send(Prompt("go"))]

    assert [each for each in of(asyncio.run(main()), Noted) if "sandbox" in each.text] == []


@pytest.mark.spec("BLT-2", "GATE-13")
def test_bash_works_inside_says_what_was_refused_and_asks_the_next_time(config: Config) -> None:
    prove(config)
    write = "python3 -c \"open('/etc/callgate-test', 'w')\""
    events = events_of(config, bash(), ["echo made > file && cat file; echo $TMPDIR"], [write], [write])
    worked, refused = [each.result for each in of(events, CallSettled)]
    assert worked.text.startswith("made\n")
    assert (config.root / "file").read_text() == "made\n"
    assert refused.is_error
    assert (
        "[Blocked by the sandbox: write access to /etc/callgate-test. If the command needs this, send" in refused.text
    )
    (asked,) = of(events, QuestionAsked)
    assert asked.question.by == "sandbox"
    assert "blocked this command: write access to /etc/callgate-test; python3 may run files" in asked.question.reason
    assert (
        "and file changed since the user last allowed this; answer yes to run it without the sandbox"
        in asked.question.reason
    )
    assert not Path("/etc/callgate-test").exists()
    assert sorted(os.listdir(config.root)) == ["file"]


FETCH = """python3 -c "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).status)" """


@pytest.mark.spec("BLT-2", "GATE-13")
def test_bash_reaches_allowed_hosts_without_a_question_and_a_refused_one_is_named_in_the_next(config: Config) -> None:
    prove(config)
    with server(page) as port, server(page) as other:
        allowing = replace(config, settings=replace(config.settings, sandbox_allow_hosts=(f"localhost:{port}",)))
        good, bad = (f"{FETCH} http://localhost:{each}/" for each in (port, other))
        events = events_of(allowing, bash(), [good], [bad], [bad])
    worked, refused = [each.result for each in of(events, CallSettled)]
    assert worked.text == "200"
    assert worked.details["hosts"] == [{"host": f"localhost:{port}", "allowed": True, "why": ""}]
    assert (
        f"[Blocked by the sandbox: network access to localhost:{other}. If the command needs this, send" in refused.text
    )
    assert [each["allowed"] for each in refused.details["hosts"]] == [False]
    said = "".join(each.text for each in of(events, CallProgressed))
    assert f"the sandbox blocks localhost:{other}: the host is not in sandbox.allow_hosts\n" in said
    (asked,) = of(events, QuestionAsked)
    assert f"blocked this command: network access to localhost:{other}; answer yes to run it" in asked.question.reason


@pytest.mark.spec("BLT-2")
def test_a_sandbox_without_a_network_of_its_own_says_that_no_host_is_reached(config: Config) -> None:
    prove(config, "landlock")
    events = events_of(
        replace(config, settings=replace(config.settings, sandbox_allow_hosts=("example.com",))), Shell(), ["ls"]
    )
    (note,) = [each.text for each in of(events, Noted)]
    assert "sandbox.allow_hosts has no effect" in note
