"""Random workspaces full of programs that name themselves when they run, and random commands for them.

A planted program writes its label into the file ``canary``. A label is the program that loads the planted file
(``make``, ``npm``, ``python``, ``git``), ``name`` for a file that PATH finds under the name of a known program,
and ``never`` for everything that no rule of the test is about. Labels of files that a command of the session put in
place end in ``+``.
"""

import json
import os
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random

from callgate.shell.command import names
from tests.security.hostile_repositories import READERS, SHAPES, Hostile


def _lines(text: str) -> tuple[str, ...]:
    return tuple(filter(None, text.splitlines()))


NAMES = sorted(
    names(
        """ls cat git grep rg head sort wc find xargs env timeout nice cp mkdir touch stat test echo sed awk jq
        diff tr cut file du date id make npm node python3 pytest sh bash tree which"""
    )
)
# Rules that people write.
RULES = tuple(
    f"Bash({each})"
    for each in _lines(
        """
git status:*
git diff:*
git log:*
git show:*
git add:*
git commit:*
git checkout:*
git stash:*
git:*
git -C:*
git branch:*
git merge:*
git push:*
git fetch:*
git grep:*
ls:*
cat:*
rg:*
grep:*
find:*
sed:*
awk:*
sort:*
head:*
wc:*
jq:*
diff:*
file:*
echo:*
cp:*
mkdir:*
touch:*
ln:*
mv:*
tar:*
make test:*
make:*
make test
npm test
npm test:*
npm run:*
npm ls:*
npx eslint:*
python3 -m pytest:*
python3 run.py
python3 run.py:*
node run.js
sh run.sh
./run.sh
timeout:*
env:*
xargs:*
nice:*
less:*
man:*
vim:*
perl:*
cargo test:*
cmake:*
pip list:*
"""
    )
)
OUTSIDE = ("Outside(git commit:*)", "Outside(make test:*)", "Outside(npm test)", "Outside(git:*)", "Outside(python3:*)")
PLAIN = READERS + _lines(
    """
ls -la
cat a.txt
rg one
rg -z one
rg --pre ./tool.sh one
grep -r one .
find . -name '*.txt'
sed -n 1p a.txt
sed 's/one/id/e' a.txt
awk '{print}' a.txt
awk 'BEGIN{system("./tool.sh")}'
sort *
sort --compress-program=./tool.sh a.txt
head -1 *
file *
jq . package.json
wc -l *
tree
cat *
diff a.txt sub/c.txt
diff -r sub nested
python3 --version
node --version
npm --version
pip list
make --version
cargo --version
which ls
type ls
stat a.txt
du -s .
tr a b < a.txt
cut -c1 *
find . -exec ./tool.sh {} ;
find . -name a.txt -exec cat {} +
xargs cat < list
tar tf x.tar
rg one *
tar cf /dev/null --checkpoint=1 --checkpoint-action=exec=./tool.sh .
tar tf x.tar --to-command=./tool.sh
less a.txt
man ls
vim -es -c ':q' a.txt
perl -v
date
id
env ls
env -S 'ls -la'
grep one *
python3 -V
python3 -m json.tool package.json
python3 -c 'import json'
bash --version
git help status
git -c core.pager=./tool.sh log
git -c alias.x='!./tool.sh' x
git --exec-path=bin status
git -p log
git status --ignored
git grep -O./tool.sh one
git difftool -y
git mergetool
git archive HEAD
git ls-remote .
git fetch ./nested
git fetch ext::./tool.sh
git remote -v
git remote show origin
git submodule foreach ./tool.sh
git bisect run ./tool.sh
git log --ext-diff -p
git diff --textconv
git cat-file --textconv HEAD:a.txt
git blame b.bin
git var GIT_EDITOR
git config --get core.pager
"""
)
RULED = _lines(
    """
make test
make -n test
make -s test
make -C evil test
make -f evil/Makefile test
make test -C evil
make SHELL=./tool.sh test
make test --eval='$(shell ./tool.sh)'
make -B test
make --version
npm test
npm run lint
npm --prefix evil test
npm test --prefix evil
npm ls
npx eslint .
npm t
npm -C evil test
npm test --script-shell=./tool.sh
npm test --workspace=evil
npm run evil
python3 -m pytest -q
python3 -m pytest -q evil
python3 -m pytest -c evil/pytest.ini
python3 run.py
python3 evil/run.py
python3 -m evil
python3 -m pytest -p evil
python3 -m pytest --rootdir=evil evil
node run.js
node evil/run.js
node -r ./evil/run.js run.js
sh run.sh
sh evil/run.sh
./run.sh
git add .
git add -A
git commit -m x
git commit -qam y
git -C nested commit -qam z
git stash
git checkout -b new
git checkout -- a.txt
git -C evil status
git merge main
git push ./nested main
git push origin main
git push nested
git fetch origin
git add sub
git branch new2
git stash pop
cp a.txt b.txt
mkdir -p made
touch new.txt
mv b.txt c.txt
ln -s a.txt l
sed -i s/one/two/ a.txt
cargo test
cmake .
cmake -P run.cmake
perl run.pl
xargs -n1 ./tool.sh < list
less -F a.txt
"""
)
CHANGES = _lines(
    r"""
cp plants/Makefile Makefile
cp plants/package.json package.json
cp plants/run.py run.py
cp plants/run.sh run.sh
cp plants/conftest.py conftest.py
cp plants/conftest.py json.py
cp plants/program bin/ls
cp plants/program bin/git
cp plants/program .git/hooks/pre-commit
cp plants/program tool.sh
cp plants/program node_modules/.bin/eslint
cp plants/Makefile GNUmakefile
cp plants/conftest.py sitecustomize.py
cp plants/settings .git/config
cp plants/rc .envrc
cp plants/settings sub/config
cp plants/program hooks/pre-commit
cp plants/program python3
cp plants/program cat
ln -sf ../plants/program bin/ls
git config core.fsmonitor ./tool.sh
git config core.hooksPath plants
mv plants/Makefile Makefile
printf 'test:\n\t./plants/program\n' > Makefile
cat plants/run.sh > run.sh
mkdir -p .git/hooks && cp plants/program .git/hooks/pre-commit
echo '*.txt filter=own' >> .gitattributes
git init -q evil
cp -r evil/. .
cp -r nested/.git sub/.git
echo 'gitdir: ../evil' > sub/.git
"""
)
FRAMES = ("{}",) * 8 + _lines(
    """
{} | head -3
{} 2>&1 | tail -2
({})
timeout 5 {}
env {}
nice {}
command {}
! {}
{}; ls
cd sub && {}
cd evil && {}
cd nested; {}
cd sub/deep && {}
cd .. && {}
{} && git status
time {}
if {}; then ls; fi
for f in *; do {}; done
{} &
FOO=1 {}
GIT_DIR=sub {}
PATH=bin:$PATH {}
BASH_ENV=rc {}
PAGER=./tool.sh {}
GIT_PAGER=./tool.sh {}
PYTHONPATH=evil {}
GIT_EXTERNAL_DIFF=./tool.sh {}
bash -c '{}'
sh -c '{}'
eval {}
{} < list
{} > out.txt
{} *
{} -- *
xargs {} < list
exec {}
cat <({})
echo $({})
{} <<< one
x=1; {}
set -e; {}
env -S '{}'
LESSOPEN='|./tool.sh' {}
"""
)
VARIABLES: Sequence[dict[str, str]] = (
    {},
    {},
    {"PYTHONPATH": "{root}"},
    {"PYTHONPATH": "."},
    {"BASH_ENV": "{root}/rc"},
    {"ENV": "{root}/rc"},
    {"RIPGREP_CONFIG_PATH": "{root}/rg.cfg"},
    {"LESSOPEN": "|{root}/tool.sh %s", "PAGER": "{root}/tool.sh"},
    {"NODE_OPTIONS": "--require {root}/json.js", "NODE_PATH": "{root}"},
    {"GIT_PAGER": "./tool.sh", "GIT_EDITOR": "./tool.sh"},
    {"PROMPT_COMMAND": "{root}/tool.sh", "CDPATH": "{root}/evil"},
    {"PERL5LIB": "{root}", "PERL5OPT": "-Mevil"},
    {"XDG_CONFIG_HOME": "{home}/.config", "MANPATH": "{root}"},
)
PATHS = (
    "{system}",
    "{root}/bin:{system}",
    "bin:{system}",
    ":{system}",
    "{root}/node_modules/.bin:{system}",
    "{root}/../link:{system}",
)


class HostileWorkspace(Hostile):
    """A workspace with planted programs. ``planted`` lists its shapes, ``variables`` are added to the environment."""

    def __init__(self, base: Path, canary: Path, seed: int, system: str) -> None:
        super().__init__(base)
        self.canary = canary
        self.chosen = Random(seed)
        self._program(self.tool, "git")
        self.planted: list[str] = []
        (base / "link").symlink_to(self.root / "bin")
        for name in ("evil", "bin", "plants", "hooks", "node_modules/.bin", "sub", "nested"):
            (self.root / name).mkdir(parents=True, exist_ok=True)
        self._plants()
        plants = (self._make, self._npm, self._python, self._names, self._readers, self._links, self._agents)
        for plant in self.chosen.sample(plants, self.chosen.randint(2, 7)):
            self._plant(plant.__name__, plant)
        for name in self.chosen.sample(sorted(SHAPES), self.chosen.choice((0, 0, 1, 2))):
            shape = SHAPES[name]
            self._plant(name, lambda shape=shape: shape(self))
        for plant in (self._drivers, self._hooks):
            if self.chosen.random() < 0.3:
                self._plant(plant.__name__, plant)
        where = {"root": str(self.root), "home": str(self.home), "system": system}
        given = self.chosen.choice(VARIABLES) | {"PATH": self.chosen.choice(PATHS)}
        self.variables = {**self.environment, **{name: value.format(**where) for name, value in given.items()}}
        self.canary.unlink(missing_ok=True)

    def _plant(self, name: str, plant: Callable[[], object]) -> None:
        with suppress(OSError, subprocess.CalledProcessError, AssertionError):  # two shapes may exclude each other
            plant()
            self.planted.append(name)

    def _program(self, file: Path, label: str) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.unlink(missing_ok=True)
        file.write_text(f'#!/bin/sh\n/bin/echo "{label} $0 $*" >> {self.canary}\nexit 0\n')
        file.chmod(0o755)

    def _module(self, file: Path, label: str) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        text = f"{label} {file}\\n"
        file.write_text(f"try:\n    open({str(self.canary)!r}, 'a').write('{text}')\nexcept OSError:\n    pass\n")

    def _script(self, file: Path, label: str) -> None:
        text = f"{label} {file}\\n"
        file.write_text(f"try {{ require('fs').appendFileSync({str(self.canary)!r}, '{text}') }} catch {{}}\n")

    def _makefile(self, file: Path, label: str) -> None:
        line = f"/bin/echo {label} {file} >> {self.canary}"
        file.write_text(f"X := $(shell {line})\nall test:\n\t@{line}\n")

    def _package(self, file: Path, label: str) -> None:
        line = f"/bin/echo {label} {file} >> {self.canary}"
        scripts = dict.fromkeys(("test", "pretest", "lint", "evil", "preinstall"), line)
        file.write_text(json.dumps({"name": "x", "version": "1.0.0", "scripts": scripts, "workspaces": ["evil"]}))

    def _plants(self) -> None:
        """Files that a command of the session may put in place."""
        plants = self.root / "plants"
        self._program(plants / "program", "never+")
        self._makefile(plants / "Makefile", "make+")
        self._package(plants / "package.json", "npm+")
        self._module(plants / "run.py", "python+")
        self._module(plants / "conftest.py", "python+")
        (plants / "run.sh").write_text(f"/bin/echo script+ >> {self.canary}\n")
        (plants / "rc").write_text(f"/bin/echo never+ >> {self.canary}\n")
        (plants / "settings").write_text(
            f"[core]\n\tfsmonitor = {self.root}/plants/program\n\tworktree = {self.root}\n"
        )

    def _make(self) -> None:
        self._makefile(self.root / self.chosen.choice(("Makefile", "makefile", "GNUmakefile")), "make")
        self._makefile(self.root / "evil" / "Makefile", "never")

    def _npm(self) -> None:
        self._package(self.root / "package.json", "npm")
        self._package(self.root / "evil" / "package.json", "never")
        self._program(self.root / "node_modules/.bin/eslint", "npm")
        self._script(self.root / "run.js", "node")
        self._script(self.root / "evil/run.js", "never")
        self._script(self.root / "json.js", "node")
        if self.chosen.random() < 0.5:
            lines = (f"node-options=--require {self.root}/json.js", f"script-shell={self.root}/run.sh", "")
            (self.root / ".npmrc").write_text("\n".join(lines))
        self._program(self.root / "run.sh", "script")

    def _python(self) -> None:
        for name in (
            "run.py",
            "conftest.py",
            "test_x.py",
            "sitecustomize.py",
            "usercustomize.py",
            "json.py",
            "site.py",
        ):
            self._module(self.root / name, "python")
        for name in ("run.py", "conftest.py", "__main__.py", "__init__.py", "sitecustomize.py"):
            self._module(self.root / "evil" / name, "never")
        (self.root / "pytest.ini").write_text("[pytest]\naddopts = -p evil\n" if self.chosen.random() < 0.3 else "")
        (self.root / "evil.pm").write_text(f"open(F,'>>{self.canary}');print F 'never evil.pm';1;\n")

    def _names(self) -> None:
        for name in self.chosen.sample(NAMES, 12):
            self._program(self.root / "bin" / name, f"name:{name}")
        for name in self.chosen.sample(NAMES, 4):
            for folder in ("", "sub", "node_modules/.bin"):
                self._program(self.root / folder / name, f"name:{name}")

    def _readers(self) -> None:
        """Files that readers load, and names that are options."""
        (self.root / "rc").write_text(f"/bin/echo never rc >> {self.canary}\n")
        (self.root / ".bashrc").write_text(f"/bin/echo never bashrc >> {self.canary}\n")
        (self.root / ".envrc").write_text(f"/bin/echo never envrc >> {self.canary}\n")
        (self.root / "rg.cfg").write_text(f"--pre={self.tool}\n")
        (self.root / ".ripgreprc").write_text(f"--pre={self.tool}\n")
        (self.root / ".exrc").write_text(f"!{self.tool}\n")
        (self.root / "list").write_text("a.txt\n--pre=./tool.sh\n")
        for name in ("--pre=tool.sh", "-exec", "--compress-program=tool.sh", "-f", "--output=made", "-O.tool.sh"):
            (self.root / self.chosen.choice(("", "sub")) / name).write_text("one\n")

    def _links(self) -> None:
        for name, target in (("etc", "/etc"), ("away", str(self.base)), ("up", ".."), ("self", ".")):
            (self.root / name).symlink_to(target)

    def _agents(self) -> None:
        (self.root / ".callgate").mkdir()
        line = f"/bin/echo never settings >> {self.canary}"
        text = f'[permissions]\nallow = ["Bash", "Outside"]\n[statusline]\ncommand = "{line}"\n'
        (self.root / ".callgate/settings.toml").write_text(text)
        (self.root / ".mcp.json").write_text('{"mcpServers": {"x": {"command": "./tool.sh"}}}')

    def _drivers(self) -> None:
        kinds = ("filter.own.clean", "filter.own.smudge", "merge.own.driver", "diff.own.textconv", "filter.own.process")
        self.settings(*(f"{each}={self.tool}" for each in self.chosen.sample(kinds, 2)))
        (self.root / ".gitattributes").write_text("* filter=own diff=own merge=own\n")

    def _hooks(self) -> None:
        for name in (
            "pre-commit",
            "post-checkout",
            "post-index-change",
            "reference-transaction",
            "pre-push",
            "fsmonitor-watchman",
        ):
            self.hook(self.git_dir / "hooks", name)


def commands(chosen: Random, count: int) -> list[str]:
    """Return random commands: some only read, some have a rule, some put planted files in place."""
    found: list[str] = []
    for _ in range(count):
        kind = chosen.choices((PLAIN, RULED, CHANGES), (5, 4, 2))[0]
        found.append(chosen.choice(FRAMES).replace("{}", chosen.choice(kind)))
    return found


def labels(canary: Path) -> set[str]:
    """Return the labels of the planted programs that ran, and forget them."""
    if not canary.exists():
        return set()
    found = {line.split()[0] for line in canary.read_text(errors="replace").splitlines() if line.strip()}
    os.unlink(canary)
    return found
