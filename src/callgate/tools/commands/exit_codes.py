"""Exit codes that are not errors, such as 1 of grep, and exit codes that are the answer of a test or a search."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from callgate import shell
from callgate.words.late_pattern import late_pattern

_OF_ONE = {
    "nothing matched": ("ag", "egrep", "fgrep", "git grep", "grep", "pgrep", "pidof", "rg", "zgrep"),
    "the contents differ": ("cmp", "diff", "git diff"),
    "the condition is false": ("[", "[[", "false", "test"),
    "no such program": ("command", "hash", "type", "which"),
    "the value is empty or 0": ("expr",),
    "none of the paths is ignored": ("git check-ignore",),
    "no such setting": ("git config",),
    "not an ancestor": ("git merge-base",),
}
"""The meaning of exit code 1 → the programs, or programs with a subcommand, that return it."""
MEANINGS = {
    **{(program, 1): meaning for meaning, programs in _OF_ONE.items() for program in programs},
    **{(program, 127): "no such program" for program in _OF_ONE["no such program"]},
    ("systemctl is-active", 3): "not active",
}
_PASSES_ON = frozenset(("|", "|&", ";", "\n"))
"""Operators after which the exit code of the last command is the exit code of the whole command line."""
_RARELY_FAIL = frozenset(("cd", "echo", "printf", "true", ":", "export", "set", "pwd"))


def meaning_of(command: str, code: int) -> str | None:
    """Return the meaning of an exit code that is not an error. Return None if the code is an error, or if it is unclear
    which command returned it."""
    analysis = shell.analyse(command)
    script = analysis.script
    if code <= 0 or analysis.fault is not None or "!" in command or len(script.operators) >= len(script.commands):
        return None  # a negation inverts the exit code
    words = [[word.value or "" for word in simple.words] for simple in script.commands]
    for earlier, operator in zip(words, script.operators, strict=False):
        plain = operator in _PASSES_ON or (operator == "&&" and earlier[:1] and earlier[0] in _RARELY_FAIL)
        if not plain:
            return None
    last = words[-1]
    if not last or set(script.commands[-1].within) - {"pipe"}:
        return None
    name = last[0].rpartition("/")[2]
    second = next((word for word in last[1:] if not word.startswith("-")), "")
    return MEANINGS.get((f"{name} {second}", code)) or MEANINGS.get((name, code))


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TESTS = _names(
    "actionlint ansible-lint ava bandit basedpyright bats behave brakeman busted clang-tidy codespell cppcheck ctest "
    "cypress doctest eslint flake8 ginkgo golangci-lint gotestsum govulncheck hadolint jasmine jest karma luacheck "
    "markdownlint mocha mypy nose2 nosetests nox oxlint pest phpstan phpunit playwright pre-commit psalm py.test "
    "pydocstyle pyflakes pylint pyright pytest pytype robot rspec rubocop shellcheck standard staticcheck stestr "
    "stylelint svelte-check tap tflint tox trial ty typos unittest valgrind vitest vue-tsc vulture xo yamllint"
)
"""Programs that only test or check."""
_RUNNERS = _names(
    "ant artisan bazel bazelisk biome buck2 bun cabal cargo composer dart deno dotnet flutter gmake go gradle gradlew "
    "hatch helm inv invoke just lein make manage.py meson mix moon mvn mvnw ng ninja npm nx pants pdm pixi pnpm poe "
    "rails rake react-scripts rebar3 ruff sbt sqlfluff stack swift task terraform turbo xcodebuild yarn zig"
)
"""Programs whose first operand is a goal or a subcommand."""
_INTERPRETERS = late_pattern(r"(?:python|pypy|py|node|tsx|ruby|perl|php|lua|coverage|sh|bash|zsh|dash)[0-9.]*")
_CHECK = r"(?:tests?|specs?|checks?|lint)"
_GOAL = late_pattern(
    rf"(?:\S*[-_:])?(?:{_CHECK}|t|tst|vet|clippy|nextest|verify|validate|type-?check|types|e2e|audit|analyze)(?:[-_:.]\S*)?"
    r"|[\w:-]*[a-z]Test"
)
_SCRIPT = late_pattern(rf"(?:\S*[-_.])?{_CHECK}(?:[-_.]\S*)?")
_CHECK_OPTIONS = frozenset(("--check", "--list-different", "--noEmit", "--test"))
_WITH_VALUE = _names("-C -f --cwd --dir --directory --filter --manifest-path --prefix --project -n -w")
_BESIDE_TESTS = _names("export set unset shopt source . pushd popd ulimit trap exit return wait tee")
"""Commands that change only the state of the shell, or store the output of a test."""
_PRINTS = _BESIDE_TESTS | frozenset(("cd", "echo", "printf", "true", ":", "env"))
"""Commands that read nothing."""
_SIGNALLED = 128
"""A shell adds this number to the signal that ended a program."""


def is_answer(command: str, code: int) -> bool:
    """Return True if the exit code is the answer of a test or a search. This is the case if every program of the
    command tests, checks or only reads."""
    analysis = shell.analyse(command)
    runs = shell.find_inner_commands(analysis).runs
    if code <= 0 or not analysis.whole or not runs:
        return False
    tests = False
    variables: set[str] = set()  # their values may be listed as commands
    for run in runs:
        words = [word.value or word.raw for word in run.words]
        if run.name == "env":
            variables |= {word.partition("=")[2] for word in words}
        if _only_tests(words):
            tests = True
        elif not (
            _starts_others(run)
            or run.name in _BESIDE_TESTS
            or (run.depth and " ".join(words) in variables)
            or _only_reads(run)
        ):
            return False
    return code <= _SIGNALLED if tests else any(run.name not in _PRINTS for run in runs)


def _only_tests(words: Sequence[str]) -> bool:
    if not words:
        return False
    name = words[0].rpartition("/")[2]
    if name in _TESTS or _CHECK_OPTIONS.intersection(words):
        return True
    operands = [
        word
        for before, word in pairwise(words)
        if word[0:1] not in ("-", "+") and before not in _WITH_VALUE and word not in ("run", "run-script", "exec")
    ]
    if name in _RUNNERS and operands and _GOAL.fullmatch(operands[0]):
        return True
    if "run" in words or "exec" in words:  # in an environment or a container: pipx run tox
        return any(_only_tests(operands[at:]) for at in range(min(3, len(operands))))
    if _INTERPRETERS.fullmatch(name):
        return _only_tests(operands)
    is_script = "/" in words[0] or "." in name
    return is_script and _SCRIPT.fullmatch(name) is not None


def _starts_others(run: shell.CommandRun) -> bool:
    """Return True if the command runs other commands and changes no files itself."""
    return any(use.role in ("argv", "run") for use in run.uses) and not any(
        use.role in ("write", "remove", "move") for use in run.uses
    )


def _only_reads(run: shell.CommandRun) -> bool:
    words = run.words
    if words and words[0].value is not None:
        words = (replace(words[0], value=words[0].value.rpartition("/")[2]), *words[1:])
    script = shell.Script((shell.Simple(words, (), run.redirects),))
    return shell.effects_of(shell.Analysis("", script)) == "none"
