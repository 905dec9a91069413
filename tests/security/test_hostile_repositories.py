"""Reading a hostile repository runs nothing: what the gate allows is run by Bash, beside a canary."""

import subprocess
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from callgate import shell
from callgate.admin.workspace_policy import CallJudge, CallToJudge
from callgate.words.modes import Mode
from tests.security.hostile_repositories import FEW, FOLDERS, INERT, READERS, SHAPES, Hostile, commands
from tests.tools.bash_kit import Shell

# Rules that users write for reading. They do not grant programs of a repository.
RULES = (
    "Bash(git status:*)",
    "Bash(git diff:*)",
    "Bash(git log:*)",
    "Bash(git show:*)",
    "Bash(git -C:*)",
    "Bash(git:*)",
)


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hostile:
    found = Hostile(tmp_path)
    for name, value in found.environment.items():
        monkeypatch.setenv(name, value)
    return found


def _commands(made: Hostile, most: int = FEW) -> list[str]:
    folders = [folder for folder in FOLDERS if folder and (made.root / folder).is_dir()]
    inner = [each for folder in folders for each in commands(READERS[: most // 4], folder)]
    return [*READERS[:most], *inner, *(f"cd {folder} && git status" for folder in folders)]


def _allowed(made: Hostile, found: list[str], mode: Mode, allow: tuple[str, ...] = ()) -> list[str]:
    bench = CallJudge(home=str(made.home))

    def passes(command: str) -> bool:
        call = CallToJudge("Bash", {"command": command}, allow=allow, mode=mode, root=str(made.root))
        return bench.judge(call).decision == "allow"

    return [command for command in found if passes(command)]


def _run(made: Hostile, found: list[str]) -> str:
    """Run the commands by Bash, and return what the canary says."""
    made.touch_all()
    stay = [each for each in found if not each.startswith("cd ")]
    for each in ("; ".join(stay) or "true", *(each for each in found if each not in stay)):
        assert shell.effects_of(shell.analyse(each)) == "none", each
        Shell(made.root)(each)
    return made.canary.read_text() if made.canary.exists() else ""


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_runs_something_without_the_gate(made: Hostile, name: str) -> None:
    """A shape that does nothing proves nothing."""
    SHAPES[name](made)
    made.canary.unlink(missing_ok=True)
    made.touch_all()
    for command in _commands(made):
        subprocess.run(
            ["bash", "-c", command], cwd=made.root, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
        if made.canary.exists():
            break
    assert made.canary.exists() == (name not in INERT)


@pytest.mark.spec("GATE-17", "GATE-20")
@pytest.mark.parametrize("name", SHAPES)
def test_what_the_gate_allows_in_a_hostile_repository_runs_nothing(made: Hostile, name: str) -> None:
    SHAPES[name](made)
    _check(made, _commands(made))


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
def test_no_reader_runs_anything_in_a_hostile_repository(made: Hostile, name: str) -> None:
    SHAPES[name](made)
    _check(made, _commands(made, len(READERS)))


def _check(made: Hostile, found: list[str]) -> None:
    made.canary.unlink(missing_ok=True)
    free = _allowed(made, found, "default")
    assert _run(made, free) == "", free
    assert _allowed(made, found[:FEW], "plan") == [each for each in found[:FEW] if each in free]
    ruled = [each for each in _allowed(made, found, "default", RULES) if each not in free]
    assert _run(made, ruled) == "", ruled


# Settings that name programs in some version of git, read by some command.
KEYS = """
    core.askPass core.editor core.gitProxy core.pager core.sshCommand core.alternateRefsCommand credential.helper
    diff.guitool diff.tool gpg.program gpg.ssh.program gpg.x509.program interactive.diffFilter sequence.editor
    sendemail.sendmailCmd uploadpack.packObjectsHook trailer.x.cmd trailer.x.command submodule.x.update
    remote.origin.uploadpack remote.origin.receivepack remote.origin.vcs merge.own.driver mergetool.x.cmd
    difftool.x.cmd browser.x.cmd man.x.cmd pager.diff instaweb.httpd gc.recentObjectsHook core.notesRef mailmap.file
    core.attributesFile core.excludesFile include.path diff.orderFile log.mailmap
"""
LATE = [name for name in SHAPES if "monitor" in name or "hook" in name or "bare" in name]


@pytest.mark.spec("GATE-20")
@pytest.mark.parametrize("name", LATE)
def test_what_is_written_after_the_judgement_runs_nothing(made: Hostile, name: str) -> None:
    """Monitors, hooks and bare repositories; drivers need settings in a protected git directory."""
    found = [*READERS[:FEW], "git -C sub status", "git -C sub diff", "git -C sub/deep status"]
    free = _allowed(made, found, "default")
    assert free == found
    SHAPES[name](made)
    made.canary.unlink(missing_ok=True)
    assert _run(made, free) == ""


@pytest.mark.chaos
@pytest.mark.spec("GATE-20")
@pytest.mark.parametrize("seed", range(60))
def test_random_combinations_of_shapes_run_nothing(made: Hostile, seed: int) -> None:
    chosen = Random(seed)
    for name in chosen.sample(sorted(SHAPES), 3):
        with suppress(OSError, subprocess.CalledProcessError, AssertionError):  # two shapes may exclude each other
            SHAPES[name](made)
    with suppress(OSError):
        made.settings(f"{chosen.choice(KEYS.split())}={made.tool}")
    found = chosen.sample(_commands(made, len(READERS)), 15)
    _check(made, found)
