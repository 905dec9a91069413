"""find and fd: where they look, and what they do with what they find."""

from itertools import pairwise
from posixpath import join

from callgate.shell.programs.options import Found, grammar, loose, names, scan, uses_in
from callgate.shell.programs.uses import Program, Use, Words, said

_TESTS_ALONE = names(
    """-a -and -o -or -not -daystart -depth -d -follow -ignore_readdir_race -noignore_readdir_race -mount -xdev
    -noleaf -nowarn -warn -empty -executable -readable -writable -nogroup -nouser -true -false -print -print0 -prune
    -quit -ls -H -L -P -E -s -x"""
)
_TESTS_WITH_TEXT = names(
    """-amin -atime -cmin -ctime -mmin -mtime -used -fstype -gid -group -uid -user -ilname -iname -inum -ipath -iregex
    -iwholename -links -lname -name -path -perm -regex -regextype -size -type -xtype -wholename -maxdepth -mindepth
    -context -printf -newermt -newerat -newerct -newerBt -D"""
)
_TESTS_WITH_PATH = names("-newer -anewer -cnewer -samefile -files0-from") | {
    f"-newer{a}{b}" for a in "aBcm" for b in "aBcm"
}
_RUNS = names("-exec -execdir -ok -okdir")
_WRITES = {"-fprint": 1, "-fprint0": 1, "-fls": 1, "-fprintf": 2}


def _find(words: Words) -> list[Use]:
    uses, at, starts = loose(words), 1, True
    while at < len(words):
        text = said(words[at])
        after = said(words[at + 1]) if at + 1 < len(words) else ""
        starts = starts and (text in ("-H", "-L", "-P", "-D") or text[:2] == "-O" or text[:1] not in ("-", "(", "!"))
        if text in _RUNS:
            uses.append(Use("argv", "", at, at + 1, f"{text} runs another command"))
            if _is_remover(after):
                uses += [Use("remove", path, at, at + 1, f"{text} removes files") for path in _removed(words[:at])]
            while at < len(words) and said(words[at]) not in (";", "+"):
                at += 1
        elif text in _WRITES:
            uses.append(Use("write", after, at, at + 1, f"{text} writes a file", target=True))
            at += _WRITES[text]
        elif text == "-delete":
            uses += [Use("remove", path, at, at, "-delete removes files") for path in _removed(words[:at])]
        elif text in _TESTS_WITH_PATH:
            uses.append(Use("read", after, at, at + 1, meant=True))
            at += 1
        elif text in _TESTS_WITH_TEXT:
            at += 1
        elif starts and text[:1] != "-":
            uses.append(Use("read", text, at, at, meant=True))
        elif text not in _TESTS_ALONE and text not in ("(", ")", "!", ",", "--") and not _level(text):
            uses.append(Use("odd", text, at, at, f"{text} is not known to be harmless"))
        at += 1
    return uses


_REMOVERS = names("rm unlink shred rmdir trash trash-put sudo doas")
_BY_NAME = names("-name -iname -path -ipath -wholename -iwholename")
_WIDER = names("! -not -o -or ,")


def _is_remover(program: str) -> bool:
    return program.rpartition("/")[2] in _REMOVERS


def _removed(words: Words) -> list[str]:
    """What it removes after these words: all below the places it starts from, unless they ask for a certain name."""
    texts = [said(word) for word in words[1:]]
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


_LINKS = names("-H -L -P")


def _level(text: str) -> bool:
    return text[:2] == "-O" and text[2:].isdigit()


_FD = grammar(
    """-HIusiFgaLpl0q1 -d=text -t=text -e=text -E=text -S=text -c=text -j=text -o=text -b=text --hidden --no-ignore
    --no-ignore-vcs --no-ignore-parent --no-require-git --unrestricted --case-sensitive --ignore-case --glob --regex
    --fixed-strings --and=text --absolute-path --list-details --follow --full-path --max-depth=text --min-depth=text
    --exact-depth=text --prune --type=text --extension=text --size=text --changed-within=text --changed-before=text
    --owner=text --format=text --exclude=text --ignore-file=read --color=text --hyperlink?=text --threads=text
    --max-buffer-time=text --max-results=text --quiet --show-errors --strip-cwd-prefix?=text --one-file-system
    --path-separator=text --print0 --base-directory=read --search-path=read -C=read
    -x!argv -X!argv --exec!argv --exec-batch!argv --batch-size=text""",
    "text",
    "read",
)


def _fd(words: Words) -> list[Use]:
    found = scan(_FD, words)
    runs = [each for each in found if each.option and each.option.kind == "argv"]
    if runs:
        # All that follows belongs to the command, which may also be glued to the option.
        first = runs[0]
        found = [each for each in found if each.at <= first.at and each.name != first.name]
        return [*uses_in(_FD, found), *loose(words), *_command(first)]
    return uses_in(_FD, found) + loose(words)


def _command(option: Found) -> list[Use]:
    why = f"{option.name} runs another command"
    glued = [Use("run", option.text, option.at, option.on, why)] if option.text else []
    return [Use("argv", "", option.at, option.at + 1, why), *glued]


SEARCH: dict[str, Program] = {
    "find": Program(_find),
    "gfind": Program(_find),
    "fd": Program(_fd),
    "fdfind": Program(_fd),
}
