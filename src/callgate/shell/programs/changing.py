"""Programs that are there to change files: what they are for is granted with them, inside the workspace."""

import re

from callgate.shell.programs.options import Found, grammar, loose, names, program, scan, uses_in
from callgate.shell.programs.uses import Program, Use, Words, said

_TABLE: dict[str, tuple[str, str, str]] = {
    # names → kinds of the operands, kind of the last one, options
    "rm": (
        "drop",
        "",
        """-dfiIrRvP --force --interactive?=text --one-file-system --preserve-root?=text --recursive --dir --verbose
        --no-preserve-root!odd""",
    ),
    "rmdir": ("drop", "", "-pv --parents --verbose --ignore-fail-on-non-empty"),
    "unlink": ("drop", "", ""),
    "shred": (
        "drop",
        "",
        """-fvxz -n=text -s=text -u --force --iterations=text --size=text --remove?=text --verbose --exact --zero
        --random-source=read""",
    ),
    "trash trash-put": ("drop", "", "-rfv"),
    "mkdir": ("change", "", "-pv -m=text --mode=text --parents --verbose"),
    "mkfifo mknod": ("change", "", "-m=text --mode=text"),
    "touch": (
        "change",
        "",
        """-acmhf -d=text -r=read -t=text --no-create --date=text --reference=read --time=text --no-dereference""",
    ),
    "chmod": (
        "text change",
        "",
        """-cfvR --changes --quiet --verbose --recursive --reference=read --preserve-root --no-preserve-root!odd""",
    ),
    "chown chgrp": (
        "text change",
        "",
        """-cfvhRHLP --changes --quiet --verbose --recursive --reference=read --from=text --no-dereference
        --no-preserve-root!odd""",
    ),
    "install": (
        "read",
        "change",
        """-bcCdDpsTvg -m=text -o=text -S=text -t=change --mode=text --directory --verbose --target-directory=change
        --compare --strip-program=run""",
    ),
    "gzip bzip2 xz zstd gunzip bunzip2 unxz unzstd": (
        "change",
        "",
        """-cdfhkltvqrnT0123456789 --stdout --decompress --force --keep --list --test --verbose --quiet --recursive
        --best --fast --rm!remove -S=text --suffix=text -o=file""",
    ),
    "zip": (
        "change read",
        "",
        """-rqvjudfyX0123456789ogDlk -m!remove -x=text -i=text -n=text -b=write -t=text -P=text -T!run --test!run
        --unzip-command=run --recurse-paths --quiet --exclude=text -@!load""",
    ),
    "unzip": ("read text", "", "-lvtpqoncjLaCXUZ12zh -d=change -x=text -P=text -:!write"),
    "split": (
        "read change",
        "",
        """-edxu -a=text -b=text -C=text -l=text -n=text -t=text --suffix-length=text --additional-suffix=text
        --bytes=text --line-bytes=text --lines=text --number=text --numeric-suffixes?=text --hex-suffixes?=text
        --elide-empty-files --separator=text --unbuffered --verbose --filter=run""",
    ),
    "csplit": (
        "read text",
        "",
        """-ksqz -b=text -f=change -n=text --suffix-format=text --prefix=change --keep-files --digits=text --quiet
        --elide-empty-files""",
    ),
    "tee": ("write", "", "-aip --append --ignore-interrupts --output-error?=text"),
    "patch": (
        "change",
        "",
        """-bcCEflNnRstTuvZ -p=text -i=read -d=change -F=text -B=text -V=text -x=text -z=text -o=file -r=file -e!run
        --input=read --strip=text --dry-run --reverse --forward --directory=change --output=file --reject-file=file
        --ed!run --backup --batch --force --quiet --silent --posix --unified --fuzz=text""",
    ),
    "rename prename": ("odd", "", ""),
    "mktemp": ("change", "", "-dqut -p=change --directory --dry-run --quiet --suffix=text --tmpdir?=change"),
}
_COPY = """-abdfHilLnPpRrsTuvxZ -S=text -t=change --archive --attributes-only --backup?=text --copy-contents --debug
    --force --interactive --link --dereference --no-clobber --no-dereference --preserve?=text --no-preserve=text
    --parents --recursive --reflink?=text --remove-destination --sparse=text --strip-trailing-slashes
    --symbolic-link --suffix=text --target-directory=change --no-target-directory --update?=text --verbose
    --one-file-system"""
_LINK = """-bfinrsLPTvd -S=text -t=change --symbolic --force --interactive --relative --no-dereference --physical
    --logical --backup?=text --suffix=text --target-directory=change --no-target-directory --verbose"""
_copy = grammar(_COPY, "read", last="change")
_move = grammar(_COPY, "moves", last="change")
_link = grammar(_LINK, "read", last="change")
_truncate = grammar("-co -s=text -r=read --no-create --io-blocks --size=text --reference=read", "change")


def _cp(words: Words) -> list[Use]:
    uses = uses_in(_copy, scan(_copy, words)) + loose(words)
    # Nothing copied over a file is its end.
    emptied = any(use.role == "read" and use.text == "/dev/null" for use in uses)
    return uses + [
        Use("remove", use.text, use.at, use.on, meant=True) for use in uses if emptied and use.role == "write"
    ]


def _mv(words: Words) -> list[Use]:
    uses = uses_in(_move, scan(_move, words)) + loose(words)
    away = any(use.role == "write" and _outside(use.text) for use in uses)
    return uses + [Use("remove", use.text, use.at, use.on, meant=True) for use in uses if away and use.role == "move"]


def _outside(path: str) -> bool:
    return path[:1] in ("/", "~") or ".." in path.split("/")


def _ln(words: Words) -> list[Use]:
    return uses_in(_link, scan(_link, words)) + loose(words)


def _truncated(words: Words) -> list[Use]:
    uses = uses_in(_truncate, scan(_truncate, words)) + loose(words)
    return uses + [Use("remove", use.text, use.at, use.on, meant=True) for use in uses if use.role == "write"]


_TAR = grammar(
    """-ctxrudAvzjJZahpkmnoOSsUwWlB -f=text -C=change -N=text -V=text -b=text -L=text -H=text -X=read -K=text
    --create --list --extract --get --append --update --diff --compare --concatenate --catenate --verbose
    --gzip --bzip2 --xz --zstd --lzma --lzip --compress --auto-compress --no-auto-compress --dereference
    --preserve-permissions --same-permissions --no-same-owner --no-same-permissions --keep-old-files --skip-old-files
    --keep-newer-files --touch --to-stdout --sparse --file=text --directory=change --exclude=text --exclude-from=read
    --exclude-vcs --exclude-vcs-ignores --exclude-caches --strip-components=text --transform=text --xform=text
    --wildcards --no-wildcards --anchored --ignore-case --one-file-system --numeric-owner --owner=text --group=text
    --mode=text --mtime=text --sort=text --format=text --totals?=text --show-transformed-names --no-recursion
    --recursion --newer=text --label=text --checkpoint?=text --blocking-factor=text --force-local --hard-dereference
    --utc --full-time --verify --overwrite --unlink-first --delay-directory-restore --warning=text
    --absolute-names!write -P!write -I=run --use-compress-program=run -F=run --info-script=run
    --new-volume-script=run --to-command=run --checkpoint-action=run --rsh-command=run --rmt-command=run -T=load
    --files-from=load -g=write --listed-incremental=write --index-file=write --volno-file=write --remove-files!remove
    --one-top-level?=change --recursive-unlink!remove --delete!write --backup?=text --suffix=text""",
    "read",
)


def _tar(words: Words) -> list[Use]:
    """The first word may be a bundle of letters without a dash, with their values in the words that follow."""
    bundle = said(words[1]) if len(words) > 1 else "-"
    if bundle[:1] == "-":
        found = scan(_TAR, words)
    elif re.fullmatch(r"[A-Za-z]{1,40}", bundle):
        found = _bundle(words)
    else:
        return [Use("odd", bundle, 1, 1, f"{bundle} is not a known bundle of letters")]
    modes = {name.lstrip("-")[:1] for each in found if (name := each.name) in _MODES}
    uses = [*loose(words), *uses_in(_TAR, found)]
    for each in found:
        if each.name in ("-f", "--file"):
            uses += _archive(each, modes)
    if modes != {"t"} and modes != {"l"}:
        uses.append(Use("alter", "", 0, 0, meant=True))
    return uses


_MODES = names("-c -t -x -r -u -d -A --create --list --extract --get --append --update --diff")


def _archive(found: Found, modes: set[str]) -> list[Use]:
    if found.text == "-":
        return []
    if ":" in found.text:
        return [Use("send", found.text, found.at, found.on, "the archive is on another machine")]
    changes = bool(modes & {"c", "r", "u", "A", "a"})
    return [Use("write" if changes else "read", found.text, found.at, found.on, meant=True)]


def _bundle(words: Words) -> list[Found]:
    found: list[Found] = []
    at = 2
    for letter in said(words[1]):
        option = _TAR.table.get(f"-{letter}")
        if option and option.value == "required":
            text = said(words[at]) if at < len(words) else ""
            found.append(Found(f"-{letter}", text, 1, at, option))
            at += 1
        else:
            found.append(Found(f"-{letter}", "", 1, 1, option))
    return found + scan(_TAR, words, at)


CHANGING: dict[str, Program] = {
    name: program(spec, *operands.split(), last=last)
    for called, (operands, last, spec) in _TABLE.items()
    for name in called.split()
} | {
    "cp": Program(_cp),
    "mv": Program(_mv),
    "ln": Program(_ln),
    "link": Program(_ln),
    "truncate": Program(_truncated),
    "tar": Program(_tar),
    "bsdtar": Program(_tar),
    "gtar": Program(_tar),
}
