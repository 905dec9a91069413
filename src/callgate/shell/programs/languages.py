"""Shells and languages: a rule for one grants scripts of the workspace; code among the words has to be spelled.

``python3:*`` covers ``python3 script.py``; ``python3 -c``, ``node -e`` and modules that run code they are told need a
rule that writes the option out.
"""

from collections.abc import Callable
from dataclasses import replace

from callgate.shell.programs.entries import Entry, Found, Reader, grammar_for, loose, scan, uses_in
from callgate.shell.programs.sed import rewritten
from callgate.shell.programs.uses import Use, Words, names, text_of

ReadProgram = Callable[[str, Words], tuple[Use, ...]]

_STDIN = ("-", "/dev/stdin", "/dev/fd/0")
_SHELL = """-abefhkmnptuvxBCEHPTr -o= -O= -s!code -i!code -l!load -D -c --norc --noprofile --posix --restricted
    --verbose --login!load --rcfile=load --init-file=load --command=run"""
_PYTHON = "-bBdEhiIOPqRsSuvVx -W=warning -X= -c=code -m=text --help-all"
_NODE = """-hvc -e=code -p=code --eval=code --print=code --check --test --watch --trace-warnings --no-warnings
    --enable-source-maps --max-old-space-size= --stack-trace-limit= --experimental-strip-types
    --test-name-pattern= -i!code --interactive!code"""
_PERL = "-acfhlnpstTuUvwWX0 -e=code -E=code -F= -l?= -0?= -i?="
_RUBY = "-acghlnpsSvwW -e=code -F= -i?= -I=load -r=load --verbose"
_PHP = "-ahilmnqsvw -r=code -B=code -R=code -E=code -f=read -F=read"
# With one of these, and nothing else, it tells who it is. A -v of Python only makes it talk.
_TELLS = names("--version --help -V -h")
# Modules with an entry of their own under another name, and those that only run the workspace's tests.
_MODULES = names("pytest mypy ruff black isort flake8 pylint coverage tox nox pre_commit json.tool venv pip")
_TEST_MODULES = names("unittest")


def _shell(entry: Entry, words: Words, start: int) -> list[Use]:
    """``-c`` takes the first operand for shell text; without it the first operand is a script, or stdin is."""
    while start < len(words) and text_of(words[start])[:1] == "+":
        start += 1
    grammar = grammar_for(entry)
    found = scan(grammar, words, start)
    operands = [each for each in found if not each.name]
    last = operands[0].at if operands else len(words) - 1
    uses = uses_in(grammar, [each for each in found if each.name]) + loose(words[: last + 1])
    if operands:
        uses += arguments(words, last + 1)
    if any(each.name == "-c" for each in found):
        shown = operands[0].text if operands else ""
        return [*uses, Use(role="run", text=shown, at=last, on=last, why="-c runs shell text")]
    if operands and operands[0].text not in _STDIN:
        return [*uses, *_script(operands[0])]
    if any(each.name in ("--version", "--help") for each in found):
        return uses
    return [*uses, Use(role="code", text="", at=0, on=0, why="it runs what it reads")]


def _script(found: Found) -> list[Use]:
    return [
        Use(role="code", text="", at=found.at, on=found.on, why="it runs a script", granted=True),
        Use("read", found.text, found.at, found.on, granted=True),
    ]


def arguments(words: Words, start: int) -> list[Use]:
    """The words that a script gets: any of them may be a path."""
    uses: list[Use] = []
    for at, word in enumerate(words[start:], start):
        text = text_of(word)
        if text[:1] == "-":
            text = text.partition("=")[2]
        if text:
            uses.append(Use("read", text.removeprefix("@"), at, at, granted=True, guess=True))
    return uses


def module(words: Words, found: Found, read: ReadProgram) -> list[Use]:
    """A module with an entry is read by it; any other has to be spelled by the rule."""
    name = found.text.replace("_", "-")
    if found.text in _MODULES:
        same = read(name, words[found.on :])
        moved = [replace(use, at=use.at + found.on, on=use.on + found.on) for use in same]
        return [Use(role="argv", text="", at=found.at, on=found.on, why="it runs a module", granted=True), *moved]
    plain = found.text in _TEST_MODULES
    return [
        Use("alter", "", found.at, found.on, granted=True),
        Use(role="argv", text="", at=found.at, on=found.on, why="it runs a module", granted=True),
        Use(role="code", text="", at=found.at, on=found.on, why=f"-m {found.text} runs a module", granted=plain),
        *arguments(words, found.on + 1),
    ]


def language(*, python: bool = False) -> Reader:
    def read(entry: Entry, words: Words, start: int) -> list[Use]:
        grammar = grammar_for(entry)
        found = scan(grammar, words, start)
        if len(found) == 1 and found[0].name in (_TELLS if python else _TELLS | {"-v"}):
            return []
        codes = [each for each in found if each.name and (_is_code(each) or (python and each.name == "-m"))]
        script = next((each for each in found if not each.name), None)
        first = min((each.at for each in codes), default=len(words))
        if script is not None and script.at < first:
            codes, end = [], script.at
        else:
            end = codes[0].on if codes else len(words) - 1
        if codes and not python:  # only for Python does the code end the options
            end = max(each.on for each in found if each.name)
        uses = uses_in(grammar, [each for each in found if each.name and each.at <= end]) + loose(words[: end + 1])
        for each in found:
            if each.name == "-i" and not python:
                files = [text_of(word) for word in words[end + 1 :] if text_of(word)[:1] != "-"]
                uses += rewritten(each, files, each.text)
        if codes and codes[0].name == "-m":
            return uses + module(words, codes[0], _read)
        if codes:
            return uses + arguments(words, end + 1)
        if script is not None and script.text not in _STDIN:
            return uses + _script(script) + arguments(words, script.at + 1)
        test = next((each for each in found if each.name == "--test"), None)
        if test is not None and script is None:
            return [*uses, Use(role="code", text="", at=test.at, on=test.on, why="it runs the tests", granted=True)]
        return [*uses, Use(role="code", text="", at=0, on=0, why="it runs what it reads")]

    return read


def _is_code(found: Found) -> bool:
    return found.option is not None and found.option.kind == "code"


def _read(name: str, words: Words) -> tuple[Use, ...]:
    from callgate.shell.programs.table import read  # the table is made of these entries

    return read(name, words)


def _editor(entry: Entry, words: Words, start: int) -> list[Use]:
    """Files may be named; every option and every ``+command`` may run something."""
    found = scan(grammar_for(entry), words, start)
    commands = [
        Use(role="run", text=each.text, at=each.at, on=each.on, why="an editor command")
        for each in found
        if each.text[:1] == "+"
    ]
    reads = [Use("read", each.text, each.at, each.on, granted=True) for each in found if not each.name]
    runs = Use(role="run", text="", at=0, on=0, why="an editor runs commands")
    return [*uses_in(grammar_for(entry), found), *reads, *commands, *loose(words), runs]


LANGUAGES = (
    Entry(
        "sh,bash,dash,zsh,ksh,ash,fish,csh,tcsh,pwsh", "text", _SHELL, stops=True, exactly=True, named=1, code=_shell
    ),
    Entry(
        "python,python2,python3,pypy,pypy3",
        "text",
        _PYTHON,
        stops=True,
        named=1,
        variables="PYTHONPATH",
        code=language(python=True),
    ),
    Entry("node,nodejs,tsx,ts-node", "text", _NODE, stops=True, named=1, code=language()),
    Entry("perl", "text", _PERL, stops=True, exactly=True, code=language()),
    Entry("ruby", "text", _RUBY, stops=True, exactly=True, code=language()),
    Entry("php", "text", _PHP, stops=True, exactly=True, code=language()),
    Entry("lua,luajit,Rscript,julia,osascript,tclsh", "text", "-e=code -E=code", stops=True, code=language()),
    Entry("at,batch,crontab,expect,gdb,sqlite3,psql,mysql", also="run", exactly=True),
    Entry("vim,vi,nvim,view,emacs,nano,ed,ex,less,more,man", "change", "-RnbdoOp -#", exactly=True, code=_editor),
)
