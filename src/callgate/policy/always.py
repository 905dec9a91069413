"""How far an "always" may reach: what a person may pick instead of a plain yes."""

import re
from posixpath import dirname

from callgate import shell
from callgate.core.ports import Case
from callgate.policy.known import FETCH, READERS, SHELL, WRITERS
from callgate.policy.subjects import Subject
from callgate.words.decisions import Choice, Pattern

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_.:+-]*")
_PATH = re.compile(r"[\w .,+@=#%()-]+(?:/[\w .,+@=#%()-]+)*")
"""No character that means something in a path rule."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BY_SUBCOMMAND = _names("""
    apt brew bun bundle bunx cargo conda deno docker dotnet flutter gh git glab go gradle hatch hg just kubectl make mvn
    node npm npx nx pdm pip pip3 pipenv pipx pnpm pnpx podman poetry python python3 rustup svn systemctl terraform uv
    uvx yarn
""")
"""Programs that are many programs: without the second word nothing is said."""

_BY_THREE = frozenset(
    """bun run|bun x|bundle exec|conda run|docker compose|gh issue|gh pr|gh release|gh repo|gh run|gh workflow
    |hatch run|npm exec|npm run|npm x|pdm run|pipenv run|pipx run|pnpm dlx|pnpm exec|pnpm run|poetry run|python -m
    |python3 -m|uv pip|uv run|yarn dlx|yarn exec|yarn run""".replace("\n    ", "").split("|")
)
"""The same with two words: ``npm run`` and ``python -m`` say nothing without the third."""

_NEVER = _names("""
    chmod chown curl dd doas env eval exec find kill killall mkfs nice nohup parallel pkill rm rmdir rsync scp sed shred
    source ssh su sudo tar tee time timeout truncate unlink watch wget xargs
""")
"""Too much can be done by their other arguments: only exactly this command is offered."""


def choices_for(case: Case) -> tuple[Choice, ...]:
    """Narrowest first: exactly these arguments, then what the tool proposes or, where it proposes nothing, what its
    kind makes plain: the beginning of a command, a file and its folder, a host."""
    label = "exactly this command" if case.name == SHELL else "exactly these arguments"
    exact = Choice(label, Pattern("exact", case.arguments_hash))
    return (exact, *(case.traits.choices_for_always or _usual(case)))


def _usual(case: Case) -> tuple[Choice, ...]:
    if case.name == SHELL:
        command = case.arguments.get("command")
        return _commands(shell.analyse(command)) if isinstance(command, str) else ()
    if case.name == FETCH:
        host = Subject(case, root="", home="").host
        return () if host is None else (Choice(f"anything from {host}", Pattern("rule", f"domain:{host}")),)
    return _files(case) if case.name in READERS or case.name in WRITERS else ()


def _commands(analysis: "shell.Analysis") -> tuple[Choice, ...]:
    """A prefix, if it is one plain command, and if that prefix would really have allowed it."""
    commands = analysis.script.commands
    if analysis.fault is not None or len(commands) != 1 or commands[0].assignments or commands[0].redirects:
        return ()
    words = [word.value or "" for word in commands[0].words[:3]]
    if not words or words[0] in _NEVER:
        return ()
    needed = 3 if " ".join(words[:2]) in _BY_THREE else 2 if words[0] in _BY_SUBCOMMAND else 1
    words = words[:needed]
    plain = all(_WORD.fullmatch(word) for word in words if needed < 3 or word != "-m")
    if len(words) < needed or not plain or shell.doubt(analysis) is not None:
        return ()
    prefix = " ".join(words)
    if not isinstance(shell.grant(analysis, (shell.parse_pattern(f"{prefix}:*"),), lambda path: False), shell.Granted):
        return ()
    return (Choice(f"commands that start with {prefix}", Pattern("prefix", prefix, "command")),)


def _files(case: Case) -> tuple[Choice, ...]:
    """The file and its folder, if there is one file, inside the workspace, and no link leads to it."""
    touches = Subject(case, root="", home="").touches
    if len(touches) != 1 or not touches[0].place.inside or len(touches[0].place.hops) > 1:
        return ()
    root = case.place(".").resolved.rstrip("/") + "/"
    path = touches[0].place.resolved.removeprefix(root)
    if not _PATH.fullmatch(path) or path.startswith(" ") or path.endswith(" "):
        return ()
    folder = dirname(path)
    file = Choice(f"{case.name} of {path}", Pattern("rule", f"./{path}"))
    return (
        (file, Choice(f"{case.name} of anything in {folder}/", Pattern("rule", f"./{folder}/**")))
        if folder
        else (file,)
    )
