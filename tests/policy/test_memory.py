"""Remembered answers: kept, listed, narrowed, given an end, revoked; and what becomes of damage."""

import importlib.util
import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from callgate.policy import json_store
from callgate.policy.json_store import write_record
from callgate.policy.memory import Memory, Remembered
from callgate.policy.rules import why_not_narrower
from callgate.words.decisions import ApprovalPolicy, Effect, Origin, Pattern, Scope
from callgate.words.errors import UsageError
from tests.rows import rows

PREFIX = Pattern("prefix", "git log", "command")


class Moment:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Moment:
    return Moment()


@pytest.fixture
def memory(tmp_path: Path, clock: Moment) -> Memory:
    return Memory(tmp_path / "data", tmp_path / "root", clock=clock)


def policy(
    scope: Scope = "user", tool: str = "Bash", effect: Effect = "allow", pattern: Pattern | None = PREFIX
) -> ApprovalPolicy:
    return ApprovalPolicy(
        effect=effect, tool=tool, pattern=pattern, scope=scope, created_at=900.0, origin="terminal", note="fine"
    )


def files(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "data" / "policies").glob("*.json"))


def only_file(tmp_path: Path) -> Path:
    (file,) = files(tmp_path)
    return file


# ---- remembering --------------------------------------------------------------------------------------------------


@pytest.mark.spec("GATE-2")
def test_answers_are_kept_for_the_person_and_for_the_project(tmp_path: Path, memory: Memory) -> None:
    project, user = memory.add(policy("project")), memory.add(policy("user"))
    assert project == Remembered(project.id, policy("project"), "project")
    assert len({project.id, user.id}) == 2
    assert memory.policies() == (user, project)
    assert memory.in_force() == (user.policy, project.policy)
    elsewhere = Memory(tmp_path / "data", tmp_path / "other")
    assert elsewhere.policies() == (user,)
    assert Memory(tmp_path / "data", tmp_path / "root").policies() == (user, project)


def test_nothing_is_remembered_at_first_and_looking_writes_nothing(tmp_path: Path, memory: Memory) -> None:
    assert (memory.policies(), memory.in_force(), memory.faults()) == ((), (), ())
    assert not (tmp_path / "data").exists()


def test_a_project_is_known_by_where_it_really_is(tmp_path: Path, memory: Memory) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "link").symlink_to("root")
    added = memory.add(policy("project"))
    assert Memory(tmp_path / "data", tmp_path / "link").policies() == (added,)


def test_nothing_is_ever_written_into_the_repository(tmp_path: Path, memory: Memory) -> None:
    (tmp_path / "root").mkdir()
    memory.add(policy("project"))
    assert list((tmp_path / "root").iterdir()) == []


def test_an_answer_for_a_session_is_not_kept(tmp_path: Path, memory: Memory) -> None:
    with pytest.raises(UsageError, match="choose project or user"):
        memory.add(policy("session"))
    assert not (tmp_path / "data").exists()


def test_the_same_answer_again_replaces_the_first_and_keeps_its_id(memory: Memory, clock: Moment) -> None:
    first = memory.add(policy())
    other = memory.add(policy(tool="Edit"))
    again = memory.add(
        ApprovalPolicy(effect="allow", tool="Bash", pattern=PREFIX, scope="user", created_at=950.0, expires_at=2_000.0)
    )
    assert again.id == first.id
    assert memory.policies() == (other, again)
    assert memory.add(policy(effect="deny")).id != first.id
    assert memory.add(policy(pattern=None)).id != first.id
    assert len(memory.policies()) == 4


@pytest.mark.parametrize("at", [float("nan"), float("inf")], ids=["nan", "inf"])
def test_a_moment_that_never_comes_is_refused(memory: Memory, at: float) -> None:
    with pytest.raises(UsageError, match="must be times"):
        memory.add(
            ApprovalPolicy(effect="allow", tool="Bash", pattern=None, scope="user", created_at=1.0, expires_at=at)
        )
    with pytest.raises(UsageError, match="must be times"):
        memory.add(ApprovalPolicy(effect="allow", tool="Bash", pattern=None, scope="user", created_at=at))
    added = memory.add(policy())
    with pytest.raises(UsageError, match="must be times"):
        memory.replace(added.id, replace(added.policy, expires_at=at))


def test_only_their_owner_may_read_the_files(tmp_path: Path, memory: Memory) -> None:
    before = os.umask(0)
    try:
        memory.add(policy())
    finally:
        os.umask(before)
    for path in (tmp_path / "data" / "policies").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    assert stat.S_IMODE((tmp_path / "data" / "policies").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700


def test_the_file_is_replaced_as_a_whole(tmp_path: Path, memory: Memory) -> None:
    memory.add(policy())
    with open(only_file(tmp_path), "rb") as old:
        before = old.read()
        memory.add(policy(tool="Edit"))
        old.seek(0)
        assert old.read() == before
    assert [path.name for path in only_file(tmp_path).parent.iterdir() if path.suffix == ".tmp"] == []


def test_two_programs_that_add_at_once_lose_nothing(tmp_path: Path) -> None:
    program = """
import sys
from dataclasses import replace
from pathlib import Path
from callgate.policy.memory import Memory
from callgate.words.decisions import ApprovalPolicy
memory = Memory(Path(sys.argv[1]), Path(sys.argv[1]))
sys.stdin.readline()
for index in range(20):
    memory.add(ApprovalPolicy("allow", f"T{sys.argv[2]}-{index}", None, "user"))
"""
    running = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path), name], stdin=subprocess.PIPE) for name in "ab"
    ]
    for each in running:
        assert each.stdin is not None
        each.stdin.write(b"go\n")
        each.stdin.close()
    assert [each.wait() for each in running] == [0, 0]
    assert len(Memory(tmp_path, tmp_path).policies()) == 40


# ---- changing -----------------------------------------------------------------------------------------------------


@pytest.mark.spec("GATE-2")
def test_an_answer_can_be_revoked(memory: Memory) -> None:
    first, second = memory.add(policy()), memory.add(policy("project"))
    assert memory.revoke(second.id) == second
    assert memory.policies() == (first,)
    with pytest.raises(UsageError, match=f"no remembered answer has the id '{second.id}'; known ids: {first.id}"):
        memory.revoke(second.id)
    memory.revoke(first.id)
    with pytest.raises(UsageError, match="known ids: none"):
        memory.revoke(first.id)


@pytest.mark.spec("GATE-2")
def test_an_answer_can_be_given_an_end_and_is_then_seen_but_not_applied(memory: Memory, clock: Moment) -> None:
    added = memory.add(policy())

    def expiring(at: float) -> Remembered:
        return memory.replace(added.id, replace(added.policy, expires_at=at))

    ending = expiring(2_000.0)
    assert (ending.id, ending.policy.expires_at, ending.expired) == (added.id, 2_000.0, False)
    clock.now = 1_999.9
    assert len(memory.in_force()) == 1
    clock.now = 2_000.0
    assert memory.in_force() == ()
    assert [each.expired for each in memory.policies()] == [True]
    assert expiring(1.0).expired
    assert not expiring(3_000.0).expired
    assert len(memory.in_force()) == 1


def test_an_answer_that_is_over_when_it_is_added_is_marked_so(memory: Memory) -> None:
    assert memory.add(
        ApprovalPolicy(effect="allow", tool="Bash", pattern=None, scope="user", created_at=1.0, expires_at=1_000.0)
    ).expired
    assert not memory.add(
        ApprovalPolicy(effect="allow", tool="Edit", pattern=None, scope="user", created_at=1.0, expires_at=1_000.1)
    ).expired


@pytest.mark.spec("GATE-2")
def test_an_answer_can_be_narrowed_and_keeps_its_id_and_place(memory: Memory) -> None:
    added, other = memory.add(policy()), memory.add(policy(tool="Edit"))
    narrower = Pattern("prefix", "git  log --oneline", "command")
    found = memory.replace(added.id, replace(added.policy, pattern=narrower))
    assert found == Remembered(
        added.id,
        ApprovalPolicy(
            effect="allow",
            tool="Bash",
            pattern=narrower,
            scope="user",
            created_at=900.0,
            expires_at=None,
            origin="terminal",
            note="fine",
        ),
        "user",
    )
    assert memory.policies() == (found, other)


@rows(
    ("old", "new", "why"),
    [
        (None, PREFIX, ""),
        (PREFIX, Pattern("rule", "git log --stat:*"), ""),
        (PREFIX, Pattern("prefix", "git log x", "command"), ""),
        (PREFIX, PREFIX, "it still covers 'git log'"),
        (
            PREFIX,
            Pattern("prefix", "git status", "command"),
            "it would cover 'git status', which the answer does not cover",
        ),
        (PREFIX, None, "it applies to every call"),
        (Pattern("exact", "ab"), PREFIX, "it already covers only one call"),
    ],
)
def test_what_is_plainly_not_narrower_is_refused(old: Pattern | None, new: Pattern | None, why: str) -> None:
    assert (why_not_narrower(policy(pattern=old), policy(pattern=new), root="/w", home="/h") or "") == why


# ---- damage -------------------------------------------------------------------------------------------------------


def changed(change: Callable[[dict], object]) -> Callable[[bytes], bytes]:
    def apply(data: bytes) -> bytes:
        value = json.loads(data)
        change(value)
        return json.dumps(value).encode()

    return apply


def set_in_policy(name: str, value: object) -> Callable[[bytes], bytes]:
    return changed(lambda kept: kept["policies"][0]["policy"].update({name: value}))


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda data: data[:-5],
    "empty": lambda data: b"",
    "bytes": lambda data: b"\xff" + data,
    "deep": lambda data: b"[" * 100_000,
    "list": lambda data: b"[]",
    "null": lambda data: b"null",
    "digits": lambda data: b"1" * 5_000,
    "nan": lambda data: data.replace(b"900.0", b"NaN"),
    "endless": lambda data: data.replace(b'"expires_at": null', b'"expires_at": 1e999'),
    "version": changed(lambda kept: kept.update(version=2)),
    "version-text": changed(lambda kept: kept.update(version="1")),
    "root": changed(lambda kept: kept.update(root="/elsewhere")),
    "effect": set_in_policy("effect", "grant"),
    "scope": set_in_policy("scope", "user"),
    "session": set_in_policy("scope", "session"),
    "tool": set_in_policy("tool", 1),
    "pattern": set_in_policy("pattern", "x"),
    "kind": set_in_policy("pattern", {"kind": "regex", "value": ".*"}),
    "expires": set_in_policy("expires_at", "never"),
    "entry": changed(lambda kept: kept.update(policies=["x"])),
    "id": changed(lambda kept: kept["policies"][0].pop("id")),
}


@pytest.mark.spec("GATE-2", "GATE-3")
@pytest.mark.parametrize("name", list(DAMAGE))
def test_a_damaged_file_allows_nothing_and_closes_the_gate(tmp_path: Path, memory: Memory, name: str) -> None:
    memory.add(policy("project"))
    file = only_file(tmp_path)
    kept = memory.add(policy("user"))
    file.write_bytes(DAMAGE[name](file.read_bytes()))
    data = file.read_bytes()
    assert memory.policies() == (kept,)
    (fault,) = memory.faults()
    assert fault.origin == Origin("remembered", str(file))
    assert fault.text.startswith("these remembered answers cannot be used: the file ")
    assert fault.text.endswith("Fix or remove the file")
    with pytest.raises(UsageError, match="fix or remove the file"):
        memory.add(policy("project", tool="Edit"))
    assert file.read_bytes() == data


def test_a_file_that_leads_elsewhere_or_is_none_is_damage(tmp_path: Path, memory: Memory) -> None:
    memory.add(policy())
    file = only_file(tmp_path)
    real = file.rename(tmp_path / "real.json")
    file.symlink_to(real)
    assert "cannot be read" in memory.faults()[0].text
    file.unlink()
    os.mkfifo(file)
    assert "is not a regular file" in memory.faults()[0].text
    file.unlink()
    file.mkdir()
    assert len(memory.faults()) == 1


def test_a_file_that_anybody_may_write_is_damage(tmp_path: Path, memory: Memory) -> None:
    memory.add(policy())
    only_file(tmp_path).chmod(0o606)
    assert "can be written by any user" in memory.faults()[0].text


def test_a_file_that_is_too_large_is_damage(tmp_path: Path, memory: Memory) -> None:
    memory.add(policy())
    with open(only_file(tmp_path), "ab") as file:
        file.write(b" " * (16 * 1024 * 1024 - file.tell()))
        file.flush()
        assert memory.faults() == ()
        file.write(b" ")
    assert "is too large" in memory.faults()[0].text


def test_where_nothing_can_be_written_it_is_said(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    with pytest.raises(UsageError, match="cannot be opened"):
        Memory(tmp_path / "data", tmp_path).add(policy())


def test_a_file_that_cannot_be_replaced_leaves_no_draft(tmp_path: Path, memory: Memory) -> None:
    folder = tmp_path / "data" / "policies"
    (folder / "user.json" / "in the way").mkdir(parents=True)
    with pytest.raises(UsageError, match="cannot be written"):
        write_record(folder / "user.json", {})
    assert [path.name for path in folder.iterdir()] == ["user.json"]


def test_a_system_without_locks_does_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fcntl", None)
    spec = importlib.util.spec_from_file_location("records_without_locks", json_store.__file__)
    assert spec is not None
    assert spec.loader is not None
    alone = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(alone)
    with alone.one_at_a_time(tmp_path / "x.json"):
        alone.write_record(tmp_path / "x.json", {"a": 1})
    assert json.loads((tmp_path / "x.json").read_text()) == {"a": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]
