"""Builds the sandbox of a workspace: its profile, from the table of protected places and the rules, and its proxy."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from callgate.host.sandbox.profile import Profile
from callgate.host.sandbox.proven_sandbox import ProvenSandbox
from callgate.host.sandbox.reviewed_files import ReviewedFiles
from callgate.host.sandbox.sandbox import Sandbox, SandboxRefused, private_folder
from callgate.policy.entries import RuleLine
from callgate.policy.protected import held_names, protected_names, protection, secrets_of
from callgate.policy.rule_contents import HostContent, PathContent
from callgate.policy.rules import Rule, Rulebook, path_rules
from callgate.policy.sandbox_proofs import Proofs
from callgate.policy.subjects import Way
from callgate.policy.workspace_survey import Place, Treatment, WorkspaceSurvey, watch_created
from callgate.words.resolved_path import ResolvedPath

if TYPE_CHECKING:
    from callgate.host.sandbox.proxy import HostProxy

from contextlib import suppress

from callgate.host.sandbox.sandbox import EMPTY_INSIDE, places_in_empty_folders

# ---- the profile ----------------------------------------------------------------------------------------------------


def survey_of(root: str, *, denies: Sequence[PathContent] = (), allows: Sequence[PathContent] = ()) -> WorkspaceSurvey:
    """Return the survey of a workspace, which finds its protected files.

    denies  deny rules on paths
    allows  allow rules; a rule that names a file with secrets makes the file readable
    """

    def classify(folder: str, name: str, path: str, place: Place) -> Treatment | None:
        found = protection(folder, name)
        if found == "secret" and _is_allowed(path, allows):
            found = None
        if found == "kept" and place:
            found = None
        if denies and _is_denied(path, "read", denies):
            return "secret" if found == "secret" or _is_denied(path, "write", denies) else "hidden"
        if denies and place != "kept" and _is_denied(path, "write", denies):
            return "secret" if found == "secret" else "kept"
        return "hidden" if found == "secret" and place == "installed" else found

    return WorkspaceSurvey(os.path.realpath(root), classify)


def profile_for(
    root: str,
    home: str,
    *,
    private: str = "",
    scratch: str = "",
    survey: WorkspaceSurvey | None = None,
    path: str = "",
) -> Profile:
    """Return the profile of commands in a workspace, based on the current files. All paths are absolute. Raise
    SandboxRefused if the workspace contains the home folder. Blocks while the workspace is searched.

    private  the sandbox's own folder, which is hidden from commands
    survey   the survey of the workspace; by default without rules
    path     the variable PATH of commands; the programs on PATH stay visible in folders that are otherwise empty inside
             the sandbox
    """
    root, home = os.path.realpath(root), os.path.realpath(home)
    if f"{home}/".startswith(f"{root.rstrip('/')}/"):
        raise SandboxRefused("the workspace is or contains your home folder: start Callgate in a project folder")
    reserved = {f"{root}/{name}" for name in held_names()}
    found = (survey_of(root) if survey is None else survey).look().found
    kept = {*_own_code(root), *places_of_programs(path, root)}
    for place, each in found.items():
        if each.treatment != "kept":
            continue
        if each.is_link and place not in reserved:
            kept.add(os.path.realpath(place))
        else:
            kept.add(_whole(place, root))
    above = os.path.dirname(private)
    beside = [f"{above}/{name}" for name in protected_names(secret=True)] if private else []
    secret = [place for place, each in found.items() if each.treatment != "kept"]
    hidden = (*secrets_of(home), *secret, *((private, *beside) if private else ()))
    unreadable = {os.path.realpath(place) for place in hidden if os.path.exists(place)}
    return Profile(
        root=root,
        read_only=tuple(sorted(kept - reserved)),
        reserved=tuple(sorted(reserved)),
        unreadable=tuple(sorted(unreadable)),
        scratch=scratch,
    )


def _whole(path: str, root: str) -> str:
    """Return the topmost folder of a protected place: ``.github`` for ``.github/workflows``, because a command could
    rename and replace ``.github``."""
    folder, _, name = path.rpartition("/")
    while folder != root and protection("", name) is None and protection(os.path.basename(folder), name) is not None:
        path = folder
        folder, _, name = path.rpartition("/")
    return path


def _own_code(root: str) -> Iterator[str]:
    """Return the folders of the workspace that contain the Python running Callgate, such as ``.venv``. Changed code
    in them would run outside the sandbox at the next start."""
    for place in (sys.prefix, os.path.dirname(sys.executable)):
        if place.startswith(f"{root}/"):
            yield f"{root}/{place.removeprefix(f'{root}/').partition('/')[0]}"


def _is_allowed(path: str, allows: Sequence[PathContent]) -> bool:
    """Return True if a rule names the file. A rule on a whole folder does not make files with secrets in the folder
    readable."""
    place = ResolvedPath(path, (path,), path, inside=True)
    named = (each for each in allows if any(map(str.isalnum, each.pattern.text.rstrip("/").rpartition("/")[2])))
    return any("read" in each.ways and each.pattern.covers(place) for each in named)


def _is_denied(path: str, way: Way, denies: Sequence[PathContent]) -> bool:
    places = [ResolvedPath(each, (each,), each, inside=True) for each in (path, f"{path}/anything")]
    return any(way in each.ways and any(map(each.pattern.may_match, places)) for each in denies)


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

    survey = survey_of(str(root), denies=denies, allows=allows)
    surveys = {str(root): survey}
    path = os.environ.get("PATH", "")

    def profile_of(folder: str) -> Profile:
        if folder not in surveys:
            surveys[folder] = survey_of(folder, denies=denies, allows=allows)
        own, survey = str(proofs.folder()), surveys[folder]
        return profile_for(folder, str(home), private=own, scratch=proofs.scratch(), survey=survey, path=path)

    lock = Lock()

    def profile() -> Profile:
        with lock:
            found = profile_of(str(root))
            for other in others:
                if _is_writable(other.root, found):
                    inner = profile_of(other.root)
                    found = replace(inner, unreadable=tuple(sorted({*inner.unreadable, *found.unreadable})))
            return found

    files = ReviewedFiles(str(root), private_folder(data))
    return ProvenSandbox(
        proofs.test,
        profile,
        hosts,
        lambda found: _proxy_for(found, hosts, denied),
        files=files,
        created=partial(watch_created, survey, lock),
        for_many=proofs.test_for_many_places,
        report=report,
    )


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
    from callgate.policy.hosts import proxy_rules

    denied = [rule.content.pattern for rule in denies if isinstance(rule.content, HostContent)]
    return HostProxy(proxy_rules(hosts, denied))


_OF_THE_SYSTEM = frozenset(("/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/sbin"))
_ENVIRONMENTS = ("pyvenv.cfg", "conda-meta")
_BESIDE = ("lib", "lib64", "libexec", "share", "include")  # what programs in ``bin`` read
_MOST_LINKS = 1_000


def places_of_programs(path: str, root: str) -> set[str]:
    """Return the folders that are empty inside the sandbox (such as folders below ``/tmp``) and contain programs on
    PATH or targets of links on PATH. Folders in the workspace are omitted, because they are visible inside the
    sandbox."""
    found: set[str] = set()
    for entry in map(os.path.normpath, path.split(":")):
        if os.path.isabs(entry) and entry not in _OF_THE_SYSTEM:
            # A folder that is reached over a link in an empty folder is bound at its own path too.
            spelled = [entry] if entry.startswith(tuple(f"{each}/" for each in EMPTY_INSIDE)) else []
            for folder in (*spelled, *places_in_empty_folders(entry, *_targets(entry))):
                found.update(_needed_folders(folder))
    return {place for place in found if not f"{place}/".startswith(f"{root}/") and os.path.isdir(place)}


def _targets(folder: str) -> list[str]:
    """Return the folders that contain the targets of links in a folder."""
    found: list[str] = []
    with suppress(OSError), os.scandir(folder) as listed:
        for entry in listed:
            if len(found) < _MOST_LINKS and entry.is_symlink():
                found.append(os.path.dirname(os.path.realpath(entry.path)))
    return found


def _needed_folders(folder: str) -> list[str]:
    """Return the folders that the programs in a folder need. For an environment of Python or Node this is the folder
    of the environment. For other programs these are their folder and the folders beside it that the programs read."""
    above, name = os.path.split(folder)
    if above in EMPTY_INSIDE:
        return [folder]
    if name == ".bin" or any(os.path.exists(os.path.join(above, each)) for each in _ENVIRONMENTS):
        return [above]
    return [folder, *(os.path.join(above, each) for each in _BESIDE)] if name in ("bin", "sbin") else [folder]
