"""The resolver: where a path leads, over which links, and what makes it unusable."""

import os
import socket
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.host.local import LocalHost
from callgate.host.paths import MOST_LINKS, Resolver, oddity
from callgate.words.resolved_path import ResolvedPath
from tests.rows import rows

pytestmark = pytest.mark.spec("GATE-3a")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "Workspace"
    folder.mkdir()
    return folder.resolve()


def place(root: Path, path: str) -> ResolvedPath:
    return Resolver(root).resolve_path(path)


def hops(root: Path, path: str) -> list[str]:
    """Without the root, to be read."""
    return [hop.removeprefix(f"{root}/") for hop in place(root, path).hops]


def test_a_plain_path_is_its_only_hop(root: Path) -> None:
    (root / "src").mkdir()
    (root / "src/a.py").write_bytes(b"")
    for spelling in ("src/a.py", "./src//a.py", "src/x/../a.py", "src/a.py/", f"{root}/src/a.py", f"/{root}/src/a.py"):
        found = f"{root}/src/a.py"
        assert place(root, spelling) == ResolvedPath(spelling, (found,), found, inside=True, kind="file")


def test_the_workspace_itself_is_inside(root: Path) -> None:
    for spelling in (".", "./", "src/..", str(root), f"{root}/"):
        assert place(root, spelling) == ResolvedPath(spelling, (str(root),), str(root), inside=True, kind="folder")


@rows("path", ["..", "../x", "src/../../x", "/etc", "/", "../Workspace-evil/x", "../Workspac"])
def test_what_is_not_beneath_the_workspace_is_outside(root: Path, path: str) -> None:
    assert not place(root, path).inside
    assert place(root, path).fault is None


def test_every_link_adds_a_hop(root: Path) -> None:
    (root / "real").mkdir()
    (root / "one").symlink_to("two")
    (root / "two").symlink_to(root / "real")
    assert hops(root, "one/a") == ["one/a", "two/a", "real/a"]
    assert place(root, "one/a").inside
    (root / "real/a").symlink_to("../b")
    assert hops(root, "one/a") == ["one/a", "two/a", "real/a", "b"]


def test_a_link_that_leaves_is_seen_even_if_it_comes_back(root: Path) -> None:
    (root.parent / "back").symlink_to(root)
    (root / "out").symlink_to("../back")
    found = place(root, "out/a")
    assert found.resolved == f"{root}/a"
    assert found.hops == (f"{root}/out/a", f"{root.parent}/back/a", f"{root}/a")
    assert not found.inside


def test_two_dots_after_a_link_go_up_from_where_it_leads(root: Path) -> None:
    (root.parent / "other/deep").mkdir(parents=True)
    (root / "link").symlink_to("../other/deep")
    found = place(root, "link/../x")
    assert found.hops == (f"{root}/x", f"{root.parent}/other/x")
    assert not found.inside


def test_a_dangling_link_leads_to_what_is_missing(root: Path) -> None:
    (root / "dangling").symlink_to("/nowhere/at/all")
    found = place(root, "dangling/x")
    assert (found.resolved, found.kind, found.inside, found.fault) == ("/nowhere/at/all/x", "missing", False, None)


def test_what_is_missing_is_walked_by_name(root: Path) -> None:
    (root / "here").mkdir()
    (root / "link").symlink_to("here")
    (root / "file").write_bytes(b"")
    assert place(root, "no/such/../../link/x").resolved == f"{root}/here/x"
    assert place(root, "no/../link").kind == "folder"
    assert place(root, "no/x").kind == "missing"
    assert place(root, "file/below").kind == "missing"
    assert place(root, "file/../link").resolved == f"{root}/here"
    assert place(root, "/../../..").resolved == "/"


def test_a_loop_is_a_fault(root: Path) -> None:
    (root / "loop").symlink_to("loop")
    (root / "a").symlink_to("b/x")
    (root / "b").symlink_to("a")
    for path in ("loop", "loop/x", "a", "b/x/y"):
        found = place(root, path)
        assert found.fault is not None
        assert "cycle" in found.fault
        assert found.kind == "other"
        assert found.hops[-1] == found.resolved


def test_as_many_links_are_followed_as_linux_follows(root: Path) -> None:
    (root / "0").write_bytes(b"")
    for number in range(MOST_LINKS + 1):
        (root / f"{number + 1}").symlink_to(f"{number}")
    assert place(root, f"{MOST_LINKS}") == ResolvedPath(
        f"{MOST_LINKS}", tuple(f"{root}/{number}" for number in range(MOST_LINKS, -1, -1)), f"{root}/0", True, "file"
    )
    assert place(root, f"{MOST_LINKS + 1}").fault is not None


def test_links_cannot_blow_a_path_up(root: Path) -> None:
    (root / "link").symlink_to("/".join(["x"] * 1500))
    (root / "x").symlink_to("./" * 1500)
    assert place(root, "link").fault == "the path is too long after its links are resolved"


def test_a_link_that_cannot_be_read_is_a_fault(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "link").symlink_to("x")

    def gone(path: str) -> str:
        raise FileNotFoundError(2, "No such file or directory", path)

    monkeypatch.setattr(os, "readlink", gone)
    assert place(root, "link/a").fault == "a link on the path cannot be read: No such file or directory"


def test_what_cannot_be_looked_at_is_a_fault(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert place(root, "n" * 300).fault == "the path cannot be read: File name too long"

    def refused(path: str) -> os.stat_result:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "lstat", refused)
    found = place(root, "closed/a")
    assert (found.fault, found.kind) == ("the path cannot be read: Permission denied", "other")
    assert found.resolved == f"{root}/closed/a"


def test_the_first_fault_is_the_one_told(root: Path) -> None:
    (root / "a").symlink_to("b\u200b")
    (root / "b\u200b").symlink_to("b\u200b")
    assert (
        place(root, "a").fault == "a link on the path has a target whose name contains an invisible character (U+200B)"
    )


@rows("path", ["a\0b", "\0", "\ud800/b", "a" * 4097])
def test_what_no_system_opens_is_not_walked(root: Path, path: str) -> None:
    found = place(root, path)
    assert found.fault is not None
    assert (found.hops, found.kind, found.inside) == ((f"{root}/{path}",), "missing", True)


def test_a_path_of_the_greatest_length_is_walked(root: Path) -> None:
    assert place(root, "./" * 2048).fault is None
    assert "longer than 4096" in str(place(root, "./" * 2048 + "a").fault)


def test_bytes_that_are_no_text_are_walked_but_not_trusted(root: Path) -> None:
    name = os.fsdecode(b"\xff")
    (root / name).write_bytes(b"")
    found = place(root, name)
    assert (found.kind, found.fault) == ("file", "the path contains a lone surrogate")


@rows(
    ("path", "fault"),
    [
        ("", "empty"),
        (" ", "blank"),
        ("a/ /b", "blank"),
        ("a/\u3000", "blank"),
        ("a\nb", "U+000A"),
        ("\x1b[2K", "U+001B"),
        ("a\x7f", "U+007F"),
        ("a\x85", "U+0085"),
        ("\u202ea", "U+202E"),
        ("a\u2066", "U+2066"),
        ("a\u200f", "U+200F"),
        (".g\u200bit", "U+200B"),
        ("a\u2028b", "U+2028"),
        ("\ufeffa", "U+FEFF"),
        ("a\xad", "U+00AD"),
        ("a\U000e0041", "U+E0041"),
        ("~", "~"),
        ("~/x", "~"),
        ("~root/x", "~"),
        ("file:///etc/passwd", "a URL"),
        ("https://example.com/a", "a URL"),
        ("C:\\Windows\\win.ini", "another operating system"),
        ("c:/x", "another operating system"),
        ("\\\\server\\share", "another operating system"),
        ("\\??\\C:\\x", "another operating system"),
        ("a/\u2024\u2024/x", "looks like .."),
        ("\uff0e/x", "looks like ."),
        ("\u2025", "looks like .."),
        (".. /x", "looks like .."),
        ("a/ ..", "looks like .."),
        ("a\uff0fb", "like a slash"),
        ("a\uff3cb", "like a slash"),
    ],
    ids=ascii,
)
def test_a_path_that_is_not_what_it_looks_like_is_a_fault(root: Path, path: str, fault: str) -> None:
    found = place(root, path)
    assert found.fault is not None
    assert fault in found.fault
    assert found.hops[0] == str(Path(root, path)).rstrip("/") or ".." in path or not path.strip(". /")


@rows(
    "path",
    [
        *(
            "a.txt",
            "-rf",
            "--help",
            "a;b.txt",
            "$(pwn).txt",
            "*.txt",
            "日本語.txt",
            "é.txt",
            "e\u0301.txt",
            "a..b",
            "...",
        ),
        *(
            "a~",
            "~a.txt",
            "a/~",
            "$HOME/x",
            "a:b",
            "a\\b",
            "%2e%2e/x",
            "a\u00a0b",
            "nul.txt",
            "a.",
            "C:x",
            "http:",
            ".a",
        ),
        *("❤\ufe0f.txt", "\uff41.txt", "a/./b", "a/../b", "/"),
    ],
    ids=ascii,
)
def test_odd_names_are_fine(path: str) -> None:
    assert oddity(path) is None
    assert oddity(f"{path}/b c") is None or path.startswith("~")


def test_nothing_is_expanded(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/elsewhere")
    assert place(root, "~/x").resolved == f"{root}/~/x"
    assert place(root, "$HOME/x").resolved == f"{root}/$HOME/x"


def test_pipes_sockets_and_devices_are_devices(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(root / "pipe")
    assert place(root, "pipe").kind == "device"
    monkeypatch.chdir(root)  # the name of a socket must be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        assert place(root, "socket").kind == "device"
    assert place(root, "/dev/null").kind == "device"


@pytest.mark.skipif(not Path("/proc/self/root").is_symlink(), reason="only Linux has these")
@pytest.mark.parametrize(
    ("path", "leads"),
    [
        ("/proc/self/root/etc/shadow", "/etc/shadow"),
        ("/proc/PID/root/etc/x", "/etc/x"),
        ("/proc/thread-self/root/etc/x", "/etc/x"),
        ("/proc/self/cwd/x", None),
        ("/proc/self/fd/0", None),
        ("/dev/fd/0", None),
        ("/dev/stdin", None),
        ("link/etc/x", "/etc/x"),
    ],
)
def test_links_of_proc_are_followed_but_never_used(root: Path, path: str, leads: str | None) -> None:
    path = path.replace("PID", str(os.getpid()))
    (root / "link").symlink_to("/proc/self/root")
    found = place(root, path)
    assert found.fault is not None
    assert "a different place for each process" in found.fault
    assert not found.inside
    assert leads is None or found.resolved == leads


@pytest.mark.skipif(not Path("/proc/self/root").is_symlink(), reason="only Linux has these")
def test_other_links_of_proc_are_links_like_others(root: Path) -> None:
    assert place(root, "/proc/self/environ").hops == ("/proc/self/environ", f"/proc/{os.getpid()}/environ")
    assert place(root, "/proc/self/environ").fault is None


def test_where_there_is_no_proc_there_are_no_such_links(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "root").symlink_to("x")

    def missing(path: str) -> os.stat_result:
        raise FileNotFoundError(path)

    monkeypatch.setattr(os, "stat", missing)
    assert place(root, "root").fault is None


def test_a_workspace_given_by_a_link_may_be_spelled_by_it(root: Path) -> None:
    alias = root.parent / "alias"
    alias.symlink_to(root)
    for spelling in (f"{alias}/a", f"{root}/a", "a", f"{alias}//a", f"{alias}/./a"):
        assert Resolver(alias).resolve_path(spelling) == ResolvedPath(
            spelling, (f"{root}/a",), f"{root}/a", inside=True
        )
    assert Resolver(alias).resolve_path(str(alias)).inside
    assert not Resolver(root).resolve_path(f"{alias}/a").inside, "any other link to it is a link like others"
    assert not Resolver(alias).resolve_path(f"{alias}-evil/a").inside


def test_the_whole_machine_may_be_the_workspace() -> None:
    found = Resolver("/").resolve_path("etc")
    assert (found.hops, found.inside) == (("/etc",), True)
    assert Resolver("/").resolve_path("/").inside


def test_where_case_does_not_count_the_workspace_is_found_in_any(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os.path, "samefile", lambda one, two: str(one).lower() == str(two).lower())
    found = place(root, f"{root.parent}/WORKSPACE/Caf\u00e9")
    assert (found.inside, found.folds) == (True, True)
    assert Resolver(root).normal("CAFE\u0301") == Resolver(root).normal("caf\u00e9") == f"{root}/caf\u00e9".lower()


def test_a_workspace_that_is_not_there_folds_nothing(tmp_path: Path) -> None:
    assert not Resolver(tmp_path / "none").folds
    assert not Resolver("/").folds


def test_the_host_says_the_same(root: Path) -> None:
    (root / "link").symlink_to("real")
    host = LocalHost(root)
    assert host.resolve_path("link/a") == place(root, "link/a")
    assert host.normal("link/a") == f"{root}/real/a"


NAMES = st.sampled_from(["a", "b", "c"])
PARTS = st.lists(st.sampled_from(["a", "b", "c", "..", "."]), min_size=1, max_size=6)
TARGETS = st.tuples(st.sampled_from(["", "", "ROOT/", "ROOT/../", "OUT/"]), PARTS).map(lambda t: t[0] + "/".join(t[1]))
ENTRIES = st.one_of(
    st.tuples(st.just("folder"), st.lists(NAMES, min_size=1, max_size=3).map("/".join), st.just("")),
    st.tuples(st.just("file"), st.lists(NAMES, min_size=1, max_size=3).map("/".join), st.just("")),
    st.tuples(st.just("link"), st.lists(NAMES, min_size=1, max_size=3).map("/".join), TARGETS),
)
TREES = st.lists(ENTRIES, max_size=10)


def grow(tree: list[tuple[str, str, str]], folder: Path) -> Path:
    """A workspace and an outside with files in it; entries that do not fit are left out."""
    root, out = folder / "root", folder / "out"
    for each in (root, out / "a", out / "b"):
        each.mkdir(parents=True)
    (out / "c").write_bytes(b"outside")
    (out / "a/a").write_bytes(b"outside")
    for kind, name, target in tree:
        path = root / name
        try:
            if kind == "link":
                path.parent.mkdir(parents=True, exist_ok=True)
                path.symlink_to(target.replace("ROOT", str(root)).replace("OUT", str(out)))
            elif kind == "file":
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(name.encode())
            else:
                path.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
    return root


@given(TREES, PARTS.map("/".join))
def test_it_leads_where_the_system_leads(tree: list[tuple[str, str, str]], path: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(os.path.realpath(name))
        root = grow(tree, folder)
        found = place(root, path)
        whole = os.path.join(root, path)
        if found.fault is None:
            assert found.resolved == os.path.realpath(whole)
            assert found.hops[0] == os.path.normpath(whole)
            if os.path.exists(whole):
                assert os.path.samefile(found.resolved, whole)
            there = Path(found.resolved)
            assert found.kind == ("folder" if there.is_dir() else "file" if there.is_file() else "missing")
        else:
            with pytest.raises(OSError):
                os.stat(whole)
        assert found.inside == all(Path(hop).is_relative_to(root) for hop in found.hops)


@pytest.mark.parametrize("target", [".", "./.", "..", "/"])
def test_a_link_to_dots_alone_is_a_folder(root: Path, target: str) -> None:
    (root / "real").mkdir(exist_ok=True)
    (root / "real/link").symlink_to(target)
    assert place(root, "real/link").kind == "folder"


def test_a_nul_is_called_by_its_name(root: Path) -> None:
    assert place(root, "a\0b").fault == "the path contains a NUL character"
