"""Checks of settings, trust, hooks, MCP servers, tool search, the sandbox and the stored sessions."""

import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from callgate.admin.doctor.diagnosis import Diagnosis, Patient, fault, fine, warning
from callgate.admin.sessions import Archive
from callgate.admin.tool_list import shipped_search
from callgate.assembly.options import ServerFlags
from callgate.assembly.settings import broken_settings
from callgate.formats.display import counted
from callgate.host.sandbox.bubblewrap import INSTALL
from callgate.host.sandbox.proven_sandbox import NO_HOSTS
from callgate.host.sandbox.sandbox import BACKENDS, bubblewrap_program
from callgate.mcp import OWN_FILE, PROJECT_FILE
from callgate.policy.entries import HookLine
from callgate.policy.fingerprint import fingerprint
from callgate.policy.hooks.hook_runners import target_fault
from callgate.policy.sandbox_proofs import Proofs
from callgate.policy.trust import ChangedFolder, Trusted
from callgate.transcript.lock import holder_of, lock_path
from callgate.words.errors import CallgateError, JournalError

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
# fmt: off
_SHELL_WORDS = frozenset({
    "!", "{", "(", "[", "[[", ".", ":", "if", "for", "while", "until", "case", "cd", "test", "eval", "exec", "export",
    "set", "source", "true", "false",
})
# fmt: on
"""First words of a command line that name no program."""
_TRUST = ("callgate trust show", "callgate trust add")


def settings(patient: Patient) -> Sequence[Diagnosis]:
    config = patient.config
    if config is None:
        named = re.search(r"\b(CALLGATE|XDG)_\w+", patient.problem)
        return [fault("the environment", patient.problem, *((f"unset {named[0]}",) if named else ()))]
    there = [f"{each.path} ({each.layer})" for each in config.files if each.path.exists()]
    saw = ", ".join(there) or "no settings file; all settings have their defaults"
    found = [
        fault(str(each), "every call is denied until this is fixed", _edit(each.origin.layer))
        for each in broken_settings(config)
    ]
    notes = [each for each in config.notes if each.origin.file != str(config.root)]
    found += [warning(saw, str(each), "callgate policy check") for each in notes]
    return found or [fine(saw)]


def trust(patient: Patient) -> Sequence[Diagnosis]:
    config = patient.settings
    if isinstance(config.trust, Trusted):
        return [fine(f"{config.root} is trusted")]
    if isinstance(config.trust, ChangedFolder):
        problem = "a file changed since you trusted the folder, so its hooks, tools and skills are not used"
        return [warning(f"{config.root} was trusted", problem, *_TRUST)]
    if not config.own_data:
        problem = "the data folder is in the workspace, so trust is ignored"
        return [fault(f"the data folder {config.data}", problem, "unset CALLGATE_DATA_DIR")]
    found = fingerprint(config.root)
    if found.problem:
        return [warning(f"{config.root} is not trusted", found.problem, "callgate trust show")]
    if not found.files:
        return [fine(f"{config.root} needs no trust: it has no hooks, tools or skills")]
    saw = f"{config.root} is not trusted; it contains {counted(len(found.files), 'file')}"
    return [warning(saw, "its hooks, tools and skills are not used until you trust the folder", *_TRUST)]


def hooks(patient: Patient) -> Sequence[Diagnosis]:
    config = patient.settings
    if not config.hooks:
        return [fine("none")]
    wrong = [
        fault(f"{line.event}: {line.target} ({line.origin})", problem, _edit(line.origin.layer))
        for line in config.hooks
        if (problem := _hook_problem(line, config.root, patient.environ))
    ]
    return wrong or [fine(f"{len(config.hooks)}, and all their programs exist")]


def tool_search(patient: Patient) -> Sequence[Diagnosis]:
    others = "built-in tools; `callgate tools list` also counts custom tools, `/tools` also tools of MCP servers"
    return [fine(f"{shipped_search(patient.settings).sentence} ({others})")]


def sandbox(patient: Patient) -> Sequence[Diagnosis]:
    config = patient.settings
    asks = "commands that do more than read need your approval"
    if config.settings.sandbox_disabled:
        return [warning("switched off by sandbox.disabled", asks, "callgate config edit --user")]
    if not config.own_data:
        return [warning("none in force", f"the data folder is in the workspace; {asks}", "unset CALLGATE_DATA_DIR")]
    proofs = Proofs(config.data)
    found = proofs.test()
    if isinstance(found, str):
        return [warning("no kind of sandbox works", f"{found}; {asks}", "callgate sandbox prove --all")]
    outcomes = next((proof.outcomes for proof in proofs.kept() or () if proof.backend == found.backend), ())
    held = sum(each.outcome == "held" for each in outcomes)
    saw = f"in force: {BACKENDS[found.backend]}; {held} attacks were blocked (all attacks: callgate sandbox prove)"
    if config.settings.sandbox_allow_hosts and not found.has_network:
        return [warning(saw, NO_HOSTS)]
    return [fine(saw if bubblewrap_program() else f"{saw}; commands start faster with bubblewrap: {INSTALL}")]


def data_folder(patient: Patient) -> Sequence[Diagnosis]:
    config = patient.settings
    folder = config.data
    there = next(each for each in (folder, *folder.parents) if each.exists())
    saw = str(folder) if there == folder else f"{folder} (created with the first session)"
    repair = f"chmod u+rwx {shlex.quote(str(there))}, or set CALLGATE_DATA_DIR to a folder of yours"
    if there == folder:
        try:
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            return [fault(saw, f"the folder is not writable: {error.strerror}", repair)]
        if os.name == "posix" and folder.stat().st_mode & 0o022:
            return [warning(saw, "others may write there", f"chmod go-w {shlex.quote(str(folder))}")]
    elif not os.access(there, os.W_OK | os.X_OK):
        return [fault(saw, f"{there} may not be written", repair)]
    return [fine(saw)]


def sessions(patient: Patient) -> Sequence[Diagnosis]:
    config = patient.settings
    try:
        found = Archive(config.root, config.data).here()
    except CallgateError as error:
        return [fault("the sessions of this folder", str(error), "callgate session verify --all")]
    held = [f"{each.session} by {holder}" for each in found if (holder := _holder(Path(each.path)))]
    saw = f"{len(found)} of this folder" + (f"; open now: {', '.join(held)}" if held else "")
    broken = [each for each in found if each.fault]
    wrong = [
        warning(saw, f"{each.session}: {each.fault}", f"callgate session verify {each.session}") for each in broken
    ]
    return wrong or [fine(saw)]


def _holder(log: Path) -> str:
    """Return the process that has a session open, or an empty string if there is none or the log cannot be read."""
    if not lock_path(log).exists():
        return ""
    try:
        holder = holder_of(log)
    except (OSError, JournalError):
        return ""
    return "" if holder is None else str(holder)


def _edit(layer: str) -> str:
    return f"callgate config edit --{layer}" if layer in ("user", "project", "local") else "callgate policy check"


def _hook_problem(line: HookLine, root: Path, environ: Mapping[str, str]) -> str:
    """Return the reason why a hook cannot run, or an empty string if none was found. Commands that only a shell can
    evaluate are not checked."""
    problem = target_fault(line, {})
    if problem:
        return problem
    if line.kind == "python":
        module = line.target.partition(":")[0].partition(".")[0]
        return "" if find_spec(module) is not None else f"there is no Python module {module}"
    if line.kind == "http":
        return ""
    program = next(_programs(line.target), "")
    if not program or program in _SHELL_WORDS:
        return ""
    program = _expanded(program, {**environ, "CALLGATE_PROJECT_DIR": str(root)})
    if "$" in program or "`" in program:
        return ""
    if "/" not in program:
        return "" if shutil.which(program, path=environ.get("PATH")) else f"there is no program {program} on PATH"
    place = root / program
    if not place.exists():
        return f"there is no file {place}"
    return "" if os.access(place, os.X_OK) else f"{place} is not executable: chmod +x it"


def _programs(command: str) -> Iterator[str]:
    try:
        words = shlex.split(command)
    except ValueError:
        return  # the shell says what is wrong with it
    yield from (word.rstrip(";") for word in words if not _ASSIGNMENT.match(word))


def _expanded(text: str, environ: Mapping[str, str]) -> str:
    text = re.sub(r"\$(\w+)|\$\{(\w+)\}", lambda found: environ.get(found[1] or found[2], found[0]), text)
    return text.replace("~", environ.get("HOME", "~"), 1) if text.startswith("~/") else text


_NONE = fine("none is configured")


def mcp_servers(patient: Patient) -> Sequence[Diagnosis]:
    config = patient.settings
    own = () if config.folder is None else (config.folder / OWN_FILE,)
    if not any(file.exists() for file in (*own, config.root / PROJECT_FILE)):
        return [_NONE]
    if find_spec("mcp") is None:
        return [fault("servers are configured", "the package mcp is missing", "pip install 'callgate[mcp]'")]
    from callgate.admin.servers import list_servers  # where there are any
    from callgate.assembly.servers import server_configs

    if not patient.online:
        known = server_configs(config, ServerFlags())
        told = f"{len(known.servers)} configured; `callgate mcp list` and `callgate doctor --online` connect to them"
        found = _noted(map(str, known.faults))
        return [*found, fine(told)] if known.servers else found or [_NONE]
    rows, notes = list_servers(config=config)
    found = _noted(notes)
    for row in rows:
        state, name = row.state, row.config.name
        if state.status == "needs login":
            found.append(warning(name, "it needs a login", f"callgate mcp login {name}"))
        elif state.status == "failed":
            found.append(fault(name, state.reason, f"callgate mcp test {name}"))
    there = [row for row in rows if row.state.status == "connected"]
    tools = sum(row.state.tools for row in there)
    return found or [fine(f"{len(there)} connected, with {counted(tools, 'tool')}")]


def _noted(notes: Iterable[str]) -> list[Diagnosis]:
    return [warning("files of servers", note, "callgate mcp list") for note in notes]
