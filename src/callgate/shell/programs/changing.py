"""Programs that are there to change files: a rule for one includes the changes, inside the workspace."""

import re
from posixpath import basename, join

from callgate.shell.programs.entries import Entry, Found, Grammar, grammar_for, loose, scan, unknown, uses_in
from callgate.shell.programs.uses import Use, Words, text_of

_COPY = """-abdfHinpPRrsTuvxZ -t=text --archive --backup --force --interactive --link --no-clobber --no-dereference
    --preserve?= --no-preserve= --recursive --remove-destination --symbolic-link --target-directory=
    --no-target-directory --update?= --verbose --one-file-system"""
_INSTALL = "-bcCdDpsTv -m= -t=text --mode= --directory --verbose --target-directory= --compare"
_LINK = """-finrsPTv -t=text --symbolic --force --interactive --relative --no-dereference --physical
    --target-directory= --no-target-directory --verbose"""
_RECURSIVE = frozenset(("-r", "-R", "-a", "--recursive", "--archive"))
_INTO = frozenset(("-t", "--target-directory"))


def copy(entry: Entry, words: Words, start: int) -> list[Use]:
    """``cp``, ``mv``, ``ln`` and ``install``. The file really written is the target, or where that is a folder, the
    name of the source in it; both are judged. A folder copied over a folder mixes with it and follows the links there,
    so then neither may be one already."""
    name = text_of(words[0]).rpartition("/")[2]
    grammar = grammar_for(entry)
    found = scan(grammar, words, start)
    given = {each.name: each for each in found if each.name}
    operands = [each for each in found if not each.name]
    uses = uses_in(grammar, [each for each in found if each.name]) + loose(words, start)
    into = next((each for each in found if each.name in _INTO), None)
    if into is None and len(operands) == 1 and name == "ln":
        into = Found("", ".", operands[0].at, operands[0].on)
    if name == "install" and {"-d", "--directory"} & given.keys():
        return uses + [Use("write", each.text, each.at, each.on, granted=True) for each in operands]
    target = into or (operands[-1] if len(operands) > 1 else None)
    if target is None:
        return uses
    if target.on < len(words) and words[target.on].globs and words[target.on].value == target.text:
        uses.append(unknown(target, f"{target.text} could become several files"))
    sources = operands if into else operands[:-1]
    whole = bool(_RECURSIVE & given.keys())
    for each in sources:
        uses.append(Use("read", each.text, each.at, each.on, granted=True))
        if name == "mv":
            uses.append(Use("move", each.text, each.at, each.on, granted=True))
        inner = basename(each.text.rstrip("/"))
        globs = each.on < len(words) and words[each.on].globs
        hides = inner in ("", ".", "..") or globs or bool({"-T", "--no-target-directory"} & given.keys())
        if (whole and hides) or (globs and inner[:1] in (".", "[", "?")):
            uses.append(unknown(each, f"{name} of all that is in {each.text} writes names that are not seen"))
        on = each.on if globs else target.on  # a pattern is filled in there, too
        uses.append(Use("write", join(target.text, inner), each.at, on, granted=True, flat=whole))
    uses.append(Use("write", target.text, target.at, target.on, granted=True))
    return uses + _lost(name, sources, target)


def _lost(name: str, sources: list[Found], target: Found) -> list[Use]:
    """Nothing copied over a file is its end, and so is a move out of the workspace."""
    if name == "mv" and (target.text[:1] in ("/", "~") or ".." in target.text.split("/")):
        return [Use("remove", each.text, each.at, each.on, granted=True) for each in sources]
    emptied = any(each.text == "/dev/null" for each in sources)
    return [Use("remove", target.text, target.at, target.on, granted=True)] if emptied else []


_TAR = """-ctxrudAvzjJZakmnoSwWp -f= -C=change -X=read --create --list --extract --get --append --update --diff
    --verbose --gzip --bzip2 --xz --zstd --auto-compress --keep-old-files --skip-old-files --to-stdout -O --file=
    --directory=change --exclude= --exclude-from=read --exclude-vcs --exclude-vcs-ignores --strip-components=
    --wildcards --anchored --one-file-system --numeric-owner --owner= --group= --mode= --mtime= --sort= --format=
    --totals?= --no-recursion --label= --utc --full-time -I=run --use-compress-program=run -F=run --info-script=run
    --new-volume-script=run --to-command=run --checkpoint-action=run --rsh-command=run --rmt-command=run -T=load
    --files-from=load --remove-files!remove --recursive-unlink!remove -P!write --absolute-names!write"""
_MODES = frozenset("ctxrudA")
_LONG_MODES = {"--create": "c", "--list": "t", "--extract": "x", "--get": "x", "--append": "r", "--update": "u"}


def _tar(entry: Entry, words: Words, start: int) -> list[Use]:
    """The first word may be a bundle of letters without a dash, with their values in the words that follow. What is
    unpacked has the names that stand in the archive, so a rule has to spell ``x``."""
    grammar = grammar_for(entry)
    bundle = text_of(words[1]) if len(words) > 1 else "-"
    if bundle[:1] == "-":
        found = scan(grammar, words, start)
    elif re.fullmatch(r"[A-Za-z]{1,40}", bundle):
        found = _bundle(grammar, words)
    else:
        return [Use(role="unknown", text=bundle, at=1, on=1, why=f"{bundle} is not a known bundle of letters")]
    modes = {_LONG_MODES.get(each.name, each.name[1:]) for each in found if each.name} & _MODES
    folder = next((each.text for each in found if each.name in ("-C", "--directory")), ".")
    unpacks = next((each for each in found if _LONG_MODES.get(each.name, each.name[1:]) == "x" and each.name), None)
    uses = [*loose(words, start), *uses_in(grammar, found)]
    for each in found:
        if each.name in ("-f", "--file"):
            uses += _archive(each, modes)
    if unpacks and not any(each.name in ("-O", "--to-stdout") for each in found):
        at = unpacks.at
        uses.append(Use("write", folder, at, at, granted=True))
        uses.append(Use(role="write", text="", at=at, on=at, why="it unpacks files whose names stand in the archive"))
    if any(each.name == "--remove-files" for each in found):
        uses += [Use("remove", each.text, each.at, each.on) for each in found if not each.name]
    if modes != {"t"}:
        uses.append(Use("alter", "", 0, 0, granted=True))
    return uses


def _archive(found: Found, modes: set[str]) -> list[Use]:
    if found.text == "-":
        return []
    if ":" in found.text:
        return [Use(role="send", text=found.text, at=found.at, on=found.on, why="the archive is on another machine")]
    return [Use("write" if modes & set("cruA") else "read", found.text, found.at, found.on, granted=True)]


def _bundle(grammar: Grammar, words: Words) -> list[Found]:
    found: list[Found] = []
    at = 2
    for letter in text_of(words[1]):
        option = grammar.table.get(f"-{letter}")
        if option and option.value == "required":
            found.append(Found(f"-{letter}", text_of(words[at]) if at < len(words) else "", 1, at, option))
            at += 1
        else:
            found.append(Found(f"-{letter}", "", 1, 1, option))
    return found + scan(grammar, words, at)


_DD_TEXT = ("bs", "ibs", "obs", "cbs", "count", "skip", "seek", "status", "conv", "iflag", "oflag")


def _dd(entry: Entry, words: Words, start: int) -> list[Use]:
    uses: list[Use] = []
    for at, word in enumerate(words[1:], 1):
        name, given, value = text_of(word).partition("=")
        if name == "if" and given:
            uses.append(Use("read", value, at, at, granted=True))
        elif name == "of" and given:
            uses.append(Use(role="write", text=value, at=at, on=at, why="of= writes a file", target=True))
            uses.append(Use("remove", value, at, at, granted=True))
        elif name not in _DD_TEXT:
            uses.append(
                Use(
                    role="unknown", text=text_of(word), at=at, on=at, why=f"{text_of(word)} is not known to be harmless"
                )
            )
    return uses


CHANGING = (
    Entry(
        "rm",
        "drop",
        "-dfiIrRv --force --interactive?= --one-file-system --preserve-root?= --recursive --dir --verbose",
        exactly=True,
    ),
    Entry("rmdir", "drop", "-pv --parents --verbose --ignore-fail-on-non-empty", exactly=True),
    Entry("unlink,shred,trash,trash-put", "drop", "-fvzu -n= -s= --force --zero --remove?= --verbose", exactly=True),
    Entry("truncate", "drop", "-co -s= -r=read --no-create --size= --reference=read", exactly=True),
    Entry("dd", exactly=True, code=_dd),
    Entry("mkdir", "change", "-pv -m= --mode= --parents --verbose"),
    Entry("touch", "change", "-acmh -d= -r=read -t= --no-create --date= --reference=read --time="),
    Entry("chmod", "text change", "-cfv --changes --quiet --verbose -R --recursive", exactly=True),
    Entry("cp", "read", _COPY, last="change", exactly=True, code=copy),
    Entry("mv", "moves", _COPY, last="change", exactly=True, code=copy),
    Entry("ln", "read", _LINK, last="change", exactly=True, code=copy),
    Entry("install", "read", _INSTALL, last="change", exactly=True, code=copy),
    Entry("tee", "write", "-aip --append --ignore-interrupts", exactly=True),
    Entry("zip", "word", "-rqj -m!remove", also="alter", exactly=True),
    Entry("tar,bsdtar,gtar", "read", _TAR, exactly=True, code=_tar),
)
