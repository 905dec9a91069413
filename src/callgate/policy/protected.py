"""Protected places: every access needs the user's approval, independent of the mode and the rules.

A name matches in every form that a file system may treat as the same name: other case, other width, invisible
characters, dots and blanks at the end, ``.git::$DATA``, ``GIT~1``. Places that do not exist match too. Ordinary
project files are not protected, even if their code is run later (Makefile, package.json, conftest.py).
"""

import os
import re
import string
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Literal

from callgate.policy.path_patterns import loose_name
from callgate.policy.shorten import brief
from callgate.words.late_pattern import late_pattern
from callgate.words.resolved_path import ResolvedPath

What = Literal["read", "write", "remove"]

REPOSITORY = "is version control data, whose hooks and settings can run programs"
SHELL = "is executed by a shell when it starts"
EDITOR = "is read by an editor and can make it run programs"
AGENT = "configures agents and their servers"
TOOL = "is read by a tool when it starts and can make it run programs"
SETTINGS = "contains settings, and often passwords"
BUILD = "is executed by the build service, which has access to secrets"
SYSTEM = "controls how this machine starts, or who may use it"
SECRET = "contains keys or passwords"

# Names, or paths of several names, at any depth, in lower case. Secrets may not even be read. For a name with ! no file
# can be created in the top folder of the workspace while a command runs in the sandbox: programs read these as soon as
# they see the folder. Other created names are renamed when the command has ended.
_NAMES: Mapping[str, str] = {
    REPOSITORY: """
        .git! .hg .svn .jj .bzr .sl .pijul .fossil _darcs .gitmodules .gitattributes .gitconfig .hgrc .githooks
    """,
    SHELL: """
        .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin
        .zlogout .kshrc .mkshrc .cshrc .tcshrc .login .logout .inputrc .xonshrc .oh-my-zsh .pam_environment .xinitrc
        .xprofile .xsession .xsessionrc profile.ps1 microsoft.powershell_profile.ps1 .config/fish .config/nushell
        .config/powershell .config/environment.d .config/autostart .config/systemd library/launchagents
        library/launchdaemons
    """,
    EDITOR: """
        .vscode! .vscode-server .idea! .fleet .zed .vs .vim .nvim .vimrc .gvimrc .exrc .nvimrc .nvim.lua .ideavimrc
        .emacs .emacs.d .spacemacs .dir-locals.el .dir-locals-2.el .devcontainer .devcontainer.json .gitpod.yml
        .config/nvim .config/zed .config/code .config/emacs .config/helix
    """,
    AGENT: """
        .callgate! .agents! .claude! .claude.json .cursor! .gemini! .codex! .windsurf .continue .roo .kiro .cline
        .clinerules .opencode .qwen .goose .augment .junie .trae .amazonq .aider.conf.yml .mcp.json! mcp.json
        mcp_config.json .cursorrules .windsurfrules .goosehints claude_desktop_config.json
        .github/copilot-instructions.md .github/instructions .github/agents .config/callgate .config/opencode
        .config/goose .config/claude .config/mcp .local/share/callgate
    """,
    TOOL: """
        .yarnrc .yarnrc.yml .yarn .pnpmfile.cjs .pnp.cjs .bunfig.toml bunfig.toml .envrc! .direnv .husky
        .lefthook .lefthook.yml lefthook.yml .pre-commit-config.yaml .mise.toml mise.toml .cargo/config
        .cargo/config.toml .mvn .gradle/init.d .condarc .pip .gemrc .bundle .curlrc .wgetrc .tmux.conf .screenrc
        .rprofile .irbrc .pryrc .pythonrc .pythonrc.py .psqlrc .sqliterc .gdbinit .lldbinit sitecustomize.py
        usercustomize.py .config/git .config/pip .config/direnv .config/mise
    """,
    SETTINGS: """
        .npmrc
    """,
    BUILD: """
        .github/workflows .github/actions .gitlab-ci.yml .gitlab/ci .circleci .travis.yml .buildkite .drone.yml
        .woodpecker.yml .woodpecker azure-pipelines.yml bitbucket-pipelines.yml jenkinsfile
    """,
    SECRET: """
        .ssh .aws .azure .gnupg .kube .netrc _netrc .git-credentials .pgpass .my.cnf .pypirc .vault-token
        .password-store .credentials.json .docker/config.json .config/gh .config/gcloud .config/git/credentials
        .config/containers/auth.json .config/op .config/doctl .config/hub .config/rclone .cargo/credentials
        .cargo/credentials.toml .gem/credentials .terraform.d/credentials.tfrc.json .codex/auth.json
        .gemini/oauth_creds.json callgate-keys.json .local/share/callgate/callgate-keys.json
        .local/share/keyrings .local/share/opencode/auth.json library/keychains
        .mozilla/firefox .config/google-chrome .config/chromium id_rsa id_dsa id_ecdsa id_ed25519 id_ecdsa_sk
        id_ed25519_sk prod.env credentials.json .htpasswd .htdigest terraform.tfstate terraform.tfstate.backup
        kubeconfig secrets.yml secrets.yaml secrets.json secrets.toml .vault_pass .vault_pass.txt service-account.json
        .dockercfg .dockerconfigjson .s3cfg .boto .mylogin.cnf pgpass.conf .kubeconfig kube.config talosconfig .envs
        .bash_history .zsh_history .psql_history .mysql_history .sqlite_history .python_history .node_repl_history
        .rediscli_history .mongo_history .irb_history .local/share/fish/fish_history .terraformrc .sentryclirc
        .databrickscfg .snowsql/config .huggingface/token .cache/huggingface/token .kaggle/kaggle.json .m2/settings.xml
        .m2/settings-security.xml .gradle/gradle.properties .oci/config .aliyun/config.json .config/hcloud .config/sops
        .config/glab-cli .config/stripe .config/netlify .config/ngrok .ngrok2 .fly/config.yml .wrangler/config
        .config/.wrangler .config/io.datasette.llm/keys.json .config/solana .electrum .bitcoin .ethereum .thunderbird
        .config/bravesoftware .config/microsoft-edge .config/signal .config/slack .config/discord local.settings.json
        logins.json key4.db cookies.sqlite cookies.txt wallet.dat rclone.conf secret_key_base keyfile.json
    """,
}
# Absolute paths outside the workspace.
_PATHS: Mapping[str, str] = {
    SYSTEM: """
        /proc /sys /dev /boot /etc/passwd /etc/group /etc/pam.d /etc/profile /etc/profile.d /etc/bash.bashrc
        /etc/bashrc /etc/zsh /etc/zshenv /etc/zshrc /etc/zprofile /etc/fish /etc/environment /etc/crontab
        /etc/cron.d /etc/cron.hourly /etc/cron.daily /etc/cron.weekly /etc/cron.monthly /etc/ld.so.preload
        /etc/ld.so.conf /etc/ld.so.conf.d /etc/ssh /etc/systemd /etc/init.d /etc/rc.local /etc/hosts /etc/gitconfig
        /etc/claude-code /etc/callgate /var/spool/cron
    """,
    SECRET: """
        /etc/shadow /etc/gshadow /etc/sudoers /etc/sudoers.d /etc/ssl/private /run/secrets /var/run/secrets
    """,
}
_WHOLE_TABLE = " ".join((*_NAMES.values(), *_PATHS.values(), ".env"))
_ALL_NAMES = frozenset(_WHOLE_TABLE.replace("/", " ").replace("!", "").split())
_KEY_ENDINGS = (".key", ".p8", ".p12", ".pfx", ".ppk", ".kdbx", ".jks", ".keystore")
RENAMED = ".from-sandbox"
"""The ending of a protected file that a command in the sandbox created: its name means nothing to programs."""
_RENAMED = late_pattern(rf"{re.escape(RENAMED)}[0-9]*\Z")
# Whole names of files with keys or passwords, in lower case.
_SECRET_FILE = late_pattern(
    r"id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?(?:[^a-z].*)?|.+\.env(?:[.-].*)?|.+\.tfstate(?:\..*)?|.+\.tfvars(?:\.json)?"
    r"|\.?(?:secrets|credentials?)(?:[._-].*)?\.(?:ya?ml|json|toml|ini|cfg|conf|properties|csv|xml|db)|\.secrets?"
    r"|(?:.+[._-])?(?:credentials?|passwords?)\.(?:json|csv|txt|db)|token\.pickle"
    r"|(?:.*[._-])?(?:service[._-]?accounts?|client[._-]?secrets?|firebase[._-]?adminsdk)(?:[._-].*)?\.json"
    r"|application_default_credentials\.json|(?:.+\.)?kubeconfig(?:[._-].*)?|(?:.*\.)?ht(?:passwd|digest)"
    r"|\.?(?:ansible[._-])?vault[._-]?pass(?:word|wd)?(?:[._-](?:file|txt|\w+))?"
    r"|(?:.*[._-])?service[._-]?accounts?[._-]?keys?\.json|(?:.+[._-])?(?:gcp|gcloud|google|aws|azure|firebase)[._-]keys?\.json"
    r"|(?:.+[._-])?(?:root|access)[._-]?keys?\.csv|\.?(?:aws|gcp|git|db|api)[._-]?credentials|\.env[_~-].*|env\.(?:local|prod(?:uction)?)"
    r"|(?:.+[._-])?(?:private|secret|deploy)[._-]?keys?(?:\.(?:txt|asc|der|gpg|json|pem))?|[^*?\[]+[._-](?:rsa|dsa|ecdsa|ed25519)|.+\.private"
    r"|(?:.+[._-])?secrets\.(?:ya?ml|json|toml|ini|properties)|(?:.+[._-])?(?:access|api|auth|bearer)[._-]?tokens?(?:\.txt)?"
    r"|\.(?:token|secret[._-]?key|passw(?:or)?ds?(?:-s3fs)?)|(?:.+[._-])?passwd\.txt|secring\.gpg|.+\.(?:kdb|bks|ovpn|agekey|pkcs8|pkcs12)"
    r"|.+\.(?:key|p12|pfx|jks|keystore)\.(?:bak|backup|old|orig|save)|.*\.?kubeconfig",
    re.DOTALL,
)
_PARTS_OF_SECRETS = late_pattern(
    r"\.(?:env|tf|key|p8|p12|pfx|ppk|kdbx|jks|keystore|pem|code-workspace)|id_[rde]|secret|credential|passw|token\.pickle"
    r"|account|adminsdk|kubeconfig|htdigest|vault|key|token|_rsa|_dsa|ed25519|ecdsa|env\.(?:local|prod)|secring|\.(?:private|kdb|bks|ovpn|pkcs)"
)
# Words in names of files that are meant to be published.
_HARMLESS = frozenset(
    ["example", "examples", "sample", "template", "tmpl", "tpl", "dist", "schema", "pub", "enc", "md", "lock"]
)
_CODE = (
    *(".py", ".pyi", ".js", ".mjs", ".cjs", ".ts", ".tsx", ".jsx", ".go", ".rs", ".java", ".kt", ".rb", ".php", ".c"),
    *(".h", ".cc", ".cpp", ".hpp", ".cs", ".swift", ".sh", ".html", ".css", ".md", ".rst", ".snap", ".pub"),
)
_WORDS = late_pattern(r"[^a-z]+")
_PRIVATE = frozenset(("key", "keys", "priv", "private", "privkey", "privatekey", "keypair"))
_PUBLIC = frozenset(("pub", "public", "pubkey", "publickey"))
_HOME_SECRETS = (".npmrc", ".yarnrc.yml")  # in a project they should contain no tokens
_INSTRUCTIONS = ("AGENTS.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md")  # in lower case they are ordinary documents
_ENVIRONMENT = late_pattern(r"\.env(?:\.(?!(?:example|sample|template|dist)\Z).*)?", re.DOTALL)
_WORKSPACE_FILE = ".code-workspace"
_PROCESS_SECRETS = late_pattern(r"/proc/[^/]+/(?:task/[^/]+/)?(?:environ|mem)|/proc/kcore")
_NOWHERE = "/dev/null"
_SHARED_MEMORY = "/dev/shm"

_GLOB = late_pattern(r"[*?[]")
_EVERYTHING = ("*", "**", ".*")
_TOP = late_pattern(r"/[^/]*|[a-z]:(?:/[^/]*)?", re.DOTALL)


def protected_names(*, secret: bool) -> tuple[str, ...]:
    """Return the relative paths of protected places in lower case: with ``secret`` the places with secrets,
    otherwise all other places."""
    chosen = (entries for why, entries in _NAMES.items() if (why == SECRET) == secret)
    return tuple(name.rstrip("!") for entries in chosen for name in entries.split())


def held_names() -> tuple[str, ...]:
    """Return the names that cannot be created in the top folder of a workspace while a command runs in the sandbox."""
    return tuple(name[:-1] for entries in _NAMES.values() for name in entries.split() if name[-1] == "!")


def secrets_of(home: str) -> tuple[str, ...]:
    """Return the paths of the usual files and folders with keys or passwords, in the home folder and elsewhere on
    this machine."""
    names = (*protected_names(secret=True), *_HOME_SECRETS)
    return (*(f"{home.rstrip('/')}/{name}" for name in names), *_PATHS[SECRET].split())


def danger(place: ResolvedPath, what: What, *, root: str, home: str) -> str | None:
    """Return a sentence that says why the access needs the user's approval; None if the access needs no approval.
    ``root`` and ``home`` are absolute."""
    why = (
        (place.fault and place.fault.replace(_own_process(), "/proc/self/"))
        or (_removed(place, root, home) if what == "remove" else None)
        or _device(place, what)
        or _escaped(place, root)
        or _named(place, what, root, home)
    )
    return None if why is None else f"{_shown(place)}: {why}"


def _shown(place: ResolvedPath) -> str:
    """Return the path with special characters escaped, so that a file name cannot imitate the text of the question."""
    leads = place.resolved != place.hops[0] and not any(hop.startswith(_own_process()) for hop in place.hops)
    to = f" (which leads to {brief(repr(place.resolved))})" if leads else ""
    return f"{brief(repr(place.spelled))}{to}"


def _own_process() -> str:
    return f"/proc/{os.getpid()}/"


def _removed(place: ResolvedPath, root: str, home: str) -> str | None:
    for hop in map(loose_name, place.hops):
        path = _all_of(hop)
        if is_beneath(loose_name(root), path):
            return "removing it would remove the workspace"
        if is_beneath(loose_name(home), path):
            return "removing it would remove the home folder"
        if _TOP.fullmatch(path):
            return "removing it would remove a system folder"
    return None


def _all_of(path: str) -> str:
    """Return ``x`` for a path such as ``x/*``, which matches everything in the folder; any other path unchanged."""
    above, _, name = path.rpartition("/")
    return (above or "/") if name in _EVERYTHING else path


def _device(place: ResolvedPath, what: What) -> str | None:
    if place.kind == "device" and (what == "remove" or place.resolved != _NOWHERE):
        return "the path is a device, a pipe or a socket, not a file"
    return None


def _escaped(place: ResolvedPath, root: str) -> str | None:
    spelled, inside = place.hops[0], place.inside
    if inside:
        return None
    if is_beneath(spelled, root):
        return "a link on the path leads outside the workspace"
    if ".." in place.spelled.split("/") and (not place.spelled.startswith("/") or is_beneath(place.spelled, root)):
        return "the path leaves the workspace through .."
    if is_beneath(loose_name(spelled), loose_name(root)):
        return "it looks like a path in the workspace, but is not"
    return None


def _named(place: ResolvedPath, what: What, root: str, home: str) -> str | None:
    for hop in place.hops:
        outside = not is_beneath(hop, root)
        below = hop if outside else hop[len(root.rstrip("/")) :]
        why = _secret(below, outside) or (_in_home(hop, home) if what == "read" else _kept(below, outside, place.folds))
        if why is not None:
            return f"it {why}"
    return None


def _secret(path: str, outside: bool) -> str | None:
    loose = loose_name(path)
    name = loose.rpartition("/")[2]
    if _RENAMED.search(name):
        return None
    if _found(_SECRETS, loose) or _is_key(name) or _is_environment(name) or _is_secret_file(name):
        return SECRET
    if outside and (_PROCESS_SECRETS.fullmatch(loose) or _at(SECRET, loose)):
        return SECRET
    return None


@lru_cache(maxsize=4096)
def is_secret(name: str) -> bool:
    """Return True if a file or folder of this name contains keys or passwords, in any folder."""
    return is_suspect(name) and _secret(f"/{name}", outside=False) is not None


Protection = Literal["secret", "kept"]


def protection(folder: str, name: str) -> Protection | None:
    """Return "secret" for a name that commands in the sandbox may not read, "kept" for a name that they may neither
    change nor create, and None for any other name.

    folder  the end of the folder's path relative to the workspace; at most the last two names matter
    """
    if not folder and not is_suspect(name):
        return None
    path = f"/{folder}/{name}" if folder else f"/{name}"
    if _secret(path, outside=False) is not None:
        return "secret"
    return None if _kept_name(path, folds=False) is None else "kept"


def _is_secret_file(name: str) -> bool:
    if name.endswith(_CODE) or not _SECRET_FILE.fullmatch(name):
        return False
    return _HARMLESS.isdisjoint(_WORDS.split(name))


def _is_environment(name: str) -> bool:
    """Return True for names such as ``.env`` and ``.env.local``, and False for ``.env.example``, which contains no
    secrets."""
    return _ENVIRONMENT.fullmatch(name) is not None or ".env" in _meant(name)


def _is_key(name: str) -> bool:
    """Return True for the name of a key file. The words in a name with ``.pem`` distinguish keys from certificates."""
    if name.endswith(".pem"):
        words = set(_WORDS.split(name))
        return not words.isdisjoint(_PRIVATE) and words.isdisjoint(_PUBLIC)
    return name.endswith(_KEY_ENDINGS) or (name.startswith("ssh_host_") and name.endswith("_key"))


def _in_home(path: str, home: str) -> str | None:
    loose, home = loose_name(path), loose_name(home).rstrip("/")
    return SECRET if any(loose == f"{home}/{name}" for name in _HOME_SECRETS) else None


def _kept(path: str, outside: bool, folds: bool) -> str | None:
    why = _kept_name(path, folds)
    if why is not None:
        return why
    loose = loose_name(path)
    if outside and _at(SYSTEM, loose) and loose != _NOWHERE and not is_beneath(loose, _SHARED_MEMORY):
        return SYSTEM
    return _holds(loose)


def _kept_name(path: str, folds: bool) -> str | None:
    loose = loose_name(path)
    name, loose_last = path.rpartition("/")[2], loose.rpartition("/")[2]
    if name in _INSTRUCTIONS or (folds and loose_last in map(str.lower, _INSTRUCTIONS)):
        return AGENT
    if loose_last.endswith(_WORKSPACE_FILE):
        return EDITOR
    return _found(_WRITTEN, loose)


def _holds(loose: str) -> str | None:
    """Return why a whole folder is protected, because it may contain a protected place; None if the folder is not
    protected."""
    parts = tuple(loose.rstrip("/").split("/"))
    for last in (parts[-1:], parts[-2:]):
        for names, why in _WRITTEN.get(last[0], ()) if last[0][:1] == "." else ():
            if len(names) > len(last) and names[: len(last)] == last:
                return why
    return None


def _at(why: str, loose: str) -> bool:
    system = loose.removeprefix("/private")  # the path on macOS
    if not _GLOB.search(system):
        return any(is_beneath(system, path) for path in _PATHS[why].split())
    parts = system.split("/")
    return any(_in_row(parts, path.split("/")) for path in _PATHS[why].split())


def _in_row(parts: Sequence[str], names: Sequence[str]) -> bool:
    """Return True if the path begins with the protected names, or with globs that match them."""
    return len(parts) >= len(names) and all(name in _meant(part) for part, name in zip(parts, names, strict=False))


@lru_cache(maxsize=1024)
def _meant(part: str) -> frozenset[str]:
    """Return the protected names to which the shell may expand a part of a path. A glob that matches almost every
    name matches none here. A leading dot must be written in the glob."""
    found = _GLOB.search(part)
    if found is None:
        return frozenset((part,))
    letters = sum(character.isalnum() for character in part)
    telling = letters > 0 if part[0] == "." else letters > 1 and part[0] != "*"
    begins = part[: found.start()] or tuple(string.ascii_lowercase)
    names = [name for name in _ALL_NAMES if name.startswith(begins)] if telling else []
    return frozenset(name for name in names if fnmatchcase(name, part))


def is_beneath(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


Table = dict[str, list[tuple[tuple[str, ...], str]]]
"""Maps the first name of a protected path to all its names and the reason for the protection."""


def _table(reasons: Iterable[str]) -> Table:
    made: Table = {}
    for why in reasons:
        for entry in _NAMES[why].replace("!", "").split():
            names = tuple(entry.split("/"))
            made.setdefault(names[0], []).append((names, why))
    return made


_WRITTEN = _table(why for why in _NAMES if why != SECRET)
_SECRETS = _table([SECRET])
_BEGINNINGS = (".", "ssh_host_", *_WRITTEN, *_SECRETS, *map(str.lower, _INSTRUCTIONS))
_OTHER_FORMS = late_pattern(r"[~*?\[:]|[^!-}]")


def is_suspect(name: str) -> bool:
    """Return True if the name may be part of a protected path.

    This fast filter is applied to thousands of names in a workspace. It returns False for a name that begins neither
    with a dot nor with a protected name, contains no part of a name of a secret, and cannot be another form of a
    protected name.
    """
    if _OTHER_FORMS.search(name):
        return True
    name = name.lower().rstrip(". ")
    if name.startswith(_BEGINNINGS):
        return True
    if "/" in name:
        return any(map(is_suspect, name.split("/")))
    return not name.endswith(_CODE) and _PARTS_OF_SECRETS.search(name) is not None


def _short(name: str) -> str:
    stem, _, ending = name.lstrip(".").rpartition(".")
    letters = re.sub(r"[^a-z0-9_-]", "", stem or ending)[:6]
    return f"{letters}.{ending[:3]}" if stem else letters


_HAS_NO_SHORT_FORM = late_pattern(r"[^.]{1,8}(?:\.[^.]{1,3})?")
_SHORT_FORM = late_pattern(r"([^.~]{1,6})~[0-9]+((?:\.[^.]{1,3})?)")
_LONG_NAMES = {
    _short(name): name
    for entries in _NAMES.values()
    for name in entries.replace("/", " ").replace("!", "").split()
    if not _HAS_NO_SHORT_FORM.fullmatch(name)
}


def _long(name: str) -> str:
    """Return the protected name that has this 8.3 form, such as ``git~1``; any other name unchanged."""
    short = _SHORT_FORM.fullmatch(name)
    return name if short is None else _LONG_NAMES.get(short[1] + short[2], name)


def _found(table: Table, loose: str) -> str | None:
    parts = [_long(part) for part in loose.split("/")]
    for start, part in enumerate(parts):
        for name in sorted(_meant(part) & table.keys()):
            for names, why in table[name]:
                if _in_row(parts[start:], names):
                    return why
    return None
