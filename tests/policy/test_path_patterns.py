"""Path patterns: what they cover for allowing, what they touch for denying, and how fast."""

import os
import subprocess
import time
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.policy.path_patterns import MOST_CHARACTERS, MOST_PARTS, PathPattern, loose_name, parse_path_pattern
from callgate.words.resolved_path import PathKind, ResolvedPath
from tests.rows import rows

ROOT, HOME = "/srv/proj", "/home/me"


def pattern(content: str, root: str = ROOT) -> PathPattern:
    return parse_path_pattern(content, root=root, home=HOME)


def at(path: str, *more: str, kind: PathKind = "file", fault: str | None = None, folds: bool = False) -> ResolvedPath:
    """A place by its hops; relative ones start at the root."""
    hops = tuple(hop if hop.startswith("/") else f"{ROOT}/{hop}" for hop in (path, *more))
    return ResolvedPath(path, hops, hops[-1], all(hop.startswith(ROOT) for hop in hops), kind, fault, folds)


MEANINGS = [
    # rule, path, whether it is covered
    ("a.py", "a.py", True),
    ("a.py", "deep/er/a.py", True),
    ("a.py", "a.py/below/it", True),
    ("a.py", "a_py", False),
    ("a.py", "xa.py", False),
    ("a.py", "a.pyx", False),
    ("a.py", "/srv/a.py", False),
    ("src", "lib/src/x", True),
    ("src/a.py", "src/a.py", True),
    ("src/a.py", "lib/src/a.py", False),
    ("./src", "src/a.py", True),
    ("./src", "lib/src/a.py", False),
    ("/src", "src/a.py", True),
    ("/src", "lib/src", False),
    ("/src", "/src", False),
    ("/srv/proj/src", "src/a.py", True),
    ("/srv/proj/src", "srv/proj/src", False),
    ("/srv/proj", "a", True),
    ("/srv/proj/", "a", True),
    ("/srv/proj-evil", "/srv/proj-evil/a", False),
    ("/srv/proj-evil", "srv/proj-evil/a", True),
    ("//srv/proj-evil", "/srv/proj-evil/a", True),
    ("//etc/x", "/etc/x", True),
    ("//etc/x", "etc/x", False),
    ("//**", "/anything/at/all", True),
    ("//**", "a", True),
    ("//", "/anything", True),
    ("~/x", "/home/me/x", True),
    ("~/x", "~/x", False),
    ("~/x", "/home/mex", False),
    ("~", "/home/me/x", True),
    ("~/**/x", "/home/me/a/b/x", True),
    (".", "a/b", True),
    ("./", "a/b", True),
    ("/", "a/b", True),
    ("/", "/etc", False),
    ("./**", "a/b", True),
    ("**", "a/b", True),
    ("**", "/srv/proj-evil/a", False),
    ("**", "/srv", False),
    ("*", "a/b", True),
    ("src/**", "src/a", True),
    ("src/**", "src/a/b/c", True),
    ("src/**", "src", False),
    ("src/**", "srcx/a", False),
    ("src/**", "Src/a", False),
    ("src/**/", "src/a/b", True),
    ("src/**/", "src/a", False),
    ("src/**/**", "src/a", True),
    ("src/", "src/a", True),
    ("src/", "lib/src/a", True),
    ("src/", "src", False),
    ("lib/src/", "lib/src/a", True),
    ("lib/src/", "x/lib/src/a", False),
    ("**/a", "a", True),
    ("**/a", "x/y/a", True),
    ("**/a", "x/ya", False),
    ("**/*.md", "c.md", True),
    ("**/*.md", "a/b/c.md", True),
    ("**/*.md", "a/b/c.mdx", False),
    ("a/**/b", "a/b", True),
    ("a/**/b", "a/x/y/b", True),
    ("a/**/b", "a/xb", False),
    ("a/**/b/**/c", "a/b/x/b/c", True),
    ("a/**/b/c", "a/b/x/b/c", True),
    ("a/**/b/c", "a/b/x/c", False),
    ("**/a/**/b", "x/b/a/b", True),
    ("a**b", "axxb", True),
    ("a**b", "ax/xb", False),
    ("src/*.py", "src/a.py", True),
    ("src/*.py", "src/x/a.py", False),
    ("src/*.py", "src/.py", True),
    ("*.py", "deep/a.py", True),
    ("*", ".hidden", True),
    ("a*b*c", "aXbXbXc", True),
    ("a*b*c", "aXcXb", False),
    ("a*bc", "abcbc", True),
    ("*a", "aba", True),
    ("*ab*ab", "ab", False),
    ("a?c", "abc", True),
    ("a?c", "ac", False),
    ("a?c", "a/c", False),
    ("[ab].py", "a.py", True),
    ("[ab].py", "c.py", False),
    ("[a-c]x", "bx", True),
    ("[a-c]x", "-x", False),
    ("[a-]x", "-x", True),
    ("[-a]x", "-x", True),
    ("[!a].py", "a.py", False),
    ("[!a].py", "b.py", True),
    ("[^a].py", "a.py", False),
    ("[^a].py", "b.py", True),
    ("a[!b]c", "a/c", False),
    ("a[.-0]c", "a/c", False),
    ("[]]x", "]x", True),
    ("[!]]x", "]x", False),
    ("[\\]]x", "]x", True),
    ("[a\\-c]x", "bx", False),
    ("[a\\-c]x", "-x", True),
    ("[ ]a", " a", True),
    ("[&~|#^[]x", "^x", True),
    ("\\*", "*", True),
    ("\\*", "a", False),
    ("\\!a", "!a", True),
    ("a\\?", "a?", True),
    ("\\[a\\]", "[a]", True),
    ("a\\\\b", "a\\b", True),
    ("a.b", "axb", False),
    ("(a|b)+", "(a|b)+", True),
    ("a//b", "a/b", True),
    ("a/./b", "a/b", True),
    ("#a", "#a", True),
    ("$x", "$x", True),
    ("é", "é", True),
    ("é", "e\u0301", False),
]


@rows(("rule", "path", "covered"), MEANINGS, ids=ascii)
def test_what_a_pattern_covers(rule: str, path: str, covered: bool) -> None:
    assert pattern(rule).covers(at(path)) == covered
    if covered:
        assert pattern(rule).may_match(at(path)), "what would be allowed would be denied"
    assert pattern(rule).text == rule


def test_a_pattern_for_what_is_below_a_folder_covers_the_folder_but_no_file_of_that_name() -> None:
    for rule in ("src/", "src/**", "./src/", "/srv/proj/src/**"):
        assert pattern(rule).covers(at("src", kind="folder"))
        assert not pattern(rule).covers(at("src", kind="file"))
        assert not pattern(rule).covers(at("src", kind="missing"))
        assert pattern(rule).may_match(at("src", kind="file"))
    for rule in ("**", ".", "/"):
        assert pattern(rule).covers(ResolvedPath(".", (ROOT,), ROOT, True, "folder"))
    assert pattern("//**").covers(ResolvedPath("/", ("/",), "/", False, "folder"))


def test_for_allowing_every_hop_must_match() -> None:
    rule = pattern("src/**")
    assert rule.covers(at("src/a", "src/b"))
    assert not rule.covers(at("src/a", "lib/b"))
    assert not rule.covers(at("lib/a", "src/b"))
    assert not rule.covers(at("src/a", "/etc/x", "src/b"))


def test_for_denying_one_hop_is_enough() -> None:
    rule = pattern("src/**")
    assert rule.may_match(at("src/a", "lib/b"))
    assert rule.may_match(at("lib/a", "src/b"))
    assert rule.may_match(at("lib/a", "src/b", "/etc/x"))
    assert not rule.may_match(at("lib/a", "/etc/x"))


def test_a_fault_is_never_covered_and_still_touched() -> None:
    assert not pattern("**").covers(at("a", fault="odd"))
    assert pattern("**").may_match(at("a", fault="odd"))


@rows(
    ("rule", "path"),
    [
        (".env", ".ENV"),
        (".env", ".env."),
        (".env", ".env "),
        (".env", ".env . ."),
        (".env", ".env::$DATA"),
        (".env", ".env:x"),
        (".env", ".e\u200bnv"),
        (".env", "\uff0eenv"),
        (".env", ".\uff25NV/below"),
        (".ENV", ".env"),
        ("straße", "STRASSE"),
        ("caf\u00e9", "CAFE\u0301"),
        ("caf\u00e9*", "CAFE\u0301.txt"),
        ("[a-c].txt", "B.txt"),
        ("[!A].txt", "a.txt"),
        ("secret.*", "Secret.txt."),
        ("*.Txt", "a.tXT "),
        ("a. *", "A. b"),
        ("/SRC", "src"),
    ],
    ids=ascii,
)
def test_for_denying_other_spellings_count_and_for_allowing_they_do_not(rule: str, path: str) -> None:
    assert pattern(rule).may_match(at(path))
    assert pattern(rule).covers(at(path)) == (rule == "[!A].txt")


@rows(("rule", "path"), [(".env", ".env.local"), (".env", "env"), ("a.b*", "ab"), ("[a-c]", "D")])
def test_for_denying_other_names_do_not_count(rule: str, path: str) -> None:
    assert not pattern(rule).may_match(at(path))


def test_where_case_does_not_count_it_does_not_for_allowing_either() -> None:
    assert pattern("Src/[A-C]é").covers(at("src/be\u0301", folds=True))
    assert pattern("src/**").covers(at("SRC/a", folds=True))
    assert not pattern("src/[!a]").covers(at("src/A", folds=True))
    assert not pattern("src/**").covers(at("\uff53rc/a", folds=True))
    assert not pattern("src/**").covers(at("src./a", folds=True))


def test_a_drive_is_no_stream() -> None:
    assert loose_name("C:/Users/X.:y") == "c:/users/x"
    assert loose_name("/:a/...") == "/:a/..."


def test_denying_reaches_where_the_links_of_the_rule_lead(tmp_path: Path) -> None:
    top = tmp_path.resolve()
    (top / "real/deep").mkdir(parents=True)
    (top / "link").symlink_to("real")
    real = f"{top}/real/deep/x"
    for rule in (f"//{top}/link/deep/x", f"//{top}/link/deep", f"//{top}/link/**/x", f"//{top}/link/*/x"):
        assert pattern(rule).may_match(ResolvedPath("x", (real,), real, False)), rule
        assert not pattern(rule).covers(ResolvedPath("x", (real,), real, False)), rule
    bound = parse_path_pattern("deep/x", root=f"{top}/link", home=HOME)
    assert bound.may_match(ResolvedPath("x", (real,), real, False))
    assert not bound.may_match(ResolvedPath("x", (f"{top}/real/x",), f"{top}/real/x", False))


@rows(
    ("rule", "words"),
    [
        ("", "empty: write \\*\\*"),
        ("!a", "! at character 1 .* write a deny rule"),
        ("a\0b", "U\\+0000\\) at character 2"),
        ("ab\u202e", "U\\+202E\\) at character 3"),
        ("a\nb", "U\\+000A\\) at character 2"),
        ("\ud800", "U\\+D800\\) at character 1"),
        (" a", "blank at character 1,"),
        ("ab ", "blank at character 3,"),
        ("..", "\\.\\. at character 1 "),
        ("a/../b", "\\.\\. at character 3 "),
        ("/..", "\\.\\. at character 2 "),
        ("//..", "\\.\\. at character 3 "),
        ("~/..", "\\.\\. at character 3 "),
        ("./..", "\\.\\. at character 3 "),
        ("/srv/proj/..", "\\.\\. at character 11 "),
        ("~root/x", "another user at character 1 "),
        ("~root", "another user at character 1 "),
        ("[", "\\[ at character 1 is not closed"),
        ("a/b[c", "\\[ at character 4 is not closed"),
        ("[]", "\\[ at character 1 is not closed"),
        ("[!]", "\\[ at character 1 is not closed"),
        ("[a/b]", "\\[ at character 1 is not closed"),
        ("[\\", "\\[ at character 1 is not closed"),
        ("[a-", "\\[ at character 1 is not closed"),
        ("a]", "\\] at character 2 has no opening bracket"),
        ("a/]", "\\] at character 3 has no opening bracket"),
        ("[b-a]", "\\[ at character 1 contains b-a, which is not a range: write a-b"),
        ("[[:alpha:]]", "\\[ at character 1 contains a named class"),
        ("a\\", "\\\\ at character 2 is the last:"),
        ("a\\/b", "\\\\ at character 2 is the last:"),
        ("a" * (MOST_CHARACTERS + 1), "more than 1000 characters"),
        ("a/" * (MOST_PARTS + 1), "more than 100 folders"),
    ],
    ids=lambda text: ascii(text)[:30],
)
def test_what_is_no_pattern_is_refused_with_its_place(rule: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        pattern(rule)


def test_the_longest_patterns_are_fine() -> None:
    assert pattern("a" * MOST_CHARACTERS).covers(at("a" * MOST_CHARACTERS))
    assert pattern("a/" * MOST_PARTS).covers(at("a/" * MOST_PARTS + "b"))


BOMBS = [
    ("*a" * 499 + "b", "a" * 4000),
    ("*a" * 40, "a" * 40 + "b"),
    ("**/" * 98 + "a", "b/" * 2000),
    ("**/a/" * 49 + "b", "a/" * 2000),
    ("**/" + "a/" * 98 + "b", "a/" * 2000),
    ("**/" + "*a*a/" * 90 + "b", "aaa/" * 1000),
    ("?" * 999 + "b", "a" * 4000),
    ("**/" + "?*" * 400 + "b", "a" * 4000),
    ("[a-z]*" * 160 + "0", "a" * 4000),
    ("*" + "a" * 500 + "b", "a" * 4000),
    ("**/" + "?" * 300 + "/" + "[ab]" * 100 + "c", ("a" * 300 + "/") * 13),
]


@rows(("rule", "path"), BOMBS, ids=lambda text: ascii(text)[:12])
def test_no_pattern_is_slow(rule: str, path: str) -> None:
    found, place = pattern(rule), at(path.rstrip("/"))
    found.covers(place)
    spent: list[float] = []
    for _ in range(3):
        begun = time.thread_time()
        found.may_match(place)
        found.covers(place)
        spent.append(time.thread_time() - begun)
    assert min(spent) < 0.05


def reference(parts: list[str], names: list[str]) -> bool:
    """The obvious way: try everything. A prefix of the path is enough."""
    if not parts:
        return True
    if parts[0] == "**":
        return reference(parts[1:], names) or (bool(names) and reference(parts, names[1:]))
    return bool(names) and fnmatchcase(names[0], parts[0]) and reference(parts[1:], names[1:])


GLOB = st.text("ab*?", min_size=1, max_size=5).filter(lambda text: "**" not in text) | st.sampled_from(
    ["**", "[ab]", "[!a]*", "a*", "*b"]
)
GLOBS = st.lists(GLOB, min_size=1, max_size=5)
PATHS = st.lists(st.text("abc", min_size=1, max_size=4), min_size=1, max_size=6)


@given(GLOBS, PATHS)
def test_patterns_mean_what_trying_everything_finds(parts: list[str], names: list[str]) -> None:
    whole = parts if parts[-1] != "**" else [*parts[:-1], "**", "*"]  # at the end it wants something below
    assert pattern("./" + "/".join(parts)).covers(at("/".join(names))) == reference(whole, names)


RULES = st.tuples(GLOBS, st.sampled_from(["", "/"]), st.sampled_from(["", "/"]))


@given(st.lists(RULES, min_size=1, max_size=3), PATHS)
def test_patterns_mean_what_git_means(
    repository: Path, rules: list[tuple[list[str], str, str]], names: list[str]
) -> None:
    path = "/".join(names)
    for parts, first, last in rules:
        rule = first + "/".join(parts) + last
        assert pattern(rule).covers(at(path, kind="missing")) == ignored_by_git(repository, rule, path), (rule, path)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "-q", str(top)], check=True)
    return top


def ignored_by_git(repository: Path, rule: str, path: str) -> bool:
    (repository / ".gitignore").write_text(rule + "\n")
    asked = ["git", "-C", str(repository), "check-ignore", "-q", "--no-index", path]
    environment = {"PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(repository)}
    return subprocess.run(asked, check=False, env=environment).returncode == 0


def test_what_is_in_a_folder_is_not_the_folder_itself_where_it_is_changed() -> None:
    inner, whole = (parse_path_pattern(text, root="/srv/app", home="/home/me") for text in ("src/**", "src/"))
    folder = ResolvedPath("src", ("/srv/app/src",), "/srv/app/src", inside=True, kind="folder")
    below = ResolvedPath("src/a", ("/srv/app/src/a",), "/srv/app/src/a", inside=True)
    assert not inner.covers(folder, changed=True)
    assert inner.covers(folder), "to read a folder is to read what is in it"
    assert inner.covers(below, changed=True)
    assert whole.covers(folder, changed=True)
    assert inner.may_match(folder), "a deny rule is about the folder too"
