"""What a grant for git leaves out: one line for every way in.

The lists are written by hand, not taken from the table.
"""

import pytest

from tests.shell.shell_kit import cases, granted, judged

LEFT_OUT = r"""
git diff:*         ⇒ git diff --output=out
                   ⇒ git diff --no-index a.txt /etc/passwd
                   ⇒ git diff --outp=x
                   ⇒ git diff --textconv
git show:*         ⇒ git show --ext-diff
git log:*          ⇒ git log --show-signature
git grep:*         ⇒ git grep --open-files-in-pager=pwn x
                   ⇒ git grep -Opwn x
                   ⇒ git grep -nOpwn x
git ls-remote:*    ⇒ git ls-remote --upload-pack pwn .
                   ⇒ git ls-remote --upl=pwn .
git fetch:*        ⇒ git fetch --upload-pack pwn .
                   ⇒ git fetch ext::pwn
git clone:*        ⇒ git clone --upload-pack=pwn /ws x
                   ⇒ git clone -c core.fsmonitor=pwn https://h/x
                   ⇒ git clone --config core.x=pwn https://h/x
                   ⇒ git clone --upload-pac=pwn x y
                   ⇒ git clone ext::pwn x
                   ⇒ git clone -qu pwn x y
git push:*         ⇒ git push --receive-pack=pwn .
                   ⇒ git push --exec=pwn origin
git pull:*         ⇒ git pull --upload-pack=pwn
git archive:*      ⇒ git archive --output=x HEAD
                   ⇒ git archive --remote=x HEAD
git rebase:*       ⇒ git rebase -x pwn HEAD~1
                   ⇒ git rebase --exec pwn HEAD~1
                   ⇒ git rebase --exec=pwn HEAD~1
                   ⇒ git rebase -i HEAD~2
git submodule:*    ⇒ git submodule foreach pwn
                   ⇒ git submodule foreach --recursive pwn
git config:*       ⇒ git config --global core.pager pwn
                   ⇒ git config core.fsmonitor pwn list
                   ⇒ git config core.pager get
                   ⇒ git config core.pager pwn -- --list
                   ⇒ git config --unset user.name
                   ⇒ git config -e
                   ⇒ git config set a.b c
                   ⇒ git config --add a.b c
git branch:*       ⇒ git branch -D main
                   ⇒ git branch -d main
                   ⇒ git branch -m x
                   ⇒ git branch -f main HEAD~3
git hash-object:*  ⇒ git hash-object /etc/passwd
                   ⇒ git hash-object -w a.txt
git blame:*        ⇒ git blame --contents /etc/passwd a.txt
git difftool:*     ⇒ git difftool -x pwn
git cat-file:*     ⇒ git cat-file --textconv HEAD:a
git:*              ⇒ git -c a.b=c status
                   ⇒ git -C /x status
                   ⇒ git --exec-path=/x status
                   ⇒ git --git-dir=x status
                   ⇒ git config core.pager pwn
                   ⇒ git difftool -y -x pwn
                   ⇒ git filter-branch --tree-filter pwn
                   ⇒ git unknown-alias
                   ⇒ git submodule foreach pwn
                   ⇒ git bisect run pwn
                   ⇒ git clean -fdx
                   ⇒ git remote add x ext::pwn
                   ⇒ git --paginate log
git tag:*          ⇒ git tag -d v1
git stash:*        ⇒ git stash clear
git remote:*       ⇒ git remote set-url origin ext::pwn
git worktree:*     ⇒ git worktree add ../x
git apply:*        ⇒ git apply --unsafe-paths x.diff
git commit:*       ⇒ git commit -F /etc/passwd
git merge:*        ⇒ git merge -s pwn x
git init:*         ⇒ git init --template=/x .
git log:*          ⇒ git log --help
git submodule:*    ⇒ git submodule add ext::pwn
"""


@pytest.mark.parametrize(("rules", "command"), cases(LEFT_OUT), ids=lambda each: each)
def test_a_grant_leaves_out_what_runs_writes_loads_or_leads_out(rules: str, command: str) -> None:
    assert not granted(rules, command), judged(rules, command)
