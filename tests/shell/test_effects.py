"""Read-only or not, and which paths a command names."""

from callgate.shell.analysis import analyse
from callgate.shell.command import Analysis, Redirect, Script, Simple, Word
from callgate.shell.effects import NamedPaths, effects_of, named_paths, settings_folders
from tests.rows import rows


@rows(
    "command",
    [
        "ls -la src",
        "cat a.txt | grep x | sort -u | head -5",
        "find . -name '*.py' -type f | wc -l",
        "rg -n foo src 2>/dev/null",
        "sed -n 1,5p a.txt",
        "jq . a.json < b.json",
        "cat <<'E'\nx\nE",
        "cat <<< x 2>&1",
        "timeout 5 ls",
        "command -v git",
        "LANG=C sort a.txt",
        "cd src && ls",
        "[ -f a.txt ] && echo yes",
        "test -d x || true",
        "python3 --version",
        "bash --version",
        "date +%F; pwd; whoami; uname -a",
        "echo *.txt",
        "ls *.py",
        "ls; echo $?",
        'ls\necho "exit: $?" | cat',
        "git -C sub status",
    ],
)
def test_commands_that_only_read_have_no_effects(command: str) -> None:
    assert effects_of(analyse(command)) == "none"


@rows(
    "command",
    [
        "rm a",
        "echo x > out",
        "echo x >> out",
        "cat < /dev/tcp/h/1",
        "git commit -m x",
        "git push",
        "git branch new",
        "git branch -D x",
        "git tag v1",
        "git stash",
        "git config a.b c",
        "git unknown",
        "git -c a=b status",
        "find . -delete",
        "find . -exec rm {} +",
        "sed -i s/a/b/ a",
        "sed 'w x' a",
        "awk '{print > \"x\"}' a",
        "sort -o x a",
        "sort *",
        "rg --pre x y",
        "tar xf a.tar",
        "tar cf a.tar b",
        "curl https://a.test",
        "ping a.test",
        "npm test",
        "make",
        "python3 x.py",
        "python3 -c 'print(1)'",
        "python3 -m json.tool",
        "bash -c ls",
        "unknown",
        "./ls",
        "/bin/ls",
        "l* x",
        "{ls,x}",
        "timeout 5 rm a",
        "timeout 5* ls",
        "env",
        "printenv",
        "xargs ls",
        "sudo ls",
        "x=1",
        "PATH=x ls",
        "> out",
        "ls $HOME",
        "ls $(pwd)",
        "cat a$?",
        'cat "x; echo $?"',
        "echo x > $?",
        "echo $?$HOME",
        "echo $(( $? ))",
        "for f in a; do rm $f; done",
        "ls 'x",
        "export A=b",
        "printf -v x y",
        "printf %n x",
        "tee x",
        "cp a b",
        "kill 1",
        "nohup ls",
        "ls && rm a",
        "pushd x && popd",
    ],
)
def test_everything_else_changes_something(command: str) -> None:
    assert effects_of(analyse(command)) == "mutating"


def test_a_command_that_nobody_read_to_the_end_is_no_reader() -> None:
    script = Script((Simple((Word("ls"),)),))
    assert effects_of(Analysis("ls", script)) == "none"
    assert effects_of(Analysis("ls", script, "a reason")) == "mutating"
    assert effects_of(Analysis("ls", Script(script.commands, expands=True))) == "mutating"


@rows("mark", ["globs", "braces"])
def test_a_program_that_the_shell_fills_in_is_no_reader(mark: str) -> None:
    word = Word("ls", "ls", **{mark: True})
    assert effects_of(Analysis("", Script((Simple((word,)),)))) == "mutating"


def test_wrappers_and_words_have_an_end() -> None:
    assert effects_of(analyse("timeout 1 " * 8 + "ls")) == "none"
    assert effects_of(analyse("timeout 1 " * 9 + "ls")) == "mutating"
    few, many = (Script((Simple((Word("ls"),) * count),)) for count in (1000, 1001))
    assert effects_of(Analysis("", few)) == "none"
    assert effects_of(Analysis("", many)) == "mutating"


@rows(
    ("target", "operator", "effects"),
    [
        ("/dev/null", ">", "none"),
        ("2", ">&", "none"),
        ("2-", ">&", "none"),
        ("x", ">&", "mutating"),
        ("x", ">|", "mutating"),
        ("x", "&>", "mutating"),
        ("x", "&>>", "mutating"),
        ("x", "<>", "mutating"),
        ("x", "<", "none"),
        ("/dev/tty", "<", "mutating"),
        ("3", "<&", "none"),
    ],
)
def test_redirections_that_write_are_effects(target: str, operator: str, effects: str) -> None:
    simple = Simple((Word("ls"),), redirects=(Redirect(operator, Word(target)),))
    assert effects_of(Analysis("", Script((simple,)))) == effects


@rows(
    ("command", "found"),
    [
        ("cat a b", NamedPaths(reads=("a", "b"))),
        ("cat a < b > c 2>> d", NamedPaths(("b", "a"), ("c", "d"))),
        ("echo x 2>&1 >&- <&3", NamedPaths()),
        ("echo x >& f", NamedPaths((), ("f",))),
        ("cp a b", NamedPaths(("a",), ("b",))),
        ("mv a b", NamedPaths(("a",), ("b",), ("a",))),
        ("rm -rf a b", NamedPaths((), (), ("a", "b"))),
        ("sort -o x a", NamedPaths(("a",), ("x",))),
        ("tee x < a", NamedPaths(("a",), ("x",))),
        ("sed 'w x' a", NamedPaths(("a",), ("x",))),
        ("unknown a --b=c -d", NamedPaths(("a", "c"), ("a", "c"))),
        ("sudo rm a", NamedPaths((), (), ("a",))),
        ("bash -c 'rm a; cat b'", NamedPaths(("b",), (), ("a",))),
        ("find x -exec rm y {} +", NamedPaths(("x",), (), ("x", "y", "{}"))),
        ("cd .git/hooks && echo x > pre-commit", NamedPaths((".git/hooks",), (".git/hooks/pre-commit",))),
        ("cd .git/hooks; echo x > pre-commit", NamedPaths((".git/hooks",), ("pre-commit", ".git/hooks/pre-commit"))),
        ("cd a; cd b; cat c", NamedPaths(("a", "b", "a/b", "c", "a/c", "b/c", "a/b/c"))),
        ("cd a && cat ~/b ../c", NamedPaths(("a", "~/b", "a/../c"))),
        ("bash -c 'cd a && cat b'; cat c", NamedPaths(("a", "b", "a/b", "c", "a/c"))),
        ("cd && cat .netrc", NamedPaths(("~/.netrc",))),
        ("cat $x a", NamedPaths(("a",))),
        # What is sent or loaded is read.
        ("curl -T a x.test", NamedPaths(("a",))),
        ("curl -d @a x.test", NamedPaths(("@a", "a"))),
        ("curl --data-binary n@a x.test", NamedPaths(("n@a", "a"))),
        ("curl -F 'f=@a;type=b' x.test", NamedPaths(("f=@a;type=b", "a", "b"))),
        ("curl -F 'f=<a' x.test", NamedPaths(("f=<a", "a"))),
        ("curl -H @a x.test", NamedPaths(("@a", "a"))),
        ("curl -K a x.test", NamedPaths(("a",))),
        ("curl file:///a/%62 x.test", NamedPaths(("file:///a/%62", "/a/b", "file"))),
        ("curl FILE://localhost/a", NamedPaths(("FILE://localhost/a", "/a", "FILE"))),
        ("wget --post-file=a x.test", NamedPaths(("a",))),
        ("http x.test f@a g:=@b", NamedPaths(("f@a", "a", "g:=@b", "b"))),
        ("docker run -v ~/a:/b i", NamedPaths(("~/a:/b", "~/a"))),
        (
            "docker run --mount type=bind,source=/a,target=/b i",
            NamedPaths(("type=bind,source=/a,target=/b", "bind", "/a", "/b")),
        ),
        ("gh api -F a=@b x", NamedPaths(("a=@b", "b"))),
        # Addresses and texts are no paths, where nobody knows.
        ("git clone https://a.test/b c", NamedPaths((), ("c",))),
        ("mytool https://a.test --url=http://b.test c", NamedPaths(("c",), ("c",))),
        ("mytool https://../../a", NamedPaths(("https://../../a",), ("https://../../a",))),
        ("mytool file:///a", NamedPaths(("file:///a", "/a"), ("file:///a", "/a"))),
        ("python3 a.py --url http://b.test c", NamedPaths(("c", "a.py"))),
        ("mytool 'a\nb' c", NamedPaths(("c",), ("c",))),
        ("cat https://a.test", NamedPaths(("https://a.test",))),
        ("cat 'a\nb'", NamedPaths(("a\nb",))),
        # What is searched and removed.
        ("find -delete", NamedPaths((), (), (".",))),
        ("find a b -delete", NamedPaths(("a", "b"), (), ("a", "b"))),
        ("find -L a -type f -delete", NamedPaths(("a",), (), ("a",))),
        ("find a -name x -delete", NamedPaths(("a",), (), ("a/x",))),
        ("find a -iname '*.pyc' -delete", NamedPaths(("a",), (), ("a/.pyc",))),
        ("find a -path '*/x/*' -delete", NamedPaths(("a",), (), ("a/x/*",))),
        ("find a -name '*' -delete", NamedPaths(("a",), (), ("a",))),
        ("find a -delete -name x", NamedPaths(("a",), (), ("a",))),
        ("find a ! -name x -delete", NamedPaths(("a",), (), ("a",))),
        ("find a -not -name x -delete", NamedPaths(("a",), (), ("a",))),
        ("find a -name x -o -name y -delete", NamedPaths(("a",), (), ("a",))),
        ("find a -type d -empty -delete", NamedPaths(("a",))),
        ("find a -name x -exec /bin/rm -rf {} +", NamedPaths(("a",), (), ("a/x", "{}"))),
        ("find a -exec cat {} +", NamedPaths(("a", "{}"))),
        ("git clean -fdx", NamedPaths((), (), (".",))),
        ("git clean -f a b", NamedPaths(("a", "b"), (), ("a", "b"))),
        ("git clean -nd", NamedPaths()),
        ("git clean --dry-run", NamedPaths()),
        ("git worktree remove a", NamedPaths((), (), ("a",))),
        ("pytest --basetemp=a", NamedPaths(("a",), ("a",))),
        ("cat ~/.ssh/id", NamedPaths(("~/.ssh/id",))),
        ("cat a a", NamedPaths(("a",))),
        ("git -C x status", NamedPaths(("x",))),
        ("cat 'a", NamedPaths()),
        ("x=1", NamedPaths()),
        ("dd if=a of=b", NamedPaths(("a",), ("b",))),
    ],
)
def test_the_paths_are_those_the_table_knows_of(command: str, found: NamedPaths) -> None:
    """Where the table is not sure of a word, further ones may be named; none may be left out."""
    named = named_paths(analyse(command))
    pairs = ((named.reads, found.reads), (named.writes, found.writes), (named.removes, found.removes))
    assert [set(wanted) - set(paths) for paths, wanted in pairs] == [set(), set(), set()]


@rows(("length", "count"), [(4096, 1), (4097, 0)])
def test_a_word_longer_than_a_path_is_text_where_nobody_knows(length: int, count: int) -> None:
    assert len(named_paths(analyse(f"mytool {'a' * length}")).writes) == count
    assert len(named_paths(analyse(f"cat {'a' * length}")).reads) == 1


@rows("target", ["\u00b2", "\u0663", "x", "1x"])
def test_only_digits_are_descriptors(target: str) -> None:
    simple = Simple((Word("ls"),), redirects=(Redirect(">&", Word(target)),))
    assert named_paths(Analysis("", Script((simple,)))) == NamedPaths((), (target,))
    assert effects_of(Analysis("", Script((simple,)))) == "mutating"
    plain = Simple((Word("ls"),), redirects=(Redirect(">", Word("1")),))
    assert named_paths(Analysis("", Script((plain,)))) == NamedPaths((), ("1",))


def test_a_file_opened_both_ways_is_read_and_written() -> None:
    simple = Simple((Word("ls"),), redirects=(Redirect("<>", Word("f")),))
    assert named_paths(Analysis("", Script((simple,)))) == NamedPaths(("f",), ("f",))


def test_the_folders_a_command_may_be_in_do_not_grow_without_end() -> None:
    assert len(named_paths(analyse("cd a;" * 40 + "cat b")).reads) < 400


@rows(
    "text, folders",
    [
        ("ls src", ()),
        ("git status", ("",)),
        ("cd src && git log", ("src",)),
        ("cd src; git log", ("src", "")),
        ("git -C src -C .. status", ("src/..",)),
        ("cd a && git -C b diff | cat", ("a/b",)),
        ("cd - && git log", None),
        ("xargs -I x sh -c 'cd x; git log'", None),
    ],
)
def test_the_folders_in_which_git_reads_its_settings(text: str, folders: tuple[str, ...] | None) -> None:
    found = settings_folders(analyse(text))
    assert found == folders if folders is None or found is None else set(found) == set(folders)


def test_a_path_behind_an_option_that_changes_the_folder_counts_in_both() -> None:
    assert set(named_paths(analyse("git -C sub grep -f words x")).reads) >= {"sub", "words", "sub/words"}
