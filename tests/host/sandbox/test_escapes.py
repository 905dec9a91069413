"""Nothing gets out of a sandbox. Every attack is first shown to succeed without one, see callgate.host.sandbox."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from callgate.host.sandbox.attacks import ATTACKS
from callgate.host.sandbox.prover import prove, self_test, try_outside
from callgate.host.sandbox.proxy_connection import ProxyRules
from callgate.host.sandbox.sandbox import INDISPENSABLE, AttackOutcome, Backend, Proof
from tests.host.sandbox.attacks.program import ALL_ATTACKS
from tests.host.sandbox.kit import LINUX, NOBODY, PROVE, proof_as_nobody, sandbox_of, visible_folder
from tests.host.sandbox.wide_arena import WideArena
from tests.house.tree import PACKAGE, ROOT

# Attacks that need something a machine may lack: a system manager, services, disks, rights of the first user.
MAY_BE_ABSENT = frozenset(
    (
        "run_by_systemd",
        "reach_services",
        "read_disk",
        "make_disk",
        "write_over_root_of_first_process",
        "join_namespace",
        "mount_something",
        "change_root",
        "open_by_handle",
        "load_bpf",
        "write_kernel_setting",
        "make_control_group",
        "open_packets",
        "new_user_namespace",
        "new_mount_namespace",
        "new_namespace_by_clone",
        "new_namespace_by_clone3",
        "use_io_uring",
        "use_userfaultfd",
        "watch_performance",
        "keep_key",
        "type_into_terminal",
        "connect_tcp_by_address",
        "take_descriptor_of_victim",
        "trace_victim",
        "read_memory_of_victim",
        "read_victim_memory_by_call",
        "limit_victim",
        "share_memory",
        "tunnel_to_cloud_metadata",
    )
)


def report(backend: str, user: str, rows: Iterable[tuple[str, str, str]], note: Any) -> None:
    """Every attack held, or is named with the reason why it could not be tried; anything else fails."""
    found = {name: (outcome, why) for name, outcome, why in rows}
    assert found.keys() == ALL_ATTACKS.keys()
    for name, (outcome, why) in sorted(found.items()):
        if outcome == "untried":
            note("report", f"{backend} as {user}: {name} untried: {why}")
    escaped = {name: why for name, (outcome, why) in found.items() if outcome == "escaped"}
    assert not escaped, f"{backend} as {user} let through {escaped}"
    untried = {name for name, (outcome, _) in found.items() if outcome == "untried"}
    assert untried <= MAY_BE_ABSENT, f"these succeed on any machine without a sandbox: {untried - MAY_BE_ABSENT}"


@pytest.mark.slow
@pytest.mark.spec("BLT-2")
@pytest.mark.parametrize("backend", LINUX)
def test_a_callgate_that_lies_in_a_folder_that_is_empty_inside_is_proven_too(backend: Backend) -> None:
    with TemporaryDirectory(dir="/tmp") as place, visible_folder() as folder:
        sandbox_of(backend, folder)
        shutil.copytree(PACKAGE, Path(place, "callgate"), ignore=shutil.ignore_patterns("__pycache__"))
        told = subprocess.run(
            [sys.executable, "-c", PROVE, backend, str(folder)],
            env={**os.environ, "PYTHONPATH": place},
            check=True,
            capture_output=True,
        )
    assert json.loads(told.stdout)["fault"] == ""


@pytest.mark.slow
@pytest.mark.spec("BLT-2")
@pytest.mark.parametrize("backend", LINUX)
def test_no_attack_gets_out(backend: Backend, record_property: Any) -> None:
    with visible_folder() as folder:
        proof = prove(sandbox_of(backend, folder), folder, arenas=WideArena)
    assert not proof.fault
    assert proof.holds
    rows = [(each.name, each.outcome, each.why) for each in proof.outcomes]
    report(backend, "this user", rows, record_property)


@pytest.mark.slow
@pytest.mark.spec("BLT-2")
@pytest.mark.parametrize("backend", LINUX)
def test_no_attack_of_an_unprivileged_user_gets_out(backend: Backend, record_property: Any) -> None:
    with visible_folder(NOBODY) as folder:
        proof: Mapping[str, Any] = proof_as_nobody(backend, folder)
    assert not proof["fault"]
    assert proof["holds"]
    report(backend, "nobody", [(name, outcome, why) for name, outcome, why in proof["rows"]], record_property)


@pytest.mark.slow
@pytest.mark.spec("GATE-13")
@pytest.mark.parametrize("backend", LINUX)
def test_the_self_test_holds_for_this_user_and_for_an_unprivileged_one(backend: Backend) -> None:
    with visible_folder() as folder:
        found = self_test(sandbox_of(backend, folder / "own"), folder)
    assert found.holds, found.why_not
    with visible_folder(NOBODY) as folder:
        other = proof_as_nobody(backend, folder, "--self-test")
    assert other["holds"], other
    assert {name: outcome for name, outcome, _ in other["rows"]} == dict.fromkeys(ATTACKS, "held")


@pytest.mark.slow
@pytest.mark.spec("GATE-13")
@pytest.mark.parametrize("backend", LINUX)
def test_the_self_test_finds_a_sandbox_that_does_not_hold(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    with visible_folder() as folder:
        sandbox = sandbox_of(backend, folder)
        monkeypatch.setattr(sandbox, "wrap", lambda command, profile: command)
        found = self_test(sandbox, folder)
    assert not found.holds
    assert {each.name for each in found.escaped} >= INDISPENSABLE


@pytest.mark.slow
@pytest.mark.parametrize("backend", LINUX)
def test_the_message_bus_cannot_be_reached(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("dbus-daemon") is None:
        pytest.skip("there is no dbus-daemon on this machine")
    with visible_folder() as folder:
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={folder}/bus")
        words = [
            "dbus-daemon",
            "--session",
            "--nofork",
            "--nopidfile",
            "--print-address",
            f"--address=unix:path={folder}/bus",
        ]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as bus:
            assert bus.stdout is not None
            assert bus.stdout.readline().startswith(b"unix:path=")
            proof = prove(sandbox_of(backend, folder), folder, arenas=WideArena)
            bus.kill()
    assert [each.outcome for each in proof.outcomes if each.name == "reach_services"] == ["held"]


class LaxArena(WideArena):
    def rules(self, hosts: Sequence[str]) -> ProxyRules:
        return replace(super().rules(hosts), allows=lambda host: True, refuses=lambda address, host: False)


class ClosedArena(WideArena):
    def rules(self, hosts: Sequence[str]) -> ProxyRules:
        return super().rules(())


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["bubblewrap", "namespaces"])
def test_a_proxy_that_lets_everything_through_is_found_out(backend: Backend) -> None:
    with visible_folder() as folder:
        proof = prove(sandbox_of(backend, folder), folder, arenas=LaxArena)
    assert {
        "tunnel_to_host_not_allowed",
        "tunnel_to_address",
        "tunnel_to_name_of_own_machine",
        "fetch_from_host_not_allowed",
        "carry_secret_in_looked_up_name",
    } <= {each.name for each in proof.escaped}


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["bubblewrap", "namespaces"])
def test_a_proxy_that_lets_nothing_through_proves_nothing(backend: Backend) -> None:
    with visible_folder() as folder:
        proof = prove(sandbox_of(backend, folder), folder, arenas=ClosedArena)
    assert proof.fault == "a command in the sandbox cannot reach an allowed host"


@pytest.mark.slow
def test_every_attack_that_must_be_held_succeeds_without_a_sandbox() -> None:
    with visible_folder() as folder:
        outside = try_outside(folder, arenas=WideArena)
    reports, succeeded = outside
    assert reports.keys() == ALL_ATTACKS.keys()
    assert ALL_ATTACKS.keys() - succeeded <= MAY_BE_ABSENT
    assert not MAY_BE_ABSENT & INDISPENSABLE


def test_the_attacks_of_the_product_are_in_the_guide() -> None:
    guide = (ROOT / "docs" / "guides" / "sandbox.md").read_text("utf-8")
    assert ATTACKS.keys() >= INDISPENSABLE
    missing = [name for name in ATTACKS if f"`{name}`" not in guide]
    assert not missing, f"docs/guides/sandbox.md lacks {', '.join(missing)}"


def outcomes(**other: str) -> tuple[AttackOutcome, ...]:
    found = {**dict.fromkeys(INDISPENSABLE, "held"), **other}
    return tuple(AttackOutcome(name, outcome) for name, outcome in found.items())  # pyright: ignore[reportArgumentType]


def test_a_proof_holds_if_nothing_escaped_and_what_counts_was_tried() -> None:
    assert Proof("bubblewrap", outcomes()).holds
    assert Proof("bubblewrap", outcomes(read_disk="untried")).holds
    escaped = Proof("bubblewrap", outcomes(read_disk="escaped"))
    assert not escaped.holds
    assert escaped.why_not == "1 escape tests succeeded: read_disk"
    untried = Proof("bubblewrap", outcomes(write_outside="untried"))
    assert not untried.holds
    assert untried.why_not == "escape tests not run: write_outside"
    assert not Proof("bubblewrap").holds
    assert not Proof("bubblewrap", outcomes(), fault="it could not be tried").holds
