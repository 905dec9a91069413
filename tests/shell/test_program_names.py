"""One line for every program of the table: what kind of program it is."""

import pytest

from callgate.shell.analysis import analyse
from callgate.shell.effects import effects_of
from callgate.shell.programs.options import names
from callgate.shell.programs.table import PROGRAMS, UNKNOWN, program_named
from callgate.shell.reach import doubt
from tests.shell.shell_kit import granted, reached

# With a file of the workspace for a word they read and print, and need no rule for it.
READERS = names(
    """cat ls head tail wc grep egrep fgrep rg stat file diff cmp comm sort uniq cut tr nl fold expand tac rev od
    hexdump xxd md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum column basename dirname realpath
    readlink whoami nproc id df du which pwd echo true false find test [ printf type cd"""
)
# They read and print, too, but it takes a rule.
READERS_BY_RULE = names(
    """dir vdir diff3 sdiff paste join fmt unexpand zcat bzcat xzcat zstdcat hd strings base64 base32 basenc sum iconv
    shuf seq factor groups tty arch logname users free uptime who w last cal pgrep whereis locale getconf tree nm size
    readelf man less more : sleep expr gfind fd fdfind sed gsed awk gawk mawk nawk jq yq jobs pushd chdir"""
)
READERS_ALONE = names("date git hostname uname")
READERS_ALONE_BY_RULE = names("ps")
# They run the command that follows.
WRAPPERS = names(
    """nice ionice nohup setsid stdbuf unbuffer time catchsegv chronic numactl prlimit cpulimit linux32 linux64
    fakeroot dbus-run-session proxychains proxychains4 torsocks xvfb-run command builtin exec nocorrect noglob
    strace ltrace valgrind unshare nsenter systemd-run systemd-inhibit firejail bwrap caffeinate watch entr parallel
    xargs npx bunx pnpx uvx sudo doas pkexec busybox toybox dotenv ld.so env runuser"""
)
WRAPPERS_WITH_A_WORD = names("timeout gtimeout chrt taskset setarch chroot flock pipx")
RUNNERS = {
    **dict.fromkeys(names("uv poetry pipenv pdm hatch rye conda mamba volta op doppler"), "run"),
    **dict.fromkeys(names("bundle mise asdf dotnet rbenv pyenv fnm"), "exec"),
    "nix": "shell",
    "rustup": "run x",
    "direnv": "exec x",
    "aws-vault": "exec x",
}
# They change files by their nature, here the file x of the workspace.
CHANGERS = names(
    """rm rmdir unlink shred trash trash-put mkdir mkfifo mknod touch install gzip bzip2 xz zstd gunzip bunzip2 unxz
    unzstd zip unzip split csplit patch mktemp cp mv ln link truncate tar bsdtar gtar"""
)
BUILDERS = names(
    """npm pnpm yarn bun pip pip3 make gmake ninja just task rake invoke tox nox gradle mvn ant bazel pytest py.test
    mypy ruff eslint prettier biome black isort autopep8 yapf stylelint dprint tsc jest vitest mocha ava playwright
    cypress terraform tofu ansible ansible-playbook cmake meson gem composer apt apt-get dnf yum apk pacman go gcc
    g++ cc c++ clang clang++ rustc javac rustfmt gofmt shfmt clang-format actionlint basedpyright bat batcat cloc
    codespell exa eza flake8 hadolint markdownlint markdownlint-cli2 pylint pyright shellcheck tokei yamllint"""
)
TALKERS = names(
    """wget ssh slogin scp sftp rsync nc ncat netcat telnet ftp tftp ping ping6 traceroute tracepath mtr dig host
    nslookup whois getent http https xh aria2c curl openssl"""
)
OTHERS = names(
    """kill pkill killall sysctl dmesg journalctl lsof ss netstat ip ifconfig top htop gpg gpg2 ssh-keygen ssh-add
    gcloud aws az printenv pandoc ag ack exiftool convert magick ffmpeg ffprobe nmap chmod chown chgrp vim vi nvim
    view vimdiff gvim emacs nano pico micro"""
)
# With a script of the workspace they run it.
INTERPRETERS = names(
    """sh bash dash zsh ksh mksh ash fish csh tcsh yash rbash pwsh xonsh nu python python2 python3 pypy pypy3
    python3.10 python3.11 python3.12 python3.13 python3.14 node nodejs perl ruby php lua luajit lua5.3 lua5.4
    Rscript R julia elixir erl iex ghc runghc runhaskell ghci groovy scala kotlin osascript tclsh wish expect guile
    sbcl clisp emacs-lisp racket octave matlab m4 gnuplot dc ts-node tsx"""
)
# No rule that only names them lets anything through: `NAME x` asks.
NEVER = names(
    """docker podman gh glab kubectl helm systemctl brew mount umount xdg-open open start osqueryi watchman screen tmux
    dtach coproc su script gdb rename prename tee dd socat sqlite3 psql mysql mariadb ed ex red at batch crontab
    cargo export declare typeset local readonly unset set shopt shift let read mapfile readarray getopts enable hash
    ulimit umask wait disown bg fg popd dirs logout exit return break continue caller compgen compopt history fc
    suspend zmodload autoload functions emulate setopt unsetopt zle vared integer float nameref times eval trap
    alias bind complete PROMPT_COMMAND add-zsh-hook zcompile abbr source . [["""
)


def test_every_program_of_the_table_is_in_one_of_the_lists() -> None:
    lists = [READERS, READERS_BY_RULE, READERS_ALONE, READERS_ALONE_BY_RULE, WRAPPERS, WRAPPERS_WITH_A_WORD]
    lists += [frozenset(RUNNERS), CHANGERS, BUILDERS, TALKERS, OTHERS, INTERPRETERS, NEVER]
    told = [name for each in lists for name in each]
    assert sorted(told) == sorted(PROGRAMS)


def test_a_program_that_is_not_in_the_table_is_not_known() -> None:
    assert program_named("nobody") is UNKNOWN
    assert program_named("ls") is not UNKNOWN


@pytest.mark.parametrize("name", sorted(READERS))
def test_a_reader_passes_and_has_no_effects(name: str) -> None:
    command = f"{name} x ]" if name == "[" else f"{name} x"
    assert granted(f"{name}:*", command)
    assert effects_of(analyse(command)) == "none"
    assert doubt(analyse(command)) is None


@pytest.mark.parametrize("name", sorted(READERS_BY_RULE))
def test_other_readers_pass_with_a_rule_and_are_asked_about_without(name: str) -> None:
    assert granted(f"{name}:*", f"{name} x")
    assert effects_of(analyse(f"{name} x")) == "mutating"
    assert doubt(analyse(f"{name} x")) is None


@pytest.mark.parametrize("name", sorted(READERS_ALONE | READERS_ALONE_BY_RULE))
def test_a_reader_without_operands_passes_alone(name: str) -> None:
    assert granted(f"{name}:*", name)
    assert not granted(f"{name}:*", f"{name} element")
    assert effects_of(analyse(name)) == ("none" if name in READERS_ALONE else "mutating")


@pytest.mark.parametrize("name", sorted(WRAPPERS))
def test_a_wrapper_grants_nothing_by_itself_and_hides_nothing(name: str) -> None:
    assert not granted(f"{name}:*", f"{name} ls")
    assert reached("rm:*", f"{name} rm x")
    assert reached("rm:*", f"{name} ls rm") is None


@pytest.mark.parametrize("name", sorted(WRAPPERS_WITH_A_WORD))
def test_a_wrapper_with_a_word_of_its_own_is_the_same(name: str) -> None:
    assert not granted(f"{name}:*", f"{name} 5 ls")
    assert reached("rm:*", f"{name} 5 rm x")
    assert reached("rm:*", f"{name} rm ls x") is None


@pytest.mark.parametrize("name", sorted(RUNNERS))
def test_a_runner_with_its_subcommand_is_a_wrapper(name: str) -> None:
    command = f"{name} {RUNNERS[name]}"
    assert not granted(f"{name}:*", f"{command} ls")
    assert granted(f"{command} ls:*", f"{command} ls x")
    assert reached("rm:*", f"{command} rm x")
    assert granted(f"{name}:*", f"{name} lock")


@pytest.mark.parametrize("name", sorted(CHANGERS))
def test_a_program_that_changes_files_passes_inside_and_has_effects(name: str) -> None:
    assert granted(f"{name}:*", f"{name} x")
    assert not granted(f"{name}:*", f"{name} /x")
    assert effects_of(analyse(f"{name} x")) == "mutating"


@pytest.mark.parametrize("name", sorted(BUILDERS | TALKERS | OTHERS))
def test_a_program_that_does_more_passes_under_its_name_and_has_effects(name: str) -> None:
    assert granted(f"{name}:*", f"{name} build")
    assert effects_of(analyse(f"{name} build")) == "mutating"
    assert doubt(analyse(f"{name} build")) is None


@pytest.mark.parametrize("name", sorted(INTERPRETERS))
def test_an_interpreter_runs_scripts_of_the_workspace_and_nothing_it_reads(name: str) -> None:
    assert granted(f"{name}:*", f"{name} x")
    assert not granted(f"{name}:*", f"{name} /x")
    assert not granted(f"{name}:*", f"{name}")
    assert not granted(f"{name}:*", f"{name} -")
    assert effects_of(analyse(f"{name} x")) == "mutating"
    found = doubt(analyse(f"{name} x"))
    assert found
    assert found.kind == "interpreter"


@pytest.mark.parametrize("name", sorted(NEVER))
def test_some_names_alone_open_nothing(name: str) -> None:
    assert not granted(f"{name}:*", f"{name} x")
    assert effects_of(analyse(f"{name} x")) == "mutating"
