"""Parses awk programs: a program that only computes and prints is accepted.

In awk the first operand ends the options: it is the program, unless ``-e`` gives one.
"""

import re

from callgate.shell.command import names
from callgate.shell.programs.program_arguments import Argument, Invocation
from callgate.shell.programs.uses import Use, unsure

_ASSIGNED = re.compile(r"[A-Za-z_]\w*=")
_TOKEN = re.compile(
    r"""(?P<blank>[ \t\n]+) | (?P<comment>\#[^\n]*) | (?P<string>"(?:[^"\\\n]|\\[^\n])*")
    | (?P<name>[A-Za-z_]\w*) | (?P<number>\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+)
    | (?P<op>\|\||&&|\|&|>>|<=|>=|==|!=|\+\+|--|[-+*/%^]=|!~|[-+*%^!<>|?:~$(){}\[\],;=])""",
    re.X | re.A,
)
_OF_EXPRESSION = re.compile(r"[^/\\\[\n]+|\\[^\n]")
_OF_BRACKET = re.compile(r"[^]/\\\[\n]+|\\[^\n]|\[:[a-z]+:\]")
# In any context these run, read or reveal more than the named files. A number may precede a name without a
# blank.
_REACHING = re.compile(
    r"(?<![A-Za-z_])(?:system|getline|close|ENVIRON|PROCINFO|ARGV|ARGC|SYMTAB|FUNCTAB|extension)(?!\w)|@",
    re.A,
)
# After these a line continues.
_CONTINUES_LINE = names(", { && || ? : do else")
_BEFORE_WORDS = names("print printf return in case else do exit")
_OTHER_WORDS = names("next nextfile break continue delete length default switch if while for function func BEGIN END")
_BEFORE_REGEX = names("( , { } ; ! ~ !~ && || ? : = == != < > <= >= + - * % ^ += -= *= %= ^= [")


class _NotUnderstood(Exception):
    """The program cannot be parsed."""


def _end_of_expression(text: str, start: int) -> int:
    """Return the index after the closing slash. Implementations differ on slashes and brackets inside brackets: such an
    expression is refused."""
    at = start + 1
    while text[at : at + 1] != "/" or at == start + 1:
        if text[at : at + 1] == "[":
            at = _end_of_bracket(text, at)
            continue
        piece = _OF_EXPRESSION.match(text, at)
        if piece is None:
            raise _NotUnderstood("an expression that does not end")
        at = piece.end()
    return at + 1


def _end_of_bracket(text: str, start: int) -> int:
    first = at = start + (2 if text.startswith("[^", start) else 1)
    while text[at : at + 1] != "]" or at == first:
        piece = _OF_BRACKET.match(text, at)
        if piece is None:
            raise _NotUnderstood("brackets that programs read differently")
        at = piece.end()
    return at + 1


def _tokens(text: str) -> tuple[list[tuple[str, str]], bool]:
    """Return kinds and texts of tokens, and whether there is a slash that may be a division or start an expression."""
    found: list[tuple[str, str]] = []
    at, unclear = 0, False
    while at < len(text):
        if text[at] == "/":
            before = found[-1] if found else ("op", ";")
            keyword = before[0] == "name" and before[1] in _BEFORE_WORDS
            starts = keyword or (before[0] == "op" and before[1] in _BEFORE_REGEX)
            unclear = unclear or before[1] in (")", "++", "--", "]", "$") or before[1] in _OTHER_WORDS
            end = _end_of_expression(text, at) if starts else at + 1
            found.append(("regex" if starts else "op", text[at:end]))
            at = end
            continue
        token = _TOKEN.match(text, at)
        if token is None:
            raise _NotUnderstood(f"{text[at]!r}")
        kind = token.lastgroup or ""
        if kind == "blank" and "\n" in token.group():
            if found and found[-1][1] not in _CONTINUES_LINE:
                found.append(("op", ";"))
        elif kind not in ("blank", "comment"):
            found.append((kind, token.group()))
        at = token.end()
    return found, unclear


def _first_unsafe_part(text: str) -> str | None:
    """Return the first part of the program that does more than compute and print."""
    reaching = _REACHING.search(text)
    if reaching:
        return reaching.group()
    tokens, unclear = _tokens(text)
    if unclear and re.search(r">|(?<!\|)\|(?!\|)", text):
        return "'>' or '|'"
    printing = False
    for kind, token in tokens:
        if kind == "name" and token in ("print", "printf"):
            printing = True
        elif kind == "op":
            if token in (";", "}"):
                printing = False
            if token in ("|", "|&", ">>") or (printing and token == ">"):
                return repr(token)
    return None


def program_uses(text: str, at: int) -> list[Use]:
    """Return the uses of an awk program beyond computing and printing."""
    program = Argument("", text, at, at)
    try:
        ventures = _first_unsafe_part(text)
    except _NotUnderstood as odd:
        return [program.beyond("unknown", f"the awk program is not understood: {odd}")]
    return [program.beyond("code", f"the awk program may reach out with {ventures}")] if ventures else []


def awk(call: Invocation) -> list[Use]:
    programs, files = call.matching("-e", "--source"), call.operands
    if not programs:
        programs, files = files[:1], files[1:]
    uses = call.uses(call.options)
    uses += [each.included("read") for each in files if not _ASSIGNED.match(each.text)]
    uses += [each.beyond("unknown", "it stands behind a file") for each in files if each.text[:1] == "-" != each.text]
    for each in programs:
        if each.on < len(call.words) and unsure(call.words[each.on]):
            uses.append(each.beyond("unknown", "the shell fills in the program"))
        else:
            uses += program_uses(each.text, each.on)
    return uses
