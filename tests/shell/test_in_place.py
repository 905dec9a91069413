"""Programs that write into the files they are given: the files count as written, and an Edit rule covers them."""

from callgate.shell.analysis import analyse
from callgate.shell.command_grants import FileTests, Granted, grant
from callgate.shell.command_patterns import parse_pattern
from callgate.shell.effects import NamedPaths, named_paths
from callgate.shell.programs.program_arguments import Argument
from callgate.shell.programs.script_languages import rewritten
from callgate.shell.programs.uses import Use
from tests.rows import rows
from tests.shell.shell_kit import granted

# command → what it writes
WRITTEN = {
    "sed -i s/a/b/ x y": "x y",
    "sed --in-place s/a/b/ x": "x",
    "sed -ni.bak p x": "x x.bak",
    "sed -i.bak -e s/a/b/ d/x": "d/x d/x.bak",
    "sed --in-place=old_* s/a/b/ d/x": "d/x d/old_x",
    "sed -irc s/a/b/ .bash": ".bash .bashrc",
    "sed s/a/b/ x -i": "x",
    "sed -f s.sed -i x": "x",
    "sed s/a/b/ x": "",
    "perl -i -pe s/a/b/ x y": "x y",
    "perl -pi.bak -e s/a/b/ x": "x",
    "perl -pe s/a/b/ -i x": "x",
    "perl -pe s/a/b/ x": "",
    "ruby -i -pe 'puts 1' x": "x",
    "ruby -pe 'puts 1' -i.old x": "x",
    "awk -i inplace 1 x y": "x y",
    "awk --include=inplace 1 x": "x",
    "awk -i other 1 x": "",
    "yq -i .a=1 x y": "x y",
    "yq --inplace x": "x",
    "yq --expression=.a --in-place x": "x",
    "yq .a x": "",
    "prettier --write x y": "x y",
    "prettier -w x": "x",
    "prettier --check x": "",
    "eslint --fix x": "x",
    "eslint --fix": ".",
    "stylelint --fix x": "x",
    "autopep8 --in-place x": "x",
    "autopep8 -i x": "x",
    "yapf -i x": "x",
    "biome format --write x": "x",
    "biome check --apply x": "x",
    "gofmt -w x": "x",
    "gofmt x": "",
    "shfmt -w x": "x",
    "shfmt -i 2 -w x": "2 x",
    "clang-format -i x": "x",
    "codespell -w x": "x",
    "codespell --write-changes x": "x",
    "markdownlint --fix x": "x",
    "markdownlint -f x": "x",
    "ruff check --fix x": "x",
    "ruff check --fix-only x": "x",
    "ruff check --add-noqa x": "x",
    "ruff check --unsafe-fixes x": "x",
    "ruff check --fix": ".",
    "ruff check x": "",
    "ruff format x": "x",
    "ruff format --check x": "",
    "ruff format --diff x": "",
    "black x y": "x y",
    "black --check x": "",
    "black --diff x": "",
    "black -c x": "",
    "isort x": "x",
    "isort --check-only x": "",
    "isort -c x": "",
    "isort --stdout x": "",
    "isort --df x": "",
    "isort -d x": "",
    "rustfmt x": "x",
    "rustfmt --check x": "",
    "dprint fmt x": "x",
    "dprint check x": "",
    "git checkout -- x y": "x y",
    "git checkout main -- x": "x",
    "git checkout x": "x",
    "git restore x": "x",
    "git restore --staged x": "",
    "git restore -S x": "",
    "git restore -SW x": "x",
    "git restore --staged --worktree x": "x",
    "tsc --outDir x": "x",
    "tsc --outdir x": "x",
    "tsc --OUTDIR x": "x",
    "go build -o x": "x",
    "curl -o x https://a.test": "x",
}


def test_every_file_that_is_written_in_place_counts_as_written() -> None:
    found = {command: set(named_paths(analyse(command)).writes) for command in WRITTEN}
    assert [command for command, paths in WRITTEN.items() if not set(paths.split()) <= found[command]] == []


def test_each_file_counts_once_and_is_a_target_of_its_own() -> None:
    option = Argument("-i", "", 2, 3)
    why = "-i writes a file"
    assert rewritten(option, []) == [Use(role="write", text="", at=2, on=3, why=why)]
    assert rewritten(option, ["x"]) == [Use(role="write", text="x", at=2, on=3, why=why, target=True)]
    kept = [Use(role="write", text=path, at=2, on=3, why=why, target=True) for path in ("x", "x~")]
    assert rewritten(option, ["x"], "~") == kept
    assert rewritten(option, [], "/b")[0] == Use(role="write", text="", at=2, on=3, why=why)


def test_a_backup_in_another_folder_is_written_there() -> None:
    assert named_paths(analyse("sed -i'/tmp/*' s/a/b/ d/x")) == NamedPaths(("d/x",), ("d/x", "/tmp/x"))


# command → the rule for its program alone, and one that writes the option out
GRANTED = {
    "sed -i s/a/b/ x": ("sed:*", "sed -i:*"),
    "sed -i.bak s/a/b/ x": ("sed:*", "sed -i.bak:*"),
    "ruff check --fix x": ("ruff:*", "ruff check --fix:*"),
    "prettier --write x": ("prettier:*", "prettier --write:*"),
    "eslint --fix x": ("eslint:*", "eslint --fix:*"),
    "go test -coverprofile=x": ("go test:*", "go test -coverprofile=x"),
    "curl -o x https://a.test": ("curl:*", "curl -o x:*"),
    "pytest --junitxml=x": ("pytest:*", "pytest --junitxml=x"),
    "sort -o x a": ("sort:*", "sort -o x:*"),
    "git diff --output=x": ("git diff:*", "git diff --output=x"),
    "find . -fprint x": ("find:*", "find . -fprint x"),
}


@rows("command", GRANTED)
def test_the_option_is_written_out_or_an_edit_rule_covers_the_file(command: str) -> None:
    alone, written = GRANTED[command]
    kept = {"x", "x.bak"}
    assert not granted(alone, command)
    assert granted(written, command)
    analysis, patterns = analyse(command), [parse_pattern(alone)]
    assert isinstance(grant(analysis, patterns, FileTests(may_write=lambda path: path in kept)), Granted)
    assert not isinstance(grant(analysis, patterns, FileTests(may_write=lambda path: path == "y")), Granted)


@rows(
    ("rule", "command"),
    [
        ("sed:*", "sed -i.bak s/a/b/ y"),
        ("sed:*", "sed -i s/a/b/ x y"),
        ("sed:*", "sed -i s/a/b/"),
        ("sed:*", "sed -i'x/*' s/a/b/ x"),
        ("sed:*", "sed -i s/a/b/ x*"),
        ("ruff:*", "ruff check --fix"),
        ("awk:*", "awk -i inplace 1 x"),
        ("curl:*", "curl -O https://a.test/x"),
        ("curl:*", "curl -w '%output{x}' https://a.test"),
        ("sort:*", "sort -T x a"),
        ("tsc:*", "tsc --outDir x"),
        ("pytest:*", "pytest --basetemp=x"),
        ("sed:*", "cd d && sed -i s/a/b/ x"),
    ],
)
def test_an_edit_rule_is_not_enough_where_more_may_be_written(rule: str, command: str) -> None:
    files = {"x", "x*", "d/x", "x/x"}
    assert not isinstance(
        grant(analyse(command), [parse_pattern(rule)], FileTests(may_write=lambda path: path in files)), Granted
    )


def test_a_formatter_is_granted_with_what_it_is_for_inside() -> None:
    assert granted("black:*", "black x")
    assert not granted("black:*", "black /x")
    assert granted("ruff format:*", "ruff format x")
    assert not granted("sed -i:*", "sed -i s/a/b/ /x")
    assert not granted("sed -i:*", "cd d && sed -i s/a/b/ x")


def test_an_option_for_all_files_that_stands_there_without_end_is_not_granted() -> None:
    assert granted("sed -n -i 1p:*", "sed -n -i 1p a b")
    assert not granted("sed -n -i:*", "sed -n -i -i 1p a b")
