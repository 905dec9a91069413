"""The little languages inside words: sed, awk, jq, SQL, formats."""

from callgate.shell.analysis import analyse
from callgate.shell.command import Word
from callgate.shell.effects import effects_of
from callgate.shell.programs.program_table import read
from callgate.shell.programs.script_languages import program_uses, script_uses
from tests.rows import rows
from tests.shell.shell_kit import granted


@rows(
    "script",
    [
        "",
        "p",
        "1d",
        "$!d",
        "1,5p",
        "1~2p",
        "2,+3p",
        "2,~4p",
        "0,/x/d",
        "/a/,/b/p",
        "/a/I,$p",
        "\\,a,d",
        "1 , 3 ! p",
        "s/a/b/",
        "s,a,b,gI;s|c|d|2p",
        "s/a\\/b/c/",
        "s/[a-z]/x/M",
        "s/a/x\\\ny/",
        "y/abc/xyz/",
        "/x/{p;d}",
        "/x/{\np\n}",
        "{p}; {d}",
        ":a;N;$!ba;s/\\n/ /g",
        ":a\nN\nta\nTa",
        "b;t;T",
        "q;Q5;l 20;l",
        "a text w x",
        "a\\\ntext\\\ne more",
        "i\\text",
        "1c\\",
        "# w out\np # e x",
        "=;D;g;G;h;H;n;N;P;x;z;F",
        "n;;p",
    ],
)
def test_a_sed_script_that_only_prints_has_no_uses(script: str) -> None:
    assert script_uses(script, 1) == []


@rows(
    ("script", "role", "text"),
    [
        ("e", "run", ""),
        ("1e rm a", "run", "rm a"),
        ("1e\\ rm", "run", "\\ rm"),
        ("s/a/b/e", "run", ""),
        ("s/a/b/ge", "run", ""),
        ("p;e x", "run", "x"),
        ("/x/{e x\n}", "run", "x"),
        ("w out", "write", "out"),
        ("W out", "write", "out"),
        ("s/a/b/w out", "write", "out"),
        ("s/a/b/gw out;p", "write", "out;p"),
        ("r in", "read", "in"),
        ("R in", "read", "in"),
        ("r", "read", ""),
    ],
)
def test_a_sed_script_that_does_more_says_what(script: str, role: str, text: str) -> None:
    (use,) = script_uses(script, 3)
    assert (use.role, use.text, use.at, use.on) == (role, text, 3, 3)


@rows(
    "script",
    [
        "s/a/b",
        "s/a",
        "s",
        "s\na\nb\n",
        "s\\a\\b\\",
        "s a b ",
        "séaébé",
        "1,p",
        "v",
        "k",
        "p d",
        "s/a\nb/c/",
        "s/[/]/x/",
        "y/a/b",
        "/a",
        "\\",
        "p}x",
        "q5x",
        "b label x",
        "s/a/b/x",
        "!!k",
        "1,2,3p",
    ],
)
def test_a_sed_script_that_is_not_understood_is_unknown(script: str) -> None:
    (use,) = script_uses(script, 1)
    assert use.role == "unknown"


@rows("command", ["sed -e", "sed", "jq", "tar cf", "sort -k", "awk", "find . -name"])
def test_a_word_that_is_missing_is_for_the_program_to_complain_about(command: str) -> None:
    assert granted(f"{command.split()[0]}:*", command)


def test_the_parts_of_a_sed_script_belong_together() -> None:
    assert granted("sed:*", "sed -e 'a\\' -e 'e text' a.txt")
    assert not granted("sed:*", "sed -e p -e 'e x' a.txt")
    assert not granted("sed:*", "sed -n s/*/x/ a.txt")


@rows(
    "text",
    [
        "{print}",
        "{print $1, $NF}",
        "$3 > 100",
        "$3 >= 1 && $4 < 2 || !x {print}",
        "/a|b/",
        "!/a/ {n++} END {print n}",
        '$1 ~ /x|y/ {print "a|b > c"}',
        'BEGIN {FS = ","; x = 1.5e3; y = .5} {print x / y}',
        "{print ($1 + $2) / 2}",
        "{a[$1] += $2} END {for (k in a) print k, a[k]}",
        "{x = y ? 1 : 2; x %= 3; x ^= 2}\n# note | > \n{print x}",
        'function f(a) {return /x/ ? a : "b"} {print f($1)}',
        "{print length($0) /2/ 3}",
        '{printf "%s\\n", substr($0, 1)}',
        "{if ($1 > 2) print $1; else print $2}",
        "/[a-z]+[^0-9][[:space:]_][\\/\\]]/ {print}",
        "$1 ~ /^[|>]/ {exit /x/}",
        "{print $1,\n$2}",
        "\n{print}\n",
        "",
    ],
)
def test_an_awk_program_that_computes_and_prints_has_no_uses(text: str) -> None:
    assert program_uses(text, 1) == []


@rows(
    "text",
    [
        '{system("x")}',
        '1system("x")',
        '{"x" | getline y}',
        '{print | "x"}',
        '{print |& "x"}',
        '{print > "x"}',
        "{print $1 > $2}",
        '{printf "%s", $1 >> "x"}',
        '{print $1 >"x"}',
        '{getline < "x"}',
        '{print ENVIRON["x"]}',
        "BEGIN {ARGV[1] = 2}",
        "{ARGC = 2}",
        "{print PROCINFO[1]}",
        "{SYMTAB[1] = 2}",
        "{FUNCTAB[1]}",
        '@include "x"',
        '{close("x")}',
        'extension("x")',
        '{if (1) /"/; print > "f" /"/}',
        '{x++ /"/; print > "f" /"/}',
        '{a[1] /"/; print | "f" /"/}',
        "{print (1 > 2)}",
        'BEGIN {if (0) exit /"/; print "x" | "sh"} # "',
        'BEGIN {x = length /"/; print "x" | "sh"} # "',
        'BEGIN {print "x",\n"y" > "out"}',
        'BEGIN {print "x", # note\n"y" > "out"}',
        'BEGIN {print 1 &&\n2 > "out"}',
        'BEGIN {print 1 ||\n\n2 > "out"}',
        'BEGIN {print 1 ?\n2 :\n3 > "out"}',
        "$1 == 2 {print\n}\n{print $1\n > 3}" + '{print >> "x"}',
    ],
)
def test_an_awk_program_that_reaches_out_runs_code(text: str) -> None:
    (use,) = program_uses(text, 2)
    assert (use.role, use.text, use.on) == ("code", text, 2)


@rows(
    "text",
    [
        '"open',
        "{print `x`}",
        "/open",
        "a\\\nb",
        "//",
        "/[",
        "/[a",
        "/[/]x/",
        '/[]/"/]/ {print "x" | "sh"} # "',
        '/[^]/"/]/ {print "x" | "sh"} # "',
        "/[[]/",
        "/[[:x]/",
        "/" + "[^]" * 1_000,
        "'",
    ],
)
def test_an_awk_program_that_is_not_understood_is_unknown(text: str) -> None:
    (use,) = program_uses(text, 1)
    assert use.role == "unknown"


def test_assignments_among_the_files_of_awk_are_no_files() -> None:
    assert granted("awk:*", "awk '{print x}' x=/etc a.txt")
    assert not granted("awk:*", "awk '{print x}' x=1 /etc/passwd")
    assert granted("awk:*", "gawk '{print}'") is False
    assert granted("gawk:*", "gawk -e '{print}' a.txt")
    assert not granted("gawk:*", "gawk -e '{print > \"x\"}' a.txt")
    assert not granted("awk:*", "awk *")
    assert not granted("awk:*", "awk x*")


def test_jq_reads_the_files_before_its_texts_and_takes_no_option_after_the_last() -> None:
    assert not granted("jq:*", "jq -n '$a' --args /etc/passwd")
    assert not granted("jq:*", "jq -R . /etc/passwd --args")
    assert not granted("jq:*", "jq -R . -- --arg /etc/passwd a.txt")
    assert not granted("jq:*", "jq -n '$ ENV'")
    assert not granted("jq:*", "jq -n '$#\nENV'")


def test_jq_knows_options_with_two_words() -> None:
    assert granted("jq:*", "jq --arg a b --argjson c 1 '.a == $a' a.json")
    assert not granted("jq:*", "jq --slurpfile a b.json . c.json")
    assert not granted("jq:*", "jq --arg a b env")
    assert not granted("jq:*", "jq --arg env x '..env'")
    assert granted("jq:*", "jq '.env | .environ' a.json")
    assert not granted("jq:*", "jq .[x]* a.json")


@rows("word", ["$ENV.A", "env", "env.A", '"\\(env)"', "input_filename", 'import "a" as b', "$__prog_args"])
def test_jq_filters_that_look_elsewhere_are_left_out(word: str) -> None:
    assert not granted("jq:*", f"jq -n '{word}'")


@rows("text", ["%n", "%5n", "%%%n", "%-*n", "a %hn"])
def test_a_format_that_sets_a_variable_is_left_out(text: str) -> None:
    assert not granted("printf:*", f"printf '{text}' x")
    assert granted("printf:*", "printf '%d\\n %%n' 1")


def test_a_cluster_without_end_is_not_read_letter_by_letter() -> None:
    assert not granted("ls:*", "ls -" + "l" * 500)
    assert not granted("pytest:*", "pytest -" + "v" * 500)
    assert granted("ls:*", "ls -" + "l" * 300)
    assert granted("grep:*", "grep -e" + "l" * 300 + " a.txt")


def test_a_bundle_of_tar_letters_takes_its_values_from_the_next_words() -> None:
    assert granted("tar:*", "tar cfC x.tar sub a.txt")
    assert not granted("tar:*", "tar cfC x.tar / a.txt")
    assert not granted("tar:*", "tar " + "v" * 41 + "f x")
    assert granted("tar:*", "tar -tf -")


def test_dates_hosts_and_processes_show_or_change() -> None:
    assert granted("date:*", "date -r a.txt +%s")
    assert not granted("date:*", "date 1")
    assert granted("hostname:*", "hostname -f")
    assert not granted("hostname:*", "hostname x")
    assert granted("ps:*", "ps -o pid,rss,time -p 1")
    assert not granted("ps:*", "ps axe")
    for words in (
        "-o environ",
        "-eo pid,environ",
        "-o pid -o environ",
        "-eoenviron",
        "--format=environ",
        "--format environ",
    ):
        assert not granted("ps:*", f"ps {words}")
    for words in (
        "-o ENVIRON:100",
        "-o environ=X",
        "-o 'pid environ'",
        "-p 1 -o env",
        "--form=environ",
        "-oenviron -e",
    ):
        assert effects_of(analyse(f"ps {words}")) == "mutating"


def test_shells_with_words_that_do_more() -> None:
    assert granted("bash:*", "bash -eu -o pipefail run.sh a")
    for command in ("bash +x run.sh a", "bash +x -c ls", "bash +o posix -c ls", "bash -oc posix ls", "bash -os posix"):
        assert not granted("bash:*", command), command
    assert not granted("bash:*", "bash run.sh /etc/passwd")
    assert granted("bash:*", "bash --version")
    assert granted("hash", "hash")
    assert not granted("hash:*", "hash x")


def test_mapfile_takes_its_callback_glued_or_not() -> None:
    for command in ("mapfile -C ls x", "mapfile -Cls x", "mapfile -C", "readarray -C ls x"):
        assert not granted("mapfile:* | readarray:*", command)


def test_a_test_with_a_word_that_is_not_known_is_no_reader() -> None:
    uses = read("[", (Word("["), Word("-f"), Word(None, "$x"), Word("]")))
    assert [use.role for use in uses] == ["unknown"]


def test_dd_is_granted_by_its_exact_command_alone() -> None:
    assert granted("dd if=a of=b", "dd if=a of=b")
    assert not granted("dd:*", "dd if=a bs=1 count=2 status=none")
