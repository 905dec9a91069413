"""The command ``callgate tools new``: writes a template for custom tools."""

from keyword import iskeyword
from pathlib import Path

from callgate.cli.command_parser import USAGE
from callgate.cli.text_output import put_text, say
from callgate.words.errors import UsageError
from callgate.words.pending import RESOLVE

FOLDER = Path(".callgate", "tools")
_LONGEST = 64

_TEMPLATE = '''"""Tools of this project. Every public function with @tool is a tool."""

from callgate import Run, ToolFailure, reads, tool


@tool(effects="none", locks=lambda a: reads(a.path))
def {name}(path: str, run: Run) -> str:
    """Describe in one sentence, for the model, what this tool does.

    Args:
        path: a file, relative to the workspace
    """
    place = run.host.resolve_path(path)
    if place.fault or not place.inside or place.kind != "file":
        raise ToolFailure(f"{{path}}: {{place.fault or 'there is no such file in the workspace'}}")
    with open(place.resolved, encoding="utf-8") as file:
        return f"{{path}} has {{len(file.readlines())}} lines"


# A tool that changes files has effects="mutating", which is the default, and locks=lambda a: writes(a.path).
# A tool can also stage its changes: the model or the user looks at them, and `resolve` applies them. This needs
# FileChange, which is in callgate:
#
#     def tools(api):
#         @tool(effects="none")
#         def {name}(path: str) -> str:
#             before = api.content(path)                # bytes; for a file over 1 MB its path and its hash
#             api.push_changes("a short label", [FileChange(path, before, b"after")])
#             return "a description of the change, for the model"
#         return {name}
'''


def write_new_tool(name: str) -> int:
    """Write .callgate/tools/NAME.py in the current folder. Its tools are available once the folder is trusted."""
    try:
        for line in new_tool(name, Path.cwd()):
            put_text(line)
    except UsageError as error:
        say(str(error))
        return USAGE
    return 0


def new_tool(name: str, root: Path) -> list[str]:
    """Write the template; return lines with the next steps. Raise UsageError if the file exists or cannot be
    written."""
    _check(name)
    shown = (FOLDER / f"{name}.py").as_posix()
    file = root / shown
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.parent.resolve().is_relative_to(root.resolve()):
            raise UsageError(f"{FOLDER.as_posix()} is outside of {root}: nothing was written")
        with open(file, "x", encoding="utf-8", newline="\n") as stream:
            stream.write(_TEMPLATE.format(name=name))
    except FileExistsError:
        if not file.parent.is_dir():
            raise UsageError(f"{FOLDER.as_posix()} is not a folder: nothing was written") from None
        raise UsageError(f"{shown} already exists: choose another name, or edit the file") from None
    except OSError as error:
        raise UsageError(f"{shown} cannot be written: {error.strerror or error}") from error
    return [
        f"wrote {shown}",
        "next: edit the file, then run `callgate trust add`",
        "code in this folder runs only after you trust it; you are asked again after each change",
    ]


def _check(name: str) -> None:
    """Raise UsageError unless the name is valid for a file, a function and a tool."""
    if name == RESOLVE:
        raise UsageError(f"{RESOLVE!r} is reserved for the tool that resolves pending actions: choose another name")
    if name.isascii() and name.isidentifier() and not iskeyword(name) and name[0] != "_" and len(name) <= _LONGEST:
        return
    bare = "".join(sign if sign.isascii() and sign.isalnum() else "_" for sign in name.removesuffix(".py")).strip("_")
    meant = f": did you mean {bare}?" if bare and bare != name and bare.isidentifier() and not iskeyword(bare) else ""
    raise UsageError(
        f"{name[:100]!r} is not a valid tool name (a letter, then letters, digits and _, at most {_LONGEST}){meant}"
    )
