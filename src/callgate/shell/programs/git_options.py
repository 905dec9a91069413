"""The options of git's subcommands."""

from callgate.shell.programs.options import Grammar, grammar, names

_DIFF = """
    -psuRabwWzcmtr -U=text -B?=text -M?=text -C?=text -D?=text -l=text -S=text -G=text -I=text -O=read -X?=text -#
    --patch --no-patch --unified=text --raw --patch-with-raw --indent-heuristic --no-indent-heuristic --minimal
    --patience --histogram --anchored=text --diff-algorithm=text --stat?=text --stat-width=text --stat-count=text
    --stat-name-width=text --compact-summary --numstat --shortstat --dirstat?=text --cumulative --summary
    --patch-with-stat --name-only --name-status --submodule?=text --color?=text --no-color --color-moved?=text
    --no-color-moved --color-moved-ws=text --word-diff?=text --word-diff-regex=text --color-words?=text --no-renames
    --rename-empty --check --ws-error-highlight=text --full-index --binary --abbrev?=text --no-abbrev
    --break-rewrites?=text --find-renames?=text --find-copies?=text --find-copies-harder --irreversible-delete
    --diff-filter=text --pickaxe-all --pickaxe-regex --skip-to=text --rotate-to=text --relative?=text --no-relative
    --text --ignore-cr-at-eol --ignore-space-at-eol --ignore-space-change --ignore-all-space --ignore-blank-lines
    --ignore-matching-lines=text --inter-hunk-context=text --function-context --exit-code --quiet --no-ext-diff
    --no-textconv --ignore-submodules?=text --src-prefix=text --dst-prefix=text --no-prefix --default-prefix
    --line-prefix=text --ita-invisible-in-index --cached --staged --merge-base --no-index --base --ours --theirs
    --cc --combined-all-paths --dd --diff-merges=text --no-diff-merges --remerge-diff --output-indicator-new=text
    --output-indicator-old=text --output-indicator-context=text
    --ext-diff!run --textconv!run --output=file """
_REVS = """
    -iEFPgq -n=text --max-count=text --skip=text --since=text --after=text --until=text --before=text --max-age=text
    --min-age=text --author=text --committer=text --grep=text --grep-reflog=text --all-match --invert-grep
    --regexp-ignore-case --basic-regexp --extended-regexp --fixed-strings --perl-regexp --merges --no-merges
    --min-parents=text --max-parents=text --first-parent --not --all --branches?=text --tags?=text --remotes?=text
    --glob=text --exclude=text --exclude-hidden=text --reflog --ignore-missing --bisect --stdin --cherry-mark
    --cherry-pick --cherry --left-only --right-only --left-right --walk-reflogs --merge --boundary --graph --no-graph
    --oneline --decorate?=text --no-decorate --decorate-refs=text --decorate-refs-exclude=text --source --mailmap
    --no-mailmap --use-mailmap --full-diff --log-size -L=text --follow --format=format --pretty?=format --date=text
    --relative-date --abbrev-commit --no-abbrev-commit --encoding=text --expand-tabs?=text --no-expand-tabs
    --notes?=text --no-notes --show-notes?=text --parents --children --reverse --no-walk?=text --do-walk --topo-order
    --date-order --author-date-order --full-history --dense --sparse --simplify-merges --simplify-by-decoration
    --ancestry-path?=text --show-pulls --objects --no-object-names --count --timestamp --header --filter=text
    --quiet --disk-usage?=text --show-linear-break?=text --show-signature!run """
_MERGE = " --verify-signatures!run -s=run --strategy=run -S?=text --gpg-sign?=text -X=text --strategy-option=text "
_REMOTE = " --upload-pack=run --receive-pack=run --exec=run "

_OTHERS = names(
    """merge-base name-rev show-ref for-each-ref check-ignore check-attr check-mailmap count-objects fsck version var
    show-branch cherry verify-pack get-tar-commit-id stripspace patch-id gc prune update-ref update-index symbolic-ref
    replace help sparse-checkout"""
)

# name → (kinds of the operands, options)
_TABLE: dict[str, tuple[str, str]] = {
    "status": (
        "read",
        """-sbvz -M?=text -u?=text --short --branch --show-stash --porcelain?=text --long --verbose
        --untracked-files?=text --ignore-submodules?=text --ignored?=text --column?=text --no-column --ahead-behind
        --no-ahead-behind --renames --no-renames --find-renames?=text --null""",
    ),
    "diff": ("read", _DIFF),
    "diff-tree": ("read", _DIFF + _REVS + " -v --root --no-commit-id"),
    "diff-index": ("read", _DIFF),
    "diff-files": ("read", _DIFF),
    "log": ("read", _DIFF + _REVS),
    "show": ("read", _DIFF + _REVS),
    "whatchanged": ("read", _DIFF + _REVS),
    "rev-list": ("read", _DIFF + _REVS),
    "range-diff": ("read", _DIFF + " --creation-factor=text --left-only --right-only --no-dual-color"),
    "shortlog": ("read", _REVS + " -nsce -w?=text --numbered --summary --email --group=text"),
    "reflog": ("text read", _DIFF + _REVS),
    "grep": (
        "text read",
        """-aiIwvhHEGPFnlLcoqpWzr -A=text -B=text -C=text -e=text -f=read -m=text -# --cached --untracked --no-index
        --no-exclude-standard --exclude-standard --recurse-submodules --text --ignore-case --word-regexp
        --invert-match --full-name --extended-regexp --basic-regexp --perl-regexp --fixed-strings --line-number
        --column --files-with-matches --name-only --files-without-match --null --only-matching --count --color?=text
        --no-color --break --heading --show-function --context=text --after-context=text --before-context=text
        --function-context --max-count=text --max-depth=text --recursive --no-recursive --threads=text --and --or
        --not --all-match --quiet --no-textconv --textconv!run -O?=run --open-files-in-pager?=run""",
    ),
    "blame": (
        "read",
        """-bcfltnespwkh -L=text -S=read -M?=text -C?=text --root --show-stats --porcelain --line-porcelain
        --incremental --encoding=text --contents=read --date=text --since=text --first-parent --reverse --progress
        --no-progress --show-name --show-number --show-email --score-debug --abbrev=text --color-lines
        --color-by-age --ignore-rev=text --ignore-revs-file=read --minimal""",
    ),
    "ls-files": (
        "read",
        """-cdmosiukftvzr -x=text -X=read --cached --deleted --modified --others --stage --ignored --unmerged --killed
        --directory --no-empty-directory --eol --deduplicate --exclude=text --exclude-from=read
        --exclude-per-directory=text --exclude-standard --error-unmatch --with-tree=text --full-name
        --recurse-submodules --abbrev?=text --debug --sparse --format=text""",
    ),
    "ls-tree": (
        "read",
        "-drtlz --long --name-only --name-status --object-only --full-name --full-tree --abbrev?=text --format=text",
    ),
    "rev-parse": (
        "read",
        """-q --abbrev-ref?=text --short?=text --verify --quiet --symbolic --symbolic-full-name --all --branches?=text
        --tags?=text --remotes?=text --show-toplevel --show-prefix --show-cdup --git-dir --git-common-dir
        --absolute-git-dir --is-inside-work-tree --is-inside-git-dir --is-bare-repository --is-shallow-repository
        --show-superproject-working-tree --path-format=text --default=text --revs-only --no-revs --flags --no-flags
        --disambiguate=text --since=text --until=text --git-path=text --show-object-format?=text --local-env-vars""",
    ),
    "cat-file": (
        "read",
        "-tsep --batch?=text --batch-check?=text --batch-command?=text --batch-all-objects --buffer --unordered "
        "--allow-unknown-type --path=text --textconv!run --filters!run",
    ),
    "hash-object": ("read", "-t=text --stdin --stdin-paths --path=text --no-filters --literally -w!write"),
    "describe": (
        "read",
        """--dirty?=text --broken?=text --all --tags --contains --abbrev?=text --candidates=text --exact-match --debug
        --long --match=text --exclude=text --always --first-parent""",
    ),
    "config": (
        "text",
        """-lz -e!run --list --get --get-all --get-regexp --get-urlmatch --get-color --get-colorbool --null --name-only
        --show-origin --show-scope --local --global --system --worktree --type=text --bool --int --path
        --includes --no-includes --default=text --all --value=text --fixed-value --url=text --show-names
        -f=read --file=read --blob=text --bool-or-int --bool-or-str --expiry-date --no-type
        --edit!run --add!alter --unset!alter --unset-all!alter --replace-all!alter --rename-section!alter
        --remove-section!alter --comment=alter""",
    ),
    "branch": (
        "text",
        """-arvqlt --all --remotes --verbose --quiet --list --contains --no-contains --merged --no-merged
        --points-at=text --sort=format --format=format --color?=text --no-color --column?=text --no-column
        --abbrev?=text --no-abbrev --show-current --ignore-case -i --track?=text --no-track --create-reflog
        --recurse-submodules -d!alter -D!alter -m!alter -M!alter -c!alter -C!alter -f!alter -u=alter --delete!alter
        --move!alter --copy!alter --force!alter --set-upstream-to=alter --unset-upstream!alter
        --edit-description!run""",
    ),
    "tag": (
        "text",
        """-alsi -n?=text -m=text -F=read -u=text --list --sort=format --format=format --contains --no-contains --merged
        --no-merged --points-at=text --color?=text --column?=text --no-column --ignore-case --annotate --sign
        --message=text --file=read --local-user=text --cleanup=text --create-reflog --no-sign
        -d!alter -f!alter -v!run -e!run --delete!alter --force!alter --verify!run --edit!run""",
    ),
    "archive": (
        "read",
        """-lv0123456789 --format=text --list --verbose --prefix=text --worktree-attributes --add-file=read
        --mtime=text --add-virtual-file=text -o=file --output=file --remote=send --exec=run""",
    ),
    "ls-remote": (
        "remote text",
        """-htqb --heads --branches --tags --refs --quiet --exit-code --get-url --sort=text --symref -o=text
        --server-option=text """
        + _REMOTE,
    ),
    "fetch": ("remote text", _REMOTE + " --recurse-submodules-default=text -o=text --refmap=text"),
    "pull": ("remote text", _REMOTE + _MERGE),
    "push": ("remote text", _REMOTE + " -o=text --push-option=text --repo=odd"),
    "clone": (
        "remote change",
        _REMOTE
        + """ -u=run -c=load --config=load --template=load --separate-git-dir=write -b=text --branch=text
        --depth=text -o=text --origin=text --reference=read --reference-if-able=read -j=text --jobs=text
        --filter=text --bundle-uri=send""",
    ),
    "add": ("read", "-e!run --edit!run --pathspec-from-file=read --chmod=text"),
    "commit": (
        "read",
        """-apqvsneoi -m=text -F=read -C=text -t=read -S?=text -u?=text --message=text --file=read
        --reuse-message=text --author=text --date=text --template=read --fixup=text --squash=text --cleanup=text
        --trailer=run --reset-author --all --amend --no-edit --no-verify --signoff --quiet --dry-run --allow-empty
        --pathspec-from-file=read -c=run --reedit-message=run --edit!run""",
    ),
    "checkout": ("change", "-b=text -B=text --orphan=text --conflict=text --pathspec-from-file=read"),
    "switch": ("read", "-c=text -C=text --create=text --force-create=text --orphan=text"),
    "restore": (
        "change",
        "-SW -s=text --source=text --pathspec-from-file=read --staged --worktree",
    ),
    "reset": ("read", "--pathspec-from-file=read"),
    "merge": ("read", _MERGE + " -m=text -F=read --file=read --into-name=text -e!run --edit!run"),
    "rebase": (
        "read",
        _MERGE + " --onto=text -x=run --exec=run -i!run --interactive!run --edit-todo!run --whitespace=text",
    ),
    "cherry-pick": ("read", _MERGE + " -m=text --mainline=text -e!run --edit!run"),
    "revert": ("read", _MERGE + " -m=text --mainline=text -e!run --edit!run"),
    "stash": (
        "text read",
        """-m=text --message=text --pathspec-from-file=read --ext-diff!run --output=file --format=format
        --pretty?=format --show-signature!run""",
    ),
    "remote": ("text", "-v --verbose -t=text -m=text --all --push --add --delete"),
    "worktree": ("text change", "-b=text -B=text --reason=text --expire=text"),
    "submodule": ("text read", "-b=text --branch=text --name=text --reference=read --depth=text"),
    "bisect": ("text read", "--term-new=text --term-old=text --term-good=text --term-bad=text"),
    "notes": ("text", "-m=text -F=read -C=text --ref=text -c=run --message=text --file=read"),
    "mv": ("change", "-fknv --force --verbose --dry-run"),
    "rm": ("drop", "-fnrq --force --dry-run --cached --ignore-unmatch --quiet --sparse"),
    "apply": (
        "read",
        """--directory=change --unsafe-paths!write --exclude=text --include=text -p=text -C=text""",
    ),
    "am": ("read", "--directory=change --exclude=text --include=text -p=text -i!run --interactive!run"),
    "format-patch": ("read", _DIFF + _REVS + " -o=write --output-directory=write --stdout -k -N -v=text"),
    "init": (
        "change",
        """-b=text --initial-branch=text --template=load --separate-git-dir=write --shared?=text""",
    ),
    "bundle": ("text change", ""),
    "clean": ("read", "-dfnqxX -e=text --force --dry-run --quiet --exclude=text -i!run --interactive!run"),
    "difftool": ("read", _DIFF + " -x=run --extcmd=run -t=run --tool=run -y -g -d --no-prompt --tool-help"),
    "mergetool": ("read", "-t=run --tool=run -y -g --no-prompt --tool-help"),
    "filter-branch": (
        "run",
        """--env-filter=run --tree-filter=run --index-filter=run --parent-filter=run --msg-filter=run
        --commit-filter=run --tag-name-filter=run --setup=run --subdirectory-filter=text --prune-empty --force -f
        -d=write""",
    ),
    **dict.fromkeys(_OTHERS, ("read", "--format=format --sort=format")),
}
QUIET = names(
    """status diff diff-tree diff-index diff-files log show whatchanged rev-list range-diff shortlog grep blame ls-files
    ls-tree rev-parse cat-file hash-object describe archive merge-base name-rev show-ref for-each-ref check-ignore
    check-attr check-mailmap count-objects version show-branch cherry verify-pack get-tar-commit-id stripspace
    patch-id"""
)
# Their options that are not in the table pass, unless they may be short for one that is.
_LENIENT = (
    names(
        """fetch pull push clone add commit checkout switch restore reset merge rebase
    cherry-pick revert stash worktree submodule bisect notes apply am init bundle"""
    )
    | _OTHERS
)
GRAMMARS: dict[str, Grammar] = {
    name: grammar(
        f"{spec} --help!run",
        *("word" if kind == "remote" else kind for kind in operands.split()),
        instead="-e -f" if name == "grep" else "",
        lenient=name in _LENIENT,
    )
    for name, (operands, spec) in _TABLE.items()
}
