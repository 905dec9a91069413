"""Package managers, builders, test runners and linters.

They run the project's own code: that is what they are for. What is kept out are the words that point them at other
code or other settings. Options that are not in the table pass, unless they may be short for one that is kept out.
"""

import re

from callgate.shell.programs.builders_options import (
    CARGO,
    DRASTIC,
    FORMATTERS,
    GO,
    NPM,
    ONE_DASH,
    RUNNING,
    TABLE,
)
from callgate.shell.programs.in_place import always_rewritten, rewritten
from callgate.shell.programs.options import Found, Grammar, Meaning, grammar, loose, names, scan, uses_in
from callgate.shell.programs.uses import WHY, Program, Use, Words, said
from callgate.shell.programs.wrappers import anything

_MAKE_VARIABLE = re.compile(r"[^=\s]*=")
_NAME = re.compile(r"[\w-]*")
# A category of warnings with a dot in it is a module that is imported.
_WARNING = re.compile(r"\w*(?::[^:]*(?::\w*(?::[^:]*(?::\d*)?)?)?)?")
_CONFIGS = names("mypy.ini .mypy.ini pyproject.toml setup.cfg")
# Of the variables of cmake these name no program and no file.
_DEFINED = re.compile(
    r"(?:CMAKE_BUILD_TYPE|CMAKE_EXPORT_COMPILE_COMMANDS|CMAKE_VERBOSE_MAKEFILE|CMAKE_C(?:XX)?_STANDARD|BUILD_SHARED_LIBS"
    r"|BUILD_TESTING)(?::\w+)?=[\w.+]*"
)


def _unless(harmless: re.Pattern[str]) -> Meaning:
    return lambda found: [] if harmless.fullmatch(found.text) else _loads(found)


def _loads(found: Found) -> list[Use]:
    return [Use("load", found.text, found.at, found.on, f"{found.name} {WHY['load']}")]


def _config(found: Found) -> list[Use]:
    """The names under which it looks for its settings anyway."""
    usual = found.text in _CONFIGS
    return [Use("read", found.text, found.at, found.on, meant=True)] if usual else _loads(found)


def _report(found: Found) -> list[Use]:
    """``xml:there``: most kinds may name the place they are written to."""
    kind, _, place = found.text.partition(":")
    if not place or kind.startswith("term"):
        return []
    return [Use("write", place, found.at, found.on, f"{found.name} {WHY['write']}", target=True)]


_SPECIAL: dict[str, Meaning] = {
    "report": _report,
    "plugin": _unless(re.compile(r"no:[\w.-]+")),
    "warning": _unless(_WARNING),
    "reporter": _unless(_NAME),
    "define": _unless(_DEFINED),
    "config": _config,
}


def _reader(name: str, rules: Grammar) -> Program:
    def read(words: Words) -> list[Use]:
        found = scan(rules, words)
        ended = next((at for at, word in enumerate(words) if said(word) == "--"), len(words))
        operands = [each for each in found if not each.name]
        if name in ("npm", "pnpm", "yarn", "cargo"):
            # What follows belongs to the script or the test.
            found = [each for each in found if each.at < ended]
        files = operands[1:] if name in _WITH_SUBCOMMANDS else operands
        paths = [each.text for each in files] or ["."]
        place: dict[str, Meaning] = {"place": lambda option: rewritten(option, paths)}
        uses = uses_in(rules, found, _SPECIAL | place)
        uses = [Use("alter", "", 0, 0, meant=True), *uses, *loose(words)]
        if _formats(name, found):
            uses += always_rewritten(files)
        return uses + _drastic(name, operands) + _running(name, operands) + _special(name, found)

    return Program(read)


_WITH_SUBCOMMANDS = names("ruff biome dprint cargo")


def _formats(name: str, found: list[Found]) -> bool:
    """Whether it writes its operands without being told to."""
    step = next((each.text for each in found if not each.name), "")
    unless = FORMATTERS.get(name, FORMATTERS.get(f"{name} {step}"))
    return unless is not None and not any(each.name in unless for each in found)


def _is_one_of(steps: frozenset[str], name: str, operands: list[Found]) -> bool:
    first = operands[0].text if operands else ""
    if name == "npm" and first not in NPM and first:
        return any(step.startswith(first) for step in steps)
    return first in steps


def _drastic(name: str, operands: list[Found]) -> list[Use]:
    if not _is_one_of(DRASTIC.get(name, frozenset()), name, operands):
        return []
    first = operands[0]
    return [Use("alter", "", first.at, first.on, f"{name} {first.text} is more than {name}")]


def _running(name: str, operands: list[Found]) -> list[Use]:
    """``npm exec`` and the like are as wide as what they run, so that has to stand in the rule."""
    if not _is_one_of(RUNNING.get(name, frozenset()), name, operands):
        return []
    first = operands[0]
    why = f"{name} {first.text} runs another command"
    if len(operands) == 1:
        return [Use("code", "", first.at, first.on, why)]
    return [Use("argv", "", first.at, operands[1].at, why)]


def _special(name: str, found: list[Found]) -> list[Use]:
    uses: list[Use] = []
    operands = [each for each in found if not each.name]
    for each in operands:
        if name in ("make", "gmake", "just", "task", "rake", "ninja") and _MAKE_VARIABLE.match(each.text):
            uses.append(Use("run", "", each.at, each.on, f"{each.text} sets a variable of the build"))
        elif name in ("pytest", "py.test", "mypy", "tsc") and each.text[:1] == "@":
            uses.append(Use("load", each.text, each.at, each.on, "@ takes options from a file"))
        elif name in ("cmake", "meson") and each.text[:1] == "-":
            uses.append(Use("odd", each.text, each.at, each.on, f"{each.text} is for another program"))
        elif name == "cargo" and each.text[:1] == "+":
            uses.append(Use("load", each.text, each.at, each.on, "+ picks another compiler"))
    if name == "cargo" and operands and operands[0].text not in CARGO:
        uses.append(Use("odd", "", operands[0].at, operands[0].on, f"cargo {operands[0].text} is not known"))
    if name == "mvn":
        uses += [_loads(each)[0] for each in found if each.name[:2] == "-D" and each.option is None]
    return uses


_COMPILER = re.compile(r"(?:-fplugin|-B|-wrapper|--?specs|-Xlinker|-Wl,|-Wp,|-Wa,|-load|-Xclang|-C|@|--config|-J)")


def _compiler(words: Words) -> list[Use]:
    """A compiler writes what it makes; some options make it run other programs or take options from files."""
    odd = [(at, said(word)) for at, word in enumerate(words[1:], 1) if _COMPILER.match(said(word))]
    return anything(words) + loose(words) + [Use("load", text, at, at, f"{text} {WHY['load']}") for at, text in odd]


def _folded(name: str, spec: str) -> str:
    """For tsc small letters are as good as others."""
    return f"{spec} {spec.lower()}" if name == "tsc" else spec


BUILDERS: dict[str, Program] = {
    name: _reader(name, grammar(_folded(name, spec), "word", lenient=True, dash="-" if name in ONE_DASH else "--"))
    for called, spec in TABLE.items()
    for name in called.split()
} | {
    "go": _reader("go", grammar(GO, "word", lenient=True, dash="-")),
    **dict.fromkeys(names("gcc g++ cc c++ clang clang++ rustc javac"), Program(_compiler)),
}
