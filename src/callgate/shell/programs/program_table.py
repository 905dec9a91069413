"""The table of all known programs, and the function that determines the effects of a command.

Only an exact rule allows a program without a row: each of its words is an effect that the rule must contain.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache, lru_cache

from callgate.shell.command import Word
from callgate.shell.programs import changing_programs, git, language_programs, wrapper_programs
from callgate.shell.programs.build_programs import BUILDERS
from callgate.shell.programs.program_arguments import (
    WHOLE,
    Argument,
    Invocation,
    loose,
    of_kind,
    operands_in,
    scan,
    uses_in,
)
from callgate.shell.programs.program_entries import Grammar, Program, names_in, programs_in
from callgate.shell.programs.reading_programs import READING, find, jq
from callgate.shell.programs.script_languages import awk, rewriting, sed
from callgate.shell.programs.service_programs import SERVICES, curl
from callgate.shell.programs.uses import Role, Use, Words, pieces, text_of, unsure

_FUNCTIONS: tuple[Callable[[Invocation], list[Use]], ...] = (
    *(find, jq, sed, awk, rewriting, curl, changing_programs.copy, changing_programs.tar),
    *(git.restore, git.clean, git.rm, git.apply, git.clone, git.config, git.naming),
    *(language_programs.shell, language_programs.language, wrapper_programs.env, wrapper_programs.command),
    *(wrapper_programs.echo, wrapper_programs.cd, wrapper_programs.test, wrapper_programs.printf),
    *(wrapper_programs.double_bracket, wrapper_programs.sets, wrapper_programs.runs, wrapper_programs.hash),
    wrapper_programs.source,
)
_PARSERS = {each.__name__: each for each in _FUNCTIONS}
PROGRAMS: Mapping[str, Program] = programs_in(
    READING,
    changing_programs.CHANGING,
    git.GIT,
    BUILDERS,
    SERVICES,
    language_programs.LANGUAGES,
    wrapper_programs.WRAPPERS,
)
_COMPOSING = "docker build|run|compose,podman build|run|compose,docker compose up|build|start|restart|run"
PROJECT_PROGRAMS = frozenset((*programs_in(BUILDERS, language_programs.LANGUAGES), *names_in(_COMPOSING)))
"""The programs and subcommands that run files of the project in whose folder they start."""
_REMOVES = re.compile(r"--(?:del|delete|rm|remove|unlink|purge)")
# The name of an unpacked file.
_PACKED = re.compile(r"(.+)\.(?:gz|bz2|xz|zst|Z)")


@cache
def grammar_of(name: str) -> Grammar:
    """Return the grammar of a program or subcommand. A subcommand also accepts the options of its program."""
    words = name.split()
    above = [PROGRAMS[head].options for count in range(1, len(words)) if (head := " ".join(words[:count])) in PROGRAMS]
    return Grammar(PROGRAMS[name], " ".join(above))


@lru_cache(maxsize=64)
def read(name: str, words: tuple[Word, ...], start: int = 1) -> tuple[Use, ...]:
    """Return the effects of the words of a command from the index ``start`` on. The result is cached, because one
    decision needs it several times."""
    return tuple(_uses(name, words, start))


def _uses(name: str, words: Words, start: int) -> list[Use]:
    program = PROGRAMS.get(name)
    if program is None:
        return anything(words)
    if [text_of(word) for word in words[start:]] == ["--version"]:
        return []
    grammar = grammar_of(name)
    if program.parser:
        return _PARSERS[program.parser](Invocation(grammar, words, start, read))
    if program.subcommands:
        return _steps(name, words, start)
    uses = [] if program.safe_options else loose(words, start, positional=grammar.positional)
    end = _behind(program, words, start)
    found = scan(grammar, words[:end], start)
    uses += uses_in(grammar, found) + _commands(name, grammar, words[:end], found)
    if program.always:
        uses += of_kind(program.always, Argument("", "", start - 1, start - 1))
    if end < len(words):
        rest = grammar_behind(program.after_dashes or "")
        uses += uses_in(rest, scan(rest, words, end + 1))
    return uses


def step_of(name: str, words: Words, start: int = 1) -> tuple[str, int]:
    """Return the full name of the subcommand and the index of the word after it. Without a subcommand, return the
    name of the program and ``start``."""
    program = PROGRAMS.get(name)
    while program is not None and program.subcommands:
        found = scan(grammar_of(name), words, start, head=True)
        if not found or found[-1].name or f"{name} {found[-1].text}" not in PROGRAMS:
            break
        name, start = f"{name} {found[-1].text}", found[-1].at + 1
        program = PROGRAMS[name]
    return name, start


def runs_project(name: str, words: Words) -> bool:
    """Return True if the program or its subcommand runs files of the project in whose folder it starts."""
    return not PROJECT_PROGRAMS.isdisjoint((name, step_of(name, words)[0]))


def depends_on_folder(name: str, words: Words) -> bool:
    """Return True if the folder in which the program starts decides which files it runs: it runs files of the project,
    or programs named in settings of a repository, or it has no row."""
    program = PROGRAMS.get(name)
    return program is None or program.runs_settings or runs_project(name, words)


def subcommand_at(name: str, words: Words) -> int:
    """Return the index of the first operand, or the number of words if there is no operand."""
    found = scan(grammar_of(name), words, head=True)
    return found[-1].at if found and not found[-1].name else len(words)


def _steps(name: str, words: Words, start: int) -> list[Use]:
    grammar = grammar_of(name)
    found = scan(grammar, words, start, head=True)
    uses = uses_in(grammar, [each for each in found if each.name])
    step = next((each for each in found if not each.name), None)
    if step is None:
        alone = grammar.program.without_subcommand
        return uses + loose(words, start) + (of_kind(alone, WHOLE) if alone else [])
    if f"{name} {step.text}" in PROGRAMS and not unsure(words[step.at]):
        return uses + loose(words[: step.at], start) + _uses(f"{name} {step.text}", words, step.at + 1)
    why = f"{name} {step.text} is an unknown subcommand"
    return uses + [each.beyond("unknown", why) for each in operands_in(words, step.at)]


def _behind(program: Program, words: Words, start: int) -> int:
    """Return the index of the ``--`` before the words for another program, or the number of words if there is no
    ``--``."""
    if program.after_dashes is None:
        return len(words)
    return next((at for at, word in enumerate(words[start:], start) if text_of(word) == "--"), len(words))


@cache
def grammar_behind(spec: str) -> Grammar:
    """Return the grammar of the words after ``--``. The last word of ``spec`` is the kind of the operands, unless it
    is an option."""
    *options, last = spec.split() or [""]
    operands = "" if last[:1] == "-" else last
    return Grammar(Program("", operands or "unknown", " ".join(options if operands else [*options, last])))


def _commands(name: str, grammar: Grammar, words: Words, found: list[Argument]) -> list[Use]:
    kinds = [kind for kind in grammar.kinds if kind in ("argv", "shell")]
    if not kinds:
        return []
    uses = wrapper_programs.commands(words, found, grammar.kinds.index(kinds[0]), name, shell_text=kinds[0] == "shell")
    return uses or [WHOLE.beyond("code", f"{name} without arguments runs its standard input")]


def anything(words: Words) -> list[Use]:
    """Return the effects of a program without a row: every word, and the text after ``=`` in a word, may be a path that
    is read or written."""
    uses = [WHOLE.included("alter")]
    removes = any(_REMOVES.match(text_of(word)) for word in words[1:])
    roles: tuple[Role, ...] = ("read", "write", "remove") if removes else ("read", "write")
    for each in operands_in(words, 1):
        text = each.text
        uses.append(each.beyond("unknown", f"{text} is an unknown argument of the unknown program {text_of(words[0])}"))
        if text[:1] == "-":
            _, sign, value = text.partition("=")
            text = value if sign else text[2:] if text[2:3] in ("/", "~", ".") else ""
        packed = _PACKED.fullmatch(text)
        for path in (*pieces(text), *(packed.groups() if packed else ())):
            uses += [each.included(role, path, guess=True) for role in roles]
    return uses
