"""``callgate doctor``: the outcome of every check."""

from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from callgate.admin.doctor import Diagnosis, is_healthy, run_checks
from callgate.cli.policy.words import room_on
from callgate.cli.session.output import out, put, put_json
from callgate.cli.terminal import Line, Safe, Signs, Span, paragraph, signs_for
from callgate.formats.display import counted

WELL, SICK = 0, 1
_VERSION = 1
_WARNS = "!"


def doctor(options: Namespace) -> int:
    found, stream = run_checks(online=options.online), out()
    code = WELL if is_healthy(found) else SICK
    if options.json:
        put_json({"version": _VERSION, "ok": code == WELL, "checks": [_as_json(each) for each in found]}, stream)
        return code
    put(_lines(found, room_on(stream), signs_for(stream)), stream)
    put([_last(found)], stream)
    return code


def _lines(found: Sequence[Diagnosis], room: int, signs: Signs) -> Iterator[Line]:
    marks = {
        "ok": (signs.ok, "green"),
        "warning": (_WARNS, "yellow"),
        "fault": (signs.bad, "red"),
        "skipped": (signs.waits, "dim"),
    }
    margin = max((len(each.name) for each in found), default=0) + 4
    told = ""
    for each in found:
        mark, style = marks[each.status]
        name = each.name if each.name != told else ""
        told = each.name
        first, *rest = paragraph(each.saw, room, indent=margin)
        yield Span(f"{mark} ", style), Span(Safe(f"{name:<{margin - 2}}"), "bold"), *first[1:]
        yield from rest
        if each.problem:
            yield from paragraph(each.problem, room, style, indent=margin)
        for repair in each.repair:
            yield from paragraph(f"repair: {repair}", room, "cyan", indent=margin, hang=2)


def _last(found: Sequence[Diagnosis]) -> Line:
    counts = Counter(each.status for each in found)
    told = [counted(counts[status], status) for status in ("fault", "warning") if counts[status]]
    if not told:
        return (Span("nothing is wrong", "green"),)
    return (Span(", ".join(told), "red" if counts["fault"] else "yellow"),)


def _as_json(each: Diagnosis) -> dict[str, Any]:
    written = {"check": each.name, "status": each.status, "saw": each.saw, "problem": each.problem}
    return {**written, "repair": list(each.repair)}
