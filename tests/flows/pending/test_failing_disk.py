"""A staged change whose apply fails half-way is put back or finished before anything else is done with it."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from callgate import tool
from callgate.testing import call, turn
from callgate.tools.staging import stage
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.events import CallSettled
from callgate.words.inputs import Resolve
from callgate.words.limits import LoopLimits
from callgate.words.traits import exclusive
from tests.flows.gated import of
from tests.flows.pending.kit import Bench, apply, ends, model_of, really, refusals, sent


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture(autouse=True)
def disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two files ``a`` is replaced, ``b`` is not, and ``a`` cannot be put back; then the disk works again."""
    real, failures = os.replace, iter(range(2))

    def replaces(source: Any, target: Any, **where: Any) -> None:
        if (target == "b" or (target == "a" and str(source).endswith(".old"))) and next(failures, None) is not None:
            raise OSError(errno.EIO, "Input/output error")
        real(source, target, **where)

    monkeypatch.setattr(os, "replace", replaces)


def check_half_applied(settled: CallSettled) -> None:
    assert (settled.result.effects, settled.result.is_error) == ("unknown", True)
    assert "could not restore a" in settled.result.text


def both(bench: Bench) -> list[Any]:
    for name in "ab":
        bench.write(name, "0")

    @tool(name="Both", effects="none", locks=exclusive, stages=True)
    def stages() -> str:
        """Stage a change of two files."""
        changes = ChangeSet("both", tuple(FileChange(name, b"0", b"1") for name in "ab"), "Both")
        stage("both", changes, source_tool_name="Renamer")
        return "Shown."

    return [stages]


@pytest.mark.spec("CHG-1", "RES-5")
@really
async def test_what_failed_half_way_is_put_back_before_it_is_applied_again(bench: Bench) -> None:
    model = model_of(turn(call("Both")), turn(apply()), turn(apply("once more")))
    async with await bench.kept(model, more=both(bench)) as session:
        events = await sent(session, "go")
        check_half_applied(of(events, CallSettled)[1])
        assert ends(events) == [("applied", "model")]
    assert bench.files() == {"a": "1", "b": "1"}
    assert bench.states() == ["applied"]


@pytest.mark.spec("CHG-1", "RES-11")
@really
async def test_what_failed_half_way_and_could_only_be_finished_counts_as_applied(bench: Bench) -> None:
    model = model_of(turn(call("Both")), turn(apply()))
    async with await bench.kept(model, more=both(bench), limits=LoopLimits(max_turns=2)) as session:
        check_half_applied(of(await sent(session, "go"), CallSettled)[1])
        assert (bench.states(), [each.label for each in session.pending]) == (["applying"], ["both"])
        for backup in bench.root.glob(".callgate-*.old"):
            backup.unlink()
        (refusal,) = refusals(await sent(session, Resolve("apply", "looks right")))
        assert refusal == "No pending action to resolve. Nothing to apply or discard."
        assert session.pending == ()
    assert bench.files() == {"a": "1", "b": "1"}
    assert bench.states() == ["applied"]
