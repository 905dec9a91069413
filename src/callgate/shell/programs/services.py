"""Programs whose subcommands differ as much as programs do: docker, gh, kubectl and the system's own tools."""

from callgate.shell.programs.options import Grammar, grammar, loose, program, scan, uses_in
from callgate.shell.programs.uses import Program, Use, Words

# program → subcommands that only show something. A subcommand of two words has a blank in it.
_SHOWS: dict[str, str] = {
    "docker": "ps|images|logs|inspect|version|info|top|stats|port|diff|history|search|image ls|container ls|volume ls|"
    "network ls|compose ps|compose logs|compose config|context ls|system df",
    "podman": "ps|images|logs|inspect|version|info|top|stats|port|diff|history|search",
    "gh": "pr view|pr list|pr status|pr diff|pr checks|issue view|issue list|issue status|run view|run list|run watch|"
    "repo view|repo list|release view|release list|workflow view|workflow list|search|status|auth status|"
    "label list|api",
    "glab": "mr view|mr list|mr diff|issue view|issue list|ci view|ci list|repo view",
    "kubectl": "get|describe|logs|version|explain|top|api-resources|api-versions|cluster-info|config view|diff|events",
    "helm": "list|status|history|get|show|search|version|lint|template",
    "systemctl": "status|show|list-units|list-unit-files|is-active|is-enabled|is-failed|cat|list-timers",
    "brew": "list|info|search|outdated|config|doctor",
}
# A rule that names one of these means all that can be done with it.
_TOGETHER = frozenset(("docker compose", "gh pr", "gh issue", "gh run", "gh release", "gh workflow", "glab mr"))
# program → options that matter.
_OPTIONS: dict[str, str] = {
    "docker": """--privileged!run -v=load --volume=load --mount=load --device=load --pid=load --ipc=load
        --network=load --net=load --userns=load --cap-add=load --security-opt=load --cgroupns=load --env-file=load
        --entrypoint=run -H=send --host=send --config=load -c=send --context=send --tlscacert=load -f=load
        --file=load -o=write --output=write --volumes-from=load --add-host=send --secret=load --ssh=load --uts=load
        --format=text --filter=text -n=text --tail=text --since=text --until=text""",
    "podman": "--privileged!run -v=load --volume=load --mount=load --device=load --pid=load --network=load --root=load",
    "gh": """-X=alter --method=alter -f=alter -F=alter --field=alter --raw-field=alter --input=alter --hostname=send
        -R=text --repo=text --json=text -q=text --jq=text -t=text --template=text -L=text --limit=text -s=text
        --state=text -H=text --header=text --web!run -w!run -a=text -l=text --label=text --author=text -b=text
        -S=text --search=text --paginate --log --log-failed --comments -c -D=write --dir=write -O=write --cache=text""",
    "glab": "-w!run --web!run -R=text --repo=text",
    "kubectl": """--kubeconfig=load --context=send --server=send -s=send --as=send --token=send -f=load
        --filename=load -k=load --kustomize=load -n=text --namespace=text -o=text --output=text -l=text
        --selector=text -c=text --container=text --tail=text --since=text --raw=send --cache-dir=write
        --profile-output=write --cluster=send --user=send""",
    "helm": """--kubeconfig=load --kube-context=send -f=load --values=load --post-renderer=run --output-dir=write
        -n=text -o=text""",
    "systemctl": """-H=send --host=send -M=send --machine=send --root=load -p=text --property=text -t=text -n=text
        -o=text --no-pager -l""",
    "brew": "",
}


# What follows one of these has options of its own.
_OWN: dict[str, Grammar] = {
    "docker logs": grammar("-ft -n=text --follow --tail=text --since=text --until=text --timestamps --details"),
    "docker compose logs": grammar(
        """-ft -n=text --follow --tail=text --since=text --until=text --timestamps --no-color --no-log-prefix
        --index=text"""
    ),
    "docker ps": grammar(
        """-alqsn -f=text --all --filter=text --format=text --no-trunc --quiet --size --last=text --latest"""
    ),
    "docker images": grammar("-aq -f=text --all --digests --filter=text --format=text --no-trunc --quiet"),
    "docker inspect": grammar("-s -f=text --format=text --size --type=text"),
    "kubectl logs": grammar(
        """-fp -c=text -n=text -l=text --follow --previous --tail=text --since=text --since-time=text --container=text
        --namespace=text --selector=text --timestamps?=text --all-containers?=text --prefix?=text
        --ignore-errors?=text --limit-bytes=text --max-log-requests=text"""
    ),
}


def _service(name: str, rules: Grammar) -> Program:
    shows = frozenset(_SHOWS[name].split("|"))

    def read(words: Words) -> list[Use]:
        found = scan(rules, words)
        operands = [each for each in found if not each.name]
        uses = loose(words)
        steps = [" ".join([name, *(each.text for each in operands[:count])]) for count in (1, 2)]
        own = next((step for step in steps if step in _OWN), None)
        if own:
            last = operands[own.count(" ") - 1].at
            rest = scan(_OWN[own], words, last + 1)
            uses += uses_in(_OWN[own], rest)
            found = [each for each in found if each.at <= last]
            operands = [each for each in (*found, *rest) if not each.name]
        uses += uses_in(rules, found)
        if not operands:
            return uses
        if operands[0].text in ("exec", "run") and len(operands) > 2:
            uses.append(Use("argv", "", 0, operands[2].at, "it runs a command there", meant=True))
        first, pair = operands[0], " ".join(each.text for each in operands[:2])
        uses.append(Use("alter", "", first.at, first.on, meant=True))
        if first.text in shows or pair in shows:
            return uses
        # Where subcommands have two words the second one has to stand in the rule, but for those that belong together.
        double = any(each.startswith(f"{first.text} ") for each in shows) and len(operands) > 1
        named = operands[1] if double and f"{name} {first.text}" not in _TOGETHER else first
        return [*uses, Use("alter", "", named.at, named.on, f"{name} {pair} changes something")]

    return Program(read)


_ALTERS = (Use("alter", "", 0, 0, meant=True),)
_TABLE: dict[str, tuple[str, str]] = {
    # What they are for is to change the state of the machine; a rule that names them means it.
    "kill pkill killall": ("text", "-lqwefx9 -s=text -n=text -u=text -t=text -g=text -P=text -#"),
    "mount umount": ("odd", "-a!alter"),
    "sysctl": ("text", "-aAnNeqbr -w!alter -p?=load --load?=load --system!load --all --values --names"),
    "dmesg journalctl": (
        "text",
        """-fHkLrTxewn -u=text -n=text -o=text -p=text -S=text -U=text -t=text -b?=text --since=text --until=text
        --no-pager --unit=text --lines=text --output=text --priority=text -C!alter -c!alter --clear!alter
        --rotate!alter --vacuum-size=alter --vacuum-time=alter -D=load --directory=load --file=load --root=load""",
    ),
    "lsof": (
        "text",
        """-abChlnNOPRtUVvX -c=text -d=text -g?=text -i?=text -p=text -s?=text -u=text -T?=text -r?=text -K?=text
        -F?=text -S?=text -x?=text -D=load -k=load -m=load -A=load""",
    ),
    "ss netstat ip ifconfig": (
        "text",
        """-46aAbcdeEfFgGhHiIlmMnNoOpPqrRstTuUvVwWxXzZ -K!alter --kill!alter -D=load -F=load""",
    ),
    "top htop": ("text", "-bcHiSsn -n=text -d=text -p=text -u=text -o=text"),
    "gpg gpg2": (
        "read",
        """-abdekstuvq --list-keys --list-secret-keys --fingerprint --verify --armor --batch --yes --import!alter
        -o=file --output=file --homedir=load --options=load --keyring=load --agent-program=run --photo-viewer=run
        --exec-path=load --load-extension=load --dirmngr-program=run --pinentry-mode=text -r=text -u=text
        --delete-keys!alter --delete-secret-keys!alter --export-secret-keys!send --keyserver=send --recv-keys=send
        --send-keys!send --gpgconf-test""",
    ),
    "ssh-keygen ssh-add": ("text", "-lvqyBE -f=read -D=load -P=text -N=text -t=text -b=text -C=text -w=load"),
    "gcloud aws az": (
        "text",
        """--configuration=load --endpoint-url=send --profile=load --cli-input-json=load --region=text --output=text
        --query=text --ca-bundle=load""",
    ),
    "printenv": ("text", "-0"),
    "xdg-open open start": ("odd", ""),
    "osqueryi": ("odd", ""),
    "watchman": ("odd", ""),
    "screen tmux dtach": ("odd", "-S=text -d!run -m!run -X=run"),
    "pandoc": (
        "read",
        """-s -f=text -t=text -r=text -w=text --from=text --to=text --standalone --toc -F=run --filter=run
        --lua-filter=load -L=load --pdf-engine=run --defaults=load -d=load -o=file --output=file --template=load
        --extract-media=write""",
    ),
    "ag ack": (
        "text",
        """-ilnrvwcQSsUua0 -A=text -B=text -C=text -G=text -g=text -m=text -p=read --ignore=text --hidden --pager=run
        --ackrc=load --output=text --nocolor --color --files-with-matches --count --column --python --js -z!run
        --search-zip!run""",
    ),
}

# Long options with one dash.
_ONE_DASH: dict[str, tuple[str, str]] = {
    "exiftool convert magick ffmpeg ffprobe": (
        "change",
        """-filter_complex=text -config=load -if=run -execute=run -i=read -f=text -c=text -v=text -ss=text -t=text
        -b=text -r=text -s=text -y -n -map=text -resize=text -quality=text -codec=text -filter=text
        -vf=text -af=text""",
    ),
    "nmap": (
        "text",
        """-script=load -script-args=load -datadir=load -servicedb=load -oN=write -oX=write -oG=write -oA=write
        -iL=load -sV -sS -sn -Pn -p=text -A -F -T4""",
    ),
}

SERVICES: dict[str, Program] = {
    **{name: _service(name, grammar(_OPTIONS[name], "text", lenient=True)) for name in _SHOWS},
    **{
        name: program(spec, *operands.split(), also=_ALTERS)
        for names, (operands, spec) in _TABLE.items()
        for name in names.split()
    },
    **{
        name: program(spec, *operands.split(), dash="-", also=_ALTERS)
        for names, (operands, spec) in _ONE_DASH.items()
        for name in names.split()
    },
}
