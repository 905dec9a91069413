"""The program, the machine, the terminal and the variables that matter, with secrets masked, for people who look for a
fault or report one."""

import os
import platform
import sys
from collections.abc import Mapping

from callgate._version import __version__
from callgate.config import Config
from callgate.policy.trust import Trusted
from callgate.transcript.masking import Masker

_OTHERS = (
    "TERM",
    "COLORTERM",
    "TERM_PROGRAM",
    "NO_COLOR",
    "LANG",
    "LC_ALL",
    "EDITOR",
    "VISUAL",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
)
"""Variables that change what Callgate does and are not its own."""


def surroundings(config: Config, environ: Mapping[str, str] = os.environ) -> tuple[tuple[str, str], ...]:
    """Pairs of a name and a value, in the order in which they are shown. Values of variables that look secret, and
    secrets inside of other values, are masked."""
    masker = Masker(environ)
    facts = [
        ("callgate", __version__),
        ("Python", f"{platform.python_version()} ({sys.executable})"),
        ("platform", platform.platform()),
        ("terminal", environ.get("TERM_PROGRAM") or environ.get("TERM") or "none"),
        ("workspace", str(config.root)),
        ("trusted", "yes" if isinstance(config.trust, Trusted) else "no"),
        ("settings", str(config.folder or "none")),
        ("data", str(config.data)),
    ]
    wanted = sorted(name for name in environ if name.startswith("CALLGATE_") or name.upper() in _OTHERS)
    return tuple((name, masker.text(value)) for name, value in (*facts, *((name, environ[name]) for name in wanted)))
