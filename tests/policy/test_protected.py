"""Hard safety for places: what needs a person's yes, and what must stay ordinary."""

import os
from pathlib import Path

from callgate.host.paths import Resolver
from callgate.policy.protected import What, danger, is_secret
from callgate.words.resolved_path import PathKind, ResolvedPath
from tests.rows import rows

ROOT, HOME = "/srv/proj", "/home/me"


def at(
    path: str, *more: str, kind: PathKind = "missing", fault: str | None = None, folds: bool = False
) -> ResolvedPath:
    """A place by its hops; relative ones start at the root."""
    hops = tuple(hop if hop.startswith("/") else f"{ROOT}/{hop}" for hop in (path, *more))
    inside = all(hop == ROOT or hop.startswith(ROOT + "/") for hop in hops)
    return ResolvedPath(path, hops, hops[-1], inside, kind, fault, folds)


def said(place: ResolvedPath | str, what: What = "write") -> str | None:
    return danger(at(place) if isinstance(place, str) else place, what, root=ROOT, home=HOME)


def texts(block: str) -> list[str]:
    return block.split()


REPOSITORY = texts(
    """
    .git .git/config .git/hooks/pre-commit .git/info/attributes sub/.git/config .hg/hgrc .svn/x .jj/x .bzr/x .sl/x
    .pijul/x .fossil _darcs/x .gitmodules .gitattributes sub/.gitattributes .gitconfig .hgrc .githooks/x
    """
)
SHELL = texts(
    """
    .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .zlogout
    .kshrc .mkshrc .cshrc .tcshrc .login .logout .inputrc .xonshrc .oh-my-zsh/x .pam_environment .xinitrc .xprofile
    .xsession .xsessionrc profile.ps1 Microsoft.PowerShell_profile.ps1 .config/fish/config.fish .config/nushell/x
    .config/powershell/x .config/environment.d/x .config/autostart/x .config/systemd/user/x Library/LaunchAgents/x
    Library/LaunchDaemons/x
    """
)
EDITOR = texts(
    """
    .vscode/tasks.json .vscode/settings.json .vscode-server/x .idea/workspace.xml .fleet/x .zed/x .vs/x .vim/x
    .nvim/x .vimrc .gvimrc .exrc .nvimrc .nvim.lua .ideavimrc .emacs .emacs.d/init.el .spacemacs .dir-locals.el
    .dir-locals-2.el .devcontainer/devcontainer.json .devcontainer.json .gitpod.yml .config/nvim/init.lua
    .config/zed/x .config/Code/x .config/emacs/x .config/helix/x a.code-workspace sub/A.Code-Workspace
    """
)
AGENT = texts(
    """
    .agents/skills/x/SKILL.md
    .callgate/settings.toml .claude/settings.json .claude/settings.local.json .claude/hooks/x.sh .claude/agents/a.md
    .claude.json .cursor/mcp.json .cursor/rules .gemini/settings.json .codex/config.toml .windsurf/x .continue/x
    .roo/x .kiro/x .cline/x .clinerules .opencode/x .qwen/x .goose/x .augment/x .junie/x .trae/x .amazonq/x
    .aider.conf.yml .mcp.json mcp.json sub/.mcp.json mcp_config.json .cursorrules .windsurfrules .goosehints
    claude_desktop_config.json .github .github/copilot-instructions.md .github/instructions/x .github/agents/x
    .config/callgate/x .config/opencode/x .config/goose/x .config/claude/x .config/mcp/x .local/share/callgate/x
    AGENTS.md sub/CLAUDE.md CLAUDE.local.md GEMINI.md
    """
)
TOOL = texts(
    """
    .yarnrc .yarnrc.yml .yarn/releases/x .pnpmfile.cjs .pnp.cjs .bunfig.toml bunfig.toml .envrc .direnv/x
    .husky/x .lefthook/x .lefthook.yml lefthook.yml .pre-commit-config.yaml .mise.toml mise.toml .cargo/config
    .cargo/config.toml .mvn/x .gradle/init.d/x .condarc .pip/pip.conf .gemrc .bundle/config .curlrc .wgetrc
    .tmux.conf .screenrc .Rprofile .irbrc .pryrc .pythonrc .pythonrc.py .psqlrc .sqliterc .gdbinit .lldbinit
    sitecustomize.py usercustomize.py .config/git/config .config/pip/x .config/direnv/x .config/mise/x
    """
)
SETTINGS = texts(".npmrc sub/.npmrc")
ENVIRONMENT = texts(".env sub/.env .env.local .env.production")
BUILD = texts(
    """
    .github/workflows/ci.yml .github/actions/x .gitlab-ci.yml .gitlab/ci/x.yml .circleci/config.yml .travis.yml
    .buildkite/pipeline.yml .drone.yml .woodpecker.yml .woodpecker/x.yml azure-pipelines.yml bitbucket-pipelines.yml
    Jenkinsfile sub/Jenkinsfile
    """
)
SECRET = texts(
    """
    .ssh/id_rsa .ssh/authorized_keys .aws/credentials .azure/x .gnupg/x .kube/config .netrc _netrc .git-credentials
    .pgpass .my.cnf .pypirc .vault-token .password-store/x .credentials.json .claude/.credentials.json
    .docker/config.json .config/gh/hosts.yml .config/gcloud/x .config/git/credentials .config/containers/auth.json
    .config/op/x .config/doctl/x .config/hub .config/rclone/x .cargo/credentials .cargo/credentials.toml
    .gem/credentials .codex/auth.json .terraform.d/credentials.tfrc.json .gemini/oauth_creds.json
    .local/share/keyrings/x .local/share/opencode/auth.json Library/Keychains/x .mozilla/firefox/x
    .config/google-chrome/x .config/chromium/x id_rsa id_dsa id_ecdsa id_ed25519 id_ecdsa_sk id_ed25519_sk
    deep/id_rsa server.key a.p12 a.pfx a.ppk a.kdbx a.jks a.keystore key.pem privkey.pem my-key.pem ssh_host_rsa_key
    keys.pem api_key2.pem server.key.pem private.pem priv.pem privatekey.pem keypair.pem
    A.KEY ~/.ssh/id_rsa
    """
)
SYSTEM = texts(
    """
    /proc/sys/x /sys/x /dev/x /boot/x /etc/passwd /etc/group /etc/pam.d/x /etc/profile /etc/profile.d/x
    /etc/bash.bashrc /etc/bashrc /etc/zsh/x /etc/zshenv /etc/zshrc /etc/zprofile /etc/fish/x /etc/environment
    /etc/crontab /etc/cron.d/x /etc/cron.hourly/x /etc/cron.daily/x /etc/cron.weekly/x /etc/cron.monthly/x
    /etc/ld.so.preload /etc/ld.so.conf /etc/ld.so.conf.d/x /etc/ssh/sshd_config /etc/systemd/x /etc/init.d/x
    /etc/rc.local /etc/hosts /etc/gitconfig /etc/claude-code/x /etc/callgate/x /var/spool/cron/x /private/etc/passwd
    """
)
SYSTEM_SECRET = texts(
    """
    /etc/shadow /etc/gshadow /etc/sudoers /etc/sudoers.d/x /etc/ssl/private/x /run/secrets/x /var/run/secrets/x
    /private/etc/shadow /proc/self/environ /proc/1/environ /proc/1/mem /proc/1/task/2/environ /proc/kcore
    /root/.ssh/x /home/me/.ssh/config /home/other/.netrc /etc/ssh/ssh_host_ed25519_key
    """
)
WRITTEN = [
    *((name, "version control data") for name in REPOSITORY),
    *((name, "by a shell") for name in (*SHELL, "/home/me/.bashrc", "/root/.profile")),
    *((name, "by an editor") for name in EDITOR),
    *((name, "configures agents") for name in AGENT),
    *((name, "by a tool") for name in TOOL),
    *((name, "often passwords") for name in SETTINGS),
    *((name, "by the build service") for name in BUILD),
    *((name, "this machine") for name in SYSTEM),
]


@rows(("path", "words"), WRITTEN)
def test_protected_places_are_not_written_and_may_be_read(path: str, words: str) -> None:
    for what in ("write", "remove"):
        why = said(path, what)
        assert why is not None
        assert words in why
    assert said(path, "read") is None


@rows("path", [each for each in (*SECRET, *ENVIRONMENT) if not each.startswith("~")])
def test_a_secret_is_known_by_its_name_alone(path: str) -> None:
    for spelled in (path, f"sub/{path}", path.upper(), f"{path}.", path.replace("i", "\uff49"), f"{path}::$DATA"):
        assert is_secret(spelled) is (said(spelled, "read") is not None), spelled
    assert is_secret(path)


FILES_WITH_SECRETS = """
    credentials.json Credentials.JSON aws_credentials.csv credentials-prod.yaml .htpasswd site.htpasswd .htdigest
    prod.env app.prod.env PROD.ENV docker.env.local .env.bak terraform.tfstate terraform.tfstate.backup my.tfstate
    prod.tfvars terraform.tfvars.json id_rsa_backup id_rsa.bak id_rsa-2024 id_ed25519.old id_ecdsa_sk2
    service-account.json service_account_prod.json serviceaccount.json my-service-account.json
    client_secret_123.apps.json firebase-adminsdk-x.json application_default_credentials.json server.key.bak cert.p12
    AuthKey.p8 store.jks app.keystore kubeconfig prod.kubeconfig kubeconfig.yaml secrets.yml secrets.prod.yaml
    secrets.toml .secrets .vault_pass .vault_pass.txt vault-password.txt passwords.txt token.pickle .dockercfg .s3cfg
    .boto .mylogin.cnf .env_prod .env-prod .env~ env.local env.production .envs/.django serviceAccountKey.json
    service_account_key.json gcp-key.json my-google-keys.json keyfile.json rootkey.csv bob_accessKeys.csv
    aws_credentials .git_credentials private_key.txt private-key.asc jwt_secret_key.txt deploy_key deploy_key.pem
    secret_key_base .secret_key app_private_key.der github_rsa my-server_ed25519 rsa.private prod-secrets.yaml
    application-secrets.yml access_token api-token.txt .token .password .passwd-s3fs passwd.txt
    secring.gpg old.kdb home.ovpn me.agekey x.pkcs8 .kubeconfig my.kubeconfig kube.config talosconfig wallet.dat
    .bash_history .psql_history .terraformrc local.settings.json rclone.conf cookies.txt
"""
FILES_WITHOUT_SECRETS = """
    .env.example .env.sample .env.template .env.dist example.env sample.env id_rsa.pub id_rsa_backup.pub id_rsa.py
    id_card.png valid_rsa.txt credentials.py test_credentials.py credentials.example.json credentials.yml.enc
    secrets.py secrets.enc.yaml secret.yaml secretsmanager.tf main.tf variables.tf terraform.tfvars.example
    tokens.json token.json tokenizer.json client.json service.yaml vault.hcl environment.yml env.py process.env.d.ts
    passwords_test.go password-reset.json kubeconfig.go kubeconfig_test.go ca.pem cert.pem public.pem server.crt
    htpasswd.c package.json public_key.pem deploy_key.pub keyboard.json keys.ts key.go keymap.toml auth.json
    design-tokens.json tokens.css tokenize.py private.md environment.prod.ts env.d.ts env.ts rsa ecdsa.go test_rsa.py
    rsa.h history.txt history secret.yaml external-secret.yaml secrets.md secrets.rs cookies.ts private accounts.json
    accesskey.html .env-example .env_sample service-account.md passwd.go access_token.rb key.properties.example
    monkey.txt turkey.csv
"""


@rows("name", FILES_WITH_SECRETS.split())
def test_files_with_keys_or_passwords_are_secrets_in_every_folder(name: str) -> None:
    for path in (name, f"backend/deploy/{name}"):
        assert is_secret(path), path
        assert said(path, "read") is not None, path
        assert said(path, "write") is not None, path


@rows("name", FILES_WITHOUT_SECRETS.split())
def test_files_that_builds_need_and_that_are_published_stay_readable(name: str) -> None:
    for path in (name, f"backend/deploy/{name}"):
        assert not is_secret(path), path
        assert said(path, "read") is None, path


@rows(
    "name", ["src/main.py", "README.md", "env", "keys", "id", "library", "server.crt", "a.pem", "monkey.py", "Makefile"]
)
def test_ordinary_names_are_no_secrets(name: str) -> None:
    assert not is_secret(name)


@rows("path", [*SECRET, *ENVIRONMENT, *SYSTEM_SECRET])
def test_secrets_are_not_even_read(path: str) -> None:
    for what in ("read", "write", "remove"):
        why = said(path, what)
        assert why is not None
        assert "keys or passwords" in why


def test_tokens_of_tools_are_secrets_at_home_only() -> None:
    for name, words in ((".npmrc", "often passwords"), (".yarnrc.yml", "by a tool")):
        assert "keys or passwords" in str(said(f"{HOME}/{name}", "read"))
        assert said(f"{HOME}/sub/{name}", "read") is None
        assert said(name, "read") is None
        assert words in str(said(f"{HOME}/{name}", "write"))


@rows(
    "path",
    texts(
        """
        a.txt src/a.py Makefile conftest.py package.json pyproject.toml .gitignore .gitkeep .github/CODEOWNERS
        .editorconfig .config/x .local/share/x git/config gitmodules x.git/config .git-blame-ignore-revs
        gitlab-ci.yml id_rsa.pub cert.pem ca.pem public_key.pem pubkey.pem public-keys.pem monkey.pem turkey.pem
        keyboard.pem jwt.key.pub.pem keyring.pem keys.txt monkey.py key ssh/x docs/agents.md docs/claude.md
        Agents.MD .env.example .env.sample .env.template .env.dist env .environment .docker/x .cargo/registry
        library/x config/fish bashrc etc/passwd proc/self/environ dev/x a~1 git~1.txt gitx~1 git~ ~git ... -rf
        ssh_host_rsa_key.pub code-workspace
        """
    ),
)
def test_ordinary_files_stay_ordinary(path: str) -> None:
    for what in ("read", "write", "remove"):
        assert said(path, what) is None


@rows(
    "path",
    [
        *(".GIT/config", ".Git/hooks/x", ".git./config", ".git /config", ".git . ./x", ".git::$INDEX_ALLOCATION/x"),
        *("GIT~1/config", "git~2", ".g\u200bit/config", ".g\u200cit/x", "\uff0egit/x", ".\uff27it/x", ".gi\ufe0ft/x"),
        *("CLAUDE~1/settings.json", "MCP~1.JSO", "GITMOD~1", "BASHRC~1", "VSCODE~1/x", "BASH_P~1", "PRE-CO~1.YAM"),
        *("YARNRC~1.YML", "GITHUB~1/WORKFL~1/x", ".mcp.json:stream", ".BashRC"),
    ],
    ids=ascii,
)
def test_every_spelling_of_a_protected_name_counts(path: str) -> None:
    assert said(path) is not None


def test_names_above_the_workspace_do_not_count() -> None:
    place = ResolvedPath("a", ("/home/me/.claude/trees/x/a",), "/home/me/.claude/trees/x/a", True)
    assert danger(place, "write", root="/home/me/.claude/trees/x", home=HOME) is None
    assert danger(place, "write", root="/home/me/.claude/trees/x/", home=HOME) is None
    assert danger(place, "write", root="/home/me/y", home=HOME) is not None


def test_the_whole_machine_may_be_the_workspace() -> None:
    assert danger(ResolvedPath("/a", ("/a",), "/a", True), "write", root="/", home=HOME) is None
    assert danger(ResolvedPath("/.git", ("/.git",), "/.git", True), "write", root="/", home=HOME) is not None


def test_where_case_does_not_count_instructions_in_small_letters_are_instructions() -> None:
    assert said(at("agents.md", folds=True)) is not None
    assert said(at("docs/Claude.MD", folds=True)) is not None
    assert said(at("agents.txt", folds=True)) is None


def test_every_hop_counts() -> None:
    assert "version control data" in str(said(at("a", ".git/config", "b")))
    assert "keys or passwords" in str(said(at("a", ".ssh/x", "b"), "read"))


def test_a_fault_needs_a_yes_even_for_reading() -> None:
    assert (
        said(at("a\0b", fault="the path contains a NUL character"), "read")
        == "'a\\x00b': the path contains a NUL character"
    )


def test_the_sentence_names_where_a_link_leads() -> None:
    assert said(at("a", "b/.git")) == f"'a' (which leads to '{ROOT}/b/.git'): it is version control data, " + (
        "whose hooks and settings can run programs"
    )


@rows(
    ("path", "words"),
    [
        (ROOT, "workspace"),
        ("/srv", "workspace"),
        ("/", "workspace"),
        (f"{ROOT}/*", "workspace"),
        (f"{ROOT}/**", "workspace"),
        (f"{ROOT}/.*", "workspace"),
        ("/*", "workspace"),
        ("/SRV/Proj", "workspace"),
        (HOME, "home folder"),
        (f"{HOME}/*", "home folder"),
        ("/home", "home folder"),
        ("/etc", "remove a system folder"),
        ("/etc/*", "remove a system folder"),
        ("C:/", "remove a system folder"),
        ("C:", "remove a system folder"),
        ("C:/Windows", "remove a system folder"),
        ("C:/*", "remove a system folder"),
    ],
)
def test_what_holds_everything_is_not_removed(path: str, words: str) -> None:
    place = ResolvedPath(path, (path.rstrip("/") or "/",), path.rstrip("/") or "/", False, "folder")
    assert words in str(said(place, "remove"))
    assert "removing" not in str(said(place, "write"))


@rows("path", ["build", "build/*", f"{ROOT}/src", "/tmp/x", f"{HOME}/x", f"{ROOT}x/y", "/srv/other", "C:/a/b"])
def test_anything_else_may_be_removed(path: str) -> None:
    hop = path if path.startswith(("/", "C:")) else f"{ROOT}/{path}"
    assert said(ResolvedPath(path, (hop,), hop, hop.startswith(ROOT + "/")), "remove") is None


def test_a_link_to_the_workspace_counts_as_the_workspace_for_removing() -> None:
    assert "workspace" in str(said(at("a", ROOT, kind="folder"), "remove"))


def test_devices_need_a_yes_but_for_nothing() -> None:
    for what in ("read", "write", "remove"):
        assert "a device, a pipe or a socket" in str(said(at("pipe", kind="device"), what))
        assert "a device, a pipe or a socket" in str(said(at("/dev/zero", kind="device"), what))
        assert "a device, a pipe or a socket" in str(said(at("/dev/shm/pipe", kind="device"), what))
    assert said(at("/dev/null", kind="device"), "read") is None
    assert said(at("/dev/null", kind="device"), "write") is None
    assert said(at("/dev/null", kind="device"), "remove") is not None
    assert said(at("/dev/shm/file", kind="file"), "write") is None


@rows("what", ["read", "write", "remove"])
def test_escapes_need_a_yes(what: What) -> None:
    assert "a link on the path leads outside" in str(said(at("link/x", "/opt/x"), what))
    assert "a link on the path leads outside" in str(said(at("a", "/opt/back", "b"), what))
    for spelled in ("../x/y", "src/../../x/y", f"{ROOT}/../x/y"):
        assert "through .." in str(said(ResolvedPath(spelled, ("/srv/x/y",), "/srv/x/y", False), what))
    for hop in ("/srv/proj /a", "/srv/proj./a", "/srv/PROJ/a", "/srv/\uff50roj/a"):
        assert "looks like a path in the workspace" in str(said(ResolvedPath(hop, (hop,), hop, False), what))


def test_what_is_plainly_elsewhere_is_no_escape() -> None:
    assert said(ResolvedPath("/opt/a/../b", ("/opt/b",), "/opt/b", False)) is None
    assert said(at("/opt/x", "a")) is None
    assert said(at("/srv/proj-evil/a")) is None
    assert said(ResolvedPath(f"{ROOT}/a/../b", (f"{ROOT}/b",), f"{ROOT}/b", True)) is None


def test_on_a_real_tree(tmp_path: Path) -> None:
    root = tmp_path.resolve() / "root"
    (root / "src").mkdir(parents=True)
    (root / "src/hooks").symlink_to("../.git/hooks")
    (root / "out").symlink_to("..")
    resolver = Resolver(root)

    def found(path: str, what: What) -> str | None:
        return danger(resolver.resolve_path(path), what, root=resolver.root, home=HOME)

    assert "version control data" in str(found("src/hooks/pre-commit", "write"))
    assert "leads out" in str(found("out/x", "read"))
    assert "leads out" in str(found("out/x", "write"))
    assert "workspace" in str(found(".", "remove"))
    assert "workspace" in str(found("..", "remove"))
    assert "different place" in str(found("/proc/self/root/x", "read")) or not Path("/proc/self/root").is_symlink()
    assert found("src/a.py", "write") is None


def test_where_it_leads_over_our_own_process_is_not_told() -> None:
    own = f"/proc/{os.getpid()}/fd/2"
    fault = f"the path contains the link {own}, which is a different place for each process"
    place = ResolvedPath("/dev/stderr", ("/dev/stderr", "/proc/self/fd/2", own, "/tmp/x"), "/tmp/x", False, fault=fault)
    assert danger(place, "write", root=ROOT, home=HOME) == (
        "'/dev/stderr': the path contains the link /proc/self/fd/2, which is a different place for each process"
    )


def test_a_name_is_shown_as_far_as_it_says_something() -> None:
    far = ResolvedPath("x" * 5_000, (f"{ROOT}/x", f"/opt/{'y' * 5_000}"), f"/opt/{'y' * 5_000}", False)
    said = str(danger(far, "read", root=ROOT, home=HOME))
    assert said.startswith(f"'{'x' * 79}… (4922 more characters) (which leads to '/opt/yyy")
    assert len(said) < 300


@rows(
    ("path", "what", "words"),
    [
        (".gi?/config", "write", "version control data"),
        (".gi*", "remove", "keys"),  # .git-credentials
        (".git?odules", "write", "version control data"),
        (".[g]it/config", "write", "version control data"),
        ("sub/.gi?", "remove", "version control data"),
        (".bash_p*", "write", "shell"),
        (".env*", "read", "keys"),
        (".e*", "write", "keys"),
        (".github/work*/x.yml", "write", "build service"),
        ("/etc/shado?", "read", "keys"),
        ("/etc/sh*", "read", "keys"),
        ("/etc/pass*", "write", "machine"),
        (f"{HOME}/.s*/id_*", "read", "keys"),
        (f"{HOME}/.ss[gh]/x", "read", "keys"),
        ("id_*", "read", "keys"),
        ("?d_rsa", "read", "keys"),
    ],
)
def test_a_pattern_of_the_shell_is_about_the_protected_names_it_fits(path: str, what: What, words: str) -> None:
    assert words in str(said(path, what))


@rows(
    ("path", "what"),
    [
        ("*", "read"),
        (".*", "read"),
        (".???", "write"),
        ("*.json", "write"),
        ("*.py", "write"),
        ("*_rsa", "read"),
        ("i*", "read"),
        ("[.]git/config", "write"),
        (".x*", "read"),
        (".gi?", "read"),
        ("git*", "write"),
        ("dist-*", "remove"),
        ("/etc/*", "read"),
        ("/etc/h*", "read"),
        ("/etc/sh", "read"),
        ("/et*", "read"),
    ],
)
def test_a_pattern_that_fits_nearly_everything_or_nothing_protected_is_ordinary(path: str, what: What) -> None:
    assert said(path, what) is None
