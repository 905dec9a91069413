"""find and fd: where they look, and what they do with what they find."""

from itertools import pairwise
from posixpath import join

from callgate.shell.programs.entries import Entry, Grammar, loose, scan, uses_in
from callgate.shell.programs.uses import Use, Words, names, text_of

_ALONE = names(
    """-a -and -o -or -not -daystart -depth -mount -xdev -noleaf -empty -executable -readable -writable -nogroup
    -nouser -true -false -print -print0 -prune -quit -ls -P"""
)
_WITH_TEXT = names(
    """-amin -atime -cmin -ctime -mmin -mtime -used -fstype -gid -group -uid -user -ilname -iname -inum -ipath -iregex
    -iwholename -links -lname -name -path -perm -regex -regextype -size -type -xtype -wholename -maxdepth -mindepth
    -printf -newermt"""
)
_WITH_PATH = frozenset(("-newer", "-anewer", "-cnewer", "-samefile"))
_RUNS = frozenset(("-exec", "-execdir", "-ok", "-okdir"))
_WRITES = {"-fprint": 1, "-fprint0": 1, "-fls": 1, "-fprintf": 2}
_REMOVERS = frozenset(("rm", "unlink", "shred", "rmdir", "trash", "trash-put", "sudo", "doas"))
_BY_NAME = ("-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename")
_WIDER = frozenset(("!", "-not", "-o", "-or", ","))
_LINKS = frozenset(("-H", "-L", "-P"))


def find(entry: Entry, words: Words, start: int) -> list[Use]:
    uses, at, starts = loose(words, start), start, True
    while at < len(words):
        text = text_of(words[at])
        after = text_of(words[at + 1]) if at + 1 < len(words) else ""
        starts = starts and (text in _LINKS or text == "-D" or text[:2] == "-O" or text[:1] not in ("-", "(", "!"))
        if text in _RUNS:
            uses.append(Use(role="argv", text="", at=at, on=at + 1, why=f"{text} runs another command"))
            if after.rpartition("/")[2] in _REMOVERS:
                uses += [
                    Use(role="remove", text=path, at=at, on=at + 1, why=f"{text} removes files")
                    for path in _removed(words[:at])
                ]
            while at < len(words) and text_of(words[at]) not in (";", "+"):
                at += 1
        elif text in _WRITES:
            uses.append(Use(role="write", text=after, at=at, on=at + 1, why=f"{text} writes a file", target=True))
            at += _WRITES[text]
        elif text == "-delete":
            uses += [
                Use(role="remove", text=path, at=at, on=at, why="-delete removes files")
                for path in _removed(words[:at])
            ]
        elif text in _WITH_PATH:
            uses.append(Use("read", after, at, at + 1, granted=True))
            at += 1
        elif text in _WITH_TEXT:
            at += 1
        elif starts and text[:1] != "-":
            uses.append(Use("read", text, at, at, granted=True))
        elif text not in _ALONE and text not in ("(", ")", "!", ",", "--"):
            uses.append(Use(role="unknown", text=text, at=at, on=at, why=f"{text} is not known to be harmless"))
        at += 1
    return uses


def _removed(words: Words) -> list[str]:
    """The paths it removes after these words: all below the places it starts from, unless they name a file."""
    texts = [text_of(word) for word in words[1:]]
    first = next((at for at, text in enumerate(texts) if text[:1] in tuple("-(!") and text not in _LINKS), len(texts))
    starts = [text for text in texts[:first] if text[:1] != "-"] or ["."]
    asked = dict(pairwise(texts))
    if set(texts) & _WIDER:
        return starts
    if "-empty" in texts:
        return [""]
    patterns = [asked[test].lstrip("*/") for test in _BY_NAME if test in asked]
    narrow = [pattern for pattern in patterns if set(pattern) - set("*?./[]")]
    return [join(start, name) for start in starts for name in narrow[:1]] or starts


_FD = Grammar(
    Entry(
        "fd",
        "text read",
        """-HIusiFgapl0q1 -d= -t= -e= -E= -S= -c= -j= --hidden --no-ignore --no-ignore-vcs --unrestricted
        --case-sensitive --ignore-case --glob --regex --fixed-strings --and= --absolute-path --list-details --full-path
        --max-depth= --min-depth= --exact-depth= --prune --type= --extension= --size= --changed-within=
        --changed-before= --exclude= --color= --threads= --max-results= --quiet --strip-cwd-prefix?= --print0
        -x!argv -X!argv --exec!argv --exec-batch!argv""",
    )
)


def fd(entry: Entry, words: Words, start: int) -> list[Use]:
    """All that follows ``-x`` belongs to the command, which may also be glued to the option."""
    found = scan(_FD, words, start)
    runs = next((each for each in found if each.option and each.option.kind == "argv"), None)
    if runs is None:
        return uses_in(_FD, found) + loose(words, start)
    why = f"{runs.name} runs another command"
    glued = [Use(role="run", text=runs.text, at=runs.at, on=runs.on, why=why)] if runs.text else []
    found = [each for each in found if each.at <= runs.at and each.name != runs.name]
    return [
        *uses_in(_FD, found),
        *loose(words, start),
        Use(role="argv", text="", at=runs.at, on=runs.at + 1, why=why),
        *glued,
    ]
