"""The languages of ast-grep's engine, and the language of a file.

The engine panics for an unknown language name, so all names are checked here first.
"""

from difflib import get_close_matches

from callgate.words.errors import ToolFailure
from callgate.words.noun import noun


@noun
class Language:
    """A supported language. ``name`` is the name used by the engine; ``endings`` are file name extensions without the
    dot."""

    name: str
    aliases: tuple[str, ...]
    endings: tuple[str, ...]


def _language(name: str, aliases: str, endings: str) -> Language:
    return Language(name, tuple(aliases.split()), tuple(endings.split()))


LANGUAGES = (
    _language("bash", "sh shell", "bash bats cgi command env fcgi ksh sh tmux tool zsh"),
    _language("c", "", "c h"),
    _language("cpp", "c++ cc cxx", "cc hpp cpp c++ hh cxx cu ino"),
    _language("csharp", "cs c#", "cs"),
    _language("css", "scss", "css scss"),
    _language("dart", "", "dart"),
    _language("elixir", "ex", "ex exs"),
    _language("go", "golang", "go"),
    _language("haskell", "hs", "hs"),
    _language("hcl", "terraform", "hcl nomad tf tfvars workflow"),
    _language("html", "", "html htm xhtml"),
    _language("java", "", "java"),
    _language("javascript", "js jsx", "cjs js mjs jsx"),
    _language("json", "", "json"),
    _language("kotlin", "kt", "kt ktm kts"),
    _language("lua", "", "lua"),
    _language("markdown", "md", "markdown md"),
    _language("nix", "", "nix"),
    _language("php", "", "php"),
    _language("python", "py python3", "py py3 pyi bzl bazel"),
    _language("ruby", "rb", "rb rbw gemspec"),
    _language("rust", "rs", "rs"),
    _language("scala", "", "scala sc sbt"),
    _language("solidity", "sol", "sol"),
    _language("swift", "", "swift"),
    _language("tsx", "", "tsx"),
    _language("typescript", "ts", "ts cts mts"),
    _language("yaml", "yml", "yaml yml"),
    _language("zig", "", "zig"),
)

_BY_NAME = {name: language for language in LANGUAGES for name in (language.name, *language.aliases)}
_BY_ENDING = {ending: language for language in LANGUAGES for ending in language.endings}


def language_named(name: str) -> Language:
    """Return the language with this name. Raise ToolFailure with the supported languages if it is unknown."""
    language = _BY_NAME.get(name.strip().lower())
    if language is None:
        close = get_close_matches(name.strip().lower(), _BY_NAME, n=1)
        hint = f", did you mean {_BY_NAME[close[0]].name}?" if close else "."
        known = ", ".join(language.name for language in LANGUAGES)
        raise ToolFailure(f"Unknown language {name!r}{hint} Known languages: {known}.")
    return language


def language_of(path: str) -> Language | None:
    """Return the language of a file by its extension, or None. The comparison is case-sensitive, as in the engine."""
    stem, dot, ending = path.rpartition("/")[2].rpartition(".")
    return _BY_ENDING.get(ending) if dot and stem else None
