"""Options that a grant for a program does not include, one by one, in every way they can be written.

The list is written by hand, not taken from the table.
"""

import pytest

from callgate.shell.programs.options import names
from tests.shell.shell_kit import granted, judged

KEPT_OUT = """
docker: --privileged -v --volume --mount --device --pid --ipc --network --net --userns --cap-add
    --security-opt --env-file --entrypoint -H --host --config -c --context -f --file -o --output
    --volumes-from --add-host --secret --ssh
docker run: --privileged -v --volume --mount --pid --net --network --cap-add --entrypoint
podman: --privileged -v --volume --mount --device --pid --network --root
gh: -X --method -f -F --field --raw-field --input --hostname --web -w -D --dir -O
gh api: -X --method -f -F --field --raw-field --input --hostname
glab: -w --web
kubectl: --kubeconfig --context --server -s --as --token -f --filename -k --kustomize --raw --cache-dir
    --cluster --user
helm: --kubeconfig --kube-context -f --values --post-renderer --output-dir
systemctl: -H --host -M --machine --root
sysctl: -w -p --load --system
journalctl: -D --directory --file --root --rotate --vacuum-size --vacuum-time
dmesg: -C -c --clear
ss: -K --kill -D -F
gpg: --import -o --output --homedir --options --keyring --agent-program --photo-viewer --exec-path
    --load-extension --dirmngr-program --delete-keys --delete-secret-keys --export-secret-keys
    --keyserver --recv-keys --send-keys
ssh-keygen: -D -w
aws: --endpoint-url --profile --cli-input-json --ca-bundle
tmux: -d -m -X
pandoc: -F --filter --lua-filter -L --pdf-engine --defaults -d -o --output --template --extract-media
ag: --pager --ackrc -z --search-zip
ffmpeg: -config -if -execute
nmap: -script --script -datadir -oN -oX -oG -oA -iL
npm: --prefix --script-shell --shell --userconfig --globalconfig --node-options --registry --global -g
    --location --call -c --git --editor --viewer --onload-script --proxy --https-proxy --cafile --cwd
    --dir -C --cache --config
npm run: --prefix --script-shell --shell --userconfig --node-options -C
pip: --index-url -i --extra-index-url --find-links -f --target -t --prefix --root --global-option
    --build-option --config-settings -C --python --log --cert --proxy --trusted-host --cache-dir --src
    --report -d --dest --wheel-dir -w --index
cargo build: --config --manifest-path -C -Z --target-dir --artifact-dir --out-dir --lockfile-path --registry
    --index --git --path --root --fix
make: -f --file --makefile -C --directory -I --include-dir --eval -E
just: -f --justfile --working-directory --set --shell
gradle: -b -p -c -I --init-script --build-file --settings --project-dir
pytest: -p -c --config-file --rootdir -o --override-ini --pdbcls --confcutdir --basetemp --junitxml
    --junit-xml --log-file --debug --pastebin --cov-config --report-log --html --inifile
mypy: --config-file --python-executable --custom-typeshed-dir --custom-typing-module --cache-dir
    --any-exprs-report --cobertura-xml-report --html-report --linecount-report --txt-report --xml-report
    --junit-xml --install-types --shadow-file
ruff: --output-file -o --cache-dir --fix --unsafe-fixes --add-noqa --log-file
eslint: -c --config --rulesdir --plugin --resolve-plugins-relative-to --parser --parser-options
    --fix -o --output-file --cache-location --cache-file --init --flag
prettier: --config --plugin --plugin-search-dir --find-config-path --write -w --cache-location
black: --config -i -w
tsc: --outDir --outFile --declarationDir --tsBuildInfoFile --generateTrace --generateCpuProfile --plugins
    --init --baseUrl --typeRoots
jest: -c --config --rootDir --setupFiles --setupFilesAfterEnv --globalSetup --globalTeardown --testRunner
    --transform --runner --resolver --preset --env --testEnvironment --coverageDirectory
    --outputFile --filter --cacheDirectory --snapshotResolver --testSequencer --moduleNameMapper
    --prettierPath --watchPlugins
mocha: -r --require --import --loader --config --file --package --opts --node-option
terraform: -chdir -var-file -plugin-dir -backend-config -out -state -state-out -backup -auto-approve -destroy
ansible: -i -e --extra-vars -M --module-path -m -a --args -c
cmake: -P -C -E -D --toolchain
apt: -c -o --config-file --option
gem: --source --install-dir --config-file
go test: -exec --exec -toolexec -vettool -overlay -modfile -C -o -outputdir -coverprofile -cpuprofile
    -memprofile -blockprofile -mutexprofile -trace -ldflags -gcflags -asmflags -gccgoflags -compiler
    -pkgdir -pgo
wget: -O -P -o -a -i -e --output-document --directory-prefix --output-file --append-output --input-file
    --execute --config --post-file --body-file --use-askpass --load-cookies --save-cookies
    --ca-certificate --certificate --private-key --warc-file --rejected-log --hsts-file --unlink
    --input-metalink
ssh: -A -X -s -M -o -F -E -S -L -R -D -w -W -J -I -O
scp: -D -S -o -F -J
sftp: -b -D -F -J -o -S -s
rsync: -f -F -M -e -T --delete --delete-after --delete-before --delete-during --delete-excluded
    --delete-delay --del --remove-source-files --force --rsh --rsync-path --files-from --filter
    --log-file --write-batch --read-batch --temp-dir --partial-dir --backup-dir --daemon --config
    --password-file --remote-option --early-input --sockopts --copy-as
nc: -e -c --exec --sh-exec --lua-exec
dig: -k -f
http: -o -d --download --output --session --cert
aria2c: -d -o -i --conf-path --on-download-complete --on-download-start
curl: -o -O -J -K -T -F -x -b -c -D -E -Q -t --output --remote-name --remote-name-all --remote-header-name
    --output-dir --create-dirs --config --upload-file --form --proxy --preproxy --socks5 --socks4
    --socks5-hostname --cookie --cookie-jar --dump-header --cert --key --cacert --capath --unix-socket
    --abstract-unix-socket --resolve --connect-to --interface --dns-servers --doh-url --netrc
    --netrc-file --netrc-optional --trace --trace-ascii --stderr --libcurl --hsts --alt-svc --etag-save
    --engine --crlfile --quote --mail-from --mail-rcpt --variable --ftp-port
openssl: -out -keyout -engine -config -provider -provider-path -extfile -proxy -writerand -passin -pass
rm: --no-preserve-root
chmod: --no-preserve-root
install: --strip-program
gzip: -o --rm
zip: -m -b -T --test --unzip-command
split: --filter
patch: -o -r -e --output --reject-file --ed
tar: --absolute-names -P -I --use-compress-program -F --info-script --new-volume-script --to-command
    --checkpoint-action --rsh-command --rmt-command -T --files-from -g --listed-incremental --index-file
    --volno-file --remove-files --recursive-unlink --delete
rg: -z --pre --search-zip --hostname-bin
file: -z -Z -C --no-sandbox --uncompress --uncompress-noreport --compile
diff: --paginate
diff3: --diff-program
sdiff: -o --output --diff-program
sort: -o --output -T --temporary-directory --compress-program
shuf: -o --output
iconv: -o --output
xxd: -r
tree: -o
man: -P -H -X -T -t -M -C -p --pager --html --gxditview --troff-device --troff --preprocessor
    --config-file --manpath --ditroff
date: -s --set
less: -o -O -k --log-file --LOG-FILE --lesskey-file --lesskey-src --lesskey-content
jq: -f --from-file -L --library-path
yq: -i --inplace --in-place --from-file --split-exp --split-exp-file
sqlite3: -init -A -append -zip -vfs
psql: -f --file -o --output -L --log-file
mysql: --defaults-file --defaults-extra-file --plugin-dir --init-command --tee --pager --socket
fd: -x -X --exec --exec-batch
find: -exec -execdir -ok -okdir -delete -fprint -fprint0 -fls -fprintf
sed: -i --in-place -f --file
awk: -f -E -i -l -d -o -p -D -W -m --file --exec --include --load --dump-variables --pretty-print
    --profile --debug
bash: -s -i -l --login --rcfile --init-file --debugger --command
node: -i -r --require --import --loader --experimental-loader --env-file --inspect --inspect-brk
    --openssl-config --icu-data-dir --redirect-warnings --diagnostic-dir --cpu-prof --heap-prof
    --build-snapshot --experimental-config-file --test-reporter-destination --interactive
perl: -i -I -M -m -d
ruby: -i -I -r -C
php: -z -c -d -S -t
lua: -l -i
julia: -J -L --project
guile: -l --load
m4: -I
tsx: -r -P
git: -c -C --git-dir --work-tree --namespace --exec-path --config-env --attr-source --super-prefix -p
    --paginate --bare
git diff: --ext-diff --textconv --output --help
git log: --ext-diff --textconv --output --show-signature
git show: --ext-diff --textconv --output --show-signature
git grep: -O --open-files-in-pager --textconv
git cat-file: --textconv --filters
git hash-object: -w
git config: -e --edit --add --unset --unset-all --replace-all --rename-section --remove-section --comment
git branch: -d -D -m -M -c -C -f -u --delete --move --copy --force --set-upstream-to --unset-upstream
    --edit-description
git tag: -d -f -v -e --delete --force --verify --edit
git archive: -o --output --remote --exec
git ls-remote: --upload-pack --exec
git fetch: --upload-pack
git pull: --upload-pack -s --strategy
git push: --receive-pack --exec --repo
git clone: -u -c --config --template --separate-git-dir --upload-pack --bundle-uri
git add: -e --edit
git commit: -c --reedit-message --edit --trailer
git merge: -s --strategy -e --edit
git rebase: -x --exec -i --interactive --edit-todo -s --strategy
git cherry-pick: -s --strategy -e --edit
git revert: -s --strategy -e --edit
git stash: --ext-diff --output
git notes: -c
git am: -i --interactive
git apply: --unsafe-paths
git format-patch: -o --output-directory --output
git init: --template --separate-git-dir
git clean: -i --interactive
git difftool: -x --extcmd -t --tool
git mergetool: -t --tool
env: -C -S --chdir --split-string
strace: -E -o --output
sudo: -s -i -R --login --shell
flock: -c --command
su: -c --command
script: -c --command
npx: -c --call
uvx: --with-editable --with-requirements --index-url
parallel: --joblog --results
time: -o --output
gdb: -ex -iex -x --command --eval-command
printf: -v
"""


# What follows their first operand is not theirs.
STOPPING = names("env bash node perl ruby php lua julia guile m4 tsx ssh git sudo printf flock npx")


def options() -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    rule = ""
    for line in KEPT_OUT.strip().splitlines():
        text = line
        if not line.startswith(" "):
            rule, _, text = line.partition(":")
        found += [(rule, option) for option in text.split()]
    return found


@pytest.mark.parametrize(("rule", "option"), options(), ids=lambda each: each)
def test_an_option_that_does_more_is_not_part_of_the_grant(rule: str, option: str) -> None:
    glued = f"{option}{'' if len(option) == 2 and rule != 'go test' else '='}x"
    ways = [f"{rule} {option} x", f"{rule} {glued}", f"{rule} x {option} y"]
    for command in ways if rule not in STOPPING else ways[:2]:
        assert not granted(f"{rule}:*", command), judged(f"{rule}:*", command)


def test_every_option_is_listed_once() -> None:
    assert len(options()) == len(set(options()))
