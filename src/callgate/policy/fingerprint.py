"""Lists the files of a repository that can run code or control an agent. Trust applies to exactly these files.

The files are all files of ``.callgate``, ``.mcp.json``, and files that hooks, MCP servers and other commands of the
settings name. A link is listed with its target path; a target inside the repository is listed too. Files that the
named programs read (a Makefile, imported modules) are not listed: commands of a repository run inside the sandbox if
one is in force.
"""

import json
import os
import re
import shlex
from collections.abc import Iterable, Iterator
from contextlib import suppress
from hashlib import sha256
from json import dumps
from pathlib import Path
from stat import S_IMODE, S_ISDIR, S_ISLNK, S_ISREG
from typing import Any, Literal, cast

from callgate.formats.display import visible
from callgate.host.files import open_regular
from callgate.policy.entries import EVENTS, HookLine
from callgate.policy.layers import FILES, FOLDER, read_repository
from callgate.policy.protected import is_beneath
from callgate.policy.settings import LayerSettings
from callgate.words.decisions import Origin
from callgate.words.late_pattern import late_pattern
from callgate.words.noun import noun

MOST_FILES = 1_000
MOST_BYTES = 32 * 1024 * 1024
LARGEST_TEXT = 64 * 1024
"""The maximum size of a file whose text is stored to show later changes."""
MOST_TEXT = 1024 * 1024

SERVERS_FILE = ".mcp.json"
_EXPANSION = late_pattern(r"\$\{([A-Za-z_][A-Za-z0-9_]*)")
_TOKEN = late_pattern(r"""[^\s;&|<>()'"`=,]+""")
_VARIABLE = late_pattern(r"\$\{?\w+\}?/")
_MODULE = late_pattern(r"-m\s+([A-Za-z_][\w.]*)")
_TOOL = late_pattern(re.escape(os.path.join(FOLDER, "tools", "")) + r"[^/]*\.py")


@noun
class Seen:
    """The state of a file when the folder was read. For a link, ``sha256`` is the hash of the target path."""

    path: str
    kind: Literal["file", "link", "other"]
    sha256: str = ""
    executable: bool = False
    text: str | None = None

    def same_content(self, other: "Seen") -> bool:
        mine, theirs = (self.kind, self.sha256, self.executable), (other.kind, other.sha256, other.executable)
        return mine == theirs


@noun
class Fingerprint:
    """The settings of a repository, its listed files in order, and descriptions of their effects.

    problem  why the files could not be read completely, or None; a repository with a problem cannot be trusted
    """

    settings: tuple[LayerSettings, ...] = ()
    files: tuple[Seen, ...] = ()
    effects: tuple[str, ...] = ()
    problem: str = ""

    @property
    def digest(self) -> str:
        listed = [(seen.path, seen.kind, seen.sha256, seen.executable) for seen in self.files]
        return sha256(dumps(listed).encode()).hexdigest()


@noun
class ServerEntry:
    """An MCP server of ``.mcp.json``. An invalid server has an entry too.

    command    the command line of the server
    helper     the command line that prints HTTP headers
    variables  the user's environment variables that the server receives
    """

    name: str
    command: str = ""
    helper: str = ""
    url: str = ""
    variables: tuple[str, ...] = ()

    def effects(self) -> Iterator[str]:
        given = f", with your variables {', '.join(self.variables)}" if self.variables else ""
        if self.command:
            yield f"starts `{visible(self.command)}` as the MCP server {visible(self.name)}{given} ({SERVERS_FILE})"
        if self.url:
            yield f"connects the MCP server {visible(self.name)} at {visible(self.url)}{given} ({SERVERS_FILE})"
        if self.helper:
            yield f"runs `{visible(self.helper)}` for headers of the MCP server {visible(self.name)} ({SERVERS_FILE})"


def fingerprint(root: Path) -> Fingerprint:
    """Return the fingerprint of a folder. No program is run, and no file outside of the root is opened."""
    top = os.path.realpath(root)
    settings = read_repository(Path(top))
    survey = _FileCollector(top)
    try:
        for name in (FOLDER, SERVERS_FILE):
            survey.add(os.path.join(top, name))
        servers = _servers(survey.found, top)
        for path in _named(settings, servers, top):
            survey.add(path)
    except _TooMuch as error:
        return Fingerprint(settings, problem=str(error))
    except OSError as error:
        where = os.path.relpath(str(error.filename), top) if error.filename else "a file"
        return Fingerprint(settings, problem=f"{where} cannot be read: {error.strerror or error}")
    found = survey.found
    for each in settings:
        real = os.path.relpath(os.path.realpath(each.file), top)
        hashed = found[real].sha256 if real in found else ""
        if hashed != each.sha256 and not each.faults:
            return Fingerprint(settings, problem=f"{each.file} changed while Callgate read it: try again")
    files = tuple(found[path] for path in sorted(found))
    effects = [*_effects(settings, files, top), *(line for each in servers for line in each.effects())]
    return Fingerprint(settings, files, tuple(effects))


class _TooMuch(Exception):
    pass


class _FileCollector:
    def __init__(self, top: str) -> None:
        self.found: dict[str, Seen] = {}
        self._top = top
        self._folders: set[str] = set()
        self._bytes = 0
        self._text = 0

    def add(self, path: str) -> None:
        """Add a file, or all files of a folder. The folders of the path must be inside the root."""
        waiting = [path]
        while waiting:
            path = waiting.pop()
            if path in self._folders or os.path.relpath(path, self._top) in self.found:
                continue
            try:
                status = os.lstat(path)
            except (FileNotFoundError, NotADirectoryError):
                continue
            if len(self.found) + len(self._folders) >= MOST_FILES:
                raise _TooMuch(f"there are more than {MOST_FILES} files and folders to read")
            if S_ISDIR(status.st_mode):
                self._folders.add(path)
                waiting += [os.path.join(path, each) for each in os.listdir(path)]
            else:
                name = os.path.relpath(path, self._top)
                self.found[name] = self._seen(path, name, status)
                if S_ISLNK(status.st_mode):
                    real = os.path.realpath(path)
                    if is_beneath(real, self._top) and not is_beneath(path, real):
                        waiting.append(real)

    def _seen(self, path: str, name: str, status: os.stat_result) -> Seen:
        if S_ISLNK(status.st_mode):
            target = os.readlink(path)
            return Seen(name, "link", sha256(os.fsencode(target)).hexdigest(), text=target)
        if not S_ISREG(status.st_mode):
            return Seen(name, "other")
        digest, kept = sha256(), b""
        with open(open_regular(path, follow=False), "rb") as file:
            while chunk := file.read(1 << 16):
                self._bytes += len(chunk)
                if self._bytes > MOST_BYTES:
                    raise _TooMuch(f"there are more than {MOST_BYTES // 1024 // 1024} MiB to read")
                digest.update(chunk)
                if len(kept) <= LARGEST_TEXT:
                    kept += chunk
        return Seen(name, "file", digest.hexdigest(), bool(S_IMODE(status.st_mode) & 0o111), self._kept(kept))

    def _kept(self, data: bytes) -> str | None:
        if len(data) > LARGEST_TEXT or self._text + len(data) > MOST_TEXT:
            return None
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return None
        self._text += len(data)
        return text


def _servers(found: dict[str, Seen], top: str) -> tuple[ServerEntry, ...]:
    """Return the MCP servers of ``.mcp.json``. Raise _TooMuch if the file is too large to be shown, because it
    cannot be trusted then."""
    path = os.path.relpath(os.path.realpath(os.path.join(top, SERVERS_FILE)), top)
    seen = found.get(path)
    if seen is not None and seen.kind == "file" and seen.text is None:
        raise _TooMuch(f"{path} has more than {LARGEST_TEXT // 1024} KiB or is not text, so it is not shown")
    return server_entries(seen.text) if seen is not None and seen.text is not None else ()


def _named(settings: Iterable[LayerSettings], servers: Iterable[ServerEntry], top: str) -> Iterator[str]:
    started = [("command", text) for each in servers for text in (each.command, each.helper) if text]
    for words in map(_words, (*_commands(settings), *started)):
        for word in words:
            # resolve links of the folders, not the file's own link, whose target may change
            folder, name = os.path.split(os.path.join(top, word))
            path = os.path.join(os.path.realpath(folder), name)
            is_folder = name in ("", "..") or os.path.isdir(path)
            if is_beneath(path, top) and not is_folder and os.path.lexists(path):
                yield path


def _commands(settings: Iterable[LayerSettings]) -> Iterator[tuple[str, str]]:
    for each in settings:
        for hook in each.hooks:
            if hook.kind != "http":
                yield hook.kind, hook.target
        for said in each.plain:
            if said.name == "questions.notify":
                yield "command", str(said.value)


def _words(command: tuple[str, str]) -> set[str]:
    """Return the words of a command line that may be paths, without quotes."""
    kind, text = command
    if kind == "python":
        return set(_of_module(text.partition(":")[0]))
    words = set(_TOKEN.findall(text))
    with suppress(ValueError):  # quotes that are not closed
        words |= set(shlex.split(text))
    for module in _MODULE.findall(text):
        words |= set(_of_module(module))
    return words | {_VARIABLE.sub("", word, count=1) for word in words}


def _of_module(name: str) -> tuple[str, ...]:
    path = name.replace(".", "/")
    return f"{path}.py", f"{path}/__init__.py", f"{path}/__main__.py"


def _effects(settings: Iterable[LayerSettings], files: Iterable[Seen], top: str) -> Iterator[str]:
    """Return one line for each effect of trusting the repository. Text from files is escaped."""
    for each in settings:
        for hook in each.hooks:
            yield f"{_does(hook)} {_when(hook)} (hooks.{hook.event}, {_place(hook.origin, top)})"
        for said in each.plain:
            if said.name == "questions.notify":
                where = _place(said.origin, top)
                yield f"runs `{visible(str(said.value))}` when a question is open and the user is away ({where})"
    own = {os.path.join(FOLDER, name) for _, name in FILES}
    for seen in files:
        if seen.path in own and seen.kind == "file":
            continue
        if seen.kind == "link":
            real = os.path.realpath(os.path.join(top, seen.path))
            outside = "" if is_beneath(real, top) else ", outside the repository, which may change without a question"
            yield f"may use {visible(seen.path)}, a link to {visible(seen.text or '')}{outside}"
        else:
            does = "runs the Python code in" if _TOOL.fullmatch(seen.path) else "may use"
            yield f"{does} {visible(seen.path)}" + (f" ({seen.sha256[:12]})" if seen.sha256 else "")


def _does(hook: HookLine) -> str:
    target = visible(hook.target)
    return {"command": f"runs `{target}`", "python": f"calls {target}", "http": f"posts to {target}"}[hook.kind]


def _when(hook: HookLine) -> str:
    about = {"PreToolUse": "before every", "PostToolUse": "after every", "PostToolUseFailure": "after every failed"}
    condition = f" that is {visible(hook.condition)}" if hook.condition else ""
    if hook.event in about:
        return f"{about[hook.event]} {visible(hook.matcher) or 'call'}{condition}"
    matching = f" that matches {visible(hook.matcher)}" if hook.matcher else ""
    return f"{EVENTS[hook.event]}{matching}{condition}"


def _place(origin: Origin, top: str) -> str:
    return f"{visible(os.path.relpath(origin.file, top))}:{origin.line}"


def server_entries(text: str) -> tuple[ServerEntry, ...]:
    """Return the servers in the text of ``.mcp.json``, including invalid servers; empty if the text contains no
    servers."""
    try:
        found = cast("dict[str, Any]", json.loads(text)["mcpServers"])
        return tuple(_entry(name, cast("dict[str, Any]", each)) for name, each in found.items() if type(each) is dict)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return ()


def _entry(name: str, given: dict[str, Any]) -> ServerEntry:
    env, args = given.get("env"), given.get("args")
    pairs = [f"{key}={value}" for key, value in cast("dict[str, Any]", env).items()] if isinstance(env, dict) else []
    words = [*map(str, cast("list[Any]", args))] if isinstance(args, list) else []
    command = str(given.get("command") or "")
    variables = tuple(sorted({*_EXPANSION.findall(json.dumps(given))}))
    line = shlex.join([*pairs, command, *words]) if command else ""
    return ServerEntry(name, line, str(given.get("headersHelper") or ""), str(given.get("url") or ""), variables)
