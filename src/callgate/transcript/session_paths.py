"""The paths of sessions: ``<data>/projects/<project key>/<session id>.jsonl``. The log of a nested session is
``agents/<name>.jsonl`` in the folder ``<session id>`` of the session around it."""

import os
import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from time import gmtime, strftime

from callgate.words.errors import JournalError


def data_folder(environment: Mapping[str, str] | None = None) -> Path:
    """``$CALLGATE_DATA_DIR``, or ``callgate`` in the place for a user's data."""
    found = os.environ if environment is None else environment
    if found.get("CALLGATE_DATA_DIR"):
        return Path(found["CALLGATE_DATA_DIR"]).absolute()
    if found.get("XDG_DATA_HOME"):
        return Path(found["XDG_DATA_HOME"]).absolute() / "callgate"
    home = found.get("HOME") or found.get("USERPROFILE")
    if not home or not Path(home).is_absolute():
        raise JournalError("there is no home folder to keep sessions in: set CALLGATE_DATA_DIR to a folder of yours")
    return Path(home) / ".local" / "share" / "callgate"


def project_key(workspace: Path) -> str:
    """One folder name per workspace: readable, and never the same for two (``a-b`` is not ``a/b``)."""
    real = os.path.realpath(workspace)
    words = re.sub(r"[^A-Za-z0-9]+", "-", "-".join(Path(real).parts[-2:])).strip("-")[-40:].strip("-")
    return f"{words or 'root'}-{sha256(os.fsencode(real)).hexdigest()[:12]}"


def new_session_id(now: float) -> str:
    """Sorts by time, and is unique without asking anybody."""
    return f"{strftime('%Y%m%d-%H%M%S', gmtime(now))}-{os.urandom(4).hex()}"


def agent_log(log: Path, name: str) -> Path:
    """Return the log of the nested session with this name. ``log`` is the one of the session around it."""
    return log.with_suffix("") / "agents" / f"{name}.jsonl"


def agent_logs(log: Path) -> list[Path]:
    """Return the logs of all sessions inside the session of this log, at any depth."""
    found = sorted((log.with_suffix("") / "agents").glob("*.jsonl"))
    return [each for agent in found for each in (agent, *agent_logs(agent))]
