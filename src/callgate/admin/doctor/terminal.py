"""Checks of the terminal and of the editor."""

import locale
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence

from callgate.admin.doctor.diagnosis import Diagnosis, Patient, fault, fine, warning

NARROWEST = 60
_NO_PASTE = ("dumb", "linux", "vt100", "vt220", "ansi")
"""Terminals that do not mark pasted text, so that its lines look typed."""


def terminal(patient: Patient) -> Sequence[Diagnosis]:
    environ = patient.environ
    if not sys.stdout.isatty() and not sys.stderr.isatty():
        return [fine("not a terminal: the output goes to a file or a pipe")]
    columns, rows = shutil.get_terminal_size()
    term = environ.get("TERM", "")
    saw = ", ".join(
        (
            f"TERM={term or '(not set)'}",
            f"{columns} × {rows}",
            _colours(environ),
            f"text in {_encoding()}",
            "pasted text is marked" if term and term not in _NO_PASTE else "pasted text is not marked",
            *_around(environ),
        )
    )
    found = list(_problems(saw, term, columns, environ))
    return found or [fine(saw)]


def _problems(saw: str, term: str, columns: int, environ: Mapping[str, str]) -> Sequence[Diagnosis]:
    found: list[Diagnosis] = []
    if term in ("", "dumb"):
        found.append(warning(saw, "this terminal cannot move its cursor", "export TERM=xterm-256color"))
    if _encoding() not in ("utf-8", "utf8"):
        found.append(warning(saw, "signs are shown in ASCII, because the locale is not UTF-8", "export LANG=C.UTF-8"))
    if columns < NARROWEST:
        found.append(warning(saw, f"{columns} columns are few", f"make the window {NARROWEST} columns wide or more"))
    if environ.get("TMUX") and term and not term.startswith(("tmux", "screen")):
        repair = "tmux set -g default-terminal tmux-256color"
        found.append(warning(saw, f"inside tmux TERM should begin with tmux or screen, not {term}", repair))
    return found


def editor(patient: Patient) -> Sequence[Diagnosis]:
    environ = patient.environ
    name = next((each for each in ("VISUAL", "EDITOR") if environ.get(each)), "")
    command = environ.get(name, "vi") if name else "vi"
    try:
        program = shlex.split(command)[0]
    except (ValueError, IndexError):
        return [fault(f"{name}={command}", "this is no command", "export EDITOR=nano")]
    place = shutil.which(program, path=environ.get("PATH"))
    saw = f"{name}={command}" if name else "neither $VISUAL nor $EDITOR is set, so vi"
    if place is None:
        told = fault if name else warning
        return [told(saw, f"there is no program {program}", "export EDITOR=nano")]
    return [fine(f"{saw} ({place})")]


def _colours(environ: Mapping[str, str]) -> str:
    if environ.get("NO_COLOR"):
        return "no colours (NO_COLOR)"
    if environ.get("COLORTERM", "") in ("truecolor", "24bit"):
        return "true colour"
    term = environ.get("TERM", "")
    if term in ("", "dumb"):
        return "no colours"
    return "256 colours" if "256" in term else "16 colours"


def _encoding() -> str:
    return (getattr(sys.stdout, "encoding", None) or locale.getpreferredencoding(do_setlocale=False)).lower()


def _around(environ: Mapping[str, str]) -> list[str]:
    found = [("TMUX", "in tmux"), ("STY", "in screen"), ("SSH_CONNECTION", "over SSH")]
    return [what for name, what in found if environ.get(name)]
