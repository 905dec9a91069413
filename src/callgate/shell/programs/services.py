"""Programs that talk to other machines and to services of this one."""

import re

from callgate.shell.programs.entries import Entry, Found, grammar_for, loose, scan, unknown, uses_in
from callgate.shell.programs.uses import Use, Words

_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*:(?!\d)")
_CURL = """-0123#46afgGiIjklLNsSvVZ -A= -H=text -X= -d=text -m= -r= -u= -w=text -o=text --anyauth --basic --bearer
    --compressed --connect-timeout= --data=text --data-binary=text --data-ascii=text
    --data-urlencode=text --data-raw= --json=text --fail --fail-early --fail-with-body --get --globoff
    --head --header=text --http1.0 --http1.1 --http2 --include --insecure --ipv4 --ipv6 --limit-rate=
    --location --max-filesize= --max-redirs= --max-time= --no-buffer --no-progress-meter
    --oauth2-bearer= --parallel --progress-bar --range= --raw --referer= --request= --retry=
    --retry-all-errors --retry-connrefused --retry-delay= --retry-max-time= --show-error --silent
    --ssl-reqd --tlsv1.2 --tlsv1.3 --user= --user-agent= --verbose --write-out=text --path-as-is
    --disable -q --output=text --url="""
_OUTPUT = ("-o", "--output")
_SHOWN = ("-w", "--write-out")
_DATA = ("-d", "-H", "-w", "--data", "--data-binary", "--data-ascii", "--data-urlencode", "--json", "--header")


def _curl(entry: Entry, words: Words, start: int) -> list[Use]:
    """``@file`` and ``name@file`` send a file. Addresses may be patterns, and may name others than web servers."""
    grammar = grammar_for(entry)
    found = scan(grammar, words, start)
    uses = [*uses_in(grammar, [each for each in found if each.name]), *loose(words, start)]
    for each in found:
        if each.name in _OUTPUT and each.text not in ("-", "/dev/null"):
            uses.append(
                Use(role="write", text=each.text, at=each.at, on=each.on, why=f"{each.name} writes a file", target=True)
            )
        elif each.name in _SHOWN and "%output{" in each.text:
            uses.append(Use(role="write", text="", at=each.at, on=each.on, why="%output writes a file"))
        elif each.name in (*_DATA, *_SHOWN) and re.match(r"[\w.-]*@", each.text):
            uses.append(Use(role="send", text=each.text, at=each.at, on=each.on, why="@ sends a file"))
        elif not each.name or each.name == "--url":
            uses += _address(each)
    return [*uses, Use("alter", "", 0, 0, granted=True)]


def _address(found: Found) -> list[Use]:
    if set("{}[]") & set(found.text):
        return [unknown(found, "the address is a pattern")]
    if _SCHEME.match(found.text) and not re.match(r"https?://", found.text, re.I):
        return [Use(role="load", text=found.text, at=found.at, on=found.on, why=f"{found.text} is not a web address")]
    return []


_GH = "-R= --repo= --json= -q= --jq= -t= --template= --limit= -L= --web!run -w!run"

SERVICES = (
    Entry("curl", "text", _CURL, exactly=True, code=_curl),
    Entry("docker,podman", steps=True),
    Entry(
        "docker ps|images|version|info|stats|top|port|diff",
        "name",
        """-aqnls -f= --all --quiet --no-trunc --format= --filter= --latest --last= --size --no-stream --digests""",
        free=True,
    ),
    Entry("docker logs", "name", "-ft -n= --follow --tail= --timestamps --since= --until= --details", free=True),
    Entry("docker inspect", "name", "-fs -f= --format= --size --type="),
    Entry(
        "docker build",
        "read",
        """-q -t= --tag= --target= --no-cache --pull --quiet --progress= --platform= --build-arg=text -f=read
        --file=read --label= --network=""",
        also="alter",
        exactly=True,
    ),
    Entry("docker image|network|volume|container", steps=True),
    Entry(
        """docker image ls,docker network ls,docker volume ls,docker container ls""",
        "name",
        "-aq -f= --all --quiet --no-trunc --format= --filter=",
    ),
    Entry("docker compose", steps=True),
    Entry(
        "docker compose ps|logs|images|top",
        "name",
        """-aqft -n= --all --quiet --follow --tail= --timestamps --since= --format= --no-color --services --status=""",
    ),
    Entry(
        "docker compose up|down|build|start|stop|restart|pull",
        "name",
        """-d --detach --build --no-build --wait --force-recreate --no-recreate --remove-orphans --no-cache --pull=
        --quiet-pull --timeout= -t= --no-deps""",
    ),
    Entry("docker compose config", options="-q --quiet --services --volumes --images", also="load"),
    Entry("kubectl", "text", "-n= --namespace= -v= --request-timeout=", steps=True),
    Entry(
        "kubectl get|describe|top|explain|api-resources|version|cluster-info",
        "text",
        """-AwRL -l= -o=text --all-namespaces --selector= --output=text --watch --show-labels --sort-by=
        --field-selector= --no-headers --label-columns= -L= --containers --recursive""",
        exactly=True,
    ),
    Entry(
        "kubectl logs",
        "name",
        """-fp -c= -l= --follow --previous --container= --selector= --tail= --since= --since-time= --timestamps
        --all-containers?= --prefix --max-log-requests=""",
        exactly=True,
    ),
    Entry("gh", steps=True),
    Entry("gh pr|issue|run|repo|release|workflow", steps=True),
    Entry(
        "gh pr view|list|diff|checks|status,gh issue view|list|status,gh run view|list|watch,gh repo view|list,"
        "gh release view|list,gh workflow list|view",
        "name",
        _GH
        + """ -a= -A= -s= -S= -l= -b= -j= -v --state= --label= --author= --assignee= --search= --base= --head=
        --comments -c --log --log-failed --job= --branch= --event= --status= --user= --exit-status
        --name-only --patch --color= --required --watch --interval= --milestone= --draft --workflow=
        --verbose --compact --yaml""",
    ),
    Entry(
        "gh pr create,gh issue create",
        "unknown",
        _GH
        + """ -t= -b= -F=read -B= -H= -l= -a= -r= -d -f -m= --title= --body= --body-file=read --base= --head=
        --label= --assignee= --reviewer= --draft --fill --fill-first --fill-verbose --milestone=
        --project= --dry-run""",
    ),
    Entry("gh api", "endpoint", "-i -q= --jq= --paginate --slurp --include --cache= --silent --verbose"),
    Entry("gh pr checkout", "name", "-b= --branch= --detach -f --force --recurse-submodules"),
    Entry("terraform,tofu", "text", "-chdir=enter", dash="-", steps=True),
    Entry(
        "terraform fmt|validate|plan|output|show|version|graph",
        "read",
        """-check -diff -recursive -json -raw -no-color -compact-warnings -detailed-exitcode -refresh= -lock=
        -target= -out=file -write=""",
        dash="-",
    ),
    Entry("terraform init", "unknown", "-backend= -upgrade -reconfigure -input= -no-color -get=", dash="-"),
    Entry("systemctl", steps=True),
    Entry(
        "systemctl status|is-active|is-enabled|list-units|list-timers|show|cat",
        "name",
        "-al -n= -o= --no-pager --user --all --lines= --full --type= --state=",
    ),
    Entry("ping", "name", "-46nq -c= -i= -W= -w="),
    Entry("kill,pkill", "text", "-9 -15 -l -s= -TERM -KILL -HUP -INT", also="does", exactly=True),
)
