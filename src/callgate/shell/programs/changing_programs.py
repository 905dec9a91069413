"""Rows of programs that change files. A rule for a program includes its changes inside the workspace."""

import re
from posixpath import basename, join

from callgate.shell.programs.program_arguments import WHOLE, Argument, Invocation, loose, scan, uses_in
from callgate.shell.programs.program_entries import Grammar
from callgate.shell.programs.uses import Use, Words, text_of

CHANGING = """
rm,rmdir | drop | -dfiIprRv --force --interactive?= --one-file-system --preserve-root?= --recursive --dir --verbose
    --parents --ignore-fail-on-non-empty | no_prefix
mkdir | change | -pv -m= --mode= --parents --verbose
touch | change | -acmh -d= -r=read -t= --no-create --date= --reference=read --time=
chmod | text change | -cfv --changes --quiet --verbose -R --recursive | no_prefix
$copy = -abdfHinpPRrsTuvxZ -t=text --archive --backup --force --interactive --link --no-clobber --no-dereference
    --preserve?= --recursive --symbolic-link --target-directory= --no-target-directory --update?= --verbose
    --one-file-system
cp | read | $copy | last_operand=change no_prefix parser=copy
mv | moves | $copy | last_operand=change no_prefix parser=copy
ln | read | -finrsPTv -t=text --symbolic --force --interactive --relative --no-dereference --target-directory=
    --no-target-directory --verbose | last_operand=change no_prefix parser=copy
install | read | -bcCpsTv -m= -t=text --mode= --verbose --target-directory= --compare | last_operand=change no_prefix
    parser=copy
tee | write | -aip --append --ignore-interrupts | no_prefix
tar | read | -ctxrudAvzjJZakmnoSwWp -f= -C=change -X=read --create --list --extract --get --append --update --diff
    --verbose --gzip --bzip2 --xz --zstd --auto-compress --keep-old-files --skip-old-files --to-stdout -O --file=
    --directory=change --exclude= --exclude-from=read --exclude-vcs --strip-components= --wildcards --numeric-owner
    --owner= --group= --mode= --mtime= --sort= --no-recursion -I=run --use-compress-program=run -F=run --info-script=run
    --new-volume-script=run --to-command=run --checkpoint-action=run --rsh-command=run --rmt-command=run -T=load
    --files-from=load --remove-files!remove --recursive-unlink!remove -P!write --absolute-names!write | no_prefix
    parser=tar
# A rule for one of the following programs does not include the removal.
unlink,shred,trash,trash-put,truncate | remove | -s= -n= | no_prefix
dd | | | always=remove no_prefix
zip | | -m!remove | no_prefix
"""


def copy(call: Invocation) -> list[Use]:
    """Return the effects of ``cp``, ``mv``, ``ln`` and ``install``. The written file may be the target, or a file with
    the name of the source in the target folder: effects on both paths are returned. A copied folder would be merged
    with an existing folder and follow links in it, so the path in the target folder must not be a folder."""
    name, words, operands = call.program.names, call.words, call.operands
    uses = call.uses(call.options)
    into = next(iter(call.matching("-t", "--target-directory")), None)
    if into is None and len(operands) == 1 and name == "ln":
        into = Argument("", ".", operands[0].at, operands[0].on)
    target = into or (operands[-1] if len(operands) > 1 else None)
    if target is None:
        return uses
    if target.on < len(words) and words[target.on].globs and words[target.on].value == target.text:
        uses.append(target.beyond("unknown", f"{target.text} could expand to several files"))
    sources = operands if into else operands[:-1]
    whole = bool(call.matching("-r", "-R", "-a", "--recursive", "--archive"))
    onto = bool(call.matching("-T", "--no-target-directory"))
    for each in sources:
        uses.append(each.included("read"))
        if name == "mv":
            uses.append(each.included("move"))
        inner = basename(each.text.rstrip("/"))
        globs = each.on < len(words) and words[each.on].globs
        hides = inner in ("", ".", "..") or globs or onto
        if (whole and hides) or (globs and inner[:1] in (".", "[", "?")):
            uses.append(each.beyond("unknown", f"{name} of everything in {each.text} writes files with unknown names"))
        on = each.on if globs else target.on  # the glob is expanded in the target too
        uses.append(Argument("", join(target.text, inner), each.at, on).included("write", flat=whole))
    return [*uses, target.included("write"), *_lost(name, sources, target)]


def _lost(name: str, sources: list[Argument], target: Argument) -> list[Use]:
    """Return effects that remove the sources of a move out of the workspace, or the target if ``/dev/null`` is copied
    over it."""
    if name == "mv" and (target.text[:1] in ("/", "~") or ".." in target.text.split("/")):
        return [each.included("remove") for each in sources]
    return [target.included("remove")] if any(each.text == "/dev/null" for each in sources) else []


_MODES = frozenset("ctxrudA")
_LONG_MODES = {"--create": "c", "--list": "t", "--extract": "x", "--get": "x", "--append": "r", "--update": "u"}


def tar(call: Invocation) -> list[Use]:
    """Return the effects of tar. The first word may be letters without a dash, with their values in the next words. The
    names of unpacked files are unknown, so a rule must contain the option ``x``."""
    words, found = call.words, call.arguments
    bundle = text_of(words[1]) if len(words) > 1 else "-"
    if bundle[:1] != "-":
        if not re.fullmatch(r"[A-Za-z]{1,40}", bundle):
            return [Argument("", bundle, 1, 1).beyond("unknown", f"{bundle} is not a known group of option letters")]
        found = _bundle(call.grammar, words)
    letters = {each: _LONG_MODES.get(each.name, each.name[1:]) for each in found if each.name}
    modes = set(letters.values()) & _MODES
    folder = next((each.text for each in found if each.name in ("-C", "--directory")), ".")
    unpacks = next((each for each, letter in letters.items() if letter == "x"), None)
    uses = [*loose(words, call.start), *uses_in(call.grammar, found)]
    for each in found:
        if each.name in ("-f", "--file"):
            uses += _archive(each, modes)
    if unpacks and not any(each.name in ("-O", "--to-stdout") for each in found):
        at = Argument("", folder, unpacks.at, unpacks.at)
        uses.append(at.included("write"))
        uses.append(at.beyond("write", "it unpacks files with names from the archive", ""))
    if any(each.name == "--remove-files" for each in found):
        uses += [each.beyond("remove", "it removes what it packs") for each in found if not each.name]
    return uses if modes == {"t"} else [*uses, WHOLE.included("alter")]


def _archive(found: Argument, modes: set[str]) -> list[Use]:
    if found.text == "-":
        return []
    if ":" in found.text:
        return [found.beyond("send", "the archive is on another machine")]
    return [found.included("write" if modes & set("cruA") else "read")]


def _bundle(grammar: Grammar, words: Words) -> list[Argument]:
    found: list[Argument] = []
    at = 2
    for letter in text_of(words[1]):
        option = grammar.table.get(f"-{letter}")
        if option and option.value == "required":
            found.append(Argument(f"-{letter}", text_of(words[at]) if at < len(words) else "", 1, at, option))
            at += 1
        else:
            found.append(Argument(f"-{letter}", "", 1, 1, option))
    return found + scan(grammar, words, at)
