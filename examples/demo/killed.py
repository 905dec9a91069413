"""The second play: a process is killed in the middle of a batch of calls, and another one resumes its session."""

import asyncio
from asyncio.subprocess import Process

from callgate import Continue, QuestionAsked, Session, SessionLimits
from callgate.testing import ScriptedModel, call, say, turn
from callgate.words.events import CallArrived, CallSettled, CallStarted, Passing, QuestionAnswered
from callgate.words.limits import ExecutorSettings
from callgate.words.messages import ResultPart, Text

from .record import PlayRecord, title_of
from .shop import DEPLOYED, GUARDED, UPLOADS, rules, store
from .stage import KILLED, Play, PlayStage

NAME = "killed"
# Two calls are in the middle at once, whatever concurrency the environment sets for the other plays.
SETTINGS = ExecutorSettings()
_AT_THE_KILL = "2 finished, 2 in the middle, 1 asked"


def first_model(speed: float) -> ScriptedModel:
    return ScriptedModel(
        turn(
            say("I look at the checks, mend the README,", over=0.2 / speed),
            call("read", path="checks.py"),
            call("edit", path="README.md", old="EUR", new="euros"),
            say("deploy, upload the prices, and open the shop.", over=0.2 / speed),
            call("deploy", target="shop"),
            call("upload", path="prices.py"),
            call("edit", path=GUARDED, old="open = false", new="open = true"),
        )
    )


async def _perform(stage: PlayStage) -> None:
    async def kill(process: Process) -> None:
        stage.view.say("The log is on disk. Now SIGKILL.")
        await stage.shop.spend(0.4)
        process.kill()

    if not await stage.first_process(NAME, kill):
        return
    text = "It is not known if the shop was deployed, so I would look before I do it again. The rest is done."
    record, model = stage.record, ScriptedModel(turn(say(text, over=0.3 / stage.shop.speed)))
    journal = await store(NAME).open()
    async with Session(
        model, stage.shop.tools(), gate=rules(), journal=journal, limits=SessionLimits(calls=SETTINGS)
    ) as session:
        record.status = session.status
        await stage.send(session, Continue())
    parts = (part for request in model.requests for message in request.messages for part in message.parts)
    results = [part for part in parts if isinstance(part, ResultPart)]
    record.sent = [(each.call_id, "".join(t.text for t in each.content if isinstance(t, Text))) for each in results]
    log = await asyncio.to_thread(store(NAME).read)
    record.log, record.damages = log.events, len(log.damages)
    stage.keep_files("end")


def _counts(record: PlayRecord, kind: type[object], call: CallArrived) -> tuple[int, int]:
    """The number of events of a type about a call: in the first process, and in the second."""
    every, before = record.of(kind, call), PlayRecord(record.events[: record.before_kill]).of(kind, call)
    return len(before), len(every) - len(before)


def _as_it_was_left(record: PlayRecord) -> tuple[bool, str]:
    names: dict[type[object], str] = {CallSettled: "finished", CallStarted: "in the middle", QuestionAsked: "asked"}
    states = [next(names[kind] for kind in names if _counts(record, kind, call)[0]) for call in record.calls()]
    found = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
    holds = (record.exit_codes, record.status) == ([KILLED], "paused") and found == _AT_THE_KILL
    return holds, f"the process ended with {record.exit_codes[0]}; calls: {found}; opened again it was {record.status}"


def _acknowledged(record: PlayRecord) -> tuple[bool, str]:
    told = [event for event in record.events[: record.before_kill] if not isinstance(event, Passing)]
    found = sum(event in record.log for event in told)
    return bool(told) and found == len(told), f"{len(told)} events were told before the kill, {found} are in the log"


def _intact(record: PlayRecord) -> tuple[bool, str]:
    return bool(record.log) and not record.damages, f"{len(record.log)} events, {record.damages or 'none'} damaged"


def _finished(record: PlayRecord) -> tuple[bool, str]:
    calls, sent = record.calls()[:2], dict(record.sent)
    again = sum(_counts(record, CallStarted, call)[1] for call in calls)
    same = [title_of(call) for call in calls if sent[call.call_id] == record.result(call).text]
    return len(same) == 2 and not again, f"{' and '.join(same) or 'none'} as before, {again or 'none'} run again"


def _not_repeated(record: PlayRecord) -> tuple[bool, str]:
    deploy, lines = record.calls()[2], record.files["end"][DEPLOYED].count(b"\n")
    told, _, _ = dict(record.sent)[deploy.call_id].partition(":")
    once = lines == 1 and _counts(record, CallStarted, deploy) == (1, 0)
    holds = once and record.result(deploy).code == "outcome_unknown"
    return holds, f"{DEPLOYED} has {lines} line{'s' * (lines != 1)}; the model was told: {told}"


def _same_key(record: PlayRecord) -> tuple[bool, str]:
    upload = record.calls()[3]
    ((key, lines),) = ((name, data) for name, data in record.files["end"].items() if name.startswith(UPLOADS))
    twice = lines == b"attempt 1\nattempt 2\n" and _counts(record, CallStarted, upload) == (1, 1)
    return twice and record.result(upload).code == "ok", f"{lines.count(b'attempt')} attempts, one file: {key}"


def _asked_again(record: PlayRecord) -> tuple[bool, str]:
    edit = record.calls()[4]
    (_, before), (_, again) = record.of(QuestionAsked, edit)
    assert again.question.preview is not None
    (shown,) = again.question.preview.files
    counts = [_counts(record, kind, edit) for kind in (QuestionAsked, QuestionAnswered, CallStarted)]
    same = before.question.arguments_hash == again.question.arguments_hash
    exact = record.files["end"][GUARDED] == shown.after and record.result(edit).code == "ok"
    holds = counts == [(1, 1), (0, 1), (0, 1)] and same and exact
    return holds, f"{title_of(edit)}: asked in both processes, answered once, run once"


def _one_result(record: PlayRecord) -> tuple[bool, str]:
    calls, sent = [call.call_id for call in record.calls()], [call_id for call_id, _ in record.sent]
    order = "in order" if sent == calls else "not in order"
    return len(calls) == 5 and sent == calls, f"{len(calls)} calls, {len(sent)} results sent to the model, {order}"


CLAIMS = (
    ("A killed session is found as it was left", _as_it_was_left),
    ("Nothing acknowledged is lost with the process", _acknowledged),
    ("Every line of the log is intact", _intact),
    ("A call that had finished keeps its result", _finished),
    ("A call in the middle that has effects is not repeated", _not_repeated),
    ("A call that may be repeated is, with the same key", _same_key),
    ("An open question is asked again", _asked_again),
    ("Both processes together give one result for each call", _one_result),
)
TITLES = {1: "9. A process is killed in the middle of a batch; what is known afterwards"}
PLAY = Play("Put the shop online.", TITLES, CLAIMS, _perform)
