"""Programs that run code: shells, languages, editors, and what else takes a program as a word."""

from dataclasses import replace

from callgate.shell.programs.builders import BUILDERS
from callgate.shell.programs.in_place import rewritten
from callgate.shell.programs.options import Found, Meaning, grammar, loose, names, program, scan, uses_in
from callgate.shell.programs.uses import Program, Use, Words, said
from callgate.shell.programs.wrappers import anything

SHELLS = (
    "sh",
    "bash",
    "dash",
    "zsh",
    "ksh",
    "mksh",
    "ash",
    "fish",
    "csh",
    "tcsh",
    "yash",
    "rbash",
    "pwsh",
    "xonsh",
    "nu",
)

_SHELL = grammar(
    """-abefhkmnptuvxBCEHPTr -o=text -O=text -s!code -i!code -l!load -D -c --norc --noprofile --posix
    --restricted --verbose --login!load --rcfile=load --init-file=load --debugger!load --no-config --private
    --command=run""",
    "text",
    stops=True,
)


def _shell(words: Words) -> list[Use]:
    """``-c`` takes the first operand for shell text; without it the first operand is a script, or stdin is."""
    start = 1
    while start < len(words) and said(words[start])[:1] == "+":
        start += 1
    found = scan(_SHELL, words, start)
    operands = [each for each in found if not each.name]
    text = any(each.name == "-c" for each in found)
    last = operands[0].at if operands else len(words) - 1
    uses = uses_in(_SHELL, [each for each in found if each.name]) + loose(words[: last + 1])
    if operands:
        uses += arguments(words, last + 1)
    if text:
        shown = operands[0].text if operands else ""
        return [*uses, Use("run", shown, last, last, "-c runs shell text")]
    if operands and operands[0].text not in ("-", "/dev/stdin", "/dev/fd/0"):
        return [*uses, Use("code", "", last, last, "it runs a script", meant=True), _path(operands[0])]
    if any(each.name in ("--version", "--help") for each in found):
        return uses
    return [*uses, Use("code", "", 0, 0, "it runs what it reads")]


def _path(found: Found) -> Use:
    return Use("read", found.text, found.at, found.on, meant=True)


def arguments(words: Words, start: int) -> list[Use]:
    """What a script gets: any of it may be a path."""
    return [use for use in anything(words) if use.at >= start and use.role == "read"]


# ``=runs`` takes code; nothing that follows it is an option any more.
_PYTHON = "-bBdEhiIOPqRsSuvVx -W=text -X=text -c=runs -m=module -? --check-hash-based-pycs=text --help-env --help-all"
_NODE = """-hvci -e=runs -p=runs --eval=runs --print=runs --check --test --watch --trace-warnings --no-warnings
    --enable-source-maps --max-old-space-size=text --stack-trace-limit=text --expose-gc --experimental-strip-types
    --input-type=text --test-name-pattern=text --test-reporter=text
    -r=load --require=load --import=load --loader=load --experimental-loader=load --env-file=load -C=text
    --inspect?=send --inspect-brk?=send --openssl-config=load --icu-data-dir=load --redirect-warnings=file
    --diagnostic-dir=write --cpu-prof!write --heap-prof!write --build-snapshot!write --experimental-config-file=load
    --test-reporter-destination=write --run=text -i!code --interactive!code"""
_PERL = """-acfhlnpstTuUvwWX0 -e=runs -E=runs -F=text -l?=text -0?=text -i?=place -I=load -M=load -m=load -x?=text
    -d?=load -D?=text -C?=text -S -V?=text"""
_RUBY = """-achlnpsSvwW -e=runs -F=text -i?=place -I=load -r=load -x?=text -C=load -E=text -K=text -T?=text -0?=text
    -y --verbose --enable=text --disable=text --yjit --encoding=text"""
_PHP = """-ahimnqsvwz -r=runs -B=runs -R=runs -E=runs -f=read -F=read -l -c=load -d=load -z=load -S=send -t=load
    --rf=text --rc=text --re=text --ini"""
_LUA = "-vEW -e=runs -l=load -i!code"
_TABLE: dict[str, str] = {
    "python python2 python3 pypy pypy3 python3.10 python3.11 python3.12 python3.13 python3.14": _PYTHON,
    "node nodejs": _NODE,
    "perl": _PERL,
    "ruby": _RUBY,
    "php": _PHP,
    "lua luajit lua5.3 lua5.4": _LUA,
    "Rscript R": "-e=runs --vanilla --no-save --slave --quiet -f=read --file=read --no-environ --verbose --args",
    "julia": "-qhvi -e=runs -E=runs -p=text -t=text -J=load -L=load --project?=load --startup-file=text --eval=runs",
    "elixir erl iex": "-e=runs -r=load -S=runs --eval=runs",
    "ghc runghc runhaskell ghci": "-e=runs",
    "groovy scala kotlin": "-e=runs",
    "osascript": "-e=runs -l=text",
    "tclsh wish expect": "-c=runs -f=read",
    "guile sbcl clisp emacs-lisp racket": "-c=runs -e=runs --eval=runs --load=load -l=load",
    "octave matlab": "-q --eval=runs",
    "m4": "-EQPs -D=text -I=load -U=text",
    "gnuplot": "-p -e=runs",
    "dc": "-e=runs -f=read",
    "ts-node tsx": "-e=runs -p=runs -r=load -T -P=load --transpile-only",
}


# Modules that do what their programs do.
_MODULES = names("pytest pip venv mypy ruff black isort json.tool unittest coverage tox nox build http.server timeit")


def _takes_code(found: Found) -> bool:
    return found.option is not None and found.option.kind in ("runs", "module")


def _module(words: Words, found: Found) -> list[Use]:
    """A module is a program of the same name, with the same options."""
    uses = [
        Use("alter", "", found.at, found.on, meant=True),
        Use("argv", "", found.at, found.on, "it runs a module", meant=True),
    ]
    if found.text not in _MODULES:
        uses.append(Use("code", "", found.at, found.on, "it runs a module", meant=True))
    same = BUILDERS[found.text].read(words[found.on :]) if found.text in BUILDERS else []
    return uses + [replace(use, at=use.at + found.on, on=use.on + found.on) for use in same]


# With one of these, and nothing else, it tells who it is. A -v of Python only makes it talk.
_TELLS = names("--version --help -V -h")


def _alone(found: list[Found], tells: frozenset[str]) -> list[Use]:
    """What it does without a script: tell its version, look for tests, or read code."""
    given = {each.name: each for each in found}
    if len(found) == 1 and given.keys() <= tells:
        return []
    test = given.get("--test")
    if test:
        return [Use("code", "", test.at, test.on, "it runs the tests", meant=True)]
    return [Use("code", "", 0, 0, "it runs what it reads")]


def _language(spec: str) -> Program:
    rules = grammar(spec, "text", stops=True)
    tells = _TELLS if spec is _PYTHON else _TELLS | {"-v"}

    def read(words: Words) -> list[Use]:
        found = scan(rules, words)
        last = next((each.on for each in found if not each.name or _takes_code(each)), None)
        if last is None:
            uses = uses_in(rules, found, {"place": lambda option: rewritten(option, [])})
            return uses + loose(words) + _alone(found, tells)
        found = [each for each in found if each.on <= last]
        script = found[-1]
        if script.name and spec is not _PYTHON:
            # Only for Python does the code end the options.
            found += scan(rules, words, last + 1)
            last = max((each.on for each in found if each.name), default=last)
            found = [each for each in found if each.name]
        files = [said(word) for word in words[last + 1 :] if said(word)[:1] != "-"]
        special: dict[str, Meaning] = {
            "module": lambda option: _module(words, option),
            "place": lambda option: rewritten(option, files, option.text),
        }
        uses = uses_in(rules, found, special) + loose(words[: last + 1]) + arguments(words, last + 1)
        if not script.name:
            seen = script.text not in ("-", "/dev/stdin", "/dev/fd/0")
            uses += [Use("code", "", script.at, script.on, "it runs a script", meant=seen), _path(script)]
        return uses

    return Program(read)


def _always(spec: str, kind: str, why: str, *operands: str) -> Program:
    """A program whose words we read, and that runs code that is not among them."""
    role = "code" if kind == "code" else "run"
    return program(spec, *operands, also=(Use(role, "", 0, 0, why),))


def _vim(words: Words) -> list[Use]:
    """Files may be named; every option and every ``+command`` may run something."""
    rules = grammar("-RnbdoOp -#", "change")
    found = scan(rules, words)
    commands = [Use("run", each.text, each.at, each.on, "an editor command") for each in found if each.text[:1] == "+"]
    return uses_in(rules, found) + commands + loose(words)


INTERPRETERS: dict[str, Program] = {
    **dict.fromkeys(SHELLS, Program(_shell)),
    **{name: _language(spec) for names, spec in _TABLE.items() for name in names.split()},
    **dict.fromkeys(("vim", "vi", "nvim", "view", "vimdiff", "gvim", "emacs", "nano", "pico", "micro"), Program(_vim)),
    **dict.fromkeys(
        ("ed", "ex", "red", "at", "batch", "crontab"), _always("", "code", "it runs what it reads", "change")
    ),
}
