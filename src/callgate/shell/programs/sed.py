"""Parses sed scripts strictly: a script that cannot be parsed is not covered."""

import re
from collections.abc import Sequence
from posixpath import basename, dirname, join

from callgate.shell.programs.program_arguments import WHOLE, Argument, Invocation
from callgate.shell.programs.uses import Use, unsure

# Text between delimiters, any ASCII character but three; a newline ends it unless escaped.
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
    """Return the files that a sed script reads and writes, and the commands that it runs."""
    script, uses, rest = Argument("", text, at, at), list[Use](), text
    while rest := rest.lstrip(_BETWEEN):
        found = _COMMAND.match(rest)
        if found is None or any(_open_bracket(found[name] or "") for name in ("first_text", "last_text", "s_text")):
            return [script.beyond("unknown", f"the sed script is not understood at {rest[:20]!r}")]
        if found["reads"] is not None:
            uses.append(script.included("read", found["reads"]))
        for name in (found["writes"], found["output"]):
            uses += [] if name is None else [script.beyond("write", "the sed script writes a file", name)]
        if found["runs"] is not None or "e" in (found["flags"] or ""):
            uses.append(script.beyond("run", "the sed script runs a command", found["runs"] or ""))
        rest = rest[found.end() :]
    return uses


def _open_bracket(expression: str) -> bool:
    """Return True if a bracket is open: implementations differ on delimiters inside brackets."""
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
    uses += [each.beyond("unknown", f"{each.name} stands there too often") for each in places[1:]]
    if options and call.operands and options[-1].at > call.operands[0].at:
        # where options end at the first operand, it is the script
        uses.append(options[-1].beyond("unknown", f"{options[-1].name} stands behind a script or a file"))
    if any(each.on < len(call.words) and unsure(call.words[each.on]) for each in scripts):
        return [*uses, scripts[0].beyond("unknown", "the shell fills in the script")]
    return uses + script_uses("\n".join(each.text for each in scripts), scripts[-1].on) if scripts else uses


def rewritten(option: Argument, files: Sequence[str], suffix: str = "") -> list[Use]:
    """Return the uses of an option that writes these files, and with a suffix keeps the old ones. A rule that writes
    the option out covers any file of the workspace; otherwise each file needs an Edit rule."""
    why = f"{option.name} writes a file"
    # A suffix may lead to another folder; without a file it is unknown what is written.
    unclear = [option.beyond("write", why, "")] if "/" in suffix or not files else []
    kept = [_kept(path, suffix) for path in files] if suffix else []
    return unclear + [option.beyond("write", why, path, target=True) for path in (*files, *kept)]


def _kept(path: str, suffix: str) -> str:
    name = basename(path)
    return join(dirname(path), suffix.replace("*", name) if "*" in suffix else name + suffix)


def rewriting(call: Invocation) -> list[Use]:
    """Return the uses of formatters and linters, which write their operands with an option, or without one of
    ``writes_unless``."""
    places = [each for each in call.options if each.option and each.option.kind == "place"]
    uses = [WHOLE.included("alter"), *call.uses(each for each in call.arguments if each not in places)]
    for each in places:
        uses += rewritten(each, [file.text for file in call.operands] or ["."])
    if call.program.writes_unless and not call.matching(*call.program.writes_unless.split()):
        uses += [each.included("write") for each in call.operands]
    return uses
