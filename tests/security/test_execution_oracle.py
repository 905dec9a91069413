"""What the gate allows is really run: nothing but what the rules mean may happen.

``CALLGATE_ORACLE_COUNT`` and ``CALLGATE_ORACLE_SEED`` are for long runs. A command that is found belongs into
``tests/data/security/found_bash.jsonl``.
"""

import json
import os
from pathlib import Path

import pytest

from callgate.shell.analysis import analyse
from callgate.shell.command_grants import Granted, grant
from callgate.shell.command_patterns import parse_pattern
from tests.security.oracle import GRANTED, Jail, free_programs, need_jail
from tests.security.oracle_commands import RULES, Commands, after_each_option, options_of, sed_scripts

CORPUS = Path(__file__).parents[1] / "data" / "security" / "bash_bypass.jsonl"
SEED = int(os.environ.get("CALLGATE_ORACLE_SEED", "1"))
FEW, MANY = 300, 2_000
COUNT = int(os.environ.get("CALLGATE_ORACLE_COUNT", "0"))
PATTERNS = [parse_pattern(f"{rule}:*") for rule in RULES]

# Each is a thing that the jail must see, or it proves nothing.
SEEN_BY_THE_JAIL = [
    ("git status;pwn", "ran /usr/bin/pwn"),
    ("/bin/sh -c true", "ran /bin/sh"),
    ("bash -c true", "ran /usr/bin/bash"),
    ("./pwn.sh", "ran /usr/bin/pwn"),
    ("echo x >new", "made ws/new"),
    ("echo x >a.txt", "changed ws/a.txt"),
    ("echo x >/box/outside/new", "made outside/new"),
    ("echo x >/tmp/new", "made tmp/new"),
    ("find a.txt -delete", "removed ws/a.txt"),
    ("find . -name a.txt -exec pwn {} +", "ran /usr/bin/pwn"),
    ("find . *", "removed ws/odd/find"),
    ("sed -n '1e pwn' a.txt", "ran /bin/sh -c pwn"),
    ("sed -n 'w new' a.txt", "made ws/new"),
    ("sed -n p *.txt", "changed ws/odd/sed/a.txt"),
    ("rg --pre pwn a", "ran /usr/bin/pwn"),
    ("rg -z a", "ran /usr/bin/gzip"),
    ("rg a *", "ran /usr/bin/pwn"),
    ("sort *.txt", "made ws/odd/sort/new.txt"),
    ("git log *", "made ws/odd/git/"),
    ("git log --show-signature", "ran /usr/bin/gpg"),
    ("git log '--format=%G?'", "ran /usr/bin/gpg"),
    ("cd evil && git status", "ran "),
    ("echo $SECRET", "showed a secret"),
]


def allowed(command: str) -> bool:
    """By the rules alone, with no right to write anywhere."""
    return isinstance(grant(analyse(command), PATTERNS), Granted)


def allowed_commands(seed: int, count: int) -> list[str]:
    attacks = [json.loads(line)["command"] for line in CORPUS.read_text(encoding="utf-8").splitlines()]
    made = Commands(seed, attacks)
    found: dict[str, None] = {}
    for _ in range(count * 200):
        command = made.next()
        if allowed(command):
            found[command] = None
            if len(found) == count:
                break
    return list(found)


@pytest.fixture
def jail(tmp_path: Path) -> Jail:
    need_jail()
    return Jail(tmp_path, sorted({*GRANTED, *free_programs()}))  # GATE-14: these may stand beside what has a rule


def test_the_jail_sees_what_must_not_happen(jail: Jail) -> None:
    found = {each.command: each.did for each in jail.findings([command for command, _ in SEEN_BY_THE_JAIL])}
    unseen = [
        (command, did) for command, did in SEEN_BY_THE_JAIL if not any(did in one for one in found.get(command, ()))
    ]
    assert unseen == []


def test_the_jail_sees_nothing_where_nothing_happens(jail: Jail) -> None:
    quiet = ["git status", "git log -p", "echo hi", "find . -name a.txt", "sed -n 1p a.txt", "rg a", "sort b.txt"]
    assert jail.findings([*quiet, "wc -l a.txt", "cat a.txt", "cat /dev/zero", "echo *"]) == []


def test_commands_are_the_same_for_the_same_seed() -> None:
    one, other = Commands(7, ["a b"]), Commands(7, ["a b"])
    assert [one.next() for _ in range(200)] == [other.next() for _ in range(200)]


def test_every_program_says_which_options_it_has() -> None:
    need_jail()
    assert all(options_of(rule) for rule in RULES)
    assert "--pre" in options_of("rg")
    assert "-fprint" in options_of("find")


def test_no_option_hides_what_stands_after_it(jail: Jail) -> None:
    commands = [command for command in after_each_option() if allowed(command)]
    assert len(commands) > 20
    assert not (found := jail.findings(commands)), "\n".join(map(str, found))


@pytest.mark.slow
def test_no_command_of_sed_hides_what_stands_after_it(jail: Jail) -> None:
    commands = [command for command in sed_scripts() if allowed(command)]
    assert len(commands) > 300
    assert not (found := jail.findings(commands)), "\n".join(map(str, found))


@pytest.mark.parametrize("count", [pytest.param(FEW, id="few"), pytest.param(MANY, id="many", marks=pytest.mark.slow)])
@pytest.mark.timeout(max(300, COUNT))
def test_nothing_happens_but_what_the_rules_mean(jail: Jail, count: int) -> None:
    count = COUNT or count
    commands = allowed_commands(SEED + count, count)
    assert len(commands) == count, "too few of the commands are allowed to prove anything"
    found = jail.findings(commands)
    assert not found, f"CALLGATE_ORACLE_SEED={SEED} CALLGATE_ORACLE_COUNT={count}:\n" + "\n".join(map(str, found))
