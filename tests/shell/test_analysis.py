"""What both readers agree on is known; everything else has a fault, and is still told to deny rules."""

import json
from pathlib import Path

import pytest

from callgate.shell import analysis as module
from callgate.shell.analysis import LONGEST, REMEMBERED, analyse
from callgate.shell.command import Analysis, Script, Simple, Unread, Word
from tests.rows import rows
from tests.steps import steps

MOST_STEPS = 30
"""Calls a character; see ``steps``. Time is measured by the bench."""

CORPUS = Path(__file__).parents[1] / "data" / "security" / "bash_bypass.jsonl"
ROWS = [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()]

EVERYDAY = [
    "git status",
    "git diff --stat HEAD~1",
    "git diff HEAD^ -- src/",
    "git log --oneline --graph --decorate -20",
    "git log --since='2 weeks ago' --author=\"Ann\" --pretty=format:'%h %ad | %s%d [%an]' --date=short",
    "git show HEAD@{1} --stat",
    "git stash show stash@{0}",
    "git rev-parse --abbrev-ref HEAD@{upstream}",
    'git add -A && git commit -m "feat(parser): handle \\"quoted\\" words"',
    "git commit -m 'fix: it costs $5 & more; see #12 (and `this`)'",
    "git push -u origin feature/new-thing",
    "git checkout -b fix/issue-123",
    "git branch --list 'feat/*'",
    "git blame -L 10,20 src/main.py",
    "git grep -n \"Later\" -- '*.py'",
    "git ls-files | grep -E '\\.(ts|tsx)$' | head -n 20",
    "git fetch --all --prune 2>&1 | tail -5",
    "git config --get remote.origin.url",
    "npm install",
    "npm ci --no-audit --no-fund",
    "npm run build",
    "npm run test -- --watch=false",
    "npm test 2>&1 | tail -n 30",
    "npx tsc --noEmit -p tsconfig.json",
    "npx eslint 'src/**/*.ts' --fix",
    "yarn add -D typescript@5.4.2",
    "pnpm -r run lint",
    "node -e 'console.log(process.version)'",
    'node -e "console.log(1 + 1)"',
    "python -m pytest -q",
    "python3 -m pytest tests/test_a.py::TestX::test_y -x -vv",
    "pytest -k 'a and not b' --maxfail=1",
    'python -c "import sys; print(sys.path)"',
    "python3 -c 'print(\"a\\nb\")'",
    "pip install -e '.[dev]'",
    'pip install "requests>=2.0,<3"',
    "uv run ruff check .",
    "ruff format --check src tests",
    "mypy src/ --strict",
    "make -j4 test",
    "make clean all",
    "cargo build --release",
    "cargo test --lib -- --nocapture",
    "go test ./... -run 'TestFoo|TestBar' -count=1",
    "go build -o bin/app ./cmd/app",
    "docker ps -a --format '{{.Names}}'",
    "docker compose up -d",
    "docker run --rm -it -v /tmp:/data alpine:3.19 sh",
    "kubectl get pods -n kube-system -o wide",
    "ls",
    "ls -la",
    "ls -lah src/*.py",
    "ls -d */",
    "ls [abc]*.txt",
    "cat README.md",
    "cat a.txt b.txt > c.txt",
    "cat package.json | jq '.scripts'",
    "jq -r '.[] | select(.name == \"x\") | .id' data.json",
    "head -n 50 src/index.ts",
    "tail -f -n 100 server.log",
    "find . -name '*.py' -not -path './.venv/*' | xargs wc -l",
    'find . -type f -name "*.js" -exec grep -l foo {} \\;',
    "find . -type f -name '*.md' -exec wc -l {} +",
    "find . \\( -name a -o -name b \\) -print",
    "find src -maxdepth 2 -type d ! -name node_modules",
    'grep -rn "foo(bar)" src --include=*.py',
    "grep -rn 'import .* from' src | sort | uniq -c | sort -rn | head",
    'grep -E "^(a|b)$" file.txt',
    "grep -c '^\\s*#' Makefile",
    "rg -n 'fn main\\(' -g '*.rs' src",
    'rg -l "useState|useEffect" --type ts',
    "rg 'a{2,3}' src",
    "sed -n '1,20p' file.txt",
    "sed -n 10,25p file.txt",
    "sed -i 's/foo/bar/g' file.txt",
    "sed -e 's|/old|/new|' -e '/^$/d' input",
    "awk '{print $1, $NF}' data.txt",
    "awk -F: '$3 > 100 {print $1}' /etc/passwd",
    "sort -u names.txt | wc -l",
    "cut -d, -f1,3 data.csv | column -t -s,",
    "tr 'a-z' 'A-Z' < in.txt > out.txt",
    "diff -u a.txt b.txt || true",
    "mkdir -p src/{components,lib,utils}",
    "mkdir -p build && cd build && cmake ..",
    "touch file{1..3}.txt",
    "cp -r src/ backup/",
    "mv old.txt new.txt",
    "rm -rf node_modules dist",
    "rm -f *.log",
    "chmod +x scripts/run.sh",
    "./scripts/run.sh --flag value",
    "bash scripts/deploy.sh staging",
    "cd src && ls -1 | wc -l",
    "cd ~/projects && ls",
    "(cd web && npm run build)",
    "{ echo a; echo b; } > out.txt",
    'echo "hello world"',
    "echo 'single quotes'",
    'echo -e "a\\tb"',
    "echo $'tab\\there'",
    'echo "price: \\$5"',
    "echo done; exit 0",
    "printf '%s\\n' one two three",
    "test -f file && echo yes || echo no",
    "[ -d .git ] && echo repo",
    "[ -f a.txt ] || touch a.txt",
    "true && false || echo x",
    "sleep 1 & wait",
    "which python3 node",
    "command -v git",
    "type ls",
    "env | sort",
    "pwd",
    "whoami",
    "date +%Y-%m-%d",
    "date '+%H:%M'",
    "du -sh * | sort -h | tail",
    "df -h /",
    "ps aux | grep -v grep | grep node",
    "kill -9 1234",
    "lsof -i :3000",
    "curl -s https://example.com/api?x=1 | head",
    "curl -sS -X POST -H 'Content-Type: application/json' -d '{\"a\": [1, 2]}' http://localhost:3000/api",
    "curl -fsSL -o /dev/null -w '%{http_code}' http://localhost:8080/health",
    "wget -q https://example.com/file.tar.gz",
    "tar -xzf archive.tar.gz -C /tmp",
    "tar czf out.tgz --exclude=node_modules .",
    "unzip -l a.zip",
    "ssh host 'uptime; df -h'",
    "psql -c \"select * from users where name = 'x' limit 5\"",
    'sqlite3 db.sqlite "select count(*) from t;"',
    "PYTHONPATH=src python -m app",
    "NODE_ENV=test npm test",
    'FOO=bar BAZ="a b" ./run',
    "LC_ALL=C sort file",
    "npm test > test.log 2>&1",
    "npm test &> test.log",
    "npm test 2>/dev/null",
    "npm test >/dev/null 2>&1 &",
    "make 2>&1 | tee build.log",
    "make 2>&1 | grep -i error | head -n 20",
    "git diff > /tmp/p.patch",
    "wc -l < file.txt",
    "xargs -n1 echo < list.txt",
    "xargs -I{} cp {} dest/ < list.txt",
    "gh pr list --state open --limit 10",
    "gh pr view 123 --json title,body",
    "gh api repos/o/r/pulls/1/comments",
    "terraform plan -out=tf.plan",
    "aws s3 ls s3://bucket/path/",
    "gcloud auth list",
    "brew list --versions",
    "apt-get install -y jq",
    "systemctl status nginx",
    "journalctl -u app -n 100 --no-pager",
    "tree -L 2 -I 'node_modules|dist'",
    "stat -c '%s %n' file",
    "file a.bin",
    "xxd a.bin | head -2",
    "base64 -d < in > out",
    "sha256sum *.whl",
    "openssl version",
    "java -version",
    "mvn -q -DskipTests package",
    './gradlew test --tests "com.x.*"',
    "dotnet test --filter 'Name~Foo'",
    "php artisan migrate",
    "bundle exec rspec spec/models",
    "rails routes | grep users",
    "swift build",
    "perl -ne 'print if /foo/' file",
    "ls *.{js,ts}",
    "cat src/app/\\[id\\]/page.tsx",
    'cat "src/app/[id]/page.tsx"',
    "cat 'it'\\''s.txt'",
    "vim +10 file",
    "echo hi # a comment",
    "git log -1 --format=%B",
    "git diff --name-only main...HEAD",
    "git log main..HEAD",
    "git reset --soft HEAD~1",
    "git commit --amend --no-edit",
    "git rebase -i HEAD~3",
    "git cherry-pick abc123^..def456",
    "ls -la | awk '{print $5}' | sort -n",
    'grep "foo\\|bar" file',
    'grep "end$" file',
    'grep "^a.*b$\\|c" file',
    "tsc && node dist/index.js; echo finished",
    "! grep -q foo file",
    "test ! -e x",
    '[ "a" = "b" ]',
    "[ a != b ]",
    '[ -n "x" -a -f y ]',
    'echo "hello!"',
    "echo a!",
    "export FOO=bar",
    "export PATH=/x:/y && run",
    "unset FOO",
    "alias ll='ls -l'",
    "set -e",
    "set -euo pipefail",
    "source .venv/bin/activate && pytest",
    ". ./env.sh",
    "sudo apt update",
    "timeout 30 npm test",
    "nohup ./server > log.txt 2>&1 &",
    "watch -n 1 ls",
    'git commit -m "subject\n\nbody line (1)\n- item; two\n"',
    "git commit -F - <<'EOF'\nfix: a\n\n$body `x`\nEOF",
    "cat > a.py <<'EOF'\nimport os\nprint(f\"{os.getcwd()}\")\nEOF",
    "cat <<EOF > out.txt\nplain text\nEOF\nls",
    "cat <<'EOF' | python3\nprint(1)\nEOF",
    "cat >> f.txt << 'END'\n\n  x\n\ty\nEND\necho ok",
    "python3 - <<'PY'\nimport sys\n\nprint('a')\nPY",
    "ls\npwd\ngit status",
    "cd a &&\nls",
    "ls |\nwc -l",
    "cat <<-'E'\n\tx\n\t\ty\n\tE\n",
    "cat <<'A' && ls\nx\nA",
    "(\n  cd a\n  ls\n)",
    "{\n  ls\n  pwd\n} 2>&1",
    "cat <<'E'\n\nE\n",
    "cat <<'E'\nE",
    "tee a <<'E' >/dev/null\nx\nE",
    "cd web && npm test 2>&1 | tail -n 20",
    "make 2>/dev/null | head && echo ok || echo failed",
]


def values(analysis: Analysis) -> list[list[str | None]]:
    return [[word.value for word in simple.words] for simple in analysis.script.commands]


@rows("text", EVERYDAY)
def test_both_readers_agree_on_everyday_commands(text: str) -> None:
    analysis = analyse(text)
    assert (analysis.fault, analysis.whole) == (None, True)
    assert analysis.text == text
    assert not analysis.script.expands
    assert all(word.value is not None for simple in analysis.script.commands for word in simple.words)


def expands(text: str) -> bool:
    """Whether a benign row of the corpus has what no rule covers: an expansion, or a line continuation."""
    return (
        any(mark in text for mark in ("$HOME", '"$PWD', '"$(', "$((", "\\\n"))
        and "\\$HOME" not in text
        and "<<'EOF'" not in text
    )


@rows("row", [row for row in ROWS if row["class"].startswith("benign")], ids=lambda row: row["id"])
def test_benign_rows_without_an_expansion_have_no_fault(row: dict[str, str]) -> None:
    assert (analyse(row["command"]).fault is not None) == expands(row["command"])


@rows(
    "row",
    [row for row in ROWS if row["class"] in ("substitution", "arith-injection", "compound")],
    ids=lambda row: row["id"],
)
def test_a_substituted_command_is_seen_or_there_is_a_fault(row: dict[str, str]) -> None:
    analysis = analyse(row["command"])
    found = ["pwn"] in values(analysis)
    assert found or analysis.fault or "'" in row["command"]


def test_what_is_known_of_a_plain_command() -> None:
    assert analyse("git  status -s") == Analysis(
        "git  status -s", Script((Simple((Word("git", "git"), Word("status", "status"), Word("-s", "-s"))),))
    )


@rows(
    ("text", "fault"),
    [
        ("echo $HOME", "an expansion (at character 7)"),
        ("for x in a; do b $y; done", "the word for at the start of a command (at character 1)"),
        ("echo $(rm x)", "an expansion (at character 7)"),
    ],
)
def test_a_form_that_only_one_reader_takes_is_a_fault_and_still_whole(text: str, fault: str) -> None:
    analysis = analyse(text)
    assert (analysis.fault, analysis.whole) == (fault, True)
    assert analysis.script.commands


@rows(
    ("text", "fault"),
    [
        ("echo '", "an unterminated quote (at character 7)"),
        ("cat <<E\n`a`\nE", "a here-document with an expansion (at character 14)"),
        ("echo \\\nx", "a line continuation (at character 7)"),
        ("echo hi\n\\\npwn", "a line continuation (at character 10)"),
        ("x 4<>y", "syntax that the grammar of bash does not contain (at character 5)"),
        ("x <<E 2>&1 | y\nE", "syntax that the grammar of bash does not contain (at character 12)"),
        ("x \\\ty", "the command can be parsed in two ways: with different words"),
        ("", "no command (at character 1)"),
    ],
)
def test_a_text_that_is_not_understood_is_a_fault_and_not_whole(text: str, fault: str) -> None:
    analysis = analyse(text)
    assert analysis.fault == fault
    assert analysis.whole is (text == "")


@rows(
    "letter",
    [
        *("\x00", "\x01", "\x07", "\x08", "\x0b", "\x0c", "\r", "\x1b", "\x1f", "\x7f", "\x80", "\x9b", "\xad"),
        *("\xa0", "\u1680", "\u2003", "\u202f", "\u205f", "\u3000", "\u2028", "\u2029", "\u200b", "\u200d", "\u200e"),
        *("\u202a", "\u202e", "\u2066", "\u2069", "\u061c", "\ufeff", "\u2060", "\u180e", "\U000e0041", "\U000e007f"),
        *("\ud800", "\udfff", "\ue000", "\U000f0000", "\u0378", "\ufff9"),
        *("\u034f", "\u115f", "\u1160", "\u17b4", "\u17b5", "\u180b", "\u180c", "\u180d", "\u180f", "\u2800", "\u3164"),
        *("\ufe00", "\ufe0e", "\ufe0f", "\uffa0", "\U000e0100", "\U000e01ef"),
    ],
    ids=lambda letter: f"U+{ord(letter):04X}",
)
def test_a_character_that_is_not_to_be_seen_is_a_fault_even_in_quotes(letter: str) -> None:
    for text in (f"rm {letter}x", f"rm 'é{letter}'", f"{letter}; rm x"):
        analysis = analyse(text)
        assert analysis.fault == f"the character U+{ord(letter):04X}, which is invisible"
        assert not analysis.whole
    assert "rm" in [words[0] for words in values(analyse(f"rm 'x'; x {letter}")) if words]


@rows("text", ["x 'a\tb\nc'", "x 'é日本 Ελ – “” … 🎉 ♻\ufe0f'", "x\ty", "x 'e\u0301'"])
def test_a_character_that_is_to_be_seen_is_none(text: str) -> None:
    assert analyse(text).fault is None


def test_a_sign_that_may_be_taken_for_another_is_a_fault_outside_quotes() -> None:
    assert analyse("git status ； pwn").fault
    assert analyse("git status '；'").fault is None


def test_a_text_may_be_as_long_as_the_limit_and_no_longer() -> None:
    longest = "x '" + "a" * (LONGEST - 4) + "'"
    assert analyse(longest).fault is None
    longer = analyse("x '" + "a" * (LONGEST - 3) + "'")
    assert (longer.fault, longer.whole) == ("longer than 10,000 characters", False)
    assert values(analyse("rm x;" + " " * LONGEST + "b"))[0] == ["rm", "x"]


def script(*commands: Simple, operators: tuple[str, ...] = (), expands: bool = False) -> Script:
    return Script(commands, operators, expands)


A, B = Simple((Word("a"),)), Simple((Word("b"),))


@pytest.mark.parametrize(
    ("strict", "wide", "said"),
    [
        (script(A), script(A), None),
        (script(Simple((Word("a", "'a'"),))), script(A), None),
        (script(A), script(A, expands=True), "with and without an expansion"),
        (script(A), script(A, B), "as 1 and as 2 commands"),
        (script(A, B, operators=(";",)), script(A, B, operators=("&",)), "with different operators"),
        (script(A, B), script(A, A), "with different words"),
        (script(Simple((Word("a", globs=True),))), script(A), "with different words"),
        (script(Simple((Word("a", braces=True),))), script(A), "with different words"),
        (script(Simple((Word("a", tilde=True),))), script(A), "with different words"),
        (
            script(Simple((), (("A", Word("1")),))),
            script(Simple((), (("A", Word("2")),))),
            "with different assignments",
        ),
        (
            script(Simple((), (("A", Word("1")),))),
            script(Simple((), (("B", Word("1")),))),
            "with different assignments",
        ),
        (script(Simple((Word("a"),), within=("pipe",))), script(A), "with different surroundings"),
    ],
)
def test_what_the_readers_must_agree_on(
    strict: Script, wide: Script, said: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def strictly(text: str) -> Script:
        return strict

    def widely(text: str, signs: int) -> tuple[Script, Unread | None]:
        return wide, None

    monkeypatch.setattr(module, "parse_strictly", strictly)
    monkeypatch.setattr(module, "parse_widely", widely)
    analysis = analyse.__wrapped__("a")
    assert analysis.fault == (said and f"the command can be parsed in two ways: {said}")
    assert analysis.script == wide
    assert analysis.whole is (said is None)


@rows(
    ("one", "other"),
    [("x >f", "x >>f"), ("x >f", "x >g"), ("x >f", "x 2>f"), ("x <<'E'\na\nE", "x <<'E'\nb\nE"), ("x >f", "x >'*'")],
)
def test_redirections_are_compared_in_full(one: str, other: str) -> None:
    assert module.disagreement(analyse(one).script, analyse(one).script) is None
    assert module.disagreement(analyse(one).script, analyse(other).script) == "with different redirections"


def test_what_was_read_is_remembered() -> None:
    assert analyse("x remembered") is analyse("x remembered")
    assert analyse.cache_info().maxsize == REMEMBERED == 512


BOMBS = [
    *("(", "( ", "{", "{ ", "$(", "`", '"', "'", "\\", "[", "[[ ", "((", "<<A\n", "<(", "${", "a;", "a&&", "a|", "a "),
    *("{a,", "{1..9}", "{a,b}", "{a,b} ", "{1..256} ", "*", "$", "!", ">", "a>", "<<<", "a=", "a=(", "x()", ")", "|"),
    *(
        '"$(',
        "'\"",
        "$'",
        "日 ",
        "é",
        "function f ",
        "case a in a) ",
        "$[",
        "2>&1 ",
        "[a",
        "''",
        '""',
        "a''",
        "$'\\\\'",
    ),
    *("for ((", "}", "&", ";", "\n", "#", "$x ", '"$x" ', "a <<A\n", "{a}", "[a]", "$ ", '"$"', "a=1 ", "@(a|", "-"),
]


@rows("piece", BOMBS)
def test_no_text_takes_long(piece: str) -> None:
    text = "x " + (piece * LONGEST)[: LONGEST - 2]
    for each in (text, text[2:], text + "x"):
        assert steps(lambda text=each: analyse.__wrapped__(text)) < MOST_STEPS * LONGEST
