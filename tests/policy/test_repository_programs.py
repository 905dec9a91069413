"""Git is asked which programs of a repository it runs when it changes something (GATE-18)."""

import os
import subprocess
from pathlib import Path

import pytest

from callgate.policy.placement import program_of_repository
from tests.rows import rows

PROGRAMS = [
    *("core.hooksPath", "core.fsmonitor", "core.sshCommand", "core.editor", "core.pager", "core.askPass"),
    *("core.gitProxy", "core.alternateRefsCommand", "alias.st", "pager.log", "include.path", "sequence.editor"),
    *("gpg.program", "gpg.ssh.program", "gpg.x509.program", "gpg.ssh.defaultKeyCommand", "interactive.diffFilter"),
    *("gc.recentObjectsHook", "uploadpack.packObjectsHook", "credential.helper", "credential.https://x.helper"),
    *("diff.external", "diff.own.command", "diff.own.textconv", "merge.own.driver", "filter.own.clean"),
    *("filter.own.smudge", "filter.own.process", "trailer.sign.cmd", "trailer.sign.command", "submodule.x.update"),
    *("remote.origin.vcs", "remote.origin.uploadpack", "remote.origin.receivepack", "protocol.ext.allow"),
    *("difftool.x.cmd", "mergetool.x.path", "sendemail.smtpServer", "sendemail.toCmd", "hook.x.command"),
]


def git(root: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=root, check=True, env={**os.environ, "HOME": str(root)})


@pytest.mark.spec("GATE-18")
@rows("key", PROGRAMS)
def test_a_setting_that_names_a_program_is_found(key: str, tmp_path: Path) -> None:
    root = tmp_path / key.replace("/", "-")
    root.mkdir()
    git(root, "init", "-q")
    assert program_of_repository(str(root)) is None
    git(root, "config", key, "./own")
    assert program_of_repository(str(root)) == f"the setting {key.lower() if key.count('.') == 1 else _lower_ends(key)}"


def _lower_ends(key: str) -> str:
    section, _, rest = key.partition(".")
    middle, _, name = rest.rpartition(".")
    return f"{section.lower()}.{middle}.{name.lower()}"


@rows("key", ["user.name", "remote.origin.url", "branch.main.merge", "core.bare", "fetch.prune", "core.autocrlf"])
def test_an_ordinary_setting_names_no_program(key: str, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    git(tmp_path, "config", key, "false")
    assert program_of_repository(str(tmp_path)) is None
