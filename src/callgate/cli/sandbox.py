"""``callgate sandbox prove`` and ``run``."""

from argparse import Namespace
from collections.abc import Iterator

from callgate.admin.sandbox import BACKENDS, Proof, prove_again, run_inside
from callgate.cli.policy.words import room_on
from callgate.cli.session.output import out, put, put_json, say
from callgate.cli.terminal import Line, Signs, Span, paragraph, signs_for
from callgate.formats.display import counted

IN_FORCE, NONE = 0, 1


def prove(options: Namespace) -> int:
    proofs, stream = prove_again(every=options.all), out()
    best = next((proof for proof in proofs if proof.holds), None)
    if options.json:
        put_json(
            {"in_force": None if best is None else best.backend, "proofs": [_as_json(each) for each in proofs]}, stream
        )
        return NONE if best is None else IN_FORCE
    for proof in proofs:
        put(_lines(proof, room_on(stream), signs_for(stream)), stream)
    last = f"In force: {best.backend}." if best else "No sandbox is in force: commands with effects are asked about."
    put([(Span(last, "green" if best else "red"),)], stream)
    return NONE if best is None else IN_FORCE


def run(options: Namespace) -> int:
    return run_inside(tuple(options.words), say)


def _lines(proof: Proof, columns: int, signs: Signs) -> Iterator[Line]:
    mark, style = (signs.ok, "green") if proof.holds else (signs.bad, "red")
    yield (Span(f"{mark} {BACKENDS[proof.backend]}", style),)
    if proof.fault:
        yield from paragraph(proof.fault, columns, indent=2)
        return
    held = [each for each in proof.outcomes if each.outcome == "held"]
    untried = [each for each in proof.outcomes if each.outcome == "untried"]
    yield (Span(f"  {counted(len(held), 'attack')} held off, {len(proof.escaped)} got out, {len(untried)} untried"),)
    for each in proof.escaped:
        yield (Span(f"  {signs.bad} {each.name}", "red"), Span(f" {each.why}", "dim"))
    for each in untried:
        yield (Span(f"  {signs.waits} {each.name}: {each.why}", "dim"),)


def _as_json(proof: Proof) -> dict[str, object]:
    outcomes = [{"attack": each.name, "outcome": each.outcome, "why": each.why} for each in proof.outcomes]
    return {"backend": proof.backend, "holds": proof.holds, "why_not": proof.why_not, "attacks": outcomes}
