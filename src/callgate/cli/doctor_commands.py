"""The commands ``callgate doctor`` and ``callgate update``."""

from collections import Counter
from collections.abc import Iterator, Sequence

from callgate.admin.doctor import Diagnosis, is_healthy, run_checks
from callgate.admin.installed import NAME, app_packages, find_installation
from callgate.cli.command_rows import ArgumentRow, CommandRow
from callgate.cli.terminal import Line, Safe, Span, paragraph, signs_for
from callgate.cli.text_output import json_fields, out, put, put_json, put_text, say, text_width
from callgate.formats.display import counted

_VERSION = 1


def doctor(online: bool, as_json: bool) -> int:
    """Check Python and its packages, keys and models, settings, trust, MCP servers, hooks, the sandbox, stored
    sessions, programs, disk, clock and the terminal. Changes nothing. Without --online, connects only to your local
    model server."""
    found = run_checks(online=online)
    healthy = is_healthy(found)
    if as_json:
        checks = [json_fields(each, "status", "saw", "problem", "repair", check="name") for each in found]
        put_json({"version": _VERSION, "ok": healthy, "checks": checks})
    else:
        put(_lines(found))
        counts = Counter(each.status for each in found)
        texts = [counted(counts[status], status) for status in ("fault", "warning") if counts[status]]
        style = "red" if counts["fault"] else "yellow" if texts else "green"
        put_text(", ".join(texts) or "nothing is wrong", style)
    return 0 if healthy else 1


def _lines(found: Sequence[Diagnosis]) -> Iterator[Line]:
    signs, room = signs_for(out()), text_width()
    marks = {
        "ok": (signs.ok, "green"),
        "warning": ("!", "yellow"),
        "fault": (signs.bad, "red"),
        "skipped": (signs.waits, "dim"),
    }
    margin = max((len(each.name) for each in found), default=0) + 4
    before = ""
    for each in found:
        mark, style = marks[each.status]
        name = each.name if each.name != before else ""
        before = each.name
        first, *rest = paragraph(each.saw, room, indent=margin)
        yield Span(f"{mark} ", style), Span(Safe(f"{name:<{margin - 2}}"), "bold"), *first[1:]
        yield from rest
        if each.problem:
            yield from paragraph(each.problem, room, style, indent=margin)
        for repair in each.repair:
            yield from paragraph(f"repair: {repair}", room, "cyan", indent=margin, hang=2)


def update() -> int:
    """Print the command that updates Callgate, for the way it was installed (pip, pipx, uv, a folder or Git). Runs
    nothing."""
    found, packages = find_installation(), app_packages()
    has_app = bool(packages) and all(each.version for each in packages)
    say(str(found))
    put_text(found.renew(f"{NAME}[app]" if has_app else NAME))
    return 0


COMMANDS = (
    CommandRow(
        "doctor",
        doctor,
        "",
        (
            ArgumentRow("--online", "ask the model for an answer too, for a few tokens, and connect MCP servers"),
            ArgumentRow("--json", "print all outcomes as JSON", "as_json"),
        ),
        examples=("callgate doctor", "callgate doctor --online", "callgate doctor --json"),
        more="exit codes: 0 nothing is wrong (there may be warnings), 1 something is",
    ),
    CommandRow("update", update, "", examples=("callgate update",)),
)
