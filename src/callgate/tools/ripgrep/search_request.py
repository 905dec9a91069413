"""A search as data: converted to the arguments of ripgrep, or to JSON for the built-in program."""

import json
import re
from dataclasses import asdict
from typing import Literal

from callgate.tools.ripgrep.search_engine import SearchEngine
from callgate.words.errors import ToolFailure
from callgate.words.noun import noun

_TYPE = "callgate"
_OWN_END = re.compile(r"\r|\\[rz]|\\x(?:0[dD]|\{0*[dD]\})|\\u(?:000[dD]|\{0*[dD]\})|\\015")
_ALWAYS = ("--no-config", "--no-ignore-global", "--no-messages", "--color=never", "--null")


@noun
class SearchRequest:
    """A search in the contents or the names of the files below a path.

    path   relative to the folder in which the program runs
    find   the kind of result: matching lines, the number of matching lines in each file, or the names of all files
    names  globs for the last segment of a path
    """

    path: str
    find: Literal["lines", "counts", "files"]
    pattern: str = ""
    names: tuple[str, ...] = ()
    before: int = 0
    after: int = 0
    ignore_case: bool = False
    multiline: bool = False
    in_repository: bool = True
    """Outside of a repository ripgrep needs an option to obey ``.gitignore``."""
    ordered: bool = False
    """Sort by path, which is slower but makes the first part of the output stable."""

    @property
    def crlf(self) -> bool:
        """True if ``$`` may match before CRLF. False for a pattern that matches line endings itself."""
        return _OWN_END.search(self.pattern) is None


def argv(engine: SearchEngine, request: SearchRequest) -> tuple[str, ...]:
    """Return the command line of a search. Raise ToolFailure if the pattern contains a NUL."""
    if any("\0" in each for each in (request.pattern, *request.names)):
        raise ToolFailure("A pattern cannot contain a NUL: files with a NUL are binary and are not searched.")
    if engine.mode == "builtin":
        return (*engine.argv, json.dumps(asdict(request)))
    flags = [*_ALWAYS]
    for name in request.names:
        flags += ["--type-add", f"{_TYPE}:{name}"]
    if request.names:
        flags += ["--type", _TYPE]
    if not request.in_repository:
        flags.append("--no-require-git")
    if request.ordered:
        flags += ["--sort", "path"]
    path = f"./{request.path}" if request.path else "."
    if request.find == "files":
        return (*engine.argv, *flags, "--files", "--", path)
    flags += ["--heading", "--with-filename", "--no-mmap", "--no-context-separator"]
    flags += ["--crlf"] if request.crlf else []
    flags += ["--ignore-case"] if request.ignore_case else ["--case-sensitive"]
    if request.multiline:
        flags += ["--multiline", "--multiline-dotall"]
    if request.find == "counts":
        flags.append("--count")
    else:
        flags += ["--line-number", "--before-context", str(request.before), "--after-context", str(request.after)]
    return (*engine.argv, *flags, "--regexp", request.pattern, "--", path)
