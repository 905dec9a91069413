"""``callgate policy add``, ``revoke``, ``narrow`` and ``expire``: remembered answers changed."""

from argparse import Namespace
from collections.abc import Iterable

from callgate.admin.policy import WorkspacePolicy
from callgate.cli.policy.listing import answer_lines, until
from callgate.cli.policy.words import room_on
from callgate.cli.session.output import out, put
from callgate.cli.terminal import Line, Span, paragraph


def add(options: Namespace) -> int:
    """The id stands on the first line, for programs."""
    answer = WorkspacePolicy(options.root).remember(
        options.effect, options.rule, scope=options.scope, expires_at=options.expires, note=options.note
    )
    stream = out()
    put([(Span(answer.id),), *answer_lines(answer, room_on(stream))], stream)
    return 0


def revoke(options: Namespace) -> int:
    revoked = WorkspacePolicy(options.root).revoke(options.ids)
    _say(f"revoked {each.id}: {each.policy.effect} {each.covers}" for each in revoked)
    return 0


def narrow(options: Namespace) -> int:
    before, after = WorkspacePolicy(options.root).narrow(options.id, options.rule)
    _say([f"{after.id}: {after.policy.effect} {after.covers}, and no more {before.covers}"])
    return 0


def expire(options: Namespace) -> int:
    answer = WorkspacePolicy(options.root).expire(options.id, options.when)
    _say([f"{answer.id}: {answer.policy.effect} {answer.covers} {until(answer)}"])
    return 0


def _say(texts: Iterable[str]) -> None:
    stream = out()
    lines: list[Line] = []
    for text in texts:
        lines += paragraph(text, room_on(stream), hang=2)
    put(lines, stream)
