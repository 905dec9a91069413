"""Finds paths that a call may use although nothing declares them: matches of globs, files in folders that a command
reads as a whole, texts in arguments, and project files that control a build tool."""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from itertools import islice, product
from posixpath import basename, dirname, join
from time import monotonic
from typing import cast
from urllib.parse import unquote

from callgate.policy.path_patterns import PathPattern
from callgate.policy.protected import is_beneath, is_secret
from callgate.words.late_pattern import late_pattern
from callgate.words.resolved_path import ResolvedPath

_GLOB = late_pattern(r"[*?[]")
_LONGEST_PATH = 4_096
_MOST_PATHS = 32
_MOST_LISTED = 5_000
_MOST_FILLED = 300
_INSTALLED = frozenset(("node_modules", "site-packages", "dist-packages"))
_SECONDS = 2.0  # a search of 200,000 files takes 0.2 s


def spellings(path: str, pattern: PathPattern) -> list[str]:
    """Return the paths to which the shell may expand a glob. The paths are built from the names in a rule. Return an
    empty list if the path contains no glob."""
    parts = path.split("/")
    if not _GLOB.search(path):
        return []
    names = [re.sub(r"\\(.)|[*?]", lambda found: found[1] or "x", part) for part in pattern.text.split("/") if part]
    choices = [_fitting(part, names) if _GLOB.search(part) else [part] for part in parts]
    return ["/".join(each) for each in islice(product(*choices), _MOST_PATHS)]


def _fitting(part: str, names: Sequence[str]) -> list[str]:
    return [name for name in names if fnmatchcase(name, part) and (name[0] != "." or part[0] == ".")]


def expand_glob(pattern: str, listed: Callable[[str], Sequence[str] | None]) -> tuple[str, ...] | None:
    """Return the paths to which the shell expands a glob now; None if a folder cannot be listed or there are too many
    paths. ``**`` also matches nested folders, as in some shells.

    listed  callback that returns the names in a folder, an empty list for a file, or None if the folder cannot be
            listed
    """
    found: list[str] = []
    todo = [("/" if pattern.startswith("/") else "", tuple(filter(None, pattern.split("/"))))]
    looked = 0
    while todo:
        folder, parts = todo.pop()
        if not parts:
            found.append(folder)
        elif not _GLOB.search(parts[0]):
            todo.append((join(folder, parts[0]), parts[1:]))
        else:
            names = listed(folder or ".")
            looked += 1 + len(names or ())
            if names is None or looked > _MOST_LISTED or len(found) + len(todo) > _MOST_FILLED:
                return None
            fitting = [name for name in names if _fits(name, parts[0])]
            todo += [(join(folder, name), parts[1:]) for name in fitting]
            if parts[0] == "**":
                todo += [(join(folder, name), parts) for name in fitting]
                todo += [(folder, parts[1:])] if parts[1:] else []
    return tuple(dict.fromkeys(found))


def _fits(name: str, part: str) -> bool:
    return fnmatchcase(name, part.replace("[^", "[!")) and (name[0] != "." or part[0] == ".")


def is_broad_glob(path: str) -> bool:
    """Return True if a name in the path begins with a glob, so that the glob may match most names of a folder."""
    return any(_GLOB.match(part.lstrip(".")) for part in path.split("/"))


class SearchedTooLong(Exception):
    """A search for secrets was stopped after its time limit. The message is the path of the folder."""


def secrets_in(folder: str) -> Iterator[str]:
    """Return paths of files below the folder whose names indicate keys or passwords. The content of installed packages
    is skipped, because it is published. Raise SearchedTooLong if the search takes too long."""
    todo, end = [(folder, False)], monotonic() + _SECONDS
    while todo:
        if monotonic() > end:
            raise SearchedTooLong(folder)
        here, installed = todo.pop()
        found: list[str] = []
        with suppress(OSError), os.scandir(here) as listed:
            for entry in listed:
                if is_secret(entry.name):
                    found.append(entry.path)
                elif not installed and entry.is_dir(follow_symlinks=False):
                    todo.append((entry.path, entry.name in _INSTALLED))
        yield from sorted(found)


def may_contain(folder: ResolvedPath, pattern: PathPattern, *, root: str, home: str) -> bool:
    """Return True if the folder may contain a path that the pattern matches."""
    text = pattern.text.rstrip("/")
    if "/" not in text:
        start = root
    elif text.startswith("//"):
        start = _literal(text[1:])
    elif text.startswith("~/"):
        start = _literal(join(home, text[2:]))
    else:
        start = _literal(join(root, text.removeprefix(root.rstrip("/") + "/").lstrip("./")))
    return any(is_beneath(start, hop) or is_beneath(hop, start) for hop in (folder.hops[0], folder.resolved))


def _literal(path: str) -> str:
    found = _GLOB.search(path)
    return path if found is None else path[: found.start()].rpartition("/")[0]


# ---- arguments -----------------------------------------------------------------------------------------------------


def paths_in(text: str) -> list[str]:
    """Return the paths that a tool may read from the text: the text as written, and the text without blanks,
    ``file://`` and ``@``. The name of a file with keys or passwords is also resolved in the working folder of this
    process."""
    path = text.strip().removeprefix("@")
    path = unquote(path[len("file://") :]) if path.startswith("file://") else path
    found = [text] if path in ("", text) else [text, path]
    return [*found, join(os.getcwd(), path)] if is_secret(basename(path)) else found


def may_be_path(text: str) -> bool:
    text = text.strip()
    return 0 < len(text) <= _LONGEST_PATH and text.isprintable()


def texts_in(value: object) -> Iterator[str]:
    """Return all texts in an argument at any depth, except keys of objects."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in cast("Mapping[object, object]", value).values():
            yield from texts_in(each)
    elif isinstance(value, Sequence) and not isinstance(value, bytes):
        for each in cast("Sequence[object]", value):
            yield from texts_in(each)


_NAMES = """
    Makefile makefile GNUmakefile package.json pyproject.toml setup.cfg setup.py pytest.ini .pytest.ini tox.ini
    noxfile.py tasks.py Cargo.toml .cargo go.mod go.work justfile Justfile .justfile Taskfile.yml Taskfile.yaml
    taskfile.yml taskfile.yaml .pre-commit-config.yaml CMakeLists.txt CMakePresets.json build.ninja meson.build
    build.gradle build.gradle.kts settings.gradle settings.gradle.kts gradlew pom.xml mvnw Rakefile Gemfile
    composer.json deno.json deno.jsonc bunfig.toml turbo.json nx.json Earthfile Tiltfile Dockerfile compose.yaml
    compose.yml docker-compose.yaml docker-compose.yml BUILD BUILD.bazel WORKSPACE mix.exs rebar.config stack.yaml
    Snakefile SConstruct wscript mise.toml .mise.toml .yarnrc.yml .pnpmfile.cjs .pnp.cjs jest.config.js
    vitest.config.ts vite.config.ts eslint.config.js .eslintrc.js .eslintrc.cjs .prettierrc.js mypy.ini .mypy.ini
    ruff.toml .ruff.toml tsconfig.json
"""


def nearest_project_file(folder: str, root: str) -> str | None:
    """Return the first project file in the folder, or in a folder between it and the root; None if there is none.
    The result is relative to the root. Both arguments are absolute paths without links."""
    while folder.startswith(f"{root}/"):
        found = next((name for name in _NAMES.split() if os.path.lexists(join(folder, name))), None)
        if found is not None:
            return join(folder, found).removeprefix(f"{root}/")
        folder = dirname(folder)
    return None
