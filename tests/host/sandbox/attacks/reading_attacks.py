"""Attacks that read secrets: in files, in other processes, on the disk itself."""

import os

from callgate.host.sandbox.attacks import ArenaFacts, Spot, read
from tests.host.sandbox.attacks.table import NothingToAttack, attack


@attack
def read_environment_of_victim(arena: ArenaFacts, at: Spot) -> bool:
    return arena["token"] in read(f"/proc/{arena['victim']}/environ")


@attack
def read_secret_over_symlink(arena: ArenaFacts, at: Spot) -> bool:
    link = os.path.join(at.free, "link")
    os.symlink(at.secret, link)
    return arena["token"] in read(link)


@attack
def read_secret_over_hardlink(arena: ArenaFacts, at: Spot) -> bool:
    link = os.path.join(at.free, "link")
    os.link(at.secret, link)
    return arena["token"] in read(link)


@attack
def read_secret_folder(arena: ArenaFacts, at: Spot) -> bool:
    return arena["token"] in read(os.path.join(at.outside, "secrets", "key"))


@attack
def read_secret_over_proc_root(arena: ArenaFacts, at: Spot) -> bool:
    return arena["token"] in read(f"/proc/self/root{at.secret}")


@attack
def read_secret_of_victim_descriptor(arena: ArenaFacts, at: Spot) -> bool:
    folder = f"/proc/{arena['victim']}/fd"
    files = [path for name in os.listdir(folder) if os.path.isfile(path := os.path.join(folder, name))]
    return any(arena["token"] in read(path) for path in files)


@attack
def read_environment_of_all(arena: ArenaFacts, at: Spot) -> bool:
    found: list[str] = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            found.append(read(f"/proc/{name}/environ"))
        except OSError:
            continue
    return any(arena["token"] in each for each in found)


@attack
def read_memory_of_victim(arena: ArenaFacts, at: Spot) -> bool:
    with open(f"/proc/{arena['victim']}/mem", "rb"):
        return True


@attack
def read_disk(arena: ArenaFacts, at: Spot) -> bool:
    disks = [entry.path for entry in os.scandir("/sys/class/block")] if os.path.isdir("/sys/class/block") else []
    for disk in map(os.path.basename, disks):
        try:
            with open(f"/dev/{disk}", "rb") as file:
                if file.read(512):
                    return True
        except OSError:
            continue
    raise PermissionError("no disk can be opened")


@attack
def make_disk(arena: ArenaFacts, at: Spot) -> bool:
    numbers = [read(f"{entry.path}/dev") for entry in os.scandir("/sys/class/block")]
    if not numbers:
        raise NothingToAttack("there are no disks")
    major, minor = numbers[0].strip().split(":")
    path = os.path.join(at.free, "disk")
    os.mknod(path, 0o600 | 0o060000, os.makedev(int(major), int(minor)))
    with open(path, "rb"):
        return True
