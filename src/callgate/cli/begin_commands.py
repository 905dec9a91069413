"""The commands ``callgate demo``, ``callgate doctor``, ``callgate update`` and ``callgate record``."""

import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib import import_module
from math import isfinite
from pathlib import Path

from callgate.admin.doctor import Diagnosis, is_healthy, run_checks
from callgate.admin.installed import NAME, app_packages, find_installation
from callgate.cli.command_rows import JSON, ArgumentRow, CommandMisuse, CommandRow
from callgate.cli.terminal import Line, Safe, Span, paragraph, signs_for
from callgate.cli.text_output import json_fields, out, put, put_json, put_text, say, text_width
from callgate.formats.display import counted

FASTEST = 1000.0
CHECKOUT = Path(__file__).parents[3]
_VERSION = 1


def demo(speed: str | None, as_json: bool, lines: bool, no_color: bool) -> int:
    """Run a scripted model on real files in a temporary folder, which is removed at the end. Shows what Callgate
    promises, then checks each promise against the recorded events. Exit code 1 if a promise was broken."""
    pace, plays = _pace(speed), "callgate.demo_plays"
    if (CHECKOUT / "examples" / "demo").is_dir():
        sys.path.insert(0, str(CHECKOUT))
        plays = "examples.demo"
    return import_module(plays).perform(pace, as_json=as_json, lines=lines, no_color=no_color)


def _pace(speed: str | None) -> float:
    name, given = ("--speed", speed) if speed is not None else ("CALLGATE_DEMO_SPEED", "")
    given = given or os.environ.get(name) or "1"
    try:
        found = float(given)
    except ValueError:
        found = 0.0
    if not (isfinite(found) and 0 < found <= FASTEST):
        raise CommandMisuse(f"{name} must be a number above 0 and up to {FASTEST:g}, not {given!r}")
    return found


def doctor(online: bool, as_json: bool) -> int:
    """Check Python and its packages, keys and models, settings, trust, MCP servers, hooks, the sandbox, stored
    sessions, programs, disk, clock and the terminal. Changes nothing. Without --online, connects only to your local
    model server.

    exit codes: 0 nothing is wrong (there may be warnings), 1 something is
    """
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


def record(folder: str, words: Sequence[str]) -> int:
    """Run a command and record its exchanges with models. Each request is stored in a file of JSON lines, without
    keys, that only you can read. The files contain the conversation. The model replay/FOLDER replays them.
    $CALLGATE_RECORD records every command.

    examples:
      callgate record tape -- auth test ollama/qwen3

    exit codes: the codes of the command
    """
    from callgate.cli import main

    words = words[1:] if words[:1] == ["--"] else words
    if not words:
        raise CommandMisuse("the command is missing: callgate record FOLDER -- COMMAND")
    os.environ["CALLGATE_RECORD"] = str(Path(folder).absolute())
    return main(words)


COMMANDS = (
    CommandRow(
        "demo",
        demo,
        "",
        (
            ArgumentRow("--json", "print every event as a JSON line", "as_json"),
            ArgumentRow("--lines", "skip the first part, the agent in this terminal"),
            ArgumentRow("--speed X", "the speed factor (default 1, or $CALLGATE_DEMO_SPEED)"),
            ArgumentRow("--no-color", "print without colours (like $NO_COLOR)"),
        ),
    ),
    CommandRow(
        "doctor",
        doctor,
        "",
        (ArgumentRow("--online", "ask the model for an answer too, for a few tokens, and connect MCP servers"), JSON),
    ),
    CommandRow("update", update, ""),
    CommandRow(
        "record",
        record,
        "",
        (
            ArgumentRow("FOLDER", "where to write; it is made"),
            ArgumentRow("COMMAND...", "the arguments for callgate, after --", "words"),
        ),
    ),
)
