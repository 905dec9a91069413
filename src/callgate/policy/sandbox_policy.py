"""Builds the sandbox of a workspace: its profile, from the table of protected places and the rules, and its proxy."""

import os
import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from callgate.host.sandbox.profile import Profile
from callgate.host.sandbox.proven_sandbox import ProvenSandbox
from callgate.host.sandbox.reviewed_files import ReviewedFiles
from callgate.host.sandbox.sandbox import Sandbox, SandboxRefused, private_folder
from callgate.policy.entries import RuleLine
from callgate.policy.protected import held_names, is_secret, protected_names, secrets_of
from callgate.policy.rule_contents import HostContent, PathContent
from callgate.policy.rules import Rule, Rulebook, path_rules
from callgate.policy.sandbox_proofs import Proofs
from callgate.policy.subjects import Way
from callgate.words.resolved_path import ResolvedPath

if TYPE_CHECKING:
    from callgate.host.sandbox.proxy import HostProxy

_DEEPEST = 3
_MOST_LISTED = 2_000
_NOT_LOOKED_INTO = frozenset((".git", "node_modules", ".venv", "venv", "site-packages", "target", "__pycache__"))


# ---- the profile ----------------------------------------------------------------------------------------------------


def profile_for(
    root: str,
    home: str,
    *,
    private: str = "",
    scratch: str = "",
    writable: tuple[str, ...] = (),
    denies: Sequence[PathContent] = (),
    allows: Sequence[PathContent] = (),
) -> Profile:
    """Return the profile of commands in a workspace, based on the current files. All paths are absolute. Raise
    SandboxRefused if the workspace contains the home folder.

    private  the sandbox's own folder, which is hidden from commands
    denies   deny rules on paths; they apply to the files that exist now
    allows   allow rules; a rule that names a file with secrets makes the file readable
    """
    root, home = os.path.realpath(root), os.path.realpath(home)
    if f"{home}/".startswith(f"{root.rstrip('/')}/"):
        raise SandboxRefused("the workspace is your home folder or holds it: start in a folder of its own")
    reserved = {f"{root}/{name}" for name in held_names()}
    looked = [*_looked_through(root)]
    kept = {*_present(root), *_own_code(root), *(path for path in looked if path.endswith("/.git"))}
    denied: list[str] = []
    if denies:
        kept |= {path for path in looked if _is_denied(path, "write", denies)}
        denied = [path for path in looked if _is_denied(path, "read", denies)]
    beside = _secrets_in(os.path.dirname(private)) if private else []
    secret = [path for path in looked if _is_secret(path, root) and not _is_allowed(path, allows)]
    hidden = (*secrets_of(home), *secret, *((private, *beside) if private else ()), *denied)
    unreadable = {os.path.realpath(place) for place in hidden if os.path.exists(place)}
    return Profile(
        root=root,
        writable=writable,
        read_only=tuple(sorted(kept - reserved)),
        reserved=tuple(sorted(reserved)),
        unreadable=tuple(sorted(unreadable)),
        scratch=scratch,
    )


def _present(folder: str) -> Iterator[str]:
    """Return the protected places that exist in a folder, ignoring case. For a nested place the topmost folder is
    returned, because a command could rename and replace that folder."""
    spelled = {name.lower(): name for name in _listed(folder)}
    for entry in protected_names(secret=False):
        first, slash, rest = entry.partition("/")
        if first in spelled and os.path.lexists(f"{folder}/{spelled[first]}{slash}{rest}"):
            yield f"{folder}/{spelled[first]}"


def _own_code(root: str) -> Iterator[str]:
    """Return the folders of the workspace that contain the Python running Callgate, such as ``.venv``. Changed code
    in them would run outside the sandbox at the next start."""
    for place in (sys.prefix, os.path.dirname(sys.executable)):
        if place.startswith(f"{root}/"):
            yield f"{root}/{place.removeprefix(f'{root}/').partition('/')[0]}"


def _secrets_in(folder: str) -> list[str]:
    return [f"{folder}/{name}" for name in protected_names(secret=True)]


def _is_secret(path: str, root: str) -> bool:
    folder, _, name = path[len(root) + 1 :].rpartition("/")
    return is_secret(name) or ("/." in f"/{folder}" and is_secret(f"{folder}/{name}"))


def _is_allowed(path: str, allows: Sequence[PathContent]) -> bool:
    """Return True if a rule names the file. A rule on a whole folder does not make files with secrets in the folder
    readable."""
    place = ResolvedPath(path, (path,), path, inside=True)
    named = (each for each in allows if any(map(str.isalnum, each.pattern.text.rstrip("/").rpartition("/")[2])))
    return any("read" in each.ways and each.pattern.covers(place) for each in named)


def _looked_through(root: str) -> Iterator[str]:
    """Return the files and folders of a workspace up to a limited depth and number. Installed packages are skipped."""
    todo, looked = [(root, 0)], 0
    for folder, depth in todo:
        if looked > _MOST_LISTED:
            return
        try:
            with os.scandir(folder) as listed:
                entries = list(listed)
        except OSError:
            continue
        looked += len(entries)
        for entry in entries:
            yield entry.path
            if depth < _DEEPEST and entry.name not in _NOT_LOOKED_INTO and entry.is_dir(follow_symlinks=False):
                todo.append((entry.path, depth + 1))


def _is_denied(path: str, way: Way, denies: Sequence[PathContent]) -> bool:
    places = [ResolvedPath(each, (each,), each, inside=True) for each in (path, f"{path}/anything")]
    return any(way in each.ways and any(map(each.pattern.may_match, places)) for each in denies)


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


# ---- the sandbox of a session --------------------------------------------------------------------------------------


def workspace_sandbox(
    data: Path,
    root: Path,
    home: Path,
    rules: Sequence[RuleLine] = (),
    hosts: Sequence[str] = (),
    others: Sequence[Rulebook] = (),
    report: Callable[[str], None] = lambda note: None,
) -> ProvenSandbox:
    """Return the sandbox for commands of a workspace. It is tested before the first command.

    rules   rules of the settings; paths and hosts that they deny are also denied to commands
    hosts   hosts that commands may reach
    others  rulebooks of other sessions in the tree. Their deny rules apply too; a root below the workspace makes the
            rest of the workspace read-only
    report  called with a note for the user if no sandbox holds
    """
    proofs = Proofs(data)
    book = Rulebook.of(rules, root=str(root), home=str(home))
    denied = (*book.denies, *(rule for other in others for rule in other.denies))
    denies, allows = ([content for _, content in path_rules(rules)] for rules in (denied, book.allows))
    scratch = _Scratch(proofs.folder)

    def profile_of(folder: str) -> Profile:
        return profile_for(
            folder, str(home), private=str(proofs.folder()), scratch=scratch.folder(), denies=denies, allows=allows
        )

    def profile() -> Profile:
        found = profile_of(str(root))
        for other in others:
            if _is_writable(other.root, found):
                inner = profile_of(other.root)
                found = replace(inner, unreadable=tuple(sorted({*inner.unreadable, *found.unreadable})))
        return found

    files = ReviewedFiles(str(root), private_folder(data))
    return ProvenSandbox(proofs.test, profile, hosts, lambda found: _proxy_for(found, hosts, denied), files, report)


def _is_writable(folder: str, profile: Profile) -> bool:
    """Return True if commands with this profile can write to the folder and it is not the whole workspace."""
    kept = (*profile.read_only, *profile.reserved, *profile.unreadable)
    folder = os.path.realpath(folder)
    return folder.startswith(f"{profile.root}/") and not any(f"{folder}/".startswith(f"{each}/") for each in kept)


def _proxy_for(sandbox: Sandbox, hosts: Sequence[str], denies: Sequence[Rule]) -> "HostProxy | None":
    """Return the proxy for the hosts except hosts that the rules deny. Return None if the sandbox does not isolate the
    network."""
    if not sandbox.has_network:
        return None
    from callgate.host.sandbox.proxy import HostProxy  # most settings name no hosts
    from callgate.policy.allowed_hosts import proxy_rules

    denied = [rule.content.pattern for rule in denies if isinstance(rule.content, HostContent)]
    return HostProxy(proxy_rules(hosts, denied))


class _Scratch:
    """A temporary folder. It is created at its first use, and removed with this object or at exit."""

    def __init__(self, parent: Callable[[], Path]) -> None:
        self._parent = parent  # not in a folder that commands can write to
        self._made = ""

    def folder(self) -> str:
        if not self._made:
            self._made = os.path.realpath(tempfile.mkdtemp(prefix="tmp-", dir=self._parent()))
            weakref.finalize(self, shutil.rmtree, self._made, ignore_errors=True)
        return self._made
