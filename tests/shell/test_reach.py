"""The deny side: wrappers, strings, text that nobody can read."""

from hypothesis import given
from hypothesis import strategies as st

from callgate.shell.analysis import analyse
from callgate.shell.command import Analysis, Script, Simple, Word
from callgate.shell.command_patterns import parse_pattern
from callgate.shell.reach import doubt, reaches
from tests.rows import rows
from tests.shell.shell_kit import cases, reached

REACHED = r"""
rm:*               ⇒ sudo rm a
                   ⇒ sudo -u root rm a
                   ⇒ doas rm a
                   ⇒ env -i rm a
                   ⇒ env -u X rm a
                   ⇒ env - rm a
                   ⇒ timeout -k 5 5 rm a
                   ⇒ timeout -s KILL 5s rm a
                   ⇒ nohup rm a &
                   ⇒ xargs -0 -n1 rm < x
                   ⇒ parallel rm ::: a
                   ⇒ find . -execdir rm {} \;
                   ⇒ find . -ok rm {} \;
                   ⇒ find . -delete
                   ⇒ fd x -x rm
                   ⇒ fd x -X rm -rf
                   ⇒ trap 'rm a' EXIT
                   ⇒ eval 'rm a'
                   ⇒ eval "rm a"
                   ⇒ git submodule foreach 'rm a'
                   ⇒ git rebase -x 'rm a' HEAD
                   ⇒ git rebase --exec='rm a' HEAD
                   ⇒ git bisect run rm a
                   ⇒ git -c alias.x='!rm a' x
                   ⇒ git rm a
                   ⇒ busybox rm a
                   ⇒ toybox rm a
                   ⇒ ssh h rm a
                   ⇒ ssh h 'rm a'
                   ⇒ su -c 'rm a'
                   ⇒ su root -c 'rm a'
                   ⇒ chroot / rm a
                   ⇒ flock x rm a
                   ⇒ flock x -c 'rm a'
                   ⇒ script -c 'rm a' /dev/null
                   ⇒ /proc/self/root/bin/rm a
                   ⇒ /bin/r? a
                   ⇒ /bin/r[m] a
                   ⇒ /???/rm a
                   ⇒ $x a
                   ⇒ "$x" a
                   ⇒ `echo x` a
                   ⇒ exec rm a
                   ⇒ builtin command rm a
                   ⇒ command -p rm a
                   ⇒ while :; do rm a; done
                   ⇒ until rm a; do :; done
                   ⇒ f() { rm a; }; f
                   ⇒ function f { rm a; }; f
                   ⇒ echo x | while read y; do rm $y; done
                   ⇒ if rm a; then :; fi
                   ⇒ { rm a; }
                   ⇒ ! rm a
                   ⇒ time rm a
                   ⇒ rm a &
                   ⇒ echo $(echo $(rm a))
                   ⇒ x=$(rm a)
                   ⇒ cat <<EOF␤$(rm a)␤EOF
                   ⇒ bash <<EOF␤rm a␤EOF
                   ⇒ bash <<< 'rm a'
                   ⇒ echo rm a | sh
                   ⇒ python3 -c 'import os; os.system("rm a")'
                   ⇒ perl -e 'system("rm a")'
                   ⇒ awk 'BEGIN { system("rm a") }'
                   ⇒ sed 's/x/rm a/e' f
                   ⇒ r""m a
                   ⇒ $'\x72m' a
                   ⇒ r${u}m a
                   ⇒ rm 'unterminated
                   ⇒ "rm
                   ⇒ mv a /tmp/x
                   ⇒ unlink a
                   ⇒ truncate -s 0 a
                   ⇒ cp /dev/null a
                   ⇒ dd if=/dev/null of=a
                   ⇒ shred -u a
                   ⇒ : > a
                   ⇒ cat /dev/null > a
                   ⇒ rsync -a --delete x/ y/
                   ⇒ tar cf x.tar --remove-files a
                   ⇒ watch 'rm a'
                   ⇒ nsenter -t 1 rm a
                   ⇒ unknownwrap -x rm a
                   ⇒ stdbuf -o0 rm a
                   ⇒ env -S 'rm a'
                   ⇒ npx rm a
                   ⇒ uv run rm a
                   ⇒ docker exec c rm a
                   ⇒ podman exec c rm a
                   ⇒ kubectl exec pod -- rm a
                   ⇒ docker run c rm a
                   ⇒ kubectl debug pod -- rm a
                   ⇒ kubectl run x --image y -- rm a
                   ⇒ ip netns exec n rm a
                   ⇒ dtach -n s rm a
                   ⇒ screen -dm rm a
                   ⇒ tmux new rm a
                   ⇒ PAGER='rm a' git log
                   ⇒ GIT_SSH_COMMAND='rm a' git fetch
                   ⇒ alias x=rm; x a
                   ⇒ coproc rm a
                   ⇒ select x in 1; do rm a; done
                   ⇒ (((rm a)))
                   ⇒ cp /bin/rm y; ./y a
rm -rf:*           ⇒ rm -rf x
                   ⇒ rm -fr x
                   ⇒ rm -r -f x
                   ⇒ rm x -rf
                   ⇒ rm --recursive --force x
                   ⇒ rm -Rf x
                   ⇒ sudo rm -rfv x
rm -rf *           ⇒ rm -rf x
rm *               ⇒ rm x
git push:*         ⇒ git push
                   ⇒ git -C x push
                   ⇒ git --no-pager push origin
                   ⇒ git -c a=b push
                   ⇒ git --git-dir=x push
                   ⇒ git --git-dir x push
                   ⇒ /usr/bin/git push
                   ⇒ git $x
                   ⇒ git "$x" a
git push --force:* ⇒ git push -f
                   ⇒ git push origin --force
                   ⇒ git push --forc
git push           ⇒ git push
git push *         ⇒ git push origin
                   ⇒ git push
* --force          ⇒ git push --force
*                  ⇒ ls
npm install:*      ⇒ npm --prefix x install y
docker run:*       ⇒ docker --context x run y
curl:*             ⇒ bash -c 'curl x | sh'
                   ⇒ sh -c "sh -c 'curl x'"
pip:*              ⇒ python3 -m pip install x
kubectl delete:*   ⇒ kubectl -n x delete pod y
rm:*               ⇒ sh -c 'sh -c "sh -c \'rm a\'"'
git push:*         ⇒ echo push | xargs git
                   ⇒ printf 'push\n' | xargs git
                   ⇒ printf 'push\0' | xargs -0 git
                   ⇒ printf 'x\tpush' | xargs -n1 git
                   ⇒ echo status push | xargs -n 1 git
                   ⇒ echo status push | xargs -L1 git
                   ⇒ xargs git <<< push
                   ⇒ xargs -I{} git {} <<< push
                   ⇒ xargs -I % git % origin <<< push
                   ⇒ xargs -I{} git -C x {} <<< push
                   ⇒ cat words | xargs git
                   ⇒ cat words | xargs git -C sub
                   ⇒ echo $x | xargs git
                   ⇒ git -c alias.p=push p
                   ⇒ git -c alias.p='push -f' p
                   ⇒ git -c alias.p='!git push' p
                   ⇒ git config alias.p push && git p
                   ⇒ git config --global alias.p '!git push'
                   ⇒ vim -c '!git push'
                   ⇒ vim '+!git push' f
                   ⇒ vim -c ':!git push'
                   ⇒ less '+!git push' f
                   ⇒ tar cf x --checkpoint-action='exec=git push' y
                   ⇒ make -f - <<< 'a:;git push'
                   ⇒ hash -p /usr/bin/git g; g push
                   ⇒ hyperfine 'git push'
                   ⇒ nodemon --exec 'git push'
                   ⇒ nodemon --exec='git push'
                   ⇒ concurrently 'npm test' 'cd x && git push'
curl:*             ⇒ docker compose exec web curl x
                   ⇒ docker compose exec web sh -c 'curl x'
                   ⇒ tmux send-keys 'curl x' Enter
                   ⇒ ip netns exec n curl x
rm:*                         ⇒ mapfile -C 'rm x' y
                             ⇒ mapfile '-Crm x' y
                             ⇒ tmux new 'rm x'
                             ⇒ tmux new rm x
                             ⇒ screen -dm rm x
                             ⇒ ip netns exec a rm x
                             ⇒ docker exec web rm x
                             ⇒ env A=1 rm x
"""
NOT_REACHED = r"""
rm:*               ⇒ echo rm
                   ⇒ echo "rm -rf x"
                   ⇒ grep rm a.txt
                   ⇒ git commit -m 'rm x'
                   ⇒ docker run --rm x
                   ⇒ npm run rm-old
                   ⇒ ls rm
                   ⇒ cat rm.txt
                   ⇒ git log --grep=rm
                   ⇒ rmdir_x
                   ⇒ mv a b
                   ⇒ pytest > log.txt
                   ⇒ echo x > a.txt
                   ⇒ for f in a; do echo $f; done
                   ⇒ echo $(date)
                   ⇒ npm rm x
                   ⇒ docker rm x
                   ⇒ $HOME/bin/tool x
                   ⇒ python3 -c 'print(1)'
                   ⇒ [[ -f rm ]] && ls
git push:*         ⇒ git status
                   ⇒ git log push
                   ⇒ git commit -m push
                   ⇒ git -C "$D" status
                   ⇒ git --git-dir x status
git push           ⇒ git push origin
git push --force:* ⇒ git push origin main
rm -rf:*           ⇒ rm -r x
                   ⇒ rm x
npm install:*      ⇒ npm run install
curl:*             ⇒ bash -c 'ls'
rm:*               ⇒ sudo ls
                   ⇒ timeout 5 ls rm
git push:*         ⇒ echo status | xargs git
                   ⇒ ls | xargs git add
                   ⇒ xargs -I{} git log {} <<< push
                   ⇒ git -c alias.p=pull p
                   ⇒ git config alias.p pull
                   ⇒ git config user.name push
                   ⇒ vim -c '!git pull'
                   ⇒ mytool 'about git push'
                   ⇒ mytool 'git pull'
                   ⇒ hash -r
                   ⇒ make push
rm -rf:*           ⇒ find . -name x | xargs rm
curl:*             ⇒ docker logs curl
                   ⇒ docker exec $name ls
                   ⇒ ip route show
rm:*                         ⇒ FOO=rm ls
                             ⇒ PAGER=rm
"""


@rows(("rule", "command"), cases(REACHED), ids=lambda each: each)
def test_a_command_that_comes_to_it_is_reached(rule: str, command: str) -> None:
    assert reached(rule, command.replace("␤", "\n"))


@rows(("rule", "command"), cases(NOT_REACHED), ids=lambda each: each)
def test_a_command_that_only_looks_like_it_is_not(rule: str, command: str) -> None:
    assert reached(rule, command) is None


def test_sixty_commands_before_it_change_nothing() -> None:
    assert reached("rm:*", "true;" * 60 + "rm a")
    assert reached("rm:*", "true;" * 500 + "rm a")
    assert not reached("rm:*", "true;" * 500 + "ls a")


def test_commands_in_each_other_have_an_end_and_then_count() -> None:
    def nested(depth: int, command: str) -> str:
        return "timeout 5 " * depth + command

    assert reached("rm:*", nested(8, "ls")) is None
    assert reached("rm:*", nested(8, "rm"))
    assert reached("rm:*", nested(9, "ls")) == "commands are nested too deeply"
    assert reached("rm:*", "eval 'ls';" * 41) == "commands are nested too deeply"
    assert reached("rm:*", "eval 'ls';" * 40) is None
    few, many = (Script((Simple((Word("true"),)),) * count) for count in (1500, 1501))
    assert reaches(Analysis("", few), parse_pattern("rm:*")) is None
    assert reaches(Analysis("", many), parse_pattern("rm:*")) == "commands are nested too deeply"
    long, longer = (Script((Simple((Word("ls"),) * count),)) for count in (1000, 1001))
    assert reaches(Analysis("", long), parse_pattern("rm:*")) is None
    assert reaches(Analysis("", longer), parse_pattern("rm:*"))


def test_a_string_in_a_string_in_a_string_is_followed() -> None:
    command = "rm a"
    for _ in range(3):
        command = "sh -c " + "'" + command.replace("'", "'\\''") + "'"
    assert reached("rm:*", command)


@rows(
    "command",
    [
        "rm 'x",
        '"rm" \'x',
        "r\\m 'x",
        "r''m 'x",
        "/bin/rm 'x",
        "r$@m 'x",
        "$'\\x72m' 'x",
        "echo \"$(printf '\\x72m')\" 'x",
        "echo \"$(printf '\\162m')\" 'x",
        "echo \"$(printf '\\u0072m')\" 'x",
        "{rm,a} 'x",
        "RM 'x",
        "r\\\nm x",
    ],
)
def test_a_name_in_text_that_cannot_be_read_is_enough(command: str) -> None:
    assert reached("rm:*", command)


@rows("command", ["xrm 'x", "rm-old 'x", "--rm 'x", "rmx 'x", "ls 'x"])
def test_a_part_of_another_name_is_not(command: str) -> None:
    assert reached("rm:*", command) is None


def test_a_pattern_without_a_program_reaches_whatever_cannot_be_read() -> None:
    assert reached("* --force", "ls 'x")
    assert reached("* --force", "ls") is None
    assert reached("* --force", "ls $x")


def test_text_that_is_too_long_reaches_everything() -> None:
    assert reached("rm:*", "echo " + "x" * 60_000) == "a part of the command is too long to check"
    assert reached("rm:*", "echo " + "x" * 40_000) is None


def test_every_word_of_the_pattern_must_be_in_code_of_other_languages() -> None:
    assert reached("git push:*", 'python3 -c \'run(["git", "push"])\'')
    assert reached("git push:*", 'python3 -c \'run(["git", "log"])\'') is None
    assert reached("* x", "python3 -c 'pass'") is None


def test_only_a_rule_for_the_program_itself_reaches_other_ways_to_remove() -> None:
    assert reached("rm:*", "unlink a") == "unlink removes a"
    assert str(reached("rm:*", "git clean -f")).startswith("git removes")
    assert reached("rm -rf:*", "unlink a") is None
    assert reached("ls:*", "unlink a") is None
    assert reached("rm:*", "> a") == "the command empties a"
    assert reached("rm:*", "true > /dev/null") is None
    assert reached("rm:*", ": >| a")
    assert reached("rm:*", "cat x > a") is None
    assert reached("rm:*", "echo > a")


def test_a_rule_may_name_its_program_with_a_folder() -> None:
    assert reached("/bin/rm:*", "rm a")
    assert reached("/bin/rm:*", "/usr/bin/rm a")


def test_an_exact_rule_is_about_these_words_only() -> None:
    assert reached("git push", "git -C x push")
    assert reached("git push", "git push --force-x") is not None
    assert reached("git push", "git push origin") is None
    assert reached("git push", "git push $x")
    assert reached("git push", "git") is None


def test_options_of_a_rule_may_be_anywhere_and_in_any_order() -> None:
    assert reached("git push -f:*", "git push origin main -f")
    assert reached("git push -f:*", "git push --force")
    assert reached("git push -f:*", "git push -uf origin")
    assert reached("git push -f:*", "git push --follow-tags") is None
    assert reached("npm install --global:*", "npm install -g x")
    assert reached("git -C:*", "git -C x status")
    assert reached("git -C:*", "git status") is None
    assert reached("rm -rf:*", "rm -r $x")
    assert reached("go test -exec:*", "go test -exec=x")


def test_stars_reach_with_and_without_options_between() -> None:
    assert reached("git push * main", "git push --force origin main")
    assert reached("git push * main", "git push main")
    assert reached("curl *evil*", "curl -s https://evil.test")
    assert reached("curl *evil*", "curl -s https://good.test") is None
    assert reached("curl * x", "curl $y")
    assert reached("curl z * x", "curl y $x") is None


def test_a_lot_of_candidates_for_an_unknown_program_is_a_hit() -> None:
    assert reached("rm -rf:*", "unknown " + "rm " * 30)
    assert reached("rm -rf:*", "unknown rm rm") is None
    assert reached("rm:*", "sudo --unknown x rm a")
    assert reached("rm:*", "sudo --unknown x ls a") is None
    assert reached("rm:*", "unknown $x")


@rows("program", [Word(None, "$x"), Word(None, "a/$x"), Word(None, '"$x"')])
def test_a_program_that_only_the_shell_knows_is_reached(program: Word) -> None:
    assert reaches(Analysis("", Script((Simple((program,)),))), parse_pattern("rm:*"))


def test_a_program_whose_end_is_known_is_not_any_program() -> None:
    tool = Analysis("", Script((Simple((Word(None, "$HOME/bin/tool"),)),)))
    assert reaches(tool, parse_pattern("rm:*")) is None
    assert reaches(tool, parse_pattern("tool:*"))


def test_a_command_without_words_is_nothing() -> None:
    assert reaches(Analysis("", Script((Simple(()),))), parse_pattern("* x")) is None


@rows(
    ("command", "kind"),
    [
        ("ls -l", None),
        ("git status && make test", None),
        ("npm run build", None),
        ("python3 -m pytest -q", None),
        ("python3 --version", None),
        ("bash -c 'ls; pwd'", None),
        ("awk '{print $1}' a", None),
        ("echo $HOME", None),
        ("for f in a b; do ls $f; done", None),
        ("[[ -f x ]] && ls", None),
        ("[ -f x ] && ls", None),
        ("/usr/bin/git status", None),
        ("/usr/local/bin/x", None),
        ("x=1", None),
        ("python3 x.py", "interpreter"),
        ("python3 -c 'x'", "interpreter"),
        ("python3 -m x", "interpreter"),
        ("perl -e x", "interpreter"),
        ("bash x.sh", "interpreter"),
        ("echo x | sh", "interpreter"),
        ("base64 -d x | bash", "interpreter"),
        ("source x", "interpreter"),
        (". x", "interpreter"),
        ("./x", "interpreter"),
        ("/tmp/x", "interpreter"),
        ("~/x", "interpreter"),
        ("awk 'BEGIN{system(x)}'", "interpreter"),
        ("sed s/x/y/e a", "interpreter"),
        ('eval "ls $x"', "unread"),
        ("sqlite3 a.db", "interpreter"),
        ("sudo -i", "interpreter"),
        ("$x", "unread"),
        ("l? x", "unread"),
        ("ls 'x", "unread"),
        ("ls \\\n x", "unread"),
        ("bash -c 'ls \"'", "unread"),
        ("timeout 5 " * 9 + "ls", "unread"),
    ],
)
def test_doubt_is_what_nobody_can_say(command: str, kind: str | None) -> None:
    found = doubt(analyse(command))
    assert (found and found.kind) == kind


WORDS = st.lists(
    st.sampled_from(["rm", "ls", "-rf", "a", "sudo", "git", "push", "-C", "x", "env"]), min_size=1, max_size=5
)
QUOTES = st.sampled_from(["{}", "'{}'", '"{}"', "\\{}", "''{}", '{}""'])


@given(WORDS, st.sampled_from(["rm:*", "git push:*", "rm -rf:*", "ls", "* a"]), st.data())
def test_requoting_a_word_never_hides_it(spoken: list[str], rule: str, data: st.DataObject) -> None:
    if reached(rule, " ".join(spoken)):
        assert reached(rule, " ".join(data.draw(QUOTES).format(word) for word in spoken))
