"""jq, yq and the database shells: languages that can look at more than their input."""

import re

from callgate.shell.programs.in_place import rewritten
from callgate.shell.programs.options import Found, grammar, loose, scan, uses_in
from callgate.shell.programs.uses import Program, Use, Words, said, unsure

_JQ = grammar(
    """-nrjascCMSeRhV --tab --indent=text --seq --stream --stream-errors --unbuffered --slurp --raw-input --null-input
    --compact-output --raw-output --raw-output0 --join-output --ascii-output --sort-keys --color-output
    --monochrome-output --exit-status --args --jsonargs --arg=text --argjson=text --slurpfile=text --rawfile=text
    --argfile=text -f=load --from-file=load -L=load --library-path=load""",
    "text",
    "read",
    instead="-f --from-file",
)
_TWO = ("--arg", "--argjson", "--slurpfile", "--rawfile", "--argfile")
_JQ_REACHES = re.compile(
    r"\$(?:\s|#[^\n]*\n)*(?:ENV\b|__prog)|(?<![A-Za-z_])(?<!(?<!\.)\.)"
    r"(?:env|input_filename|import|include|modulemeta|get_search_list|halt_error)(?!\w)"
)
_YQ = grammar(
    """-rPejnNCMvV -s!write -o=text -p=text -I=text --output-format=text --input-format=text --prettyPrint --exit-status
        --null-input --no-doc --colors --no-colors --indent=text --unwrapScalar?=text --header-preprocess -i!place
        --inplace!place --in-place!place -y -Y --yaml-output --from-file=load --expression=text --split-exp=write
        --split-exp-file=write --front-matter=text""",
    "text",
    "read",
)
_YQ_REACHES = re.compile(
    r"(?<![A-Za-z_])(?<!(?<!\.)\.)(?:env|strenv|envsubst|load\w*|system|exec|input_filename|filename|eval)(?!\w)|\$ENV"
)


def _jq(words: Words) -> list[Use]:
    """Some options take two words; the second is put in front of what the grammar reads."""
    uses: list[Use] = []
    rest: list[int] = [0]
    at, ended = 1, False
    while at < len(words):
        text = said(words[at])
        ended = ended or text == "--"
        if text in _TWO and not ended:
            if text in _TWO[2:] and at + 2 < len(words):
                uses.append(Use("read", said(words[at + 2]), at, at + 2, meant=True))
            at += 3
            continue
        rest.append(at)
        at += 1
    kept = [words[each] for each in rest]
    found = [Found(e.name, e.text, rest[e.at], rest[min(e.on, len(rest) - 1)], e.option) for e in scan(_JQ, kept)]
    operands = [each for each in found if not each.name]
    texts = next((each.at for each in found if each.name in ("--args", "--jsonargs")), len(words))
    found = [each for each in found if each.name or each.at < texts or each is operands[0]]
    if operands and not any(each.name in _JQ.instead for each in found):
        uses += _language(words, operands[0], _JQ_REACHES, "jq filter")
    return uses + uses_in(_JQ, found) + loose(words)


def _yq(words: Words) -> list[Use]:
    found = scan(_YQ, words)
    uses: list[Use] = []
    for each in found:
        if not each.name or each.name == "--expression":
            uses += _language(words, each, _YQ_REACHES, "yq expression")
    operands = [each.text for each in found if not each.name]
    # The first one is the expression, but for one that is alone or where an option gives it.
    given = len(operands) == 1 or any(each.name in ("--expression", "--from-file") for each in found)
    files = operands if given else operands[1:]
    return uses + uses_in(_YQ, found, {"place": lambda option: rewritten(option, files)}) + loose(words)


def _language(words: Words, found: Found, reaches: re.Pattern[str], what: str) -> list[Use]:
    if found.on < len(words) and unsure(words[found.on]):
        return [Use("odd", "", found.at, found.on, f"the shell fills in the {what}")]
    reached = reaches.search(found.text)
    return [Use("load", "", found.at, found.on, f"{reached.group()} in the {what}")] if reached else []


_SQLITE = grammar(
    """-bail -batch -box -column -csv -echo -header -noheader -html -json -line -list -markdown -quote -readonly
    -safe -stats -table -tabs -nullvalue=text -separator=text -newline=text -ascii -ifexists -nofollow
    -init=load -cmd=text -A!odd -append!odd -zip!odd -vfs=load""",
    "change",
    "text",
    dash="-",
)
# Dot commands run programs and open files, but for those that show what is there; and so do these functions and
# statements.
_SQL_REACHES = re.compile(
    r"(?m)^[ \t]*\.(?!(?:tables|schema|fullschema|databases|indexes|indices|dbinfo)(?:[ \t]+[\w%]*)*$)|"
    r"(?<![A-Za-z_])(?:load_extension|readfile|writefile|edit|fts3_tokenizer|attach|vacuum\s+into|fsdir|zipfile)\b",
    re.I,
)
_PSQL_REACHES = re.compile(
    r"\\|(?<![A-Za-z_])(?:copy|program|pg_read_\w+|pg_ls_\w+|lo_import|lo_export|dblink\w*|create\s+extension|load|do)\b|`",
    re.I,
)
_MYSQL_REACHES = re.compile(
    r"\\[!.]|(?<![A-Za-z_])(?:system|source|load_file|outfile|dumpfile|infile|tee|pager|edit)\b", re.I
)
_PSQL = grammar(
    """-aAbeEHlnqStxXwW1sV -c=text -d=text -F=text -h=text -p=text -P=text -R=text -T=text -U=text -z -0
        --command=text --dbname=text --host=text --port=text --username=text --list --quiet --tuples-only --no-align
        --csv --html --expanded --no-psqlrc --no-password --single-transaction --echo-all --field-separator=text
        --pset=text -f=load --file=load -o=write --output=write -L=file --log-file=file -v=text --set=text
        --variable=text""",
    "text",
)
_MYSQL = grammar(
    """-bBEfHNnqrsStvVwXC -e=text -D=text -h=text -P=text -u=text -p?=text --execute=text --database=text
        --host=text --port=text --user=text --password?=text --batch --silent --table --vertical --skip-column-names
        --raw --protocol=text --defaults-file=load --defaults-extra-file=load --plugin-dir=load --init-command=odd
        --tee=write --pager=run --socket=odd""",
    "text",
)


def _sqlite(words: Words) -> list[Use]:
    found = scan(_SQLITE, words)
    statements = [each for each in found if not each.name][1:] + [each for each in found if each.name == "-cmd"]
    uses = uses_in(_SQLITE, found) + loose(words)
    for each in statements:
        uses += _language(words, each, _SQL_REACHES, "SQL")
    return uses if statements else [*uses, Use("code", "", 0, 0, "it runs what it reads")]


def _server_shell(words: Words, which: str) -> list[Use]:
    rules, reaches = (_PSQL, _PSQL_REACHES) if which == "psql" else (_MYSQL, _MYSQL_REACHES)
    found = scan(rules, words)
    statements = [each for each in found if each.name in ("-c", "--command", "-e", "--execute")]
    uses = [*uses_in(rules, found), *loose(words), Use("alter", "", 0, 0, meant=True)]
    for each in statements:
        uses += _language(words, each, reaches, "SQL")
    quick = any(each.name in ("-l", "--list", "--version", "-V") for each in found)
    return uses if statements or quick else [*uses, Use("code", "", 0, 0, "it runs what it reads")]


def _psql(words: Words) -> list[Use]:
    return _server_shell(words, "psql")


def _mysql(words: Words) -> list[Use]:
    return _server_shell(words, "mysql")


QUERIES: dict[str, Program] = {
    "jq": Program(_jq),
    "yq": Program(_yq),
    "sqlite3": Program(_sqlite),
    "psql": Program(_psql),
    "mysql": Program(_mysql),
    "mariadb": Program(_mysql),
}
