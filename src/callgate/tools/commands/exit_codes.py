"""The exit codes of commands that are not errors, such as 1 of grep."""

from collections.abc import Mapping

from callgate import shell

_NO_MATCH = {1: "nothing matched"}
_DIFFER = {1: "they differ"}
_FALSE = {1: "the condition is false"}
_MISSING = {1: "there is no such program", 127: "there is no such program"}
MEANINGS: Mapping[str, Mapping[int, str]] = {
    "[": _FALSE,
    "[[": _FALSE,
    "ag": _NO_MATCH,
    "cmp": _DIFFER,
    "command": _MISSING,
    "diff": _DIFFER,
    "egrep": _NO_MATCH,
    "expr": {1: "the value is empty or 0"},
    "false": _FALSE,
    "fgrep": _NO_MATCH,
    "git check-ignore": {1: "none of the paths is ignored"},
    "git config": {1: "there is no such setting"},
    "git diff": _DIFFER,
    "git grep": _NO_MATCH,
    "git merge-base": {1: "it is no ancestor"},
    "grep": _NO_MATCH,
    "hash": _MISSING,
    "pgrep": _NO_MATCH,
    "pidof": _NO_MATCH,
    "rg": _NO_MATCH,
    "systemctl is-active": {3: "it is not active"},
    "test": _FALSE,
    "type": _MISSING,
    "which": _MISSING,
    "zgrep": _NO_MATCH,
}
"""Program, or program and subcommand → exit code → its meaning."""

_PASSES_ON = frozenset(("|", "|&", ";", "\n"))
"""Operators after which the exit code of the last command is the exit code of the whole command line."""
_RARELY_FAIL = frozenset(("cd", "echo", "printf", "true", ":", "export", "set", "pwd"))


def meaning_of(command: str, code: int) -> str | None:
    """Return the meaning of an exit code that is not an error. Return None if the code is an error, or if it is unclear
    which command returned it."""
    analysis = shell.analyse(command)
    script = analysis.script
    if code <= 0 or analysis.fault is not None or "!" in command or len(script.operators) >= len(script.commands):
        return None  # a negation inverts the exit code
    words = [[word.value or "" for word in simple.words] for simple in script.commands]
    for earlier, operator in zip(words, script.operators, strict=False):
        plain = operator in _PASSES_ON or (operator == "&&" and earlier[:1] and earlier[0] in _RARELY_FAIL)
        if not plain:
            return None
    last = words[-1]
    if not last or set(script.commands[-1].within) - {"pipe"}:
        return None
    name = last[0].rpartition("/")[2]
    second = next((word for word in last[1:] if not word.startswith("-")), "")
    found = MEANINGS.get(f"{name} {second}") or MEANINGS.get(name) or {}
    return found.get(code)
