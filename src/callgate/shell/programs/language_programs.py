"""Rows of shells and of interpreters of languages.

A rule for an interpreter includes scripts of the workspace: ``python3:*`` covers ``python3 script.py``. ``python3
-c``, ``node -e`` and modules that run code need a rule that contains the option.
"""

from dataclasses import replace

from callgate.shell.command import names
from callgate.shell.programs.program_arguments import WHOLE, Argument, Invocation, loose, operands_in, uses_in
from callgate.shell.programs.uses import Use, Words

LANGUAGES = """
sh,bash,dash,zsh,ksh,ash | text | -abefhkmnptuvxBCEHPTr -o= -O= -s!code -i!code -l!load -D -c --norc --noprofile --posix
    --restricted --verbose --login!load --rcfile=load --init-file=load --command=run | options_first separate_value
    no_prefix prefix_operands=1 parser=shell
python,python2,python3,pypy,pypy3 | text | -bBdEhIOPqRsSuvVx -W=warning -X=plain -i!code -c=code -m=text --help-all |
    options_first prefix_operands=1 folder_variables=PYTHONPATH parser=language
node,nodejs,tsx,ts-node | text | -hvc -e=code -p=code --eval=code --print=code --check --test --watch --trace-warnings
    --no-warnings --enable-source-maps --max-old-space-size= --stack-trace-limit= --experimental-strip-types
    --test-name-pattern= -i!code --interactive!code | options_first separate_value prefix_operands=1 parser=language
# Modules of Python.
json.tool | read write | --sort-keys --indent= --tab --json-lines --no-ensure-ascii --compact
venv | change | --system-site-packages --upgrade-deps --without-pip --prompt=
# Only a rule for the exact command covers the following programs.
fish,csh,tcsh,pwsh,perl,ruby,php,lua,luajit,Rscript,julia,osascript,tclsh | | -e=code -E=code -r=code -B=code -R=code
    -F= -i?= | options_first no_prefix always=run
at,batch,crontab,expect,gdb,sqlite3,psql,mysql,vim,vi,nvim,view,emacs,nano,ed,ex,less,more,man | | | no_prefix
    always=run
"""
# Operands after which the code is read from stdin or typed by the user.
_STDIN = ("-", "/dev/stdin", "/dev/fd/0", "inspect", "debug")
# If one of these is the only option, the interpreter prints its version or help. -v makes Python verbose.
_TELLS = names("--version --help -V -h")
# Modules with a row of the same name, and modules that run only tests of the workspace.
_MODULES = names("pytest mypy ruff black isort flake8 tox pip json.tool venv")
_TEST_MODULES = names("unittest")


def shell(call: Invocation) -> list[Use]:
    """Return the effects of a shell. With ``-c`` the first operand is shell text. Without ``-c`` the first operand is a
    script; without an operand the shell reads commands from stdin."""
    words, found = call.words, call.arguments
    script = next((each for each in found if not each.name), None)
    last = script.at if script else len(words) - 1
    uses = uses_in(call.grammar, [each for each in found if each.name]) + loose(words[: last + 1])
    if script:
        uses += _handed_on(words, last + 1)
    if any(each.name == "-c" for each in found):
        return [*uses, Argument("", script.text if script else "", last, last).beyond("run", "-c runs shell text")]
    if script and script.text not in _STDIN and script.text[:1] != "+":
        return uses + _script(script)
    if any(each.name in ("--version", "--help") for each in found):
        return uses
    return [*uses, WHOLE.beyond("code", "it runs its standard input")]


def _script(found: Argument) -> list[Use]:
    return [found.included("code", ""), found.included("read")]


def _handed_on(words: Words, start: int) -> list[Use]:
    uses: list[Use] = []
    for each in operands_in(words, start):
        text = each.text.partition("=")[2] if each.text[:1] == "-" else each.text
        if text:
            uses.append(each.included("read", text.removeprefix("@"), guess=True))
    return uses


def _module(call: Invocation, found: Argument) -> list[Use]:
    """Return the effects of ``-m``: the effects that the table lists for the module. A rule must name a module that
    the table does not list."""
    if found.text in _MODULES:
        same = call.read_program(found.text, tuple(call.words[found.on :]))
        moved = [replace(use, at=use.at + found.on, on=use.on + found.on) for use in same]
        return [found.included("argv", ""), *moved]
    why = f"-m {found.text} runs a module"
    runs = found.included("code", "") if found.text in _TEST_MODULES else found.beyond("code", why, "")
    return [found.included("alter", ""), found.included("argv", ""), runs, *_handed_on(call.words, found.on + 1)]


def language(call: Invocation) -> list[Use]:
    """Return the effects of an interpreter. It runs the script or the code option, whichever comes first; the words
    after a script are arguments. In Python the code also ends the options."""
    words, found, python = call.words, call.arguments, "-m" in call.grammar.table
    if len(found) == 1 and found[0].name in (_TELLS if python else _TELLS | {"-v"}):
        return []
    codes = [each for each in call.options if _is_code(each) or (python and each.name == "-m")]
    script = next(iter(call.operands), None)
    if script is not None and script.at < min((each.at for each in codes), default=len(words)):
        codes, end = [], script.at
    elif codes:
        end = codes[0].on if python else max(each.on for each in call.options)
    else:
        end = len(words) - 1
    uses = uses_in(call.grammar, [each for each in call.options if each.at <= end]) + loose(words[: end + 1])
    if codes and codes[0].name == "-m":
        return uses + _module(call, codes[0])
    if codes:
        return uses + _handed_on(words, end + 1)
    if script is not None and script.text not in _STDIN:
        return uses + _script(script) + _handed_on(words, script.at + 1)
    if script is None and call.matching("--test"):
        return [*uses, call.matching("--test")[0].included("code", "")]
    return [*uses, WHOLE.beyond("code", "it runs its standard input")]


def _is_code(found: Argument) -> bool:
    return found.option is not None and found.option.kind == "code"
