"""Places the commands that settings name (hooks, the status line, notifications) inside or outside the sandbox."""

import os
from collections.abc import Callable

from callgate import shell
from callgate.host.environment import replaceable_program
from callgate.host.ports import Command, Confinement

# Programs without a row that run files of the project in whose folder they start.
_RUNNERS = """
    . source eval npx bunx pnpx uvx just task pre-commit nox invoke inv doit rake bundle rspec gulp grunt turbo nx
    lerna deno biome dprint composer phpunit mix bazel bazelisk buck buck2 pants meson ninja scons waf sbt lein
    rebar3 stack cabal dune zig swift dotnet msbuild mocha ava cypress playwright webpack vite rollup rspack
    lefthook lint-staged husky overcommit earthly tilt hatch pdm rye pipenv poe mise direnv ansible-playbook vagrant
    rubocop standardrb brakeman guard cucumber fastlane pod jekyll php-cs-fixer phpstan psalm pint rector pest
    artisan pylint sphinx-build mkdocs sqlfluff nbqa jupyter quarto coverage nosetests stestr ptw bumpversion
    bump-my-version towncrier cz semantic-release stylelint xo standard ember ng vue-cli-service storybook karma tap
    c8 nyc jasmine wtr testcafe next nuxt astro svelte-check remix expo react-native tsup esbuild parcel snowpack
    swc babel metro size-limit knip changeset commitlint run-s run-p npm-run-all concurrently nodemon ts-node-dev
    wireit rush moon hygen plop yo cookiecutter copier golangci-lint air mage goreleaser buf protoc ctest conan mill
    scala scala-cli bloop ktlint detekt kotlin groovy flutter dart melos xcodebuild latexmk arara dbt terragrunt
    pulumi cdk sam serverless sls skaffold packer molecule ansible ansible-lint kitchen puppet bolt chef salt-call
    elixir iex erl escript gleam crystal shards nim nimble opam esy nix nix-shell nix-build devbox devenv flox guix
    docker-compose podman-compose act dagger trunk tox watchexec entr hyperfine dotenv doppler aws-vault chamber
    vite-node esno tsc-watch esbuild-register credo checkov tflint semgrep luarocks busted clj clojure boot bb elm
    elm-test spago purs hpack ghci runghc runhaskell cargo-make bacon wasm-pack
"""
_SCRIPTED = frozenset(("awk", "gawk", "mawk", "nawk", "sed", "gsed"))
"""Programs that may run a script which the table does not see."""


class SettingsCommands:
    """The placement of commands of settings in a workspace.

    A command from the repository runs inside the sandbox. A command of the user runs inside if it plainly runs files of
    the workspace; otherwise it runs outside with variables that name no place in the workspace. Without a sandbox in
    force, nothing is changed.

    sandbox  returns the sandbox in force, or None; called at the first command
    """

    def __init__(self, root: str, sandbox: Callable[[], Confinement | None]) -> None:
        self._root = root
        self._find = sandbox
        self._found: list[Confinement | None] = []

    def place(self, line: str, command: Command, *, from_repository: bool) -> Command:
        """Return the command as it runs in its place. Blocks. Raise SandboxRefused if it must run inside and the
        sandbox cannot be made."""
        if not self._found:
            self._found.append(self._find())
        sandbox = self._found[0]
        if sandbox is None:
            return command
        if from_repository or runs_workspace_files(line, self._root):
            return sandbox.wrap(command, lambda decision: None)
        return sandbox.outside(command)


def runs_workspace_files(line: str, root: str) -> bool:
    """Return True if a command line of the user runs files of the workspace, or if that is not known. Programs at paths
    outside the workspace are not examined."""
    analysis = shell.analyse(line)
    started = shell.find_inner_commands(analysis)
    return bool(started.unread) or started.over or any(_runs_files(run, root) for run in started.runs if run.words)


def _runs_files(run: "shell.CommandRun", root: str) -> bool:
    path = _known_path(run.words[0])
    if path is None or "/" in path:
        return path is None or _is_below(path, root)
    name = path
    if name in _RUNNERS.split() or replaceable_program(name, os.environ.get("PATH", ""), root) is not None:
        return True
    roles = ("code", "load", "run", "unknown") if name in _SCRIPTED else ("code", "load", "run")
    unseen = [use for use in run.uses if use.role in roles and not (use.role == "run" and use.text)]
    if not unseen:  # the text that a shell runs is examined like the line
        return shell.runs_project(name, run.words) and not any(use.role == "run" for use in run.uses)
    script = _script(run)
    return script is None or not os.path.isabs(os.path.expanduser(script)) or _is_below(script, root)


def _script(run: "shell.CommandRun") -> str | None:
    """Return the script that an interpreter runs; None if it runs other code, or if the script is not known."""
    code = [use.on for use in run.uses if use.role in ("code", "load", "run", "unknown") and not use.guess]
    read = [use.on for use in run.uses if use.role == "read" and use.granted]
    return _known_path(run.words[code[0]]) if len(code) == 1 and code[0] in read else None


def _known_path(word: "shell.Word") -> str | None:
    """Return the text of a word in which only the home folder is expanded; None if it has other expansions."""
    if word.value is not None:
        return word.value
    text = word.raw.replace('"', "")
    for home in ("$HOME/", "${HOME}/"):
        text = f"~/{text.removeprefix(home)}" if text.startswith(home) else text
    return None if set("$`'\\*?[{") & set(text) else text


def _is_below(path: str, root: str) -> bool:
    real = os.path.realpath(os.path.join(root, os.path.expanduser(path)))
    return f"{real}/".startswith(f"{os.path.realpath(root).rstrip('/')}/")
