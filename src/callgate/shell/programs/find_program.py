"""find: where it looks, and what it does with what it finds."""

from itertools import pairwise
from posixpath import join

from callgate.shell.command import names
from callgate.shell.programs.program_arguments import Argument, Invocation, loose
from callgate.shell.programs.uses import Use, Words, text_of

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


def find(call: Invocation) -> list[Use]:
    words = call.words
    uses, at, starts = loose(words, call.start), call.start, True
    while at < len(words):
        text = text_of(words[at])
        after = text_of(words[at + 1]) if at + 1 < len(words) else ""
        alone, valued = Argument(text, text, at, at), Argument(text, after, at, at + 1)
        starts = starts and (text in _LINKS or text == "-D" or text[:2] == "-O" or text[:1] not in ("-", "(", "!"))
        if text in _RUNS:
            uses.append(valued.beyond("argv", f"{text} runs another command", ""))
            if after.rpartition("/")[2] in _REMOVERS:
                uses += [valued.beyond("remove", f"{text} removes files", path) for path in _removed(words[:at])]
            while at < len(words) and text_of(words[at]) not in (";", "+"):
                at += 1
        elif text in _WRITES:
            uses.append(valued.beyond("write", f"{text} writes a file", target=True))
            at += _WRITES[text]
        elif text == "-delete":
            uses += [alone.beyond("remove", "-delete removes files", path) for path in _removed(words[:at])]
        elif text in _WITH_PATH:
            uses.append(valued.included("read"))
            at += 1
        elif text in _WITH_TEXT:
            at += 1
        elif starts and text[:1] != "-":
            uses.append(alone.included("read"))
        elif text not in _ALONE and text not in ("(", ")", "!", ",", "--"):
            uses.append(alone.beyond("unknown", f"{text} is not known to be harmless"))
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
