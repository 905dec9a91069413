"""git: global options, then a subcommand with a grammar of its own.

Only known subcommands count, for an alias may be anything. ``ALTERING`` ones are granted with git itself; what runs
programs, changes settings or throws work away must be written out in the rule.
"""

import re

from callgate.shell.programs.git_options import GRAMMARS, QUIET
from callgate.shell.programs.options import Found, grammar, loose, names, scan, uses_in
from callgate.shell.programs.uses import Program, Use, Words, said

_GLOBAL = grammar(
    """--no-pager --no-optional-locks --literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs
    --no-replace-objects --no-lazy-fetch --html-path --man-path --info-path -v -h
    -c=load -C=enter --git-dir=load --work-tree=load --namespace=load --exec-path?=load --config-env=load
    --attr-source=load --super-prefix=load --list-cmds=text -p!run --paginate!run --bare!load""",
    stops=True,
)
_BY_NAME = re.compile(r"::|^file:|://-|^-", re.I)
# Whoever shows a signature has it checked, by the program that the settings name.
_SIGNED = re.compile(r"%[-+ ]?G|signature")
_WITH_REMOTES = names("fetch pull push clone ls-remote submodule")
# Not for the grant of git as a whole: to be written out in the rule.
_DRASTIC: dict[str, tuple[str, str]] = {
    "filter-branch": ("run", "git filter-branch runs commands"),
    "difftool": ("run", "git difftool runs a program"),
    "mergetool": ("run", "git mergetool runs a program"),
    "help": ("run", "git help starts a pager or a browser"),
    "gc": ("alter", "git gc removes objects"),
    "prune": ("alter", "git prune removes objects"),
    "update-ref": ("alter", "git update-ref moves references"),
    "update-index": ("alter", "git update-index changes the index"),
    "symbolic-ref": ("alter", "git symbolic-ref changes references"),
    "replace": ("alter", "git replace changes objects"),
}
# subcommand → the first operand of it → what that is; "" stands for any other.
_STEPS: dict[str, dict[str, str]] = {
    "stash": {"list": "quiet", "show": "quiet", "drop": "alter", "clear": "alter", "": "meant"},
    "remote": {"show": "meant", "get-url": "quiet", "update": "meant", "prune": "meant", "": "alter"},
    "worktree": {"list": "quiet", "remove": "remove", "": "meant"},
    "bisect": {"run": "run", "visualize": "run", "view": "run", "replay": "run", "log": "quiet", "": "meant"},
    "submodule": {"foreach": "run", "status": "quiet", "summary": "quiet", "": "meant"},
    "reflog": {"expire": "alter", "delete": "alter", "drop": "alter", "": "quiet"},
    "notes": {"list": "quiet", "show": "quiet", "": "meant"},
}
_CONFIG_READS = names("-l --list --get --get-all --get-regexp --get-urlmatch --get-color --get-colorbool")
_CONFIG_CHANGES = names("set unset rename-section remove-section edit")


def subcommand_at(words: Words) -> int:
    """Where the subcommand stands; past the end if there is none."""
    for found in scan(_GLOBAL, words, head=True):
        if not found.name:
            return found.at
    return len(words)


def _git(words: Words) -> list[Use]:
    sub = subcommand_at(words)
    uses = uses_in(_GLOBAL, scan(_GLOBAL, words[:sub]))
    if sub == len(words):
        return uses + loose(words)
    name = said(words[sub])
    rules = GRAMMARS.get(name)
    if rules is None:
        return [*uses, *loose(words), Use("odd", name, sub, sub, f"git {name} is not known; it may be an alias")]
    found = scan(rules, words, sub + 1)
    if name in ("checkout", "restore"):
        found = _checked_out(words, found)
    uses += uses_in(rules, found, {"format": _format}) + loose(words)
    operands = [each for each in found if not each.name]
    if name in _DRASTIC:
        role, why = _DRASTIC[name]
        uses.append(_plain_use(role, sub, why))
    elif name in _STEPS:
        uses += _step(words, name, sub, operands)
    elif name == "clean":
        uses += _clean(sub, found, operands)
    elif name == "config":
        uses += _config(sub, found, operands)
    elif name in ("branch", "tag"):
        uses += _naming(found, operands)
    elif name not in QUIET:
        uses.append(Use("alter", "", sub, sub, meant=True))
    if name in _WITH_REMOTES:
        uses += [
            Use("send", each.text, each.at, each.on, f"{each.text} names a program or place by another way")
            for each in operands
            if _BY_NAME.search(each.text)
        ]
    return uses


def _format(found: Found) -> list[Use]:
    signed = _SIGNED.search(found.text)
    return [Use("run", "", found.at, found.on, f"{found.text} has signatures checked")] if signed else []


def _checked_out(words: Words, found: list[Found]) -> list[Found]:
    """What is written: not the commit before ``--``, and nothing at all where only the index is meant."""
    names = {each.name for each in found}
    if names & {"-S", "--staged"} and not names & {"-W", "--worktree"}:
        return [each for each in found if each.name]
    ended = next((at for at, word in enumerate(words) if said(word) == "--"), 0)
    return [each for each in found if each.name or each.at > ended]


def _clean(sub: int, found: list[Found], operands: list[Found]) -> list[Use]:
    """Without a path it removes whatever is not part of the repository."""
    if any(each.name in ("-n", "--dry-run") for each in found):
        return []
    paths = [each.text for each in operands] or ["."]
    return [Use("remove", path, sub, sub, "git clean removes files") for path in paths]


def _plain_use(role: str, at: int, why: str) -> Use:
    return Use("run", "", at, at, why) if role == "run" else Use("alter", "", at, at, why)


def _step(words: Words, name: str, sub: int, operands: list[Found]) -> list[Use]:
    steps = _STEPS[name]
    if not operands:
        # Alone they list, but for stash, which puts changes away.
        return [Use("alter", "", sub, sub, meant=True)] if name == "stash" else []
    step, at = operands[0].text, operands[0].at
    what = steps.get(step, steps[""])
    if what == "quiet":
        return []
    if what == "meant":
        return [Use("alter", "", at, at, meant=True)]
    why = f"git {name} {step} is more than git {name}"
    if what == "run":
        text = " ".join(said(word) for word in words[at + 1 :])
        return [Use("run", text, at, at, why), Use("argv", "", at, at + 1, why)]
    if what == "remove":
        return [Use("remove", each.text, at, at, why) for each in operands[1:]]
    return [_plain_use(what, at, why)]


def _config(sub: int, found: list[Found], operands: list[Found]) -> list[Use]:
    """A question is an option, or the first word; any other word is a name or a value, whatever it looks like."""
    first = operands[0].text if operands else ""
    asked = first in ("list", "get") or any(each.name in _CONFIG_READS for each in found)
    reads = asked or (len(operands) == 1 and first not in _CONFIG_CHANGES)
    return [] if reads else [Use("alter", "", sub + 1, sub + 1, "it changes settings that can run programs")]


_LISTS = names(
    "-l --list -a -r --all --remotes --contains --no-contains --merged --no-merged --points-at -n --show-current"
)


def _naming(found: list[Found], operands: list[Found]) -> list[Use]:
    if not operands or any(each.name in _LISTS for each in found):
        return []
    return [Use("alter", "", operands[0].at, operands[0].at, meant=True)]


GIT: dict[str, Program] = {"git": Program(_git)}
