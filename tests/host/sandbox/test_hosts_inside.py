"""Commands inside reach the hosts that are allowed, with programs that people use, and nothing else."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from callgate.host.ports import Command, HostDecision
from callgate.host.sandbox.proxy import HostProxy
from callgate.host.sandbox.sandbox import Backend, Sandbox, SandboxRefused
from callgate.policy.hosts import proxy_rules
from tests.host.sandbox.kit import sandbox_of, visible_folder, workspace_in
from tests.host.sandbox.proxy_kit import echo, page, server

pytestmark = [pytest.mark.slow, pytest.mark.spec("BLT-2")]
WITH_NETWORK: tuple[Backend, ...] = ("bubblewrap", "namespaces")


def run(
    sandbox: Sandbox, folder: Path, proxy: HostProxy, script: str, told: list[HostDecision], **more: str
) -> subprocess.CompletedProcess[str]:
    profile = workspace_in(folder)
    env = {"PATH": "/usr/bin:/bin", "NO_PROXY": "*", **more}
    command = Command(("/bin/bash", "-c", script), profile.root, env)
    inside = sandbox.wrap(command, profile, proxy.line(told.append))
    with subprocess.Popen(
        inside.argv,
        cwd=inside.cwd,
        env=dict(inside.env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        pass_fds=inside.handed_fds,
    ) as running:
        for number in inside.handed_fds:
            os.close(number)
        out, error = running.communicate(timeout=60)
    return subprocess.CompletedProcess(inside.argv, running.returncode, out, error)


PROGRAMS = {
    "curl": "curl -sS http://localhost:{port}/x",
    "python3": "python3 -c 'import urllib.request as r; print(r.urlopen(\"http://localhost:{port}/x\").read().decode())'",
    "wget": "wget -q -O - http://localhost:{port}/x",
    "git": "git ls-remote http://localhost:{port}/x; true",
}


@pytest.mark.parametrize("backend", WITH_NETWORK)
def test_everyday_programs_find_the_proxy(backend: Backend) -> None:
    with server(page) as port:
        for program, script in PROGRAMS.items():
            if shutil.which(program) is None:
                continue
            told: list[HostDecision] = []
            with visible_folder() as folder:
                proxy = HostProxy(proxy_rules([f"localhost:{port}"]))
                ran = run(sandbox_of(backend, folder / "own"), folder, proxy, script.format(port=port), told)
                proxy.close()
            assert ran.returncode == 0, (program, ran.stderr)
            assert program == "git" or "GET /x HTTP/1.1" in ran.stdout, program
            assert HostDecision(f"localhost:{port}", allowed=True) in told, program


@pytest.mark.parametrize("backend", WITH_NETWORK)
def test_a_command_has_nothing_of_the_proxy_but_its_port(backend: Backend) -> None:
    script = """
ls /proc/self/fd | tr '\\n' ' '
env | grep -c LC_CTYPE
python3 - <<'END'
import socket
for family, address in ((socket.AF_UNIX, "/x"), (socket.AF_INET, ("192.0.2.1", 80))):
    try:
        socket.socket(family).connect(address)
        print("reached")
    except OSError as error:
        print(error.errno)
with socket.create_server(("127.0.0.1", 8000)) as own:
    socket.create_connection(("127.0.0.1", 8000)).close()
    print("own")
END
curl -sS https://example.com/; echo $?; yes | head -1; exit 7
"""
    told: list[HostDecision] = []
    with visible_folder() as folder, server(echo) as port:
        proxy = HostProxy(proxy_rules([f"localhost:{port}"]))
        ran = run(sandbox_of(backend, folder / "own"), folder, proxy, script, told)
        proxy.close()
        assert not (folder / "workspace" / ".vscode").exists()
    assert ran.stdout.split() == ["0", "1", "2", "3", "0", "97", "101", "own", "56", "y"], ran.stderr
    assert ran.returncode == 7
    assert [(each.host, each.allowed) for each in told] == [("example.com", False)]


def test_a_sandbox_without_a_network_of_its_own_refuses_a_proxy() -> None:
    with visible_folder() as folder:
        sandbox = sandbox_of("landlock", folder / "own")
        proxy = HostProxy(proxy_rules(["example.com"]))
        with pytest.raises(SandboxRefused, match="cannot isolate the network"):
            sandbox.wrap(Command(("true",), str(folder), {}), workspace_in(folder), proxy.line(print))
        proxy.close()


@pytest.mark.parametrize("backend", WITH_NETWORK)
def test_many_commands_leave_no_sockets_behind(backend: Backend) -> None:
    told: list[HostDecision] = []
    open_ones: list[int] = []
    with server(page) as port:
        proxy = HostProxy(proxy_rules([f"localhost:{port}"]))
        for _ in range(6):
            with visible_folder() as folder:
                sandbox = sandbox_of(backend, folder / "own")
                ran = run(sandbox, folder, proxy, PROGRAMS["python3"].format(port=port), told)
                assert ran.returncode == 0, ran.stderr
            open_ones.append(len(os.listdir("/proc/self/fd")))
        proxy.close()
    assert open_ones[-1] < open_ones[0] + 3  # that of the last command may not be closed yet
