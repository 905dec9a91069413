"""``callgate policy check``: whether the settings can be relied on."""

from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Sequence

from callgate.admin.policy import ChangedFolder, SettingsFault, Trusted, WorkspacePolicy
from callgate.cli.policy.words import room_on
from callgate.cli.session.output import out, put
from callgate.cli.terminal import Line, Span, paragraph
from callgate.formats.display import counted


def check(options: Namespace) -> int:
    policy = WorkspacePolicy(options.root)
    stream = out()
    put(_lines(policy, room_on(stream)), stream)
    return 1 if policy.faults else 0


def _lines(policy: WorkspacePolicy, room: int) -> Iterator[Line]:
    config = policy.config
    yield from paragraph(f"workspace {config.root}, {_trusted(policy)}", room, hang=2)
    origin = next((f" ({said.origin})" for said in config.set_values if said.name == "mode"), "")
    yield from paragraph(f"mode {config.mode}{origin}", room, hang=2)
    yield from paragraph(_counts(policy), room, hang=2)
    notes = policy.notes
    if notes:
        yield (
            Span(f"{counted(len(notes), 'note')}: what is ignored, or may not be what it looks like", "bold yellow"),
        )
        yield from _listed(notes, room)
    if policy.faults:
        what = f"{counted(len(policy.faults), 'fault')}: every call is denied until this is put right"
        yield from paragraph(what, room, "bold red")
        yield from _listed(policy.faults, room)
    else:
        yield (Span("nothing else is wrong" if notes else "nothing is wrong", "green"),)


def _trusted(policy: WorkspacePolicy) -> str:
    state = policy.config.trust
    if isinstance(state, Trusted):
        return "trusted"
    return "changed since it was trusted" if isinstance(state, ChangedFolder) else "not trusted"


def _counts(policy: WorkspacePolicy) -> str:
    rules, config = policy.rulebook.rules, policy.config
    layers = Counter(rule.origin.layer for rule in rules)
    where = f" ({', '.join(f'{many} {layer}' for layer, many in layers.items())})" if rules else ""
    tests = sum(len(line.match) + len(line.not_match) for line in config.rules)
    answers = [each for each in policy.answers() if not each.expired]
    return ", ".join(
        (
            f"{counted(len(rules), 'rule')}{where}",
            counted(tests, "self-test"),
            counted(len(config.hooks), "hook"),
            counted(len(answers), "remembered answer"),
        )
    )


def _listed(faults: Sequence[SettingsFault], room: int) -> Iterator[Line]:
    for fault in faults:
        yield from paragraph(str(fault), room, indent=2, hang=2)
