"""Finds the project files, such as a Makefile, that control a build tool which starts in a folder."""

from os.path import dirname, join, lexists

_NAMES = """
    Makefile makefile GNUmakefile package.json pyproject.toml setup.cfg setup.py pytest.ini .pytest.ini tox.ini
    noxfile.py tasks.py Cargo.toml .cargo go.mod go.work justfile Justfile .justfile Taskfile.yml Taskfile.yaml
    taskfile.yml taskfile.yaml .pre-commit-config.yaml CMakeLists.txt CMakePresets.json build.ninja meson.build
    build.gradle build.gradle.kts settings.gradle settings.gradle.kts gradlew pom.xml mvnw Rakefile Gemfile
    composer.json deno.json deno.jsonc bunfig.toml turbo.json nx.json Earthfile Tiltfile Dockerfile compose.yaml
    compose.yml docker-compose.yaml docker-compose.yml BUILD BUILD.bazel WORKSPACE mix.exs rebar.config stack.yaml
    Snakefile SConstruct wscript mise.toml .mise.toml .yarnrc.yml .pnpmfile.cjs .pnp.cjs jest.config.js
    vitest.config.ts vite.config.ts eslint.config.js .eslintrc.js .eslintrc.cjs .prettierrc.js mypy.ini .mypy.ini
    ruff.toml .ruff.toml tsconfig.json
"""


def nearest_project_file(folder: str, root: str) -> str | None:
    """Return the first project file in the folder, or in a folder between it and the root; None if there is none.
    The result is relative to the root. Both arguments are absolute paths without links."""
    while folder.startswith(f"{root}/"):
        found = next((name for name in _NAMES.split() if lexists(join(folder, name))), None)
        if found is not None:
            return join(folder, found).removeprefix(f"{root}/")
        folder = dirname(folder)
    return None
