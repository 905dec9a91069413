"""The sandbox's profile comes from the table of protected places, and a proof counts only for what it was made on."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from callgate.host.sandbox import prover
from callgate.host.sandbox.sandbox import INDISPENSABLE, AttackOutcome, Proof, Sandbox, SandboxRefused, missing
from callgate.policy import sandbox_proofs as sandboxing
from callgate.policy.entries import RuleLine
from callgate.policy.protected import held_names
from callgate.policy.rule_contents import PathContent
from callgate.policy.rules import Rulebook
from callgate.policy.sandbox_policy import profile_for, survey_of
from callgate.policy.sandbox_proofs import KeptProofs, Proofs
from callgate.words.decisions import Origin
from tests.host.sandbox.kit import best

HELD = Proof("bubblewrap", tuple(AttackOutcome(name, "held") for name in INDISPENSABLE))


@pytest.fixture
def places(tmp_path: Path) -> tuple[str, str]:
    """A workspace and a home folder."""
    base = Path(os.path.realpath(tmp_path))
    for name in ("home/.ssh", "home/app/src", "home/app/.github/workflows", "home/app/vendor/lib/.git/hooks"):
        (base / name).mkdir(parents=True)
    for name in ("home/.netrc", "home/app/.npmrc", "home/app/Jenkinsfile", "home/app/id_rsa", "home/app/src/main.py"):
        (base / name).write_text("x")
    return str(base / "home/app"), str(base / "home")


@pytest.mark.spec("BLT-2")
def test_settings_and_records_of_repositories_are_read_only_and_secrets_out_of_sight(places: tuple[str, str]) -> None:
    root, home = places
    profile = profile_for(root, home)
    assert profile.root == root
    kept = {path.removeprefix(f"{root}/") for path in profile.read_only}
    assert kept == {".github", ".npmrc", "Jenkinsfile", "vendor/lib/.git"}
    assert {f"{root}/{name}" for name in held_names()} == {*profile.reserved}
    assert {f"{home}/.ssh", f"{home}/.netrc", f"{root}/id_rsa"} <= {*profile.unreadable}
    assert not any(path.startswith(f"{root}/src") for path in (*profile.read_only, *profile.unreadable))


def test_a_secret_behind_a_link_is_hidden_where_it_really_is(places: tuple[str, str]) -> None:
    root, home = places
    os.makedirs(f"{home}/dotfiles/aws")
    os.symlink("dotfiles/aws", f"{home}/.aws")
    assert f"{home}/dotfiles/aws" in profile_for(root, home).unreadable


def test_the_python_that_runs_callgate_and_the_sandbox_s_own_folder_are_out_of_reach(
    places: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    root, home = places
    for name in (f"{root}/.venv/bin", f"{home}/data/sandbox"):
        os.makedirs(name)
    monkeypatch.setattr("sys.prefix", f"{root}/.venv")
    profile = profile_for(root, home, private=f"{home}/data/sandbox")
    assert f"{root}/.venv" in profile.read_only
    assert f"{home}/data/sandbox" in profile.unreadable


@pytest.mark.spec("BLT-2")
def test_what_a_rule_denies_by_its_path_is_denied_to_commands_too(places: tuple[str, str]) -> None:
    root, home = places
    for name in ("secrets/deep", "gen", "src/sub"):
        os.makedirs(f"{root}/{name}", exist_ok=True)
    for name in (".env", "src/.env", "src/sub/.env", "secrets/deep/key.txt", "gen/out.py"):
        Path(root, name).write_text("x")
    texts = ("Read(.env)", "Read(/secrets/**)", "Edit(/gen/**)", "Bash(rm:*)", "Write(path=x)")
    lines = [RuleLine("deny", text, Origin("user")) for text in texts]
    book = Rulebook.of(lines, root=root, home=home)
    denies = [rule.content for rule in book.denies if isinstance(rule.content, PathContent)]
    profile = profile_for(root, home, survey=survey_of(root, denies=denies))
    hidden = {path.removeprefix(f"{root}/") for path in profile.unreadable if path.startswith(f"{root}/")}
    assert {".env", "src/.env", "src/sub/.env", "secrets"} <= hidden
    assert not hidden & {"src", "gen", "src/main.py", "src/sub"}
    assert f"{root}/gen" in profile.read_only
    assert f"{root}/src" not in profile.read_only


@pytest.mark.spec("BLT-2")
def test_files_with_passwords_are_hidden_wherever_they_are_unless_a_rule_names_them(places: tuple[str, str]) -> None:
    root, home = places
    names = (".env", "src/.env.local", "src/.env.example", "certs/server.key", "certs/server.pem", "a/.aws/credentials")
    for name in names:
        Path(root, name).parent.mkdir(parents=True, exist_ok=True)
        Path(root, name).write_text("x")

    def hidden(*rules: str) -> set[str]:
        book = Rulebook.of([RuleLine("allow", text, Origin("user")) for text in rules], root=root, home=home)
        allows = [rule.content for rule in book.allows if isinstance(rule.content, PathContent)]
        profile = profile_for(root, home, survey=survey_of(root, allows=allows))
        return {path.removeprefix(f"{root}/") for path in profile.unreadable if path.startswith(f"{root}/")}

    every = {".env", "src/.env.local", "certs/server.key", "a/.aws", "id_rsa"}
    assert hidden() - {"a/.aws/credentials"} == every
    assert hidden("Read", "Read(**)", "Read(certs/**)") == hidden()
    assert hidden("Read(.env)") == hidden() - {".env"}
    assert hidden("Read(/certs/*.key)") == hidden() - {"certs/server.key"}


def test_a_workspace_that_holds_the_home_folder_is_refused(places: tuple[str, str]) -> None:
    _, home = places
    for root in (home, os.path.dirname(home)):
        with pytest.raises(SandboxRefused, match="start Callgate in a project folder"):
            profile_for(root, home)


def keep(data: Path, proofs: tuple[Proof, ...], **other: object) -> Path:
    """As ``prove`` does it, without trying anything."""
    store = Proofs(data)
    file = data / "sandbox" / "proof.json"
    made = KeptProofs(1, sandboxing._key(), proofs)  # pyright: ignore[reportPrivateUsage]
    sandboxing.write_record(file, {**sandboxing.to_json(made), **other})
    assert store.kept() is not None or other
    return file


def test_a_proof_counts_until_something_changes_that_it_depends_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = Path(os.path.realpath(tmp_path))
    assert Proofs(data).kept() is None
    file = keep(data, (HELD,))
    assert file.stat().st_mode & 0o777 == 0o600
    assert Proofs(data).kept() == (HELD,)
    if missing("bubblewrap") is None:
        monkeypatch.setattr(prover, "self_test", lambda *_: pytest.fail("the proof is stored"))
        sandbox = Proofs(data).test()
        assert isinstance(sandbox, Sandbox)
        assert sandbox.backend == "bubblewrap"
    boot = tmp_path / "boot_id"
    boot.write_text("another start of the machine")
    monkeypatch.setattr(sandboxing, "_BOOT", boot)
    assert Proofs(data).kept() is None


def test_a_proof_that_is_damaged_or_that_others_can_write_does_not_count(tmp_path: Path) -> None:
    data = Path(os.path.realpath(tmp_path))
    file = keep(data, (HELD,))
    file.chmod(0o666)
    assert Proofs(data).kept() is None
    file.chmod(0o600)
    assert Proofs(data).kept() == (HELD,)
    file.write_text("{")
    assert Proofs(data).kept() is None
    keep(data, (HELD,), key="another")
    assert Proofs(data).kept() is None


ESCAPED = Proof("bubblewrap", (AttackOutcome("x", "escaped"),))


@pytest.mark.spec("GATE-13")
def test_the_self_test_tries_the_kinds_in_order_and_says_why_none_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, tried = Path(os.path.realpath(tmp_path)), list[str]()

    def fails(sandbox: Sandbox, folder: Path) -> Proof:
        tried.append(sandbox.backend)
        return Proof(sandbox.backend, fault="not here")

    monkeypatch.setattr(prover, "self_test", fails)
    monkeypatch.setattr(sandboxing, "missing", lambda backend: f"not {backend}" if backend == "seatbelt" else None)
    monkeypatch.setattr("callgate.host.sandbox.sandbox.missing", lambda backend: None)
    keep(data, (ESCAPED,))
    assert Proofs(data).test() == (
        "bubblewrap: 1 escape tests succeeded: x; namespaces: not here; landlock: not here; seatbelt: not seatbelt"
    )
    assert tried == ["namespaces", "landlock"]  # the long proof found a gap in the first kind
    assert Proofs(data).kept() == (ESCAPED,)
    monkeypatch.setattr(prover, "self_test", lambda sandbox, folder: replace(HELD, backend=sandbox.backend))
    found = Proofs(data).test()
    assert isinstance(found, Sandbox)
    assert (found.backend, Proofs(data).kept()) == ("namespaces", (ESCAPED, replace(HELD, backend="namespaces")))


@pytest.mark.spec("GATE-13")
def test_without_a_place_to_write_the_self_test_runs_in_a_temporary_folder(tmp_path: Path) -> None:
    best()
    for data in (Path("/proc/callgate"), tmp_path / "file" / "data"):
        (tmp_path / "file").touch()
        proofs = Proofs(data)
        assert isinstance(proofs.test(), Sandbox)
        assert proofs.kept() is None
        folder = proofs.folder()
        assert folder.is_dir()
        del proofs
        assert not folder.exists()


@pytest.mark.spec("GATE-13")
def test_sessions_that_test_at_the_same_time_do_not_disturb_each_other(tmp_path: Path) -> None:
    data, backend = Path(os.path.realpath(tmp_path)), best()
    with ThreadPoolExecutor(6) as pool:
        found = [*pool.map(lambda _: Proofs(data).test(), range(6))]
    assert [each.backend for each in found if isinstance(each, Sandbox)] == [backend] * 6
    assert not [name for name in os.listdir(data / "sandbox") if name.startswith("arena")]


@pytest.mark.slow
def test_proving_keeps_the_outcome(tmp_path: Path) -> None:
    proofs = Proofs(Path(os.path.realpath(tmp_path)))
    found = proofs.prove()
    assert proofs.kept() == found
    assert json.loads((tmp_path / "sandbox" / "proof.json").read_text())["proofs"][0]["backend"] == "bubblewrap"
    assert isinstance(proofs.test(), Sandbox) == any(each.holds for each in found)
    assert not [name for name in os.listdir(tmp_path / "sandbox") if name.startswith("arena")]
