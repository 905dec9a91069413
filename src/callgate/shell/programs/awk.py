"""awk: programs that compute and print are let through, whatever else they try is not."""

import re

from callgate.shell.programs.in_place import rewritten
from callgate.shell.programs.options import grammar, loose, names, scan, uses_in
from callgate.shell.programs.uses import Program, Use, Words, unsure

_GRAMMAR = grammar(
    """-bcCghMnNOPrsStV -F=text -v=text -L?=text -e=text --source=text --assign=text --field-separator=text --posix
    --re-interval --characters-as-bytes --traditional --sandbox --optimize --bignum --use-lc-numeric
    --non-decimal-data --lint?=text
    -f=load -E=load -i=load -l=load -d?=write -o?=write -p?=write -D?=odd -W=odd -m=odd
    --file=load --exec=load --include=load --load=load --dump-variables?=write --pretty-print?=write
    --profile?=write --debug?=odd""",
    "text",
    "read",
    instead="-f -e -E --file --source --exec",
)
_TOKEN = re.compile(
    r"""(?P<blank>[ \t\n]+) | (?P<comment>\#[^\n]*) | (?P<string>"(?:[^"\\\n]|\\[^\n])*")
    | (?P<name>[A-Za-z_]\w*) | (?P<number>\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+)
    | (?P<op>\|\||&&|\|&|>>|<=|>=|==|!=|\+\+|--|[-+*/%^]=|!~|[-+*%^!<>|?:~$(){}\[\],;=])""",
    re.X | re.A,
)
_OF_EXPRESSION = re.compile(r"[^/\\\[\n]+|\\[^\n]")
_OF_BRACKET = re.compile(r"[^]/\\\[\n]+|\\[^\n]|\[:[a-z]+:\]")
# Whatever the text around them: these run, read or reveal more than the files that were named. A number may stand
# right before a name.
_REACHING = re.compile(
    r"(?<![A-Za-z_])(?:system|getline|close|ENVIRON|PROCINFO|ARGV|ARGC|SYMTAB|FUNCTAB|extension)(?!\w)|@",
    re.A,
)
# After these a line goes on.
_GOES_ON = names(", { && || ? : do else")
_BEFORE_WORDS = names("print printf return in case else do exit")
_OTHER_WORDS = names("next nextfile break continue delete length default switch if while for function func BEGIN END")
_BEFORE_REGEX = names("( , { } ; ! ~ !~ && || ? : = == != < > <= >= + - * % ^ += -= *= %= ^= [")


class _Odd(Exception):
    """The program is not understood."""


def _end_of_expression(text: str, start: int) -> int:
    """Past the slash that ends it. Programs differ on a slash between brackets, and on where brackets end that have
    a bracket in them: such an expression is not understood."""
    at = start + 1
    while text[at : at + 1] != "/" or at == start + 1:
        if text[at : at + 1] == "[":
            at = _end_of_bracket(text, at)
            continue
        piece = _OF_EXPRESSION.match(text, at)
        if piece is None:
            raise _Odd("an expression that does not end")
        at = piece.end()
    return at + 1


def _end_of_bracket(text: str, start: int) -> int:
    first = at = start + (2 if text.startswith("[^", start) else 1)
    while text[at : at + 1] != "]" or at == first:
        piece = _OF_BRACKET.match(text, at)
        if piece is None:
            raise _Odd("brackets that programs read differently")
        at = piece.end()
    return at + 1


def _tokens(text: str) -> tuple[list[tuple[str, str]], bool]:
    """Kinds and texts; and whether a slash was met that may divide or may start an expression."""
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
            raise _Odd(f"{text[at]!r}")
        kind = token.lastgroup or ""
        if kind == "blank" and "\n" in token.group():
            if found and found[-1][1] not in _GOES_ON:
                found.append(("op", ";"))
        elif kind not in ("blank", "comment"):
            found.append((kind, token.group()))
        at = token.end()
    return found, unclear


def _ventures(text: str) -> str | None:
    """What of the program goes beyond computing and printing."""
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
    """What an awk program does besides computing and printing."""
    try:
        ventures = _ventures(text)
    except _Odd as odd:
        return [Use("odd", text, at, at, f"the awk program is not understood: {odd}")]
    return [Use("code", text, at, at, f"the awk program may reach out with {ventures}")] if ventures else []


def _read(words: Words) -> list[Use]:
    found = scan(_GRAMMAR, words)
    operands = [each for each in found if not each.name]
    programs = [each for each in found if each.name in ("-e", "--source")]
    if not any(each.name in _GRAMMAR.instead for each in found):
        programs, operands = operands[:1], operands[1:]
    assigned = {each.at for each in operands if re.match(r"[A-Za-z_]\w*=", each.text)}
    uses = uses_in(_GRAMMAR, [each for each in found if each.name or each.at not in assigned]) + loose(words)
    files = [file.text for file in operands]
    for each in found:
        if each.option and each.option.kind == "load" and "inplace" in each.text:
            uses += rewritten(each, files)
            files = []  # the first one names them all
    for each in programs:
        if each.on < len(words) and unsure(words[each.on]):
            uses.append(Use("odd", "", each.at, each.on, "the shell fills in the program"))
        else:
            uses += program_uses(each.text, each.on)
    return uses


AWK: dict[str, Program] = dict.fromkeys(("awk", "gawk", "mawk", "nawk"), Program(_read))
