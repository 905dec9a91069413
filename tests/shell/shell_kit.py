"""Short ways to put a question to the shell part of the gate."""

from callgate.shell.analysis import analyse
from callgate.shell.command_grants import Granted, NotGranted, grant
from callgate.shell.command_patterns import parse_pattern
from callgate.shell.reach import reaches


def nowhere(path: str) -> bool:
    """No Edit rule covers anything."""
    return False


def judged(rules: str, command: str) -> Granted | NotGranted:
    """The rules, with `` | `` between them, on the allow side of a command."""
    return grant(analyse(command), [parse_pattern(rule) for rule in rules.split(" | ")])


def granted(rules: str, command: str) -> bool:
    return isinstance(judged(rules, command), Granted)


def reached(rule: str, command: str) -> str | None:
    """Why a deny rule applies to a command."""
    return reaches(analyse(command), parse_pattern(rule))


def cases(text: str) -> list[tuple[str, str]]:
    """Lines of ``rules ⇒ command``; a line that starts with a blank has the rules of the line before."""
    found: list[tuple[str, str]] = []
    rules = ""
    for line in text.strip("\n").splitlines():
        before, sign, command = line.partition("⇒")
        if not sign:
            raise ValueError(line)
        rules = before.strip() or rules
        found.append((rules, command.strip()))
    return found
