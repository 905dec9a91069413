"""Commands really run in a jail, where every program but a few is a canary and every change of a file is seen.

The jail is bubblewrap's: no network, the system read-only, and a small world of its own: ``/box/ws`` (the workspace, a
git repository), ``/box/home``, ``/box/outside`` and ``/tmp``. ``/usr/bin`` has the programs the rules speak of; each
other name there writes down that it was run. Also under an absolute path nothing else can be started: bash itself lies
where no command looks. A command with a glob is run in several folders more, where it meets names that are options.
"""

import os
import shutil
import stat
import subprocess
from collections.abc import Iterable, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from callgate.shell.programs.program_table import PROGRAMS
from tests.crash.tracing import missing

GRANTED = ("cat", "echo", "find", "git", "rg", "sed", "sort", "wc", "timeout", "nice", "ionice", "stdbuf")
"""The real programs in the jail: those of the rules, and those that only run what has a rule."""
SECRET = "canary-5f1c9e"
OUTSIDE = "canary-outside-77ab"
"""The content of a file outside of the workspace, to which links in it lead."""
WORKSPACE = "/box/ws"
BATCH = 100

_CANARY = """#!/oracle/dash
printf '%s\\n' "$0 $*" >>/oracle/log/ran
exit 0
"""
# Limits in the jail: a command that reads /dev/zero or /dev/tty ends, and so does the log of its output.
_DRIVER = """
ulimit -f 2048 -v 1000000 -t 5
n=0
while IFS= read -r -d '' command; do
    n=$((n + 1))
    places=(/box/ws)
    case $command in *[*?[]*) places+=(/box/ws/odd/*) ;; esac
    for place in "${places[@]}"; do
        cd "$place" || exit 1
        /oracle/timeout -s KILL 3 /oracle/bash --norc --noprofile -c "$command" </dev/null >>/oracle/log/out.$n 2>&1
    done
done </oracle/commands
exit 0
"""
_COMMON = (
    "awk",
    "curl",
    "env",
    "eval",
    "less",
    "ls",
    "node",
    "perl",
    "pwn",
    "python3",
    "rm",
    "sh",
    "sudo",
    "touch",
    "vi",
)
_FILES = {
    "ws/a.txt": "apple\nbanana pwn\ncherry\n",
    "ws/b.txt": "1\n3\n2\n",
    "ws/notes.md": "# notes\n",
    "ws/src/main.py": "print('hello')\n",
    "ws/src/deep/x.rs": "fn main() {}\n",
    "ws/list0": "a.txt\0b.txt\0",
    "ws/script.sed": "w new-by-sed\n1e pwn\n",
    "ws/pwn.sh": "pwn\n",
    "ws/packed.gz": "packed",
    # Names that are options to a program which is given a glob.
    "ws/odd/find/-delete": "z\n",
    "ws/odd/git/--output=new.txt": "z\n",
    "ws/odd/rg/--pre=pwn": "z\n",
    "ws/odd/rg/a.txt": "a pwn\n",
    "ws/odd/sed/-i.txt": "z\n",
    "ws/odd/sed/a.txt": "apple\n",
    "ws/odd/sort/-onew.txt": "z\n",
    "ws/odd/sort/a.txt": "b\na\n",
    "home/.profile": "pwn\n",
    "outside/kept.txt": f"{OUTSIDE}\n",
    "ws/d1/x.txt": "one\n",
    "ws/d1/kept.txt": "two\n",
    "ws/d2/x.txt": "three\n",
    "outside/pwn": "pwn\n",
    "tmp/kept": "tmp\n",
}


class Finding(NamedTuple):
    """What one command did that no rule means."""

    command: str
    did: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.command!r}: {'; '.join(self.did)}"


def free_programs() -> list[str]:
    """The programs of the table that need no rule where they only read, as far as they are on this machine."""
    names = (
        name for name, entry in PROGRAMS.items() if entry.read_only and " " not in name and not entry.runs_settings
    )
    return sorted(name for name in names if shutil.which(name))


class Jail:
    """A place to run commands in, below ``folder``. ``outside``: a command must not show a file outside, either."""

    def __init__(self, folder: Path, programs: Sequence[str] = GRANTED, *, outside: bool = False) -> None:
        self._folder = folder
        self._programs = programs
        self._outside = outside
        self._world = folder / "world"
        self._fresh = folder / "fresh"
        self._log = folder / "log"
        _make_world(self._fresh)
        _make_programs(folder / "bin", folder / "canary", programs)
        self._renew()

    def findings(self, commands: Sequence[str]) -> list[Finding]:
        """Run them all, and those of a batch in which something happened once more, each on its own."""
        found: list[Finding] = []
        for begin in range(0, len(commands), BATCH):
            batch = commands[begin : begin + BATCH]
            if self._run(batch):
                alone = [Finding(command, did) for command in batch if (did := self._run([command]))]
                found += alone or [Finding("\n".join(batch), ("something happened, but not one by one",))]
        return found

    def _run(self, commands: Sequence[str]) -> tuple[str, ...]:
        """What happened besides what the rules mean; afterwards the world is as it was."""
        shutil.rmtree(self._log, ignore_errors=True)
        self._log.mkdir()
        (self._folder / "commands").write_bytes(b"".join(each.encode() + b"\0" for each in commands))
        before = _seen(self._world)
        ran = subprocess.run(
            self._words(), input=_DRIVER, capture_output=True, text=True, timeout=60 + 4 * len(commands)
        )
        assert ran.returncode == 0, f"the jail itself failed: {ran.stderr[-500:]}"
        assert (self._log / f"out.{len(commands)}").exists() or not commands
        did = [*self._canaries(), *_changes(before, _seen(self._world)), *self._leaks()]
        if did:
            self._renew()
        return tuple(did)

    def _canaries(self) -> Iterable[str]:
        ran = self._log / "ran"
        if ran.exists():
            yield from (f"ran {line}" for line in ran.read_text(errors="replace").splitlines()[:2])

    def _leaks(self) -> Iterable[str]:
        for output in self._log.glob("out.*"):
            shown = output.read_bytes()
            if SECRET.encode() in shown:
                yield "showed a secret of the environment"
            if self._outside and OUTSIDE.encode() in shown:
                yield "showed a file outside of the workspace"

    def _renew(self) -> None:
        shutil.rmtree(self._world, ignore_errors=True)
        shutil.copytree(self._fresh, self._world, symlinks=True)

    def _words(self) -> list[str]:
        at = self._folder
        words = ["bwrap", "--unshare-all", "--unshare-user", "--uid", "1000", "--gid", "1000", "--die-with-parent"]
        words += ["--new-session", "--cap-drop", "ALL", "--clearenv", "--hostname", "jail", "--ro-bind", "/usr", "/usr"]
        for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
            if Path("/", name).is_symlink():
                words += ["--symlink", f"usr/{name}", f"/{name}"]
            elif Path("/", name).is_dir():
                words += ["--ro-bind", f"/{name}", f"/{name}"]
        for place in ("/usr/bin", "/usr/local/bin", "/usr/sbin", "/usr/games"):
            if Path(place).is_dir():
                words += ["--ro-bind", str(at / "bin"), place]
        words += ["--dev", "/dev", "--proc", "/proc", "--dir", "/etc", "--bind", str(self._world), "/box"]
        words += ["--bind", str(self._world / "tmp"), "/tmp", "--bind", str(self._log), "/oracle/log"]
        words += [
            "--ro-bind",
            str(at / "commands"),
            "/oracle/commands",
            "--ro-bind",
            str(at / "canary"),
            "/oracle/canary",
        ]
        for name in ("bash", "dash", *self._programs):
            words += ["--ro-bind", _real(name), f"/oracle/{name}"]
        environment = {"PATH": "/usr/bin", "HOME": "/box/home", "LANG": "C.UTF-8", "SECRET": SECRET, "X": SECRET}
        for name, value in environment.items():
            words += ["--setenv", name, value]
        return [*words, "--chdir", WORKSPACE, "--", "/oracle/bash", "--norc", "--noprofile", "-s"]


def need_jail() -> None:
    """Skip, or fail where tools must be there, if commands cannot be jailed here."""
    why = _no_jail()
    if why is not None:
        missing(why)


@cache
def _no_jail() -> str | None:
    for name in ("bwrap", "bash", "dash", *GRANTED):
        if shutil.which(name) is None:
            return f"{name} is not installed"
    words = ["bwrap", "--unshare-all", "--unshare-user", "--uid", "1000", "--cap-drop", "ALL", "--ro-bind", "/", "/"]
    tried = subprocess.run([*words, "--proc", "/proc", "--dev", "/dev", "true"], capture_output=True, text=True)
    return None if tried.returncode == 0 else f"bubblewrap cannot jail here: {tried.stderr.strip()[-200:]}"


def _real(name: str) -> str:
    return os.path.realpath(str(shutil.which(name)))


def _make_programs(folder: Path, canary: Path, programs: Sequence[str]) -> None:
    canary.write_text(_CANARY)
    canary.chmod(0o755)
    folder.mkdir()
    names = {name for place in ("/usr/bin", "/bin", "/usr/sbin") for name in os.listdir(place)}
    for name in names.union(_COMMON, programs):
        (folder / name).symlink_to(f"/oracle/{name}" if name in programs else "/oracle/canary")


def _make_world(folder: Path) -> None:
    for name, text in _FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "ws/pwn.sh").chmod(0o755)
    (folder / "outside/pwn").chmod(0o755)
    (folder / "ws/link").symlink_to("/box/outside/kept.txt")
    (folder / "ws/d2/kept.txt").symlink_to("/box/outside/kept.txt")
    (folder / "ws/away").symlink_to("/box/outside")
    git = ["git", "-C", str(folder / "ws"), "-c", "user.name=T", "-c", "user.email=t@example.com"]
    clean = {"PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(folder / "home")}
    for words in (["init", "-q", "-b", "main", "--template="], ["add", "a.txt", "src"], ["commit", "-qm", "One"]):
        subprocess.run([*git, *words], check=True, env=clean)
    (folder / "ws/a.txt").write_text("apple\nblueberry\n")
    for words in (["commit", "-qam", "Two"], ["tag", "v1"]):
        subprocess.run([*git, *words], check=True, env=clean)
    # The last commit is signed, so that whoever looks at signatures runs another program.
    asked = subprocess.run([*git, "cat-file", "commit", "HEAD"], check=True, env=clean, capture_output=True, text=True)
    signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----"
    signed = asked.stdout.replace("\n\n", f"\n{signature}\n\n", 1)
    words = [*git, "hash-object", "-t", "commit", "-w", "--stdin"]
    made = subprocess.run(words, check=True, env=clean, capture_output=True, text=True, input=signed).stdout.strip()
    subprocess.run([*git, "update-ref", "HEAD", made], check=True, env=clean)
    # A repository that somebody else made, inside this one: git in it runs what its settings say.
    subprocess.run(["git", "init", "-q", "--template=", str(folder / "ws/evil")], check=True, env=clean)
    (folder / "ws/evil/.git/config").write_text("[core]\n\tfsmonitor = pwn\n\tpager = pwn\n")


Seen = dict[str, tuple[object, ...]]


def _seen(folder: Path) -> Seen:
    """Every file: its kind, mode, time and content."""
    out: Seen = {}
    for at, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = os.path.join(at, name)
            about = os.lstat(path)
            kind = stat.S_IFMT(about.st_mode)
            content = ""
            if kind == stat.S_IFREG:
                content = sha256(Path(path).read_bytes()).hexdigest()
            elif kind == stat.S_IFLNK:
                content = os.readlink(path)
            when = about.st_mtime_ns if kind == stat.S_IFREG else 0
            out[os.path.relpath(path, folder)] = (kind, about.st_mode, when, content)
    return out


def _changes(before: Seen, after: Seen) -> Iterable[str]:
    """``git status`` brings its index up to date: that is the one change a rule means."""
    for path in sorted(before.keys() | after.keys()):
        if before.get(path) != after.get(path) and path != "ws/.git/index":
            yield f"{'made' if path not in before else 'removed' if path not in after else 'changed'} {path}"
