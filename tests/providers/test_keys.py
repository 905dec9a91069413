"""Keys of providers: where they are found, how they are kept, and that nothing shows them."""

import os
import stat
import sys
from pathlib import Path

import pytest

from callgate.policy.protected import danger, protected_names
from callgate.policy.sandbox_policy import profile_for
from callgate.providers.keys import FILE, FoundKey, KeyStore, find_key
from callgate.words.errors import UsageError
from callgate.words.resolved_path import ResolvedPath
from tests.rows import rows

KEY = "sk-test-0123456789abcdef"


class MemoryKeyring:
    """A keyring of a test."""

    def __init__(self, *, broken: bool = False) -> None:
        self.kept: dict[tuple[str, str], str] = {}
        self.broken = broken

    def get_password(self, service: str, username: str) -> str | None:
        self._fail()
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self._fail()
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        self._fail()
        del self.kept[service, username]

    def _fail(self) -> None:
        if self.broken:
            raise RuntimeError("the keyring is locked")


def store(folder: Path | None, keyring: MemoryKeyring | None = None) -> KeyStore:
    return KeyStore(folder, lambda: keyring)


def test_a_stored_key_is_in_a_file_for_its_owner_alone(tmp_path: Path) -> None:
    kept = store(tmp_path / "data")
    assert kept.find("anthropic") is None
    assert kept.store("anthropic", f" {KEY}\n") == str(tmp_path / "data" / FILE)
    file = tmp_path / "data" / FILE
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert store(tmp_path / "data").find("anthropic") == FoundKey(KEY, "file")
    assert os.listdir(file.parent) == [FILE], "no draft is left behind"
    kept.store("openai", "other-key")
    assert kept.names() == ("anthropic", "openai")
    assert kept.remove("anthropic")
    assert not kept.remove("anthropic")
    assert kept.names() == ("openai",)


@pytest.mark.spec("CLI-3")
def test_a_keyring_comes_first_and_the_file_then_holds_no_key(tmp_path: Path) -> None:
    ring = MemoryKeyring()
    kept = store(tmp_path, ring)
    assert kept.store("anthropic", KEY) == "keyring"
    assert KEY not in (tmp_path / FILE).read_text()
    assert kept.find("anthropic") == FoundKey(KEY, "keyring")
    assert kept.names() == ("anthropic",)
    assert kept.remove("anthropic")
    assert (ring.kept, kept.find("anthropic")) == ({}, None)


def test_a_keyring_that_fails_is_as_good_as_none(tmp_path: Path) -> None:
    ring = MemoryKeyring(broken=True)
    kept = store(tmp_path, ring)
    assert kept.store("anthropic", KEY) == str(tmp_path / FILE)
    assert kept.find("anthropic") == FoundKey(KEY, "file")
    ring.broken = False
    kept.store("openai", KEY)
    ring.broken = True
    assert kept.find("openai") is None
    assert kept.remove("openai")


def test_a_key_moves_with_its_last_place(tmp_path: Path) -> None:
    store(tmp_path).store("anthropic", KEY)
    ring = MemoryKeyring()
    store(tmp_path, ring).store("anthropic", "sk-new-key")
    assert KEY not in (tmp_path / FILE).read_text()
    assert store(tmp_path, ring).find("anthropic") == FoundKey("sk-new-key", "keyring")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o622])
def test_a_file_that_others_can_reach_is_refused(tmp_path: Path, mode: int) -> None:
    store(tmp_path).store("anthropic", KEY)
    (tmp_path / FILE).chmod(mode)
    with pytest.raises(UsageError, match=r"others can read .* chmod 600") as refused:
        store(tmp_path).find("anthropic")
    assert KEY not in str(refused.value)


def test_a_link_or_a_damaged_file_is_refused(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("{}")
    (tmp_path / FILE).symlink_to(elsewhere)
    with pytest.raises(UsageError, match="cannot be read"):
        store(tmp_path).names()
    (tmp_path / FILE).unlink()
    for text in ("", "[]", "{}", '{"keys": 5, "keyring": []}', "x" * 50):
        (tmp_path / FILE).write_text(text)
        (tmp_path / FILE).chmod(0o600)
        with pytest.raises(UsageError, match="is damaged"):
            store(tmp_path).names()


def test_without_a_folder_nothing_is_stored() -> None:
    kept = store(None)
    assert (kept.names(), kept.find("x")) == ((), None)
    with pytest.raises(UsageError, match="CALLGATE_DATA_DIR"):
        kept.store("x", KEY)


def test_the_environment_comes_before_a_command_and_that_before_the_store(tmp_path: Path) -> None:
    kept = store(tmp_path)
    kept.store("anthropic", "sk-of-the-file")
    command = f"{sys.executable} -c \"import os; print('sk-of-' + os.environ['WHO'])\""
    environ = {"WHO": "command", "SECOND": KEY, "FIRST": " "}

    def found(variables: tuple[str, ...], line: str | None) -> FoundKey | None:
        return find_key("anthropic", variables, line, kept, environ)

    assert found(("FIRST", "SECOND"), command) == FoundKey(KEY, "SECOND")
    assert found(("FIRST",), command) == FoundKey("sk-of-command", "key_command")
    assert found(("FIRST",), None) == FoundKey("sk-of-the-file", "file")
    assert find_key("openai", (), None, kept, environ) is None


@rows(
    ("command", "told"),
    [
        (f"{sys.executable} -c \"import sys; print('{KEY}'); sys.exit(3)\"", "failed with exit status 3"),
        ("/no/such/program", "cannot be run"),
        ("'", "cannot be run"),
        (f"{sys.executable} -c \"print('{KEY} and more')\"", "holds no valid key"),
        (f'{sys.executable} -c ""', "holds no valid key"),
    ],
)
def test_a_command_that_gives_no_key_is_told_without_its_output(command: str, told: str) -> None:
    with pytest.raises(UsageError) as refused:
        find_key("work", (), command, store(None), dict(os.environ))
    assert str(refused.value).startswith("key_command of work")
    assert told in str(refused.value)
    assert KEY not in str(refused.value)


def test_a_command_never_means_a_program_of_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    for folder, key in ((home, "sk-of-the-person"), (work, "sk-of-the-repository")):
        folder.mkdir()
        (folder / "key.sh").write_text(f"#!/bin/sh\necho {key}\n")
        (folder / "key.sh").chmod(0o755)
    monkeypatch.chdir(work)
    found = find_key("work", (), "./key.sh", store(None), {**os.environ, "HOME": str(home)})
    assert found == FoundKey("sk-of-the-person", "key_command")


@rows("text", ["", "two words", "sk-\x00", "sk-\nx", "schlüssel-ü", "x" * 9000])
def test_what_can_be_no_key_is_refused_without_repeating_it(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        store(None).store("x", text)
    assert "no valid key" in str(refused.value)
    assert not text or text not in str(refused.value)


def test_a_key_hides_in_its_representation() -> None:
    key = FoundKey(KEY, "file")
    assert KEY not in repr(key)
    assert KEY not in f"{key} {[key]}"
    assert key.end == "…cdef"
    assert FoundKey("short-key", "file").end == "…"


def test_the_gate_and_the_sandbox_keep_the_file_from_models(tmp_path: Path) -> None:
    assert FILE in protected_names(secret=True)
    path = f"/data/anywhere/{FILE}"
    place = ResolvedPath(path, (path,), path, inside=False)
    assert danger(place, "read", root="/work", home="/home/me") is not None
    (tmp_path / "work").mkdir()
    (tmp_path / FILE).write_text("{}")
    profile = profile_for(str(tmp_path / "work"), "/home/me", private=str(tmp_path / "sandbox"), scratch="/tmp")
    assert str(tmp_path / FILE) in profile.unreadable
