"""The table of programs: its form, and for whole lists of commands, what a rule for a program covers and leaves out.

The lists in ``tests/data/shell`` are written by hand, not taken from the table: ``left_out`` and ``granted`` have rules
and a command in each line, ``options_left_out`` options of a program that a rule for it does not include, ``free`` and
``asked`` commands that need no rule, or one.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from callgate.shell.analysis import analyse
from callgate.shell.effects import effects_of
from callgate.shell.prefixes import prefix_of
from callgate.shell.programs.program_arguments import CHECKED, Argument, of_kind
from callgate.shell.programs.program_entries import Program, options_in, programs_in
from callgate.shell.programs.program_table import PROGRAMS, grammar_behind, grammar_of
from tests.security.corpora import rows_of
from tests.shell.shell_kit import cases, granted

DATA = Path(__file__).parents[1] / "data" / "shell"
# Rows whose rule or place is what matters, not the words behind a prefix.
OTHERS = ("cwd-argument", "hard-safety", "read-only-default", "exact")
# For these the first operand ends the options, so one behind it is a word of a script or of another command.
STOPPING = frozenset(
    ("env", "bash", "node", "perl", "ruby", "php", "lua", "julia", "tsx", "git", "sudo", "printf", "npx")
)


def lines(name: str) -> list[str]:
    return (DATA / f"{name}.txt").read_text(encoding="utf-8").strip("\n").splitlines()


def options() -> Iterator[tuple[str, str]]:
    rule = ""
    for line in lines("options_left_out"):
        text = line
        if not line.startswith(" "):
            rule, _, text = line.partition(":")
        yield from ((rule, option) for option in text.split())


def test_a_second_entry_of_a_name_is_an_error() -> None:
    with pytest.raises(ValueError, match="cat has two entries"):
        programs_in("cat | read", "tac,cat | read")
    with pytest.raises(ValueError, match="a b has two entries"):
        programs_in("a b|c\na d|b")


def test_a_fact_that_no_program_has_is_an_error() -> None:
    with pytest.raises(TypeError, match="harmless"):
        programs_in("cat | read | -n | harmless")


def test_a_program_is_one_line_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    line = "tokei | read | -fs -t= -e= --files --sort= | read_only"
    assert not granted("tokei:*", "tokei -f src")
    monkeypatch.setitem(cast(dict[str, Program], PROGRAMS), "tokei", programs_in(line)["tokei"])
    assert granted("tokei:*", "tokei -f --sort lines src")
    assert effects_of(analyse("tokei src")) == "none"
    assert not granted("tokei:*", "tokei --output x")


def test_groups_lines_and_facts_of_the_table_are_read() -> None:
    table = programs_in(
        "# a comment\n$few = -a\n    -b=\nx,y z|w | read\n    | $few -c | prefix_operands=2 replaces_first=-a,-b"
    )
    assert table.keys() == {"x", "y z", "y w"}
    entry = table["y w"]
    assert (entry.operands, entry.options, entry.prefix_operands, entry.replaces_first) == (
        "read",
        "-a -b= -c",
        2,
        "-a -b",
    )


def test_every_kind_that_an_entry_names_is_known() -> None:
    bad: list[str] = []
    for name, entry in PROGRAMS.items():
        grammar = grammar_of(name)
        kinds = [
            *(option.kind for option in grammar.table.values()),
            *grammar.kinds,
            entry.last_operand,
            entry.always,
            entry.without_subcommand,
        ]
        if entry.after_dashes is not None:
            behind = grammar_behind(entry.after_dashes)
            kinds += [*(option.kind for option in behind.table.values()), *behind.kinds]
        for kind in {each for each in kinds if each and each not in ("argv", "shell", *CHECKED)}:
            try:
                of_kind(kind, Argument("-x", "y", 1, 1))
            except KeyError:
                bad.append(f"{name}: {kind}")
    assert bad == []


def test_an_option_with_a_value_is_written_one_letter_at_a_time() -> None:
    with pytest.raises(ValueError, match="one letter at a time"):
        options_in("-ab=read")


def test_every_subcommand_belongs_to_a_program_that_has_them() -> None:
    heads = {name.rpartition(" ")[0] for name in PROGRAMS if " " in name}
    assert [head for head in heads if head not in PROGRAMS or not PROGRAMS[head].subcommands] == []


def test_a_rule_leaves_out_what_runs_writes_loads_or_leads_out() -> None:
    assert [each for each in cases("\n".join(lines("left_out"))) if granted(*each)] == []


@pytest.mark.spec("GATE-15")
def test_no_option_that_does_more_is_part_of_a_grant_however_it_is_written() -> None:
    bad: list[str] = []
    for rule, option in options():
        glued = f"{option}{'' if len(option) == 2 and rule != 'go test' else '='}x"
        ways = [f"{rule} {option} x", f"{rule} {glued}", f"{rule} x {option} y"]
        bad += [each for each in (ways if rule not in STOPPING else ways[:2]) if granted(f"{rule}:*", each)]
    assert bad == []


def test_everyday_commands_pass_under_a_rule_for_them() -> None:
    assert [each for each in cases("\n".join(lines("granted"))) if not granted(*each)] == []


def test_readers_need_no_rule() -> None:
    assert [each for each in lines("free") if effects_of(analyse(each)) != "none"] == []


def test_everything_else_is_asked_about() -> None:
    assert [each for each in lines("asked") if effects_of(analyse(each)) == "none"] == []


@pytest.mark.spec("GATE-15")
def test_a_program_without_an_entry_is_granted_by_its_exact_command_alone() -> None:
    assert granted("frobnicate src", "frobnicate src")
    assert granted("frobnicate -x src:*", "frobnicate -x src")
    for command in ("frobnicate src", "frobnicate -x", "frobnicate A=b", "frobnicate -- x"):
        assert not granted("frobnicate:*", command)
    assert not granted("frobnicate *", "frobnicate src")


@pytest.mark.spec("GATE-16")
def test_no_prefix_is_offered_that_would_cover_an_attack() -> None:
    """For each attack on a rule for a program: the prefix that "always" would offer for it, or for the part of it
    before the attack, does not cover it."""
    bad: list[str] = []
    for row in (*rows_of("bash_found"), *rows_of("attacks_bash"), *rows_of("bash_bypass")):
        if "allow" in row["accept"] or row["list"] != "allow" or row["class"] in OTHERS:
            continue
        words = row["command"].split()
        for count in range(1, len(words) + 1):
            prefix = prefix_of(analyse(" ".join(words[:count])))
            if prefix is not None and granted(f"{prefix}:*", row["command"]) and row.get("world") != "fuzz":
                bad.append(f"{row['id']}: {prefix}:* on {row['command']}")
    assert sorted(set(bad)) == []


@pytest.mark.spec("GATE-16")
def test_programs_that_run_others_offer_no_prefix_of_their_own() -> None:
    for command in (
        "xargs ls",
        "find . -name x",
        "awk 1 a",
        "sudo ls",
        "env ls",
        "bash x.sh",
        "cp a b",
        "make",
        "python",
    ):
        assert prefix_of(analyse(command)) is None, command
    assert prefix_of(analyse("make test")) == "make test"
    assert prefix_of(analyse("npm run build")) == "npm run build"
    assert prefix_of(analyse("uv run pytest -q")) == "uv run pytest"
    assert prefix_of(analyse("git log -3")) == "git log"
    assert prefix_of(analyse("python -m pytest -q")) == "python -m pytest"
