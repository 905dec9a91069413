"""The checks of ``callgate doctor``. A check returns what it found, what is wrong and the commands that repair it.

diagnosis  the outcome of a check
machine    Python, packages, programs, clock, disk, the terminal, the editor
models     keys, the configured model, local servers
workspace  settings, trust, hooks, MCP servers, tool search, stored sessions, sandbox

Each check runs in its own thread, with a timeout. A check that fails is reported as a finding. All functions block.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from threading import Thread
from time import monotonic

from callgate.admin.doctor import machine, models, workspace
from callgate.admin.doctor.diagnosis import Diagnosis, NoSettings, Patient, fault, skipped
from callgate.config import Config, load_config
from callgate.transcript.masking import Masker
from callgate.words.errors import UsageError

PATIENCE, ONLINE_PATIENCE = 5.0, 40.0
"""Seconds for a check; a model or a server that is really asked may take longer."""

DoctorCheck = Callable[[Patient], Sequence[Diagnosis]]
CHECKS: Mapping[str, DoctorCheck] = {
    "python": machine.python,
    "packages": machine.packages,
    "settings": workspace.settings,
    "key": models.key,
    "model": models.model,
    "local servers": models.local_servers,
    "trust": workspace.trust,
    "MCP servers": workspace.mcp_servers,
    "hooks": workspace.hooks,
    "tool search": workspace.tool_search,
    "sandbox": workspace.sandbox,
    "search": machine.search,
    "git": machine.git,
    "data folder": workspace.data_folder,
    "sessions": workspace.sessions,
    "disk": machine.disk,
    "clock": machine.clock,
    "terminal": machine.terminal,
    "editor": machine.editor,
}
"""Every check, in the order in which they are told."""


def run_checks(
    config: Config | None = None,
    *,
    online: bool = False,
    environ: Mapping[str, str] | None = None,
    checks: Mapping[str, DoctorCheck] = CHECKS,
    patience: float | None = None,
) -> list[Diagnosis]:
    """Run the checks in parallel threads and return their findings in the order of the table.

    config    the settings, by default of the current folder; settings that cannot be loaded are reported as a finding
    online    send one request to the model, which costs a few tokens, and connect the MCP servers
    patience  the seconds after which a check fails
    """
    given = os.environ if environ is None else environ
    problem = ""
    if config is None:
        try:
            config = load_config(environ=given)
        except UsageError as error:
            problem = str(error)
    patient = Patient(config, problem, given, online)
    limit = patience or (ONLINE_PATIENCE if online else PATIENCE)
    found: dict[str, Sequence[Diagnosis]] = {}

    def examine(name: str, check: DoctorCheck) -> None:
        try:
            found[name] = check(patient)
        except NoSettings:
            found[name] = [skipped("not checked, because the settings are invalid or cannot be read")]
        except Exception as error:  # one that fails must not hide the others
            found[name] = [fault("nothing", f"this check failed: {type(error).__name__}: {error}")]

    threads = {
        name: Thread(target=examine, args=(name, check), name=f"callgate-doctor-{name}", daemon=True)
        for name, check in checks.items()
    }
    for thread in threads.values():
        thread.start()
    until = monotonic() + limit
    for thread in threads.values():
        thread.join(max(0.0, until - monotonic()))
    late = [fault("nothing", f"this check did not finish within {limit:g} s")]
    mask = Masker(given).text
    return [_named(name, each, mask) for name in checks for each in found.get(name, late)]


def _named(name: str, each: Diagnosis, mask: Callable[[str], str]) -> Diagnosis:
    """Set the name of the check and mask secrets, which quoted settings and command lines may contain."""
    return replace(
        each, name=name, saw=mask(each.saw), problem=mask(each.problem), repair=tuple(map(mask, each.repair))
    )


def is_healthy(found: Sequence[Diagnosis]) -> bool:
    """Return True if no finding is a fault. Warnings are ignored."""
    return all(each.status != "fault" for each in found)
