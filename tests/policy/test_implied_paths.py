"""Rules on paths that a command comes to without naming the place."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from callgate.admin.workspace_policy import CallJudge, CallToJudge
from callgate.policy import implied_paths
from callgate.policy.implied_paths import expand_glob, is_broad_glob, may_contain, secrets_in, spellings
from callgate.policy.path_patterns import parse_path_pattern
from callgate.shell.analysis import analyse
from callgate.shell.effects import folder_readers
from tests.policy.gate_kit import HOME, ROOT, decided, outcome, place, rules, shell
from tests.rows import rows


@pytest.mark.parametrize(
    ("path", "rule", "expected"),
    [
        ("/w/s*.txt", "secret.txt", ["/w/secret.txt"]),
        ("/w/secret.???", "secret.txt", ["/w/secret.txt"]),
        ("/w/[rs]ecret.txt", "secret.txt", ["/w/secret.txt"]),
        ("/w/*", "secret.txt", ["/w/secret.txt"]),
        ("/w/*", ".env", []),
        ("/w/.e*", ".env", ["/w/.env"]),
        ("/w/c*/k*", "/conf/keys", ["/w/conf/keys"]),
        ("/w/a*.pem", "*.pem", []),
        ("/w/*.p*", "*.pem", ["/w/x.pem"]),
        ("/w/t*", "secret.txt", []),
        ("/w/secret.txt", "secret.txt", []),
    ],
)
def test_a_pattern_of_the_shell_may_become_a_name_of_the_rule(path: str, rule: str, expected: list[str]) -> None:
    assert spellings(path, parse_path_pattern(rule, root=ROOT, home=HOME)) == expected


def test_the_number_of_guesses_has_a_bound() -> None:
    rule = parse_path_pattern("s1/s2/s3/s4", root=ROOT, home=HOME)
    assert len(spellings("/".join(["s*"] * 30), rule)) == 32


def test_a_pattern_that_does_not_say_how_a_name_begins_says_little() -> None:
    assert all(map(is_broad_glob, ["*", "a/*.txt", "?x", "[ab]c", ".*", "*/a"]))
    assert not any(map(is_broad_glob, ["s*", "a", "secret.???", ".e*", "a*/b*"]))


@pytest.mark.parametrize("command", ["cat s*.txt", "cat < s*", "head secret.???", "cp s* b", "x=secret.txt; cat $x"])
def test_a_deny_on_a_path_is_reached_by_what_may_become_it(command: str) -> None:
    assert outcome(shell(command), rules(deny=["Read(secret.txt)"], allow=["Bash"])) == "deny"


def test_what_xargs_puts_into_a_word_is_a_part_of_it() -> None:
    deny = rules(deny=["Read(a/notes.txt)"], allow=["Bash"])
    assert outcome(shell("xargs -I{} cat a/{} <<< notes.txt"), deny) == "deny"
    assert outcome(shell("xargs -I{} cat b/{} <<< notes.txt"), deny) == "allow"


def test_a_wide_pattern_reaches_a_deny_only_where_the_file_is() -> None:
    reason = decided(shell("cat s*.txt"), rules(deny=["Read(secret.txt)"], allow=["Bash"])).reason
    assert "s*.txt may expand to" in reason
    assert outcome(shell("cat *.txt"), rules(deny=["Read(secret.txt)"], allow=["Bash"])) == "deny"
    assert outcome(shell("cat s*.txt"), rules(deny=["Read(conf/secret.txt)"], allow=["Bash"])) == "allow"
    assert outcome(shell("cat *.md"), rules(deny=["Read(secret.txt)"], allow=["Bash"])) == "allow"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("grep -r x .", ["grep -r"]),
        ("grep -inR x", ["grep -R"]),
        ("egrep --recursive x", ["egrep --recursive"]),
        ("diff -r a b", ["diff -r"]),
        ("rg x", ["rg"]),
        ("rg -uu x", ["rg"]),
        ("rg --hidden x", ["rg"]),
        ("ls | rg x src", ["rg"]),
        ("ls; rg x", ["rg"]),
        ("find . -exec cat {} +", ["find with a command"]),
        ("grep x a", []),
        ("diff a b", []),
        ("ls | rg x", []),
        ("find . -name x", []),
        ("find . -exec cat {} +; ls; rg x; cat a", ["find with a command", "rg"]),
    ],
)
def test_what_reads_whole_folders_is_known(command: str, expected: list[str]) -> None:
    assert folder_readers(analyse(command)) == expected


@pytest.mark.parametrize(
    ("rule", "folder", "expected"),
    [
        ("secret.txt", ".", True),
        ("secret.txt", "src", True),
        ("secret.txt", "/etc", False),
        ("/conf/**", ".", True),
        ("./conf/a", "conf", True),
        (f"{ROOT}/conf/a", "conf", True),
        ("/conf/**", "src", False),
        ("src/*.key", "src/sub", True),
        ("~/notes/a", ".", False),
        ("~/notes/a", HOME, True),
        ("//etc/hosts", "/etc", True),
        ("//etc/hosts", ".", False),
    ],
)
def test_a_folder_may_hold_what_a_rule_is_about(rule: str, folder: str, expected: bool) -> None:
    pattern = parse_path_pattern(rule, root=ROOT, home=HOME)
    assert may_contain(place(folder), pattern, root=ROOT, home=HOME) is expected


def test_hidden_and_ignored_files_count(tmp_path: Path) -> None:
    """An option, a file .ignore or a type of its own makes rg read them."""
    for command in ("rg x", "rg -g .env x", "rg --iglob .ENV x", "rg --type-add e:.env -t e x", "rg -uu x"):
        assert outcome(shell(command), rules(deny=["Read(.env)"])) == "ask", command


def test_a_folder_with_keys_in_it_is_not_swept_without_a_question(tmp_path: Path) -> None:
    for name in ("keys/deep/id_rsa", "src/a.py", "node_modules/x/server.key"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert [*secrets_in(str(tmp_path))] == [str(tmp_path / "keys/deep/id_rsa")]
    assert [*secrets_in(str(tmp_path / "src"))] == [*secrets_in(str(tmp_path / "missing"))] == []
    root = str(tmp_path)
    calls: dict[tuple[str, str, str], str] = {
        ("Bash", "command", "grep -r . keys"): "ask",
        ("Bash", "command", "rg -g id_rsa x"): "ask",
        ("Bash", "command", "rg x"): "ask",
        ("Bash", "command", "rg x src"): "allow",
        ("Bash", "command", "grep -rn x src"): "allow",
        ("Bash", "command", "ls keys"): "allow",
        ("Grep", "path", "keys/"): "ask",
        ("Grep", "path", "."): "ask",
        ("Grep", "glob", "*.key"): "ask",
        ("Grep", "path", "src"): "allow",
        ("Grep", "path", "src/a.py"): "allow",
        ("LS", "path", "."): "allow",
        ("Glob", "pattern", "**/*.py"): "allow",
        ("Glob", "pattern", "{/etc/*,x}"): "ask",
        ("Grep", "glob", "{src,{/etc/*,x}}"): "ask",
        ("Grep", "glob", "{a,b}{a,b}{a,b}{a,b}"): "ask",
    }
    judge = CallJudge(home=str(tmp_path / "home"))
    found = {each: judge.judge(CallToJudge(each[0], {each[1]: each[2]}, root=root)).decision for each in calls}
    assert found == calls
    denied = CallToJudge("Grep", {"pattern": "x", "path": "src"}, deny=("Read(a.py)",), root=root)
    assert judge.judge(denied).decision == "ask"


READERS = (
    "grep -r KEY .",
    "grep -rn KEY",
    "grep --recursive KEY src",
    "egrep -ri KEY .",
    "fgrep -rl KEY src",
    "rg KEY",
    "rg -uu KEY src",
    "rg --hidden KEY .",
    "cd src && grep -r KEY .",
    "grep -r KEY . | head -3",
    "diff -r src/a src/z",
    "timeout 9 rg KEY",
    "ls; grep -rc KEY src",
)


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A workspace of 12,000 files."""
    for folder in ("src/a", "src/b", "src/z/deep"):
        (tmp_path / folder).mkdir(parents=True)
        for number in range(4_000):
            (tmp_path / folder / f"file{number}.py").touch()
    return tmp_path


@pytest.mark.spec("GATE-17")
@rows("command", READERS)
def test_no_number_of_files_hides_a_secret_from_a_search(command: str, large: Path) -> None:
    judge = CallJudge(home=str(large / "home"))
    call = CallToJudge("Bash", {"command": command}, root=str(large))
    (large / "src/z/deep/.env").unlink(missing_ok=True)
    if not command.startswith("diff"):  # diff asks in any case
        assert judge.judge(call).decision == "allow"
    (large / "src/z/deep/.env").touch()
    assert judge.judge(call).decision == "ask"
    for rule in ("Read", "Read(**)", "Read(src/**)"):  # a rule on folders is not a rule on the secrets in them
        assert judge.judge(replace(call, allow=(rule,))).decision == "ask"


@pytest.mark.parametrize(
    "folder", [".venv", "venv", "target", "__pycache__", "build", "node_modules", ".cache/x", "a/b/c/d/e/f"]
)
def test_secrets_are_found_in_folders_of_any_name(folder: str, tmp_path: Path) -> None:
    (tmp_path / folder).mkdir(parents=True)
    (tmp_path / folder / "prod.env").touch()
    (tmp_path / "node_modules/package").mkdir(parents=True, exist_ok=True)
    (tmp_path / "node_modules/package/test.key").touch()
    assert [*secrets_in(str(tmp_path))] == [str(tmp_path / folder / "prod.env")]


@pytest.mark.spec("GATE-17")
def test_a_search_that_takes_too_long_asks(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(implied_paths, "_SECONDS", -1.0)
    judge = CallJudge(home=str(large / "home"))
    for command in READERS:
        call = CallToJudge("Bash", {"command": command}, root=str(large))
        assert judge.judge(call).decision == "ask", command
    found = judge.judge(CallToJudge("Bash", {"command": "rg KEY"}, root=str(large)))
    assert "is too large to search for secrets" in found.why


def test_what_reads_a_folder_with_a_denied_file_in_it_asks() -> None:
    deny = rules(deny=["Read(secret.txt)"])
    decision = decided(shell("grep -r x src"), deny)
    assert decision.reason == "grep -r reads everything in src, and Read(secret.txt) may apply to a file in it"
    assert outcome(shell("rg x"), deny) == "ask"
    assert outcome(shell("rg x"), rules(ask=["Read(secret.txt)"])) == "ask"
    assert outcome(shell("rg x"), rules(deny=["Edit(secret.txt)"])) == "allow"
    assert outcome(shell("rg x"), rules(deny=["Bash(rm:*)"])) == "allow"
    assert outcome(shell("grep -r x src"), rules(deny=["Read(/conf/**)"])) == "allow"
    assert outcome(shell("ls src"), deny) == "allow"


def tree(**folders: str) -> Callable[[str], list[str] | None]:
    """Folders by name, with the names in them; ``top`` is the first one, and a name with ``!`` cannot be listed."""

    def listed(path: str) -> list[str] | None:
        return (
            None if path.startswith("!") else folders.get("top" if path == "." else path.replace("/", "_"), "").split()
        )

    return listed


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*", ("a.py", "b.py", "src")),
        (".*", (".env",)),
        ("*.py", ("a.py", "b.py")),
        ("[^a].py", ("b.py",)),
        ("src/*", ("src/deep", "src/link")),
        ("s*/l*", ("src/link",)),
        ("*/x", ("a.py/x", "b.py/x", "src/x")),
        ("nothing*", ()),
        ("src/**", ("src/deep", "src/deep/c.py", "src/link")),
        ("!/*", None),
    ],
)
def test_a_pattern_is_filled_in_as_a_shell_would(pattern: str, expected: tuple[str, ...] | None) -> None:
    listed = tree(top=".env a.py b.py src", src="deep link", src_deep="c.py")
    found = expand_glob(pattern, listed)
    assert (None if found is None else tuple(sorted(found))) == expected


def test_two_stars_stand_for_folders_below_as_well() -> None:
    found = expand_glob("**/c.py", tree(top="src", src="deep", src_deep="c.py"))
    assert found is not None
    assert {"c.py", "src/c.py", "src/deep/c.py"} <= set(found)


def test_a_pattern_that_stands_for_too_much_is_not_filled_in() -> None:
    assert expand_glob("*", lambda path: [f"f{number}" for number in range(5_000)]) is None
    assert expand_glob("*/*", lambda path: [f"f{number}" for number in range(40)]) is None


def test_a_reader_of_whole_folders_beside_a_rule_is_judged_as_without_one() -> None:
    secret = rules(allow=["Bash(npm test:*)"], deny=["Read(secret.txt)"])
    assert outcome(shell("npm test | grep -r x ."), rules(allow=["Bash(npm test:*)"])) == "allow"
    assert outcome(shell("npm test | grep -r x ."), secret) == "ask"
    assert outcome(shell("npm test | grep x"), secret) == "allow"
