"""Prepares environment variables for programs by removing secrets."""

import os
import re
import shutil
import stat
import sys
from collections.abc import Mapping
from contextlib import suppress

from callgate.words.late_pattern import late_pattern

# fmt: off
_SECRET_WORDS = frozenset({
    "apikeys", "auth", "bearer", "cookie", "cookies", "cred", "creds", "credential", "jwt", "key", "keys", "pass",
    "passwords", "pat", "pwd", "secrets", "tokens", "webhook",
})
# fmt: on
_SECRET_ENDINGS = ("apikey", "token", "secret", "password", "passwd", "passphrase", "credentials")
_NO_SECRETS = frozenset({"pwd", "oldpwd", "ssh_auth_sock"})
"""Names that only look like secrets: folders, and the socket of an agent that does not reveal its keys. The variables
``GIT_CONFIG_KEY_n`` name settings of git; without them git fails."""

_CODE_FOLDERS = late_pattern(
    r"PYTHON(?:PATH|HOME|STARTUP)|NODE_(?:PATH|OPTIONS)|RUBY(?:LIB|OPT)|PERL5(?:LIB|OPT|DB)|PERLLIB|LUA_C?PATH|GEM_(?:HOME|PATH)"
    r"|CLASSPATH|LD_.*|DYLD_.*|GIT_(?:EXEC_PATH|TEMPLATE_DIR|CONFIG.*)|MANPATH|XDG_.*_DIRS"
)
"""Variables in which programs find code or settings to load."""
_READ_BY_PROGRAMS = late_pattern(
    r"PYTHON(?:PATH|HOME|STARTUP|USERBASE)|LD_(?:LIBRARY_PATH|PRELOAD|AUDIT)|DYLD_.*|GIT_(?:EXEC_PATH|TEMPLATE_DIR)|LOCPATH"
    r"|GCONV_PATH|OPENSSL_(?:CONF|MODULES|ENGINES)|RIPGREP_CONFIG_PATH|DOCKER_CONFIG|MAGIC|NODE_(?:PATH|OPTIONS)|CLASSPATH|RUBY(?:LIB|OPT)|PERL5(?:LIB|OPT|DB)|PERLLIB|AWK(?:LIB)?PATH"
)
"""Variables in which programs that only read find code or settings to load."""
_STATED = frozenset(("PWD", "OLDPWD"))
"""Variables that state a folder of the workspace; no program loads code from it."""
_WITH_PASSWORD = late_pattern(r"://[^/?#\s]*:[^/?#\s]*@")


def scrubbed(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without variables whose names suggest a secret, and without URLs that contain a
    password."""
    return {name: value for name, value in environ.items() if not secret(name, value)}


def secret(name: str, value: str) -> bool:
    low = name.lower()
    if low in _NO_SECRETS or low.startswith("git_config_key_"):
        return False
    words = re.split(r"[^a-z0-9]+", low)
    sounds = any(word in _SECRET_WORDS or word.endswith(_SECRET_ENDINGS) for word in words)
    return sounds or _WITH_PASSWORD.search(value) is not None


# Read by a shell before the command, or where it looks for a folder or a file; with SSH_CLIENT some run ~/.bashrc.
_DROPPED = frozenset(
    ("BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PROMPT_COMMAND", "CDPATH", "GLOBIGNORE", "SSH_CLIENT", "SSH2_CLIENT")
)
_SET = {"TERM": "dumb", "GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "true", "PAGER": "cat", "GIT_PAGER": "cat"}
GIT_OVERRIDES = {"core.fsmonitor": "", "core.hooksPath": os.devnull, "safe.bareRepository": "explicit"}
"""Settings of git for commands that only read: no monitor, no hooks, and no repository that is an ordinary folder."""


def command_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for commands. Secrets, variables that change the shell or make programs wait for input,
    and folders of PATH that depend on the working folder are removed."""
    kept = {name: value for name, value in scrubbed(environ).items() if name not in _DROPPED}
    kept["PATH"] = absolute_path(kept.get("PATH", SYSTEM_PATH))
    return {name: value for name, value in kept.items() if not name.startswith("BASH_FUNC_")} | _SET


def quiet_git(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for commands that only read: the settings in ``GIT_OVERRIDES`` take precedence over the
    settings of repositories and submodules, and git does not write its index.

    ``GIT_CONFIG_PARAMETERS`` is the variable by which ``git -c`` passes settings to the commands that git starts. Git
    does not pass ``GIT_CONFIG_COUNT`` to commands in submodules in all versions.
    """
    settings = (f"'{key}={value}'" for key, value in GIT_OVERRIDES.items())
    given = filter(None, (environment.get("GIT_CONFIG_PARAMETERS", ""), *settings))
    return {**environment, "GIT_CONFIG_PARAMETERS": " ".join(given), "GIT_OPTIONAL_LOCKS": "0"}


# In settings of git: a password in an address, a token in place of the user, a header, a value named like a secret.
_SECRET_NAME = rf"\w{{0,40}}(?:{'|'.join(_SECRET_ENDINGS)}|pass)"
_CREDENTIALS = (
    (late_pattern(r"(://[^\s/?#@:\0]*:)[^\s/?#\0]+(?=@)"), "password"),
    (late_pattern(r"(://)(?=[^\s/?#@:\0]{16})(?=[^\s/?#@:\0]*\d)[^\s/?#@:\0]+(?=@)"), "token"),
    (late_pattern(r"(extraheader[ \t]*[=\n ][ \t\"']*[\w-]+:[ \t]*)[^\n\0]+", re.I), "header"),
    (
        late_pattern(r"((?:^|[ \t=])[\w-]{0,40}(?:authorization|token|key|secret|cookie):[ \t]*)[^\n\0]+", re.I | re.M),
        "header",
    ),
    (late_pattern(rf"({_SECRET_NAME}[ \t]*=[ \t]*|[.]{_SECRET_NAME}[\n ])[^\s;\"'\0]+", re.I), "value"),
)


def holds_git_settings(path: str) -> bool:
    """Return True if the path is in a git directory or is a file with git settings."""
    parts = path.split("/")
    return ".git" in parts or parts[-1] in (".gitconfig", ".gitmodules")


def without_credentials(text: str) -> str:
    """Return git settings, or the output of git, with passwords and tokens masked."""
    for pattern, kind in _CREDENTIALS:
        text = pattern.sub(lambda found, kind=kind: f"{found[1]}[masked:{kind}]", text)
    return text


class OwnEnvironment:
    """Protects the environment of this process, which contains model keys.

    Programs get a scrubbed copy. But on Linux any program of the same user can read the environment from ``/proc``
    unless the process is set to not dumpable. ``keep_private`` requests this setting; it takes effect before the first
    command starts. Only the command line requests it, because a program that embeds Callgate may need a debugger.
    """

    def __init__(self) -> None:
        self._private = False

    def keep_private(self) -> None:
        self._private = True

    def before_commands(self) -> None:
        """Set this process to not dumpable if ``keep_private`` was called. Debuggers and core dumps then fail for
        this process, not for the programs that it starts."""
        if self._private and sys.platform.startswith("linux"):
            from ctypes import CDLL  # slow to import

            with suppress(OSError, AttributeError):
                CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0)


OWN_ENVIRONMENT = OwnEnvironment()
"""One per process, because a process has one environment."""
_SET_DUMPABLE = 4
_MOST_LINKS = 40
SYSTEM_PATH = "/usr/bin:/bin:/usr/local/bin:/run/current-system/sw/bin"


def absolute_path(path: str) -> str:
    """Return PATH without relative and empty folders, which depend on the working folder."""
    return os.pathsep.join(filter(os.path.isabs, path.split(os.pathsep)))


def fixed_path(path: str, *writable: str) -> str:
    """Return the folders of PATH in which commands cannot replace programs: absolute folders that are outside the
    writable folders and in which not every user can create files."""
    return os.pathsep.join(each for each in absolute_path(path).split(os.pathsep) if not is_writable(each, *writable))


def known_first(path: str, *writable: str) -> str:
    """Return PATH, with the folders in which commands can replace programs at its end."""
    fixed = fixed_path(path, *writable).split(os.pathsep)
    return os.pathsep.join(dict.fromkeys((*filter(None, fixed), *absolute_path(path).split(os.pathsep))))


def replaceable_program(name: str, path: str, *writable: str) -> str | None:
    """Return the path of a program found in PATH if commands can replace its file or a link that leads to the file.
    Return None otherwise, or if the program is not found."""
    found = file = shutil.which(name, path=absolute_path(path)) if path else None
    for _ in range(_MOST_LINKS):
        if file is None or is_writable(os.path.dirname(file), *writable):
            return found if file is not None else None
        if not os.path.islink(file):
            return found if is_writable(file, *writable) else None
        file = os.path.join(os.path.dirname(file), os.readlink(file))
    return found


def fixed_environment(environ: Mapping[str, str], *writable: str) -> dict[str, str]:
    """Return the variables of a command that must not load files from the writable folders. PATH contains no
    writable folders. Variables that name a writable folder, or that list relative folders with code, are removed."""
    kept = {
        name: value
        for name, value in environ.items()
        if (name in _STATED or name.startswith("CALLGATE_") or not any(each and each in value for each in writable))
        and not (_CODE_FOLDERS.fullmatch(name) and absolute_path(value) != value)
    }
    return {**kept, "PATH": fixed_path(environ.get("PATH", SYSTEM_PATH), *writable)}


def reading_environment(environ: Mapping[str, str], *writable: str) -> dict[str, str]:
    """Return the variables of a command that only reads, or that runs no files of the project. PATH begins with the
    folders in which commands cannot replace programs. Variables that name code or settings of programs are kept only
    if their paths are absolute and not writable."""
    kept = {
        name: value
        for name, value in environ.items()
        if not _READ_BY_PROGRAMS.fullmatch(name) or all(_is_fixed(each, *writable) for each in value.split(os.pathsep))
    }
    return {**kept, "PATH": known_first(environ.get("PATH", SYSTEM_PATH), *writable)}


def _is_fixed(path: str, *writable: str) -> bool:
    return os.path.isabs(path) and not is_writable(path, *writable)


def is_writable(path: str, *writable: str) -> bool:
    """Return True if the path is below the writable folders, or below a folder in which every user can create files.
    Links are followed. A missing path is judged by its nearest existing parent."""
    real = os.path.realpath(path)
    if any(_beneath(real, each) for each in writable):
        return True
    while not os.path.exists(real):
        real = os.path.dirname(real)
    return bool(os.stat(real).st_mode & stat.S_IWOTH)


def find_program(name: str, path: str = SYSTEM_PATH, *, avoid: str = "") -> str | None:
    """Return the path of a program that runs outside the sandbox, from the folders in ``path``; None if there is
    none. Programs below the folder ``avoid``, where commands can write, are skipped."""
    folders = fixed_path(path, avoid)
    found = shutil.which(name, path=folders) if folders else None
    return None if found is None or replaceable_program(name, folders, avoid) is not None else found


def _beneath(path: str, folder: str) -> bool:
    real = os.path.realpath(folder) if folder else ""
    return bool(real) and f"{os.path.realpath(path)}/".startswith(f"{real.rstrip('/')}/")
