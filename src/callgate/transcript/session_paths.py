"""The paths of sessions: ``<data>/projects/<project key>/<session id>.jsonl``.

The log of a nested session is ``agents/<name>.jsonl`` in the folder ``<session id>`` of its parent session.
"""

import os
import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from time import gmtime, strftime

from callgate.words.errors import JournalError


def data_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Return the path in ``$CALLGATE_DATA_DIR``. If the variable is not set, return the folder ``callgate`` in the
    system's folder for user data."""
    found = os.environ if environment is None else environment
    if found.get("CALLGATE_DATA_DIR"):
        return Path(found["CALLGATE_DATA_DIR"]).absolute()
    if found.get("XDG_DATA_HOME"):
        return Path(found["XDG_DATA_HOME"]).absolute() / "callgate"
    home = found.get("HOME") or found.get("USERPROFILE")
    if not home or not Path(home).is_absolute():
        raise JournalError("no home folder was found for sessions: set CALLGATE_DATA_DIR to a folder")
    return Path(home) / ".local" / "share" / "callgate"


def project_key(workspace: Path) -> str:
    """Return the folder name for a workspace. The name is readable, and different for each workspace (``a-b`` and
    ``a/b`` differ)."""
    real = os.path.realpath(workspace)
    words = re.sub(r"[^A-Za-z0-9]+", "-", "-".join(Path(real).parts[-2:])).strip("-")[-40:].strip("-")
    return f"{words or 'root'}-{sha256(os.fsencode(real)).hexdigest()[:12]}"


def new_session_id(now: float) -> str:
    """Return a new unique session id. Ids sort by time."""
    return f"{strftime('%Y%m%d-%H%M%S', gmtime(now))}-{os.urandom(4).hex()}"


def agent_log(log: Path, name: str) -> Path:
    """Return the log of the nested session with this name. ``log`` is the log of its parent session."""
    return log.with_suffix("") / "agents" / f"{name}.jsonl"


def agent_logs(log: Path) -> list[Path]:
    """Return the logs of all nested sessions below the session of this log, at any depth."""
    found = sorted((log.with_suffix("") / "agents").glob("*.jsonl"))
    return [each for agent in found for each in (agent, *agent_logs(agent))]
