"""What bash does itself. Most of it changes the shell that runs the next words."""

import re

from callgate.shell.programs.options import grammar, loose, names, scan, uses_in
from callgate.shell.programs.uses import Program, Use, Words, said

# A subscript is computed, and computing may run a command, whatever the quotes.
_SUBSCRIPT = re.compile(r"[\[$`]")
# This conversion sets the variable that is named by the next word, whatever flags and lengths it has.
_COUNTING = re.compile(r"%[^\\%(diouxXfFeEgGaAcsbqQ]*n")


def _evaluates(words: Words, start: int = 1) -> list[Use]:
    return [
        Use("run", "", at, at, f"{said(word)} would be computed")
        for at, word in enumerate(words[start:], start)
        if _SUBSCRIPT.search(said(word))
    ]


def _test(words: Words) -> list[Use]:
    """A test asks what is known of files; ``-v`` computes the subscript of its name."""
    uses = _evaluates(words)
    for at, word in enumerate(words[1:], 1):
        before = said(words[at - 1])
        if word.value is None:
            uses.append(Use("odd", "", at, at, "an expansion is not known"))
        elif re.fullmatch(r"-[a-hkprstuwxGLNOS]", before) or before in ("-nt", "-ot", "-ef"):
            uses.append(Use("read", said(word), at, at, meant=True))
    return uses


_PRINTF = grammar("-v=alter", stops=True)


def _computes(words: Words) -> list[Use]:
    return [Use("odd", "", 0, 0, "it computes its words"), *_evaluates(words)]


def _printf(words: Words) -> list[Use]:
    found = scan(_PRINTF, words)
    first = next((each for each in found if not each.name), None)
    if first is None:
        return uses_in(_PRINTF, found)
    uses = uses_in(_PRINTF, [each for each in found if each.at < first.at])
    if _COUNTING.search(first.text.replace("%%", "")):
        uses.append(Use("run", "", first.at, first.on, "%n sets a variable"))
    return uses


def _sets(words: Words) -> list[Use]:
    return [Use("alter", "", 0, 0, "it changes the shell itself"), *_evaluates(words)]


def _runs(words: Words) -> list[Use]:
    """``eval`` joins its words to one text; ``trap`` runs its first; an alias is text after ``=``."""
    name = said(words[0])
    if name == "eval":
        texts = [" ".join(said(word) for word in words[1:])]
    elif name in ("alias", "abbr"):
        texts = [said(word).partition("=")[2] for word in words[1:]]
    else:
        texts = [said(word) for word in words[1:]]
    return [Use("run", text, 0, at, f"{name} runs its words later or now") for at, text in enumerate(texts, 1)]


def _source(words: Words) -> list[Use]:
    script = said(words[1]) if len(words) > 1 else ""
    return [Use("run", "", 0, 1, "it runs a script in this shell"), Use("read", script, 0, 1, meant=True)]


def _cd(words: Words) -> list[Use]:
    uses = [
        Use("read", said(word), at, at, meant=True) for at, word in enumerate(words[1:], 1) if said(word)[:1] != "-"
    ]
    odd = [word for word in words[1:] if said(word) in ("-", "\0") or word.globs]
    if odd or not uses:
        uses.append(Use("odd", "", 0, 0, "where it goes is not known"))
    return uses


_SETS = names("""export declare typeset local readonly unset set shopt shift let read mapfile readarray getopts
    enable hash ulimit umask wait disown bg fg popd dirs logout exit return break continue caller compgen compopt
    history fc suspend zmodload autoload functions emulate setopt unsetopt zle vared integer float nameref times""")
_RUNS = names("eval trap alias bind complete PROMPT_COMMAND add-zsh-hook zcompile abbr")


def _mapfile(words: Words) -> list[Use]:
    callbacks = [at for at, word in enumerate(words) if said(word)[:2] == "-C"]
    runs = [Use("run", said(words[at])[2:] or _next(words, at), at, at, "-C runs a command") for at in callbacks]
    return [*_sets(words), *runs]


def _next(words: Words, at: int) -> str:
    return said(words[at + 1]) if at + 1 < len(words) else ""


def _hash(words: Words) -> list[Use]:
    if len(words) == 1:
        return []
    return [Use("load", " ".join(said(word) for word in words[1:]), 0, 1, "it gives names to other programs")]


_JOBS = grammar("-lnprs -x!argv", stops=True)


def _jobs(words: Words) -> list[Use]:
    """``-x`` runs what follows."""
    found = scan(_JOBS, words)
    runs = [each for each in found if each.name == "-x"]
    uses = [Use("argv", "", each.at, each.at + 1, "-x runs another command") for each in runs]
    return uses or uses_in(_JOBS, found) + loose(words)


BUILTINS: dict[str, Program] = {
    **dict.fromkeys(_SETS, Program(_sets)),
    **dict.fromkeys(_RUNS, Program(_runs)),
    "type": Program(loose),
    "jobs": Program(_jobs),
    "mapfile": Program(_mapfile),
    "readarray": Program(_mapfile),
    "hash": Program(_hash),
    "enable": Program(_hash),
    "source": Program(_source),
    ".": Program(_source),
    "test": Program(_test),
    "[": Program(_test),
    "[[": Program(_computes),
    "printf": Program(_printf),
    "cd": Program(_cd),
    "pushd": Program(_cd),
    "chdir": Program(_cd),
}
