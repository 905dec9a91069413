"""git: global options, then a subcommand with an entry of its own.

Only subcommands in the table count, for an alias may be anything. The rule for a subcommand includes what it is for;
options that run programs, change settings or throw work away must be written out in the rule.
"""

import re
from itertools import pairwise

from callgate.shell.programs.entries import Entry, Found, grammar_for, loose, scan, uses_in
from callgate.shell.programs.uses import Use, Words, names, text_of

_DIFF = """-psuRabwWzcmtr -U= -B?= -M?= -C?= -D?= -l= -S= -G= -I= -X?= -# --patch --no-patch --unified= --raw
    --patch-with-raw --minimal --patience --histogram --anchored= --diff-algorithm= --stat?=
    --stat-width= --stat-count= --stat-name-width= --compact-summary --numstat --shortstat --dirstat?=
    --cumulative --summary --patch-with-stat --name-only --name-status --submodule?= --color?=
    --no-color --color-moved?= --no-color-moved --color-moved-ws= --word-diff?= --word-diff-regex=
    --color-words?= --no-renames --check --ws-error-highlight= --full-index --binary --abbrev?=
    --no-abbrev --find-renames?= --find-copies?= --find-copies-harder --irreversible-delete
    --diff-filter= --pickaxe-all --pickaxe-regex --relative?= --no-relative --text --ignore-cr-at-eol
    --ignore-space-at-eol --ignore-space-change --ignore-all-space --ignore-blank-lines
    --ignore-matching-lines= --inter-hunk-context= --function-context --exit-code --quiet --no-ext-diff
    --no-textconv --ignore-submodules?= --src-prefix= --dst-prefix= --no-prefix --line-prefix= --cached
    --staged --merge-base --base --ours --theirs --cc --combined-all-paths --diff-merges=
    --no-diff-merges --ext-diff!run --textconv!run --output=file """
_REVS = """-iEFPgq -n= --max-count= --skip= --since= --after= --until= --before= --author= --committer= --grep=
    --grep-reflog= --all-match --invert-grep --regexp-ignore-case --extended-regexp --fixed-strings
    --perl-regexp --merges --no-merges --min-parents= --max-parents= --first-parent --not --all
    --branches?= --tags?= --remotes?= --glob= --exclude= --reflog --cherry-mark --cherry-pick --cherry
    --left-only --right-only --left-right --walk-reflogs --merge --boundary --graph --no-graph --oneline
    --decorate?= --no-decorate --decorate-refs= --source --mailmap --no-mailmap --full-diff --log-size
    -L= --follow --format=format --pretty?=format --date= --relative-date --abbrev-commit
    --no-abbrev-commit --encoding= --notes?= --no-notes --parents --children --reverse --no-walk?=
    --topo-order --date-order --author-date-order --full-history --dense --sparse --simplify-merges
    --simplify-by-decoration --ancestry-path?= --show-pulls --count --timestamp --show-signature!run """
_MERGE = """-qvn --verify-signatures!run -s=run --strategy=run -X= --strategy-option= --no-edit --quiet --verbose
    --stat --no-stat --abort --continue --quit --skip --autostash --no-autostash --signoff --no-verify
    --rerere-autoupdate -e!run --edit!run """
_REMOTE = """-qvn --quiet --verbose --progress --dry-run --tags --no-tags --all --prune --depth= --unshallow -4 -6
    --upload-pack=run --receive-pack=run --exec=run"""
_BY_NAME = re.compile(r"::|^file:|://-|^-", re.I)
# The first operand of a subcommand, and its effect; "" stands for any other, ``reads`` for none.
_STEPS: dict[str, dict[str, str]] = {
    "stash": {"list": "reads", "show": "reads", "drop": "alter", "clear": "alter", "": "does"},
    "remote": {"show": "does", "get-url": "reads", "update": "does", "prune": "does", "": "alter"},
    "worktree": {"list": "reads", "remove": "remove", "": "does"},
    "bisect": {"run": "run", "visualize": "run", "view": "run", "replay": "run", "log": "reads", "": "does"},
    "submodule": {"foreach": "run", "status": "reads", "summary": "reads", "": "does"},
    "reflog": {"expire": "alter", "delete": "alter", "drop": "alter", "": "reads"},
    "notes": {"list": "reads", "show": "reads", "": "does"},
}
_CONFIG_READS = names("-l --list --get --get-all --get-regexp --get-urlmatch --get-color --get-colorbool")
_CONFIG_CHANGES = names("set unset rename-section remove-section edit")
# Settings of git that name a program, or a file with more settings.
_PROGRAM_KEY = re.compile(
    r"""core\.(?:hookspath|pager|editor|fsmonitor|sshcommand|askpass|gitproxy|attributesfile|alternaterefscommand)
    |alias\..+|pager\..+|include\.path|includeif\..+|credential\.(?:.+\.)?helper|init\.templatedir|sequence\.editor
    |diff\.external|(?:diff|filter|merge|difftool|mergetool|browser|man)\..+\.(?:command|textconv|clean|smudge|process
    |driver|cmd|path)|gpg\.(?:.+\.)?program|interactive\.difffilter|uploadpack\.packobjectshook|protocol\..+""",
    re.X | re.I,
)
_LISTS = names("-l --list -a -r --all --remotes --contains --no-contains --merged --no-merged --points-at -n")


def _step(entry: Entry, words: Words, start: int) -> list[Use]:
    """A subcommand with steps of its own (``git stash pop``)."""
    name = text_of(words[start - 1])
    grammar = grammar_for(entry)
    found = scan(grammar, words, start)
    uses = uses_in(grammar, found) + loose(words, start)
    operands = [each for each in found if not each.name]
    uses += _by_another_way(operands)
    if not operands:
        # Alone they list, but for stash, which puts changes away.
        return [*uses, Use("alter", "", 0, 0, granted=True)] if name == "stash" else uses
    step, at = operands[0].text, operands[0].at
    kind = _STEPS[name].get(step, _STEPS[name][""])
    why = f"git {name} {step} is more than git {name}"
    if kind == "run":
        text = " ".join(text_of(word) for word in words[at + 1 :])
        return [
            *uses,
            Use(role="run", text=text, at=at, on=at, why=why),
            Use(role="argv", text="", at=at, on=at + 1, why=why),
        ]
    if kind == "remove":
        return uses + [Use(role="remove", text=each.text, at=at, on=at, why=why) for each in operands[1:]]
    return (
        uses if kind == "reads" else [*uses, Use(role="alter", text="", at=at, on=at, why=why, granted=kind == "does")]
    )


def _restore(entry: Entry, words: Words, start: int) -> list[Use]:
    """Not the commit before ``--`` is written, and nothing at all where only the index is meant."""
    grammar = grammar_for(entry)
    found = scan(grammar, words, start)
    given = {each.name for each in found}
    if given & {"-S", "--staged"} and not given & {"-W", "--worktree"}:
        found = [each for each in found if each.name]
    ended = next((at for at, word in enumerate(words) if text_of(word) == "--"), 0)
    found = [each for each in found if each.name or each.at > ended]
    return [Use("alter", "", 0, 0, granted=True), *uses_in(grammar, found), *loose(words, start)]


def _clean(entry: Entry, words: Words, start: int) -> list[Use]:
    """Without a path it removes whatever is not part of the repository."""
    grammar = grammar_for(entry)
    found = scan(grammar, words, start)
    uses = uses_in(grammar, found) + loose(words, start)
    if any(each.name in ("-n", "--dry-run") for each in found):
        return uses
    paths = [each.text for each in found if not each.name] or ["."]
    return uses + [
        Use(role="remove", text=path, at=start - 1, on=start - 1, why="git clean removes files") for path in paths
    ]


def _config(entry: Entry, words: Words, start: int) -> list[Use]:
    """A question is an option, or the first word; any other word is a name or a value, whatever it looks like."""
    grammar = grammar_for(entry)
    found = scan(grammar, words, start)
    operands = [each for each in found if not each.name]
    first = operands[0].text if operands else ""
    asks = first in ("list", "get") or any(each.name in _CONFIG_READS for each in found)
    reads = asks or (len(operands) == 1 and first not in _CONFIG_CHANGES)
    uses = uses_in(grammar, found) + loose(words, start)
    if reads:
        return uses
    why = "it changes settings that can run programs"
    return [
        *uses,
        Use(role="alter", text="", at=start, on=start, why=why),
        *_set([text_of(word) for word in words[start:]], start),
    ]


def _set(texts: list[str], at: int) -> list[Use]:
    """The file of settings, where one is set that names a program or more settings."""
    path = "~/.gitconfig" if "--global" in texts else ".git/config"
    return [
        Use(role="write", text=path, at=at, on=at, why=f"{key} names a program")
        for key, value in pairwise(texts)
        if _PROGRAM_KEY.fullmatch(key) and not (key.lower().startswith("alias.") and value[:1] != "!")
    ]


def _naming(entry: Entry, words: Words, start: int) -> list[Use]:
    """``branch`` and ``tag``: an operand makes a name, unless they are asked to list."""
    grammar = grammar_for(entry)
    found = scan(grammar, words, start)
    uses = uses_in(grammar, found) + loose(words, start)
    lists = not any(not each.name for each in found) or any(each.name in _LISTS for each in found)
    return uses if lists else [*uses, Use("alter", "", 0, 0, granted=True)]


def _remote(entry: Entry, words: Words, start: int) -> list[Use]:
    """An address may name a program (``ext::``) or another way."""
    grammar = grammar_for(entry)
    found = scan(grammar, words, start)
    return [
        *uses_in(grammar, found),
        *loose(words, start),
        Use("alter", "", 0, 0, granted=True),
        *_by_another_way([each for each in found if not each.name]),
    ]


def _by_another_way(operands: list[Found]) -> list[Use]:
    return [
        Use(
            role="send",
            text=each.text,
            at=each.at,
            on=each.on,
            why=f"{each.text} names a program or place by another way",
        )
        for each in operands
        if _BY_NAME.search(each.text)
    ]


_GLOBAL = """--no-pager --no-optional-locks --literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs
    --no-replace-objects -v -c=load -C=enter --git-dir=load --work-tree=load --namespace=load
    --exec-path?=load --config-env=load -p!run --paginate!run --bare!load --help!run"""


def _reads(names: str, operands: str, options: str) -> Entry:
    return Entry(names, operands, options, free=True)


GIT = (
    Entry("git", "text", _GLOBAL, steps=True, free=True, settings=True),
    _reads(
        "git status",
        "read",
        """-sbvz -M?= -u?= --short --branch --show-stash --porcelain?= --long --verbose --untracked-files?=
        --ignore-submodules?= --ignored?= --column?= --no-column --ahead-behind --no-ahead-behind
        --renames --no-renames --find-renames?= --null""",
    ),
    _reads("git diff", "rev", _DIFF),
    _reads("git log|show|rev-list|diff-tree|whatchanged", "rev", f"{_DIFF} {_REVS}"),
    _reads("git shortlog", "read", _REVS + "  -nsce -w?= --numbered --summary --email --group="),
    Entry(
        "git grep",
        "text rev",
        """-aiIwvhHEGPFnlLcoqpWzr -A= -B= -C= -e= -f=read -m= -# --cached --untracked --text --ignore-case
        --word-regexp --invert-match --full-name --extended-regexp --basic-regexp --perl-regexp
        --fixed-strings --line-number --column --files-with-matches --name-only --files-without-match
        --null --only-matching --count --color?= --no-color --break --heading --show-function --context=
        --after-context= --before-context= --function-context --max-count= --max-depth= --and --or --not
        --all-match --quiet -O?=run --open-files-in-pager?=run --textconv!run""",
        instead="-e -f",
        free=True,
    ),
    _reads(
        "git blame",
        "rev",
        """-bcfltnespwkh -L= -M?= -C?= --root --show-stats --porcelain --line-porcelain --incremental --date=
        --since= --first-parent --reverse --show-name --show-number --show-email --abbrev= --color-lines
        --color-by-age --ignore-rev= --ignore-revs-file=read""",
    ),
    _reads(
        "git ls-files",
        "read",
        """-cdmosiukftvzr -x= -X=read --cached --deleted --modified --others --stage --ignored --unmerged --killed
        --directory --eol --deduplicate --exclude= --exclude-from=read --exclude-standard
        --error-unmatch --full-name --recurse-submodules --abbrev?=""",
    ),
    _reads("git ls-tree", "read", "-drtlz --long --name-only --name-status --full-name --full-tree --abbrev?="),
    _reads(
        "git rev-parse",
        "read",
        """-q --abbrev-ref?= --short?= --verify --quiet --symbolic --symbolic-full-name --all --branches?= --tags?=
        --remotes?= --show-toplevel --show-prefix --show-cdup --git-dir --git-common-dir
        --absolute-git-dir --is-inside-work-tree --is-inside-git-dir --is-bare-repository
        --is-shallow-repository""",
    ),
    _reads("git cat-file", "rev", "-tsep --batch-check?= --textconv!run --filters!run"),
    _reads(
        "git describe",
        "read",
        """--dirty?= --all --tags --contains --abbrev?= --exact-match --long --match= --always""",
    ),
    _reads("git merge-base", "read", "-a --all --octopus --is-ancestor --independent --fork-point"),
    _reads("git for-each-ref|show-ref", "read", "-sqd --format=format --sort=format --count= --heads --tags"),
    _reads("git check-ignore|count-objects", "read", "-qvnzH --quiet --verbose --non-matching --human-readable"),
    _reads("git reflog", "text read", f"{_DIFF} {_REVS}"),
    Entry(
        "git config",
        "text",
        """-lz -e!run --list --get --get-all --get-regexp --get-urlmatch --null --name-only --show-origin
        --show-scope --local --global --system --worktree --type= --bool --int --path --default= --all
        -f=read --file=read --edit!run --add!alter --unset!alter --unset-all!alter --replace-all!alter
        --rename-section!alter --remove-section!alter""",
        free=True,
        exactly=True,
        code=_config,
    ),
    Entry(
        "git branch",
        "text",
        """-arvqlt --all --remotes --verbose --quiet --list --contains --no-contains --merged --no-merged
        --points-at= --sort=format --format=format --color?= --no-color --column?= --no-column
        --abbrev?= --show-current --ignore-case -i --track?= --no-track -d!alter -D!alter -m!alter
        -M!alter -c!alter -C!alter -f!alter -u=alter --delete!alter --move!alter --copy!alter
        --force!alter --set-upstream-to=alter --unset-upstream!alter --edit-description!run""",
        free=True,
        code=_naming,
    ),
    Entry(
        "git tag",
        "text",
        """-alsi -n?= -m= -F=read -u= --list --sort=format --format=format --contains --no-contains --merged
        --no-merged --points-at= --color?= --annotate --sign --message= --file=read -d!alter -f!alter
        -v!run -e!run --delete!alter --force!alter --verify!run --edit!run""",
        free=True,
        code=_naming,
    ),
    Entry(
        "git stash",
        "text read",
        """-kapuq -m= --message= --include-untracked --keep-index --all --patch --stat --name-only --index --quiet
        --ext-diff!run --output=file""",
        free=True,
        code=_step,
    ),
    Entry("git remote", "text", "-v --verbose -t= -m= --all --push", free=True, exactly=True, code=_step),
    Entry("git worktree", "text change", "-b= -B= -f --force --detach --porcelain -v -z", free=True, code=_step),
    Entry(
        "git submodule",
        "text read",
        """-qb --init --recursive --remote --depth= --quiet --cached""",
        free=True,
        code=_step,
    ),
    Entry("git bisect", "text read", "--term-new= --term-old= --no-checkout", free=True, exactly=True, code=_step),
    Entry("git notes", "text", "-m= -F=read -C= --ref= --message= --file=read", free=True, code=_step),
    Entry(
        "git fetch",
        "word text",
        _REMOTE + """ -pfkta --force --jobs= -j= --refmap= --recurse-submodules?=""",
        code=_remote,
    ),
    Entry(
        "git ls-remote",
        "word text",
        _REMOTE + """ -htb --heads --branches --refs --exit-code --get-url --sort= --symref""",
        code=_remote,
    ),
    Entry(
        "git pull", "word text", f"{_REMOTE} {_MERGE} -r --rebase?= --no-rebase --ff --ff-only --no-ff", code=_remote
    ),
    Entry(
        "git push",
        "word text",
        _REMOTE
        + """ -u -f!alter -d!alter --force!alter --force-with-lease?=alter --delete!alter --mirror!alter
        --set-upstream --follow-tags --no-verify --porcelain --atomic -o= --push-option=""",
        exactly=True,
        code=_remote,
    ),
    Entry(
        "git clone",
        "word change",
        _REMOTE
        + """ -b= --branch= -o= --origin= -j= --jobs= --filter= --recurse-submodules?= --single-branch --bare
        --no-checkout -u=run -c=load --config=load --template=load --separate-git-dir=write""",
        exactly=True,
        code=_remote,
    ),
    Entry(
        "git add",
        "read",
        """-AunvpfiN --all --update --dry-run --verbose --patch --force --intent-to-add --no-all --ignore-errors
        --refresh --renormalize --chmod= -e!run --edit!run""",
        also="does",
    ),
    Entry(
        "git commit",
        "read",
        """-apqvsno -m= -F=read -C= -S?= -u?= --message= --file=read --reuse-message= --author= --date= --fixup=
        --squash= --cleanup= --reset-author --all --amend --no-edit --no-verify --signoff --quiet
        --verbose --dry-run --allow-empty --allow-empty-message --only --include --patch -i --short
        --status --no-status --gpg-sign?= --no-gpg-sign -c=run --reedit-message=run -e!run --edit!run
        --trailer=run -t=load --template=load""",
        also="does",
    ),
    Entry(
        "git checkout",
        "change",
        """-b= -B= -qftdlp --orphan= --conflict= --track?= --no-track --detach --ours --theirs --quiet --force
        --merge -m --patch --guess --no-guess""",
        code=_restore,
    ),
    Entry(
        "git switch",
        "read",
        """-c= -C= -qdtf --create= --force-create= --orphan= --detach --track?= --no-track --guess --no-guess
        --quiet --discard-changes --merge -m""",
        also="does",
    ),
    Entry(
        "git restore",
        "change",
        """-SWqp -s= --source= --staged --worktree --quiet --ours --theirs --merge --patch""",
        code=_restore,
    ),
    Entry("git reset", "read", "-qpN --soft --mixed --hard --merge --keep --quiet --patch", also="does"),
    Entry(
        "git merge",
        "read",
        _MERGE
        + """ -m= -F=read --file=read --ff --ff-only --no-ff --squash --no-squash --commit --no-commit --log?=
        --allow-unrelated-histories""",
        also="does",
    ),
    Entry(
        "git rebase",
        "read",
        _MERGE
        + """ --onto= -x=run --exec=run -i!run --interactive!run --edit-todo!run --root --keep-empty
        --no-keep-empty --empty= --rebase-merges?= -r --fork-point --no-fork-point --update-refs --keep-base
        --autosquash --no-autosquash --apply --merge -m""",
        also="does",
    ),
    Entry(
        "git cherry-pick|revert",
        "read",
        _MERGE + """ -x -m= --mainline= --no-commit --allow-empty --ff --keep-redundant-commits""",
        also="does",
    ),
    Entry(
        "git apply",
        "read",
        """-v --check --stat --numstat --summary --index --cached --3way -3 --reverse -R --reject --recount -p= -C=
        --include= --exclude= --whitespace= --directory=change""",
        also="alter",
        exactly=True,
    ),
    Entry(
        "git am",
        "read",
        """-3qk --3way --abort --continue --skip --quit --signoff --quiet -p= --directory=change""",
        also="alter",
        exactly=True,
    ),
    Entry("git mv", "change", "-fknv --force --verbose --dry-run", exactly=True),
    Entry("git rm", "drop", "-fnrq --force --dry-run --cached --ignore-unmatch --quiet", exactly=True),
    Entry(
        "git init",
        "change",
        """-q -b= --quiet --bare --initial-branch= --template=load --separate-git-dir=write --shared?=""",
        also="does",
    ),
    Entry(
        "git clean",
        "read",
        """-dfnqxX -e= --force --dry-run --quiet --exclude= -i!run --interactive!run""",
        exactly=True,
        code=_clean,
    ),
)
