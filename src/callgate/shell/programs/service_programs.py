"""Rows of programs that contact other machines, or services of this machine."""

import re

from callgate.shell.programs.program_arguments import WHOLE, Argument, Invocation
from callgate.shell.programs.uses import Use

SERVICES = """
curl | text | -0123#46afgGiIjklLNsSvVZ -A= -H= -X= -d= -m= -r= -u= -w= -o= --basic --compressed --connect-timeout=
    --data= --data-binary= --data-ascii= --data-urlencode= --data-raw= --json= --fail --fail-with-body --get --globoff
    --head --header= --http1.1 --http2 --include --insecure --ipv4 --ipv6 --limit-rate= --location --max-filesize=
    --max-redirs= --max-time= --no-buffer --no-progress-meter --oauth2-bearer= --progress-bar --range= --referer=
    --request= --retry= --retry-all-errors --retry-connrefused --retry-delay= --retry-max-time= --show-error --silent
    --user= --user-agent= --verbose --write-out= --path-as-is -q --output= --url= | no_prefix parser=curl
docker,podman,docker image|network|volume|container|compose,gh,gh pr|issue|run|repo|release|workflow | | | subcommands
$listing = -aqnls -f= --all --quiet --no-trunc --format= --filter= --latest --last= --size --no-stream --digests
    --no-color --services --status=
docker ps|images|version|info|stats|port|diff | slug | $listing | read_only
docker logs | name | -ft -n= --follow --tail= --timestamps --since= --until= --details | read_only
docker inspect | slug | -s -f= --format= --size --type=
docker build | read | -q -t= --tag= --target= --no-cache --pull --quiet --progress= --platform= --build-arg=text -f=read
    --file=read --label= | always=alter no_prefix
docker image ls,docker network ls,docker volume ls,docker container ls,docker compose ps|images | name | $listing
docker compose logs | name | -ft -n= --follow --tail= --timestamps --since= --no-color
docker compose up|down|build|start|stop|restart|pull | name | -d --detach --build --no-build --wait --force-recreate
    --no-recreate --remove-orphans --no-cache --pull= --timeout= -t= --no-deps
kubectl | text | -n= --namespace= -v= --request-timeout= | subcommands
kubectl get|describe|top|explain|api-resources|version|cluster-info | text | -AwRL -l= -o=output --all-namespaces
    --selector= --output=output --watch --show-labels --sort-by= --field-selector= --no-headers --label-columns= -L=
    --containers --recursive | no_prefix
kubectl logs | slug | -fp -c= -l= --follow --previous --container= --selector= --tail= --since= --since-time=
    --timestamps --all-containers?= --prefix --max-log-requests= | no_prefix
$gh = -R=slug --repo=slug --json= -q=filter --jq=filter --limit= -L= --web!run -w!run
gh pr view|list|diff|checks|status,gh issue view|list|status,gh run view|list|watch,gh repo view|list, gh release
    view|list,gh workflow list|view | slug | $gh -a= -A= -s= -S= -l= -b= -j= -v --state= --label= --author= --assignee=
    --search= --base= --head= --comments -c --log --log-failed --job= --branch= --event= --status= --user= --exit-status
    --name-only --patch --color= --required --watch --interval= --milestone= --draft --workflow= --verbose --compact
    --yaml
gh pr create,gh issue create | unknown | $gh -t= -b= -F=read -B= -H= -l= -a= -r= -d -f -m= --title= --body=
    --body-file=read --base= --head= --label= --assignee= --reviewer= --draft --fill --fill-first --milestone= --dry-run
gh api | endpoint | -i -q=filter --jq=filter --paginate --slurp --include --cache= --silent --verbose
gh pr checkout | name | -b= --branch= --detach -f --force --recurse-submodules
terraform,tofu | text | -chdir=enter | long_dash=- subcommands
terraform fmt|validate|plan|output|show|version|graph | read | -check -diff -recursive -json -raw -no-color
    -compact-warnings -detailed-exitcode -refresh= -lock= -target= -out=file -write= | long_dash=-
terraform init | | -backend= -upgrade -reconfigure -input= -no-color -get= | long_dash=-
"""
_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*:(?!\d)")
_DATA = ("-d", "-H", "-w", "--data", "--data-binary", "--data-ascii", "--data-urlencode", "--json", "--header")
_SHOWN = ("-w", "--write-out")


def curl(call: Invocation) -> list[Use]:
    """Return the effects of ``curl``. ``@file`` and ``name@file`` send a file. A URL may be a glob, or may have a
    scheme other than http."""
    uses = call.uses(call.options)
    for each in call.arguments:
        if each.name in ("-o", "--output") and each.text not in ("-", "/dev/null"):
            uses.append(each.beyond("write", f"{each.name} writes a file", target=True))
        elif each.name in _SHOWN and "%output{" in each.text:
            uses.append(each.beyond("write", "%output writes a file", ""))
        elif each.name in (*_DATA, *_SHOWN) and re.match(r"[\w.-]*@", each.text):
            uses.append(each.beyond("send", "@ sends a file"))
        elif not each.name or each.name == "--url":
            uses += _address(each)
    return [*uses, WHOLE.included("alter")]


def _address(found: Argument) -> list[Use]:
    if set("{}[]") & set(found.text):
        return [found.beyond("unknown", "the URL is a pattern")]
    if _SCHEME.match(found.text) and not re.match(r"https?://", found.text, re.I):
        return [found.beyond("load", f"{found.text} is not a valid URL")]
    return [found.included("send")]
