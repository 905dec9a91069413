"""The rows of git: global options, then a subcommand with its own row.

Only subcommands in the table are known; any other name may be an alias. A rule for a subcommand includes the normal
effect of the subcommand. Options that run programs, change settings or discard work must be written in the rule.
"""

import re
from itertools import pairwise
from posixpath import normpath

from callgate.shell.command import names
from callgate.shell.programs.program_arguments import WHOLE, Argument, Invocation
from callgate.shell.programs.uses import Use, text_of

GIT = """
git | text | --no-pager --no-optional-locks --literal-pathspecs --no-replace-objects -v -c=load -C=enter --git-dir=load
    --work-tree=load --namespace=load --exec-path?=load --config-env=load -p!run --paginate!run --bare!load --help!run |
    subcommands read_only runs_settings
$diff = -psuRabwWzcmtr -U= -B?= -M?= -C?= -D?= -l= -S= -G= -I= -X?= -# --patch --no-patch --unified= --raw --minimal
    --patience --histogram --diff-algorithm= --stat?= --compact-summary --numstat --shortstat --dirstat?= --summary
    --patch-with-stat --name-only --name-status --submodule?=submodule-format --color?= --no-color --color-moved?=
    --word-diff?= --word-diff-regex= --color-words?= --no-renames --check --full-index --binary --abbrev?= --no-abbrev
    --find-renames?= --find-copies?= --diff-filter= --pickaxe-all --pickaxe-regex --relative?= --text
    --ignore-space-at-eol --ignore-space-change --ignore-all-space --ignore-blank-lines --inter-hunk-context=
    --function-context --exit-code --quiet --no-ext-diff --no-textconv --ignore-submodules?= --no-prefix --cached
    --staged --merge-base --ours --theirs --cc --diff-merges= --ext-diff!run --textconv!run --output=file
$revs = -iEFPgq -n= -L=range --max-count= --skip= --since= --after= --until= --before= --author= --committer= --grep=
    --all-match --invert-grep --regexp-ignore-case --extended-regexp --fixed-strings --perl-regexp --merges --no-merges
    --first-parent --not --all --branches?= --tags?= --remotes?= --glob= --exclude= --reflog --cherry-mark --cherry-pick
    --cherry --left-only --right-only --left-right --walk-reflogs --merge --boundary --graph --oneline --decorate?=
    --no-decorate --source --full-diff --follow --format=format --pretty?=format --date= --relative-date --abbrev-commit
    --no-abbrev-commit --notes?= --no-notes --parents --children --reverse --no-walk?= --topo-order --date-order
    --full-history --simplify-merges --simplify-by-decoration --ancestry-path?= --count --timestamp --show-signature!run
git status | read | -sbvz -M?= -u?= --short --branch --show-stash --porcelain?= --long --verbose --untracked-files?=
    --ignore-submodules?= --ignored?= --column?= --no-column --ahead-behind --no-ahead-behind --renames --no-renames
    --null | read_only
git diff|show | rev | $diff $revs | read_only shows_repository=*
git log|rev-list|diff-tree|whatchanged | rev | $diff $revs | read_only
    shows_repository=-p,-u,-U,--patch,--unified,--patch-with-stat,--binary,-W,-c,--cc,-m,--diff-merges,-L
git shortlog | read | $revs -nsce -w?= --numbered --summary --email --group= | read_only
git grep | text rev | -aiIwvhHEGPFnlLcoqpWzr -A= -B= -C= -e= -f=read -m= -# --cached --untracked --text --ignore-case
    --word-regexp --invert-match --full-name --extended-regexp --perl-regexp --fixed-strings --line-number --column
    --files-with-matches --name-only --files-without-match --null --only-matching --count --color?= --no-color --break
    --heading --show-function --context= --after-context= --before-context= --function-context --max-count= --max-depth=
    --and --or --not --all-match --quiet -O?=run --open-files-in-pager?=run --textconv!run | replaces_first=-e,-f
    read_only shows_repository=*
git blame | rev | -bcfltnespwkh -L= -M?= -C?= --root --porcelain --line-porcelain --date= --since= --first-parent
    --show-name --show-number --show-email --abbrev= --ignore-rev= --ignore-revs-file=read | read_only
git ls-files | read | -cdmosiukftvzr -x= -X=read --cached --deleted --modified --others --stage --ignored --unmerged
    --directory --eol --exclude= --exclude-from=read --exclude-standard --error-unmatch --full-name --recurse-submodules
    | read_only
git ls-tree | read | -drtlz --long --name-only --name-status --full-name --full-tree --abbrev?= | read_only
git rev-parse | read | -q --abbrev-ref?= --short?= --verify --quiet --symbolic --symbolic-full-name --all --branches?=
    --tags?= --remotes?= --show-toplevel --show-prefix --show-cdup --git-dir --git-common-dir --is-inside-work-tree
    --is-inside-git-dir --is-bare-repository --is-shallow-repository | read_only
git cat-file | rev | -tsep --batch-check?= --textconv!run --filters!run | read_only
git describe | read | --dirty?= --all --tags --contains --abbrev?= --exact-match --long --match= --always | read_only
git merge-base | read | -a --all --octopus --is-ancestor --independent --fork-point | read_only
git for-each-ref|show-ref | read | -sqd --format=format --sort=format --count= --heads --tags | read_only
git check-ignore|count-objects | read | -qvnzH --quiet --verbose --non-matching --human-readable | read_only
git reflog | text | $diff $revs | subcommands read_only
git reflog show|list|exists | rev | $diff $revs | read_only
git config | text | -lz -e!run --list --get --get-all --get-regexp --get-urlmatch --null --name-only --show-origin
    --show-scope --local --global --system --worktree --type= --bool --int --path --default= --all -f=read --file=read
    --edit!run --add!alter --unset!alter --unset-all!alter --replace-all!alter --rename-section!alter
    --remove-section!alter | read_only no_prefix parser=config
git branch | text | -arvqlt --all --remotes --verbose --quiet --list --contains --no-contains --merged --no-merged
    --points-at= --sort=format --format=format --color?= --no-color --column?= --no-column --abbrev?= --show-current
    --ignore-case -i --track?= --no-track -d!alter -D!alter -m!alter -M!alter -c!alter -C!alter -f!alter -u=alter
    --delete!alter --move!alter --copy!alter --force!alter --set-upstream-to=alter --unset-upstream!alter
    --edit-description!run | read_only parser=naming
git tag | text | -alsi -n?= -m= -F=read -u= --list --sort=format --format=format --contains --no-contains --merged
    --no-merged --points-at= --color?= --annotate --sign --message= --file=read -d!alter -f!alter -v!run -e!run
    --delete!alter --force!alter --verify!run --edit!run | read_only parser=naming
git stash | text | -kapuq -m= --message= --include-untracked --keep-index --all --patch --quiet --ext-diff!run
    --output=file | subcommands read_only without_subcommand=does
git stash list|show | text read | -# --stat --name-only --oneline | read_only shows_repository=*
git stash push|save | read | --staged | always=does
git stash pop|apply|branch|create|store | text | --index | always=does
git stash drop|clear | text | | always=alter
git remote | text | -v --verbose | subcommands read_only no_prefix
git remote get-url | text | --all --push | read_only
git remote show|update|prune | remote | -np --prune | always=does no_prefix
git remote add|remove|rm|rename|set-url|set-branches | text address | -f -t= -m= --all --push --add | always=alter
    no_prefix
git worktree | text | | subcommands read_only
git worktree list | text | --porcelain -vz | read_only
git worktree add | change | -b= -B= -f --force --detach | always=does
git worktree remove | drop | -f --force | always=alter no_prefix
git submodule | text | -q --quiet --cached --recursive | subcommands read_only
git submodule status | read | | read_only
git submodule summary | read | | always=does
git submodule add|update|init|sync|deinit | address | -b= --init --remote --depth= | always=does
git submodule foreach | shell | | options_first no_prefix
git bisect | text | | subcommands read_only no_prefix
git bisect log | text | | read_only
git bisect start|good|bad|new|old|skip|next|reset|terms | text read | --term-new= --term-old= --no-checkout |
    always=does no_prefix
git bisect run | argv | | options_first no_prefix
$remote = -qvn --quiet --verbose --progress --dry-run --tags --no-tags --all --prune --depth= --unshallow -4 -6
    --upload-pack=run --receive-pack=run --exec=run
$merge = -qvn --verify-signatures!run -s=run --strategy=run -X= --strategy-option= --no-edit --quiet --verbose --stat
    --no-stat --abort --continue --quit --skip --autostash --no-autostash --signoff --no-verify -e!run --edit!run
git fetch | address ref | $remote -pkta -f!alter --force!alter --jobs= -j= --recurse-submodules?= | always=does
git ls-remote | address | $remote -htb --heads --branches --refs --exit-code --get-url --sort= --symref | always=does
git pull | address ref | $remote $merge -r --rebase?= --no-rebase --ff --ff-only --no-ff | always=does
git push | remote ref | $remote --prune!alter -u -f!alter -d!alter --force!alter --force-with-lease?=alter
    --delete!alter --mirror!alter --set-upstream --follow-tags --no-verify --porcelain --atomic -o= --push-option= |
    always=does no_prefix
git clone | address change | $remote -b= --branch= -o= --origin= -j= --jobs= --filter= --recurse-submodules?=
    --single-branch --bare --no-checkout -u=run -c=load --config=load --template=load --separate-git-dir=write |
    no_prefix parser=clone
git add | read | -AunvpfiN --all --update --dry-run --verbose --patch --force --intent-to-add --no-all --ignore-errors
    --refresh --renormalize --chmod= -e!run --edit!run | always=does
git commit | read | -apqvsno -m= -F=read -C= -S?= -u?= --message= --file=read --reuse-message= --author= --date=
    --fixup= --squash= --cleanup= --reset-author --all --amend --no-edit --no-verify --signoff --quiet --verbose
    --dry-run --allow-empty --allow-empty-message --only --include --patch -i --short --gpg-sign?= --no-gpg-sign -c=run
    --reedit-message=run -e!run --edit!run --trailer=run -t=load --template=load | always=does
git checkout | change | -b= -B=alter -f!alter --force!alter -qtdlp --orphan= --conflict= --track?= --no-track --detach
    --ours --theirs --quiet --merge -m --patch --guess --no-guess | no_prefix parser=restore
git switch | read | -c= -C=alter -f!alter --discard-changes!alter -qdt --create= --force-create=alter --orphan= --detach
    --track?= --no-track --guess --no-guess --quiet --merge -m | always=does
git restore | change | -SWqp -s= --source= --staged --worktree --quiet --ours --theirs --merge --patch | no_prefix
    parser=restore
git reset | read | -qpN --soft --mixed --hard!alter --merge!alter --keep --quiet --patch | always=does
git merge | read | $merge -m= -F=read --file=read --ff --ff-only --no-ff --squash --no-squash --commit --no-commit
    --log?= --allow-unrelated-histories | always=does
git rebase | read | $merge --onto= -x=run --exec=run -i!run --interactive!run --edit-todo!run --root --keep-empty
    --empty= --rebase-merges?= -r --fork-point --no-fork-point --update-refs --keep-base --autosquash --no-autosquash
    --merge -m | always=does
git cherry-pick|revert | read | $merge -x -m= --mainline= --no-commit --allow-empty --ff | always=does
git apply | read | -v --check --stat --numstat --summary --index --cached --3way -3 --reverse -R --reject --recount -p=
    -C= --include= --exclude= --whitespace= --directory=change | no_prefix parser=apply
git mv | change | -fknv --force --verbose --dry-run | no_prefix
git rm | drop | -nrq -f!alter --force!alter --dry-run --cached --ignore-unmatch --quiet | no_prefix parser=rm
git init | change | -q -b= --quiet --bare --initial-branch= --template=load --separate-git-dir=write | always=does
git clean | read | -dfnqxX -e= --force --dry-run --quiet --exclude= -i!run --interactive!run | no_prefix parser=clean
"""
_CONFIG_READS = ("-l", "--list", "--get", "--get-all", "--get-regexp", "--get-urlmatch")
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


_ONLY_SHOWS = ("--check", "--stat", "--numstat", "--summary")


def apply(call: Invocation) -> list[Use]:
    """Return the effects of ``git apply``. The patch contains the names of the written files, so only an exact rule
    allows the command."""
    writes = WHOLE.beyond("write", "it writes the files named in the patch", "")
    return [WHOLE.included("alter"), *call.uses(), *([] if call.matching(*_ONLY_SHOWS) else [writes])]


def clone(call: Invocation) -> list[Use]:
    """Return the effects of ``git clone``. The default folder is the last name in the URL."""
    uses = [WHOLE.included("alter"), *call.uses()]
    if len(call.operands) == 1:
        source = call.operands[0]
        folder = re.split("[/:]", source.text.rstrip("/").removesuffix("/.git"))[-1].removesuffix(".git")
        uses.append(source.included("write", folder))
    return uses


def restore(call: Invocation) -> list[Use]:
    """Return the effects of ``git restore`` and ``git checkout``. The files after ``--`` are overwritten, except if
    only the index is changed. A rule must name a whole folder explicitly, because all changes in the folder are
    discarded."""
    found = call.arguments
    if call.matching("-S", "--staged") and not call.matching("-W", "--worktree"):
        found = call.options
    ended = next((at for at, word in enumerate(call.words) if text_of(word) == "--"), 0)
    files = [each for each in found if each.name or each.at > ended]
    paths = [each for each in files if not each.name]
    whole = [each for each in paths if each.text[:1] == ":" or set(normpath(each.text)) <= set("./*")]
    lost = [each.beyond("alter", f"{each.text} discards all changes") for each in whole]
    return [WHOLE.included("alter"), *call.uses(files), *lost]


def rm(call: Invocation) -> list[Use]:
    """Return the effects of ``git rm``. With ``--cached`` the files stay, and only the index is changed."""
    return [WHOLE.included("alter"), *call.uses(call.options if call.matching("--cached") else None)]


def clean(call: Invocation) -> list[Use]:
    """Return the effects of ``git clean``. Without a path, all untracked files are removed."""
    if call.matching("-n", "--dry-run"):
        return call.uses()
    step = Argument("", ".", call.start - 1, call.start - 1)
    paths = [each.text for each in call.operands] or ["."]
    return call.uses() + [step.beyond("remove", "git clean removes files", path) for path in paths]


def config(call: Invocation) -> list[Use]:
    """Return the effects of ``git config``. An option, the first word (``get``, ``list``) or a single name makes it a
    query. If a new setting names a program or a file with settings, the effects include a write to the settings
    file."""
    first = call.operands[0].text if call.operands else ""
    asks = first in ("list", "get") or call.matching(*_CONFIG_READS)
    if asks or (len(call.operands) == 1 and first not in _CONFIG_CHANGES):
        return call.uses()
    step = Argument("", "", call.start, call.start)
    texts = [text_of(word) for word in call.words[call.start :]]
    path = "~/.gitconfig" if "--global" in texts else ".git/config"
    return [
        *call.uses(),
        step.beyond("alter", "it changes settings that can run programs"),
        *(
            step.beyond("write", f"{key} names a program", path)
            for key, value in pairwise(texts)
            if _PROGRAM_KEY.fullmatch(key) and not (key.lower().startswith("alias.") and value[:1] != "!")
        ),
    ]


def naming(call: Invocation) -> list[Use]:
    """Return the effects of ``git branch`` and ``git tag``: an operand creates a name, except with an option that lists
    names."""
    lists = not call.operands or call.matching(*_LISTS)
    return call.uses() if lists else [*call.uses(), WHOLE.included("alter")]
