"""Parses sed scripts and awk programs strictly. A rule does not cover a script that cannot be parsed.

A sed script may read and write files and run commands; each of these is an effect. An awk program is accepted if it
only computes and prints. In awk the first operand is the program and ends the options, unless ``-e`` gives the program.
"""

import re
from collections.abc import Sequence
from posixpath import basename, dirname, join

from callgate.shell.command import names
from callgate.shell.programs.program_arguments import WHOLE, Argument, Invocation
from callgate.shell.programs.uses import Use, unsure

# Text between delimiters. A delimiter is any ASCII character except newline, blank and backslash. An unescaped newline
# ends the text.
_PART = r"(?:\\.|(?!(?P={0}))[^\\\n])*+"
_EXPRESSION = rf"(?P<{{0}}>[\x00-\t\x0b-\x1f!-\[\]-\x7f])(?P<{{0}}_text>{_PART})(?P={{0}})"
_END = r"(?=[ \t]*+(?:\Z|[;\n}#]))"
# An address and a command. All groups are atomic, so there is one way to parse a script.
_COMMAND = re.compile(
    rf"""(?>(?:[0-9]++(?:~[0-9]++)?+|\$|(?:\\|(?=/)){_EXPRESSION.format("first")}[IM]*+)[ \t]*+
        (?:,[ \t]*+(?:[+~]?[0-9]++|\$|(?:\\|(?=/)){_EXPRESSION.format("last")}[IM]*+))?+ [ \t]*+ (?:![ \t]*+)*+)?+
    (?>\#[^\n]*+ | \{{ | [=dDgGhHnNpPxzF}}]{_END} | [btT:][ \t]*+[A-Za-z0-9_.-]*+{_END} | [qQlL][ \t]*+[0-9]*+{_END}
        | [aic](?:\\(?:.|\Z)|[^\\\n])*+ | [rR][ \t]*+(?P<reads>[^\n]*+) | [wW][ \t]*+(?P<writes>[^\n]*+)
        | e[ \t]*+(?P<runs>[^\n]*+) | y{_EXPRESSION.format("y")}{_PART.format("y")}(?P=y){_END}
        | s{_EXPRESSION.format("s")}{_PART.format("s")}(?P=s)(?P<flags>[gpiImMe0-9]*+)
          (?:w[ \t]*+(?P<output>[^\n]*+))?+{_END})""",
    re.X | re.S,
)
_BETWEEN = " \t\n;"


def script_uses(text: str, at: int) -> list[Use]:
    """Return the effects of a sed script: the files that it reads and writes, and the commands that it runs."""
    script, uses, rest = Argument("", text, at, at), list[Use](), text
    while rest := rest.lstrip(_BETWEEN):
        found = _COMMAND.match(rest)
        if found is None or any(_open_bracket(found[name] or "") for name in ("first_text", "last_text", "s_text")):
            return [script.beyond("unknown", f"the sed script cannot be parsed at {rest[:20]!r}")]
        if found["reads"] is not None:
            uses.append(script.included("read", found["reads"]))
        for name in (found["writes"], found["output"]):
            uses += [] if name is None else [script.beyond("write", "the sed script writes a file", name)]
        if found["runs"] is not None or "e" in (found["flags"] or ""):
            uses.append(script.beyond("run", "the sed script runs a command", found["runs"] or ""))
        rest = rest[found.end() :]
    return uses


def _open_bracket(expression: str) -> bool:
    """Return True if the expression ends inside a bracket. Implementations differ on a delimiter inside brackets."""
    plain = re.sub(r"\\.", "", expression, flags=re.S)
    return "[" in plain and "]" not in plain[plain.rindex("[") :]


def sed(call: Invocation) -> list[Use]:
    options = call.matching("-e", "--expression", "-f", "--file")
    scripts = call.matching("-e", "--expression") if options else call.operands[:1]
    files = call.operands if options else call.operands[1:]
    places = call.matching("-i", "--in-place")
    uses = call.uses(each for each in call.options if each not in places)
    uses += [each.included("read") for each in files]
    for each in places[:1]:
        uses += rewritten(each, [file.text for file in files], each.text)
    uses += [each.beyond("unknown", f"{each.name} is given more than once") for each in places[1:]]
    if options and call.operands and options[-1].at > call.operands[0].at:
        # where options end at the first operand, it is the script
        uses.append(options[-1].beyond("unknown", f"{options[-1].name} follows a script or a file"))
    if any(each.on < len(call.words) and unsure(call.words[each.on]) for each in scripts):
        return [*uses, scripts[0].beyond("unknown", "the shell expands a part of the script")]
    return uses + script_uses("\n".join(each.text for each in scripts), scripts[-1].on) if scripts else uses


def rewritten(option: Argument, files: Sequence[str], suffix: str = "") -> list[Use]:
    """Return the effects of an option that changes files in place. With a suffix, the old files are kept under new
    names. A rule that contains the option covers any file of the workspace; otherwise each file needs an Edit rule."""
    why = f"{option.name} writes a file"
    # A suffix may lead to another folder; without a file it is unknown what is written.
    unclear = [option.beyond("write", why, "")] if "/" in suffix or not files else []
    kept = [_kept(path, suffix) for path in files] if suffix else []
    return unclear + [option.beyond("write", why, path, target=True) for path in (*files, *kept)]


def _kept(path: str, suffix: str) -> str:
    name = basename(path)
    return join(dirname(path), suffix.replace("*", name) if "*" in suffix else name + suffix)


def rewriting(call: Invocation) -> list[Use]:
    """Return the effects of formatters and linters. They change the files named as operands if an option such as
    ``--fix`` is given, or if no option of ``writes_unless``, such as ``--check``, is given."""
    places = [each for each in call.options if each.option and each.option.kind == "place"]
    uses = [WHOLE.included("alter"), *call.uses(each for each in call.arguments if each not in places)]
    for each in places:
        uses += rewritten(each, [file.text for file in call.operands] or ["."])
    if call.program.writes_unless and not call.matching(*call.program.writes_unless.split()):
        uses += [each.included("write") for each in call.operands]
    return uses


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
    r"(?<![A-Za-z_])(?:system|getline|close|ENVIRON|PROCINFO|ARGV|ARGC|SYMTAB|FUNCTAB|extension)(?!\w)|@", re.A
)
# After these tokens the statement continues on the next line.
_CONTINUES_LINE = names(", { && || ? : do else")
_BEFORE_WORDS = names("print printf return in case else do exit")
_OTHER_WORDS = names("next nextfile break continue delete length default switch if while for function func BEGIN END")
_BEFORE_REGEX = names("( , { } ; ! ~ !~ && || ? : = == != < > <= >= + - * % ^ += -= *= %= ^= [")


class _NotUnderstood(Exception):
    """The awk program cannot be parsed."""


def _end_of_expression(text: str, start: int) -> int:
    """Return the index after the closing slash of a regular expression. Raise _NotUnderstood for a slash or bracket
    inside brackets, which implementations parse differently."""
    at = start + 1
    while text[at : at + 1] != "/" or at == start + 1:
        if text[at : at + 1] == "[":
            at = _end_of_bracket(text, at)
            continue
        piece = _OF_EXPRESSION.match(text, at)
        if piece is None:
            raise _NotUnderstood("an unterminated expression")
        at = piece.end()
    return at + 1


def _end_of_bracket(text: str, start: int) -> int:
    first = at = start + (2 if text.startswith("[^", start) else 1)
    while text[at : at + 1] != "]" or at == first:
        piece = _OF_BRACKET.match(text, at)
        if piece is None:
            raise _NotUnderstood("brackets that programs parse differently")
        at = piece.end()
    return at + 1


def _tokens(text: str) -> tuple[list[tuple[str, str]], bool]:
    """Return the kind and text of each token, and True if a slash may be either a division or the start of an
    expression."""
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
    """Return the effects of an awk program that does more than compute and print; empty for any other awk program."""
    program = Argument("", text, at, at)
    try:
        ventures = _first_unsafe_part(text)
    except _NotUnderstood as odd:
        return [program.beyond("unknown", f"the awk program cannot be parsed: {odd}")]
    why = f"the awk program may run commands or access files with {ventures}"
    return [program.beyond("code", why)] if ventures else []


def awk(call: Invocation) -> list[Use]:
    programs, files = call.matching("-e", "--source"), call.operands
    if not programs:
        programs, files = files[:1], files[1:]
    uses = call.uses(call.options)
    uses += [each.included("read") for each in files if not _ASSIGNED.match(each.text)]
    dashed = [each for each in files if each.text[:1] == "-" != each.text]
    uses += [each.beyond("unknown", "the option follows a file name") for each in dashed]
    for each in programs:
        if each.on < len(call.words) and unsure(call.words[each.on]):
            uses.append(each.beyond("unknown", "the shell expands a part of the program"))
        else:
            uses += program_uses(each.text, each.on)
    return uses
