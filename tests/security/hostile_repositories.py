"""Repositories by which git runs a program when it only reads. Each shape is a function that changes a workspace.

The shapes in ``INERT`` run nothing with the programs of this machine: Git LFS is not installed, or other commands obey
them. All others run the program if the readers run without Callgate, so that no shape is counted which does nothing.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

TREE = ("a.txt", "b.bin", "sub/c.txt", "sub/deep/d.txt")
FEW = 12
READERS = (
    "git status",
    "git diff",
    "git log -p -3",
    "git show",
    "git blame a.txt",
    "git grep one",
    "git describe --always --dirty",
    "git diff HEAD --stat",
    "git stash show -p",
    "git submodule status",
    "git ls-files -m",
    "git diff HEAD --submodule=log",
    "git status --porcelain",
    "git diff --cached",
    "git diff --no-index a.txt sub/c.txt",
    "git log --oneline",
    "git show HEAD:a.txt",
    "git ls-files",
    "git branch -a",
    "git stash list",
    "git cat-file -p HEAD",
    "git rev-parse HEAD",
    "git shortlog -s HEAD",
    "git reflog",
    "git worktree list",
    "git config --list",
    "git for-each-ref",
)
"""Commands that only read. The first ``FEW`` run programs in most shapes."""
FOLDERS = ("", "sub", "sub/deep", "nested", "module")


_SIGNATURE = "-----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----"


class Hostile:
    """A workspace with a repository, and a program that writes a line into ``canary`` when it runs."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.root = base / "workspace"
        self.canary = base / "canary"
        self.home = base / "home"
        self.tool = self.root / "tool.sh"
        self.home.mkdir(parents=True)
        self.git_dir = self.root / ".git"
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home / ".config"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "A",
            "GIT_AUTHOR_EMAIL": "a@example.org",
            "GIT_COMMITTER_NAME": "A",
            "GIT_COMMITTER_EMAIL": "a@example.org",
        }
        self.make(self.root)
        script = f'#!/bin/sh\necho "$0 $*" >> {self.canary}\n[ "$1" = stop ] || cat 2>/dev/null\nexit 0\n'
        self.tool.write_text(script)
        self.tool.chmod(0o755)

    def make(self, folder: Path) -> None:
        for name in TREE:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text("one\n")
        (folder / ".gitattributes").write_text("*.txt diff=own filter=own\n*.bin diff=own\n")
        self.git("init", "-q", "-b", "main", where=folder)
        self.git("add", ".", where=folder)
        self.git("commit", "-q", "-m", "first", where=folder)
        (folder / "a.txt").write_text("one\ntwo\n")
        self.git("commit", "-q", "-am", "second", where=folder)
        signed = self.git("cat-file", "commit", "HEAD", where=folder).replace("\n\n", f"\ngpgsig {_SIGNATURE}\n\n", 1)
        (self.base / "commit").write_text(f"{signed}\n")
        name = self.git("hash-object", "-t", "commit", "-w", str(self.base / "commit"), where=folder)
        self.git("reset", "-q", "--soft", name, where=folder)
        (folder / "sub" / "c.txt").write_text("stashed\n")
        self.git("stash", "-q", where=folder)
        for name in TREE:
            (folder / name).write_text("one\nchanged\n")

    def git(self, *words: str, where: Path | None = None) -> str:
        done = subprocess.run(
            ["git", *words],
            cwd=where or self.root,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
            text=True,
        )
        return done.stdout.strip()

    def settings(self, *pairs: str, file: Path | None = None) -> None:
        """Write settings without asking git, because git may refuse some of them."""
        with (file or self.git_dir / "config").open("a") as target:
            for pair in pairs:
                key, _, value = pair.partition("=")
                section, _, name = key.rpartition(".")
                first, dot, rest = section.partition(".")
                head = f'[{first} "{rest}"]' if dot else f"[{first}]"
                target.write(f"{head}\n\t{name} = {value}\n")

    def touch_all(self) -> None:
        """Change the times of all files, so that git has to compare their content."""
        for name in TREE:
            os.utime(self.root / name, (1, 1))

    def bare(self, folder: Path, *pairs: str, split: bool = False) -> None:
        """Make a folder of the working tree a repository without a ``.git`` folder."""
        folder.mkdir(parents=True, exist_ok=True)
        inner = folder / "e" if split else folder
        for name in ("objects", "refs"):
            shutil.copytree(self.git_dir / name, inner / name)
        shutil.copy(self.git_dir / "index", folder / "index")
        (folder / "HEAD").write_text("ref: refs/heads/main\n")
        (inner / "config").write_text("[core]\n\trepositoryformatversion = 0\n\tbare = false\n")
        self.settings("core.worktree=" + str(self.root), file=folder / "config.worktree" if split else inner / "config")
        if split:
            (folder / "commondir").write_text("e\n")
            self.settings("extensions.worktreeConfig=true", file=inner / "config")
        self.settings(*pairs, file=inner / "config")

    def submodule(self, *pairs: str, own_folder: bool = False, linked: bool = True) -> Path:
        """Add a submodule with these settings of its own, and return its folder."""
        module = self.root / "module"
        self.make(module)
        if not own_folder:
            stored = self.git_dir / "modules" / "module"
            stored.parent.mkdir(exist_ok=True)
            shutil.move(module / ".git", stored)
            (module / ".git").write_text("gitdir: ../.git/modules/module\n")
            self.settings("core.worktree=../../../module", file=stored / "config")
        if linked:
            self.git("add", "module")
        if linked and not own_folder:
            (self.root / ".gitmodules").write_text('[submodule "module"]\n\tpath = module\n\turl = ./x\n')
        self.settings(*pairs, file=self.git_dir / "modules/module/config" if not own_folder else module / ".git/config")
        for name in TREE:
            (module / name).write_text("two\n")
        return module

    def hook(self, folder: Path, name: str = "post-index-change") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(self.tool, folder / name)
        self.touch_all()


Shape = Callable[[Hostile], object]


def _set(*pairs: str) -> Shape:
    return lambda made: made.settings(*(pair.replace("TOOL", str(made.tool)) for pair in pairs))


def _file(text: str) -> Shape:
    """The ``.git`` folder moved to ``data``, and a ``.git`` file with this text."""

    def shape(made: Hostile) -> None:
        made.settings(f"core.fsmonitor={made.tool}", f"filter.own.clean={made.tool}")
        made.git_dir.rename(made.root / "data")
        (made.root / ".git").write_bytes(text.encode())

    return shape


def _include(key: str, path: str) -> Shape:
    def shape(made: Hostile) -> None:
        target = made.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        made.settings(f"core.fsmonitor={made.tool}", f"diff.own.textconv={made.tool}", file=target)
        made.settings(f"{key}={target}")

    return shape


def _user_includes_workspace(made: Hostile) -> None:
    made.settings(f"diff.own.textconv={made.tool}", file=made.root / "shared.cfg")
    made.settings(f"includeIf.gitdir:{made.root}/.path={made.root}/shared.cfg", file=made.home / ".gitconfig")


def _user_includes_protected_file(made: Hostile) -> None:
    made.settings(f"diff.own.textconv={made.tool}", file=made.root / ".gitconfig")
    made.settings(f"include.path={made.root}/.gitconfig", file=made.home / ".gitconfig")


def _relative_program_of_the_user(made: Hostile) -> None:
    made.settings("diff.own.textconv=./tool.sh", file=made.home / ".gitconfig")


def _split_common(made: Hostile) -> None:
    """A ``.git`` folder whose settings are in another folder."""
    made.git_dir.rename(made.root / "kept")
    made.git_dir.mkdir()
    shutil.copy(made.root / "kept" / "index", made.git_dir / "index")
    (made.git_dir / "HEAD").write_text("ref: refs/heads/main\n")
    (made.git_dir / "commondir").write_text("../kept\n")
    made.settings(f"core.fsmonitor={made.tool}", f"filter.own.clean={made.tool}", file=made.root / "kept" / "config")


def _worktree(made: Hostile) -> None:
    made.git("worktree", "add", "-q", "-f", str(made.root / "nested"))
    made.settings("extensions.worktreeConfig=true")
    file = made.git_dir / "worktrees" / "nested" / "config.worktree"
    made.settings(f"core.fsmonitor={made.tool}", f"filter.own.clean={made.tool}", file=file)
    for name in TREE:
        (made.root / "nested" / name).write_text("two\n")


def _nested(made: Hostile) -> None:
    made.make(made.root / "nested")
    made.settings(f"core.fsmonitor={made.tool}", file=made.root / "nested" / ".git" / "config")


def _linked_git_folder(made: Hostile) -> None:
    made.settings(f"core.fsmonitor={made.tool}")
    made.git_dir.rename(made.root / "data")
    made.git_dir.symlink_to("data")


def _partial_clone(made: Hostile) -> None:
    blob = made.git("rev-parse", "HEAD~1:a.txt")
    (made.git_dir / "objects" / blob[:2] / blob[2:]).unlink(missing_ok=True)
    made.settings(
        "core.repositoryformatversion=1",
        "extensions.partialClone=origin",
        "remote.origin.promisor=true",
        f"remote.origin.url=ext::{made.tool} stop",
        "protocol.ext.allow=always",
    )


def _partial_clone_over_ssh(made: Hostile) -> None:
    _partial_clone(made)
    made.settings("remote.origin.url=ssh://example.invalid/x", f"core.sshCommand={made.tool} stop")


def _old_submodule(made: Hostile) -> None:
    """A submodule of an old commit, whose folder is still there."""
    module = made.submodule(f"diff.external={made.tool}", own_folder=True)
    made.git("commit", "-q", "-m", "with", "module")
    made.git("rm", "-q", "--cached", "module")
    made.git("commit", "-q", "-m", "without")
    assert (module / ".git").is_dir()
    made.settings("diff.submodule=diff")


def _submodule_of_submodule(made: Hostile) -> None:
    module = made.submodule()
    made.make(module / "nested")
    made.git("add", "nested", where=module)
    made.settings(f"filter.own.clean={made.tool}", file=module / "nested" / ".git" / "config")
    for name in TREE:
        (module / "nested" / name).write_text("two\n")


def _driver_in_submodule(made: Hostile) -> None:
    made.submodule(f"filter.own.clean={made.tool}", own_folder=True)


SHAPES: Mapping[str, Shape] = {
    "a file system monitor": _set("core.fsmonitor=TOOL"),
    "a monitor in a relative path": _set("core.fsmonitor=./tool.sh"),
    "a monitor with arguments": _set("core.fsmonitor=TOOL --status"),
    "an external diff": _set("diff.external=TOOL"),
    "a diff driver": _set("diff.own.command=TOOL"),
    "a text conversion": _set("diff.own.textconv=TOOL"),
    "a clean filter": _set("filter.own.clean=TOOL"),
    "a required clean filter": _set("filter.own.clean=TOOL", "filter.own.required=true"),
    "a process filter": _set("filter.own.process=TOOL"),
    "signatures": _set("log.showSignature=true", "gpg.program=TOOL"),
    "a monitor in the worktree settings": lambda made: (
        made.settings("extensions.worktreeConfig=true"),
        made.settings(f"core.fsmonitor={made.tool}", file=made.git_dir / "config.worktree"),
    ),
    "an included file": _include("include.path", "more/settings"),
    "an included file in .git": _include("include.path", ".git/more"),
    "an included file by condition": _include("includeIf.gitdir:/.path", "more/settings"),
    "an included file by branch": _include("includeIf.onbranch:main.path", "more/settings"),
    "an included file by address": lambda made: (
        made.settings("remote.origin.url=https://example.org/a"),
        _include("includeIf.hasconfig:remote.*.url:https://**.path", "more/settings")(made),
    ),
    "a file of the workspace included by the user": _user_includes_workspace,
    "a protected file of the workspace included by the user": _user_includes_protected_file,
    "a relative program of the user": _relative_program_of_the_user,
    "a hook": lambda made: made.hook(made.git_dir / "hooks"),
    "a hook in another folder": lambda made: (
        made.settings("core.hooksPath=hooks"),
        made.hook(made.root / "hooks"),
    ),
    "a bare repository": lambda made: made.bare(made.root / "sub", f"core.fsmonitor={made.tool}"),
    "a bare repository with a filter": lambda made: made.bare(made.root / "sub", f"filter.own.clean={made.tool}"),
    "a bare repository with a common folder": lambda made: made.bare(
        made.root / "sub", f"core.fsmonitor={made.tool}", split=True
    ),
    "a bare repository with a common folder and a filter": lambda made: made.bare(
        made.root / "sub" / "deep", f"filter.own.clean={made.tool}", split=True
    ),
    "a common folder outside .git": _split_common,
    "a .git file": _file("gitdir: data\n"),
    "a .git file with CR": _file("gitdir: data\r\n"),
    "a .git file that ends in CR": _file("gitdir: data\r"),
    "a .git file with two line ends": _file("gitdir: data\n\n"),
    "a .git file without a line end": _file("gitdir: data"),
    "a .git file to a folder beside": _file("gitdir: ./sub/../data\n"),
    "a .git link": _linked_git_folder,
    "a worktree with settings": _worktree,
    "a nested repository": _nested,
    "a submodule with a monitor": lambda made: made.submodule(f"core.fsmonitor={made.tool}"),
    "a submodule with its own .git": lambda made: made.submodule(f"core.fsmonitor={made.tool}", own_folder=True),
    "a submodule with a filter": _driver_in_submodule,
    "a submodule with a hook": lambda made: (
        made.submodule(own_folder=True),
        made.hook(made.root / "module" / ".git" / "hooks"),
    ),
    "a submodule that is not in .gitmodules": lambda made: (
        made.submodule(f"filter.own.clean={made.tool}", own_folder=True),
        (made.root / ".gitmodules").unlink(missing_ok=True),
    ),
    "a submodule of a submodule": _submodule_of_submodule,
    "a submodule of an old commit": _old_submodule,
    "a partial clone": _partial_clone,
    "a partial clone over ssh": _partial_clone_over_ssh,
    "an extension of Git LFS": _set(
        "filter.own.clean=git-lfs clean -- %f", "lfs.extension.x.clean=TOOL", "lfs.extension.x.priority=0"
    ),
    "a transfer of Git LFS": _set("lfs.customtransfer.x.path=TOOL", "lfs.standalonetransferagent=x"),
    "other letters": _set("CORE.FsMonitor=TOOL"),
    "a working tree elsewhere": _set("core.worktree=.."),
    "references of alternates": _set("core.alternateRefsCommand=TOOL"),
    "a pager": _set("core.pager=TOOL", "pager.log=TOOL", "pager.status=true"),
    "an alias": _set("alias.status=!TOOL", "alias.whatchanged=!TOOL"),
    "signatures by a format": _set("format.pretty=%G?", "gpg.program=TOOL", "gpg.ssh.program=TOOL"),
    "a summary of submodules": lambda made: (
        made.settings("status.submoduleSummary=true"),
        made.submodule("log.showSignature=true", f"gpg.program={made.tool}", f"diff.external={made.tool}"),
    ),
}


INERT = frozenset(
    (
        "an extension of Git LFS",
        "a transfer of Git LFS",
        "a working tree elsewhere",
        "references of alternates",
        "a pager",
        "an alias",
    )
)


def commands(readers: Iterable[str], folder: str) -> list[str]:
    """Return the readers with options that make them read in a folder."""
    options = " ".join(f"-C {part}" for part in folder.split("/")) if folder else ""
    return [each.replace("git ", f"git {options} ", 1) if folder else each for each in readers]
