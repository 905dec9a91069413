#!/bin/sh
# Installs the system programs that some tests use, where that is possible without asking anybody.
# Never fails: a test that misses its program is skipped and says so.
set -eu

# Program and, where its name is another, the package that has it.
missing=
for wanted in strace bwrap:bubblewrap rg:ripgrep zsh fish; do
    command -v "${wanted%%:*}" >/dev/null 2>&1 || missing="$missing ${wanted##*:}"
done
[ -n "$missing" ] || exit 0

say() { printf 'callgate: %s\n' "$*" >&2; }

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    say "not installed:$missing; the tests that need them will be skipped"
    exit 0
fi
say "installing$missing"
# shellcheck disable=SC2086 # one package per word
if ! DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $missing >/dev/null 2>&1; then
    apt-get update -qq >/dev/null 2>&1 || true
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $missing >/dev/null 2>&1 ||
        say "could not be installed:$missing; the tests that need them will be skipped"
fi
