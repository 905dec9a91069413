"""Programs that talk to other machines."""

import re

from callgate.shell.programs.options import Found, Meaning, grammar, loose, program, scan, uses_in
from callgate.shell.programs.uses import Program, Use, Words, said

_CURL = grammar(
    """-0123#46afgGiIjklLNpqsSvVZ -n!load -A=text -H=data -X=text -d=data -e=text -m=text -r=text -u=text -w=shown
        -y=text -Y=text -z=text --url=url --anyauth --basic --digest --bearer --compressed --connect-timeout=text
        --data=data --data-binary=data --data-ascii=data --data-urlencode=data --data-raw=text --json=data --fail
        --fail-early --fail-with-body --get --globoff --head --header=data --http1.0 --http1.1 --http2 --http3
        --include --insecure --ipv4 --ipv6 --keepalive-time=text --limit-rate=text --location --location-trusted
        --max-filesize=text --max-redirs=text --max-time=text --no-buffer --no-keepalive --no-progress-meter
        --oauth2-bearer=text --parallel --post301 --post302 --post303 --progress-bar --proto=text
        --proto-default=scheme --range=text --raw --referer=text --request=text --retry=text --retry-all-errors
        --retry-connrefused --retry-delay=text --retry-max-time=text --show-error --silent --ssl-reqd --tlsv1.2
        --tlsv1.3 --tr-encoding --user=text --user-agent=text --verbose --write-out=shown --path-as-is --disable
        --url-query=data --no-sessionid --tcp-nodelay --styled-output -o=output -O!write -J!write -K=load -T=send
        -F=send -x=send -b=send -c=output -D=output -E=load -Q=odd -U=text -C=text -t=odd --output=output
        --remote-name!write --remote-name-all!write --remote-header-name!write --output-dir=write
        --create-dirs!write --config=load --upload-file=send --form=send --form-string=text --proxy=send
        --preproxy=send --socks5=send --socks4=send --socks5-hostname=send --cookie=send --cookie-jar=output
        --dump-header=output --cert=load --key=load --cacert=load --capath=load --unix-socket=send
        --abstract-unix-socket=send --resolve=send --connect-to=send --interface=send --dns-servers=send
        --doh-url=send --netrc!load --netrc-file=load --netrc-optional!load --trace=output --trace-ascii=output
        --stderr=output --libcurl=file --hsts=file --alt-svc=file --etag-save=file --etag-compare=read
        --engine=load --crlfile=load --random-file=load --egd-file=load --pubkey=load --quote=odd
        --telnet-option=odd --mail-from=send --mail-rcpt=send --variable=load --ftp-port=send --delegation=odd
        --krb=odd --negotiate --ntlm --proxy-user=text""",
    "url",
)
_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*:(?!\d)")


def _curl(words: Words) -> list[Use]:
    uses = uses_in(_CURL, scan(_CURL, words), _CURL_KINDS)
    return [*uses, *loose(words), Use("alter", "", 0, 0, meant=True)]


def _data(found: Found) -> list[Use]:
    """``@file`` and ``name@file`` send a file."""
    if re.match(r"[\w.-]*@", found.text):
        return [Use("send", found.text, found.at, found.on, "@ sends a file")]
    return []


def _output(found: Found) -> list[Use]:
    """A dash is the output everybody sees."""
    if found.text in ("-", "/dev/null"):
        return []
    return [Use("write", found.text, found.at, found.on, f"{found.name} writes a file", target=True)]


def _shown(found: Found) -> list[Use]:
    """A text to print, which may be in a file, and may lead the rest into one."""
    if "%output{" in found.text:
        return [Use("write", "", found.at, found.on, "%output writes a file")]
    return _data(found)


def _address(found: Found) -> list[Use]:
    """Addresses may be patterns, and may name other things than a web server."""
    if set("{}[]") & set(found.text):
        return [Use("odd", found.text, found.at, found.on, "the address is a pattern")]
    if _SCHEME.match(found.text) and not re.match(r"https?://", found.text, re.I):
        return [Use("load", found.text, found.at, found.on, f"{found.text} is not a web address")]
    return []


def _scheme(found: Found) -> list[Use]:
    """What an address without a scheme is taken for."""
    web = found.text.lower() in ("http", "https")
    return [] if web else [Use("load", "", found.at, found.on, f"{found.text} is not for web addresses")]


_CURL_KINDS: dict[str, Meaning] = {
    "url": _address,
    "data": _data,
    "output": _output,
    "shown": _shown,
    "scheme": _scheme,
}


# names → kinds of the operands, options
_TABLE: dict[str, tuple[str, str]] = {
    "wget": (
        "text",
        """-46bcdEFHhkKLNnpqrSvVx -A=text -D=text -I=text -l=text -Q=text -R=text -t=text -T=text -U=text -w=text
        -X=text --spider --quiet --verbose --no-verbose --server-response --recursive --level=text --tries=text
        --timeout=text --wait=text --header=text --user-agent=text --user=text --password=text --method=text
        --continue --timestamping --no-check-certificate --max-redirect=text --content-on-error --https-only
        --progress=text --show-progress --no-clobber --no-parent --accept=text --reject=text --domains=text
        --no-directories --no-host-directories --cut-dirs=text --limit-rate=text --quota=text --inet4-only
        --inet6-only --no-proxy --no-cache --no-cookies -O=output -P=write -o=output -a=output -i=send -e=load -B=text
        --output-document=output --directory-prefix=write --output-file=output --append-output=output
        --input-file=send --execute=load --config=load --post-file=send --post-data=text --body-file=send
        --body-data=text --use-askpass=run --load-cookies=load --save-cookies=write --ca-certificate=load
        --ca-directory=load --certificate=load --private-key=load --warc-file=write --base=text --rejected-log=write
        --hsts-file=write --unlink!remove --default-page=text --input-metalink=load""",
    ),
    "ssh slogin": (
        "text",
        """-46aCfgGkKnNqtTvVxyY -B=text -b=text -c=text -e=text -l=text -m=text -p=text -Q=text -i=read -A!send
        -X!send -s!odd -M!odd -o=load -F=load -E=write -S=load -L=send -R=send -D=send -w=send -W=send -J=send
        -I=load -O=odd -P=text""",
    ),
    "scp": (
        "local",
        "-346ABCpqrTvOR -c=text -i=read -l=text -P=text -X=text -D=run -S=run -o=load -F=load -J=send",
    ),
    "sftp": (
        "local",
        """-46AaCfNpqrv -B=text -b=load -c=text -D=run -F=load -i=read -J=send -l=text -o=load -P=text -R=text -S=run
        -s=run""",
    ),
    "rsync": (
        "local",
        """-acCdDgHhikKlLmnoOpPqrRStuUvVwxXyzAEW0468 -B=text -f=load -F!load -M=run -e=run -T=write --archive
        --verbose --quiet --recursive --update --dry-run --itemize-changes --checksum --compress --progress
        --partial --stats --human-readable --exclude=text --include=text --exclude-from=read --include-from=read
        --links --perms --times --owner --group --existing --ignore-existing --max-size=text --min-size=text
        --bwlimit=text --timeout=text --numeric-ids --chmod=text --info=text --out-format=text --cvs-exclude
        --one-file-system --size-only --delete!remove --delete-after!remove --delete-before!remove
        --delete-during!remove --delete-excluded!remove --delete-delay!remove --del!remove
        --remove-source-files!remove --force!remove --rsh=run --rsync-path=run --files-from=load --filter=load
        --log-file=write --write-batch=write --read-batch=load --temp-dir=write --partial-dir=write
        --backup-dir=write --daemon!send --config=load --password-file=load --remote-option=run --compare-dest=read
        --copy-dest=read --link-dest=read --early-input=load --sockopts=odd --copy-as=odd""",
    ),
    "nc ncat netcat": (
        "text",
        """-46CDdFhIiklMmNnOPpqrSsTtUuVvWwXxZz -e=run -c=run --exec=run --sh-exec=run --lua-exec=load""",
    ),
    "socat": ("odd", ""),
    "telnet ftp tftp": ("text", "-46Ee -l=text"),
    "ping ping6 traceroute tracepath mtr": (
        "text",
        """-46aAbBdDfhLnOqrRUvV -c=text -i=text -I=text -l=text -m=text -M=text -p=text -Q=text -s=text -S=text
        -t=text -T=text -w=text -W=text""",
    ),
    "dig host nslookup whois getent": (
        "text",
        """-46aAbCdhilmnNqruvVwxTsp -c=text -k=load -y=text -R=text -t=text -W=text -f=load -K=load""",
    ),
    "http https xh": (
        "item",
        """-bhvpfj -a=text -o=output -d!write --download!write --output=output --session=write --cert=load --headers
        --body --json --form --follow --timeout=text""",
    ),
    "aria2c": ("text", "-d=write -o=write -i=load --conf-path=load --on-download-complete=run --on-download-start=run"),
}


def _talks(operands: str, spec: str) -> Program:
    rules = grammar(spec, *operands.split())

    def read(words: Words) -> list[Use]:
        uses = uses_in(rules, scan(rules, words), {"local": _here, "output": _output, "item": _item})
        return [*uses, *loose(words), Use("alter", "", 0, 0, meant=True)]

    return Program(read)


def _item(found: Found) -> list[Use]:
    """``name@file`` and ``name=@file`` send a file."""
    return [Use("send", found.text, found.at, found.on, "@ sends a file")] if "@" in found.text else []


def _here(found: Found) -> list[Use]:
    """A path on this machine, unless there is the name of another before it."""
    if ":" in found.text.partition("/")[0]:
        return []
    return [
        Use("read", found.text, found.at, found.on, meant=True),
        Use("write", found.text, found.at, found.on, meant=True),
    ]


_SSL = """-in=read -inkey=read -CAfile=read -cert=read -key=read -noout -text -subject -issuer -dates -fingerprint
    -serial -purpose -hash -enddate -startdate -pubkey -pubout -modulus -inform=text -outform=text -connect=text
    -servername=text -showcerts -brief -quiet -base64 -d -a -A -e -salt -pbkdf2 -iter=text -hex -binary -r -sha1
    -sha256 -sha384 -sha512 -md5 -days=text -subj=text -newkey=text -nodes -x509 -new -batch -verify_return_error
    -checkend=text -passin=load -passout=load -pass=load -k=text -nocerts -nokeys -clcerts -v
    -out=file -keyout=file -engine=load -config=load -provider=load -provider-path=load -extfile=load
    -extensions=text -proxy=send -writerand=write -rand=read -CApath=read -CA=read -CAkey=read -CAcreateserial!write"""

_SSH = grammar(_TABLE["ssh slogin"][1], "text", stops=True)


def _ssh(words: Words) -> list[Use]:
    """What follows the name of the machine is shell text there."""
    found = scan(_SSH, words)
    host = next((each.at for each in found if not each.name), len(words))
    uses = uses_in(_SSH, [each for each in found if each.at <= host])
    remote = " ".join(said(word) for word in words[host + 1 :])
    there = [Use("run", remote, host, len(words) - 1, "runs there", meant=True)] if remote else []
    return [*uses, *there, *loose(words), Use("alter", "", 0, 0, meant=True)]


NETWORK: dict[str, Program] = {
    name: _talks(operands, spec) for names, (operands, spec) in _TABLE.items() for name in names.split()
} | {
    "ssh": Program(_ssh),
    "slogin": Program(_ssh),
    "curl": Program(_curl),
    "openssl": program(_SSL, "text", dash="-", also=(Use("alter", "", 0, 0, meant=True),)),
}
