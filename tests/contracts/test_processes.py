"""Both hosts start programs with the same promises."""

import asyncio
import os
from pathlib import Path

from callgate.core.ports import Host
from callgate.host.local import LocalHost
from callgate.host.ports import Command, processes_of
from callgate.testing import MemoryHost, ScriptedCommand
from tests.contracts.host_part_checks import ProcessSamples, check_processes

ENV = {"PATH": os.environ["PATH"]}


def shell(folder: str, script: str, stdin: bytes = b"") -> Command:
    return Command(("/bin/sh", "-c", script), folder, ENV, stdin)


def samples(folder: str) -> ProcessSamples:
    return ProcessSamples(
        speaks=shell(folder, "printf out; printf err >&2; exit 3"),
        echoes=shell(folder, "cat", b"all of it\n"),
        waits=shell(folder, "echo ready; exec sleep 1000"),
        stubborn=shell(folder, 'trap "" TERM; echo ready; while :; do sleep 1000; done'),
        missing=Command(("/no/such/program",), folder, ENV),
    )


def test_the_processes_of_the_local_host(tmp_path: Path) -> None:
    host: Host = LocalHost(tmp_path)
    asyncio.run(check_processes(lambda: processes_of(host), samples(str(tmp_path))))


def test_the_processes_of_the_memory_host() -> None:
    host, given = MemoryHost(), samples("/workspace")
    host.processes.scripts |= {
        given.speaks.argv[-1]: ScriptedCommand(b"out", b"err", 3),
        given.echoes.argv[-1]: ScriptedCommand(echoes=True),
        given.waits.argv[-1]: ScriptedCommand(b"ready\n", waits=True),
        given.stubborn.argv[-1]: ScriptedCommand(b"ready\n", waits=True, stubborn=True),
        given.missing.argv[-1]: ScriptedCommand(fault=FileNotFoundError(2, "not there", "/no/such/program")),
    }
    asyncio.run(check_processes(lambda: processes_of(host), given))
    assert [command.argv[-1] for command in host.processes.started][-1] == given.stubborn.argv[-1]
    assert host.processes.running == []
