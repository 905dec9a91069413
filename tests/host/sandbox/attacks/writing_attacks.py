"""Attacks that write outside the workspace, or to protected places in it."""

import os

from callgate.host.sandbox.attacks import LIBC, ArenaFacts, Spot, called, write
from tests.host.sandbox.attacks.table import X86, attack


@attack
def write_over_symlink(arena: ArenaFacts, at: Spot) -> None:
    link = os.path.join(at.free, "link")
    os.symlink(at.target, link)
    write(link)


@attack
def replace_kept(arena: ArenaFacts, at: Spot) -> None:
    os.rename(at.kept, os.path.join(at.free, "old"))
    os.mkdir(at.kept)
    write(os.path.join(at.kept, "config"))


@attack
def truncate_outside(arena: ArenaFacts, at: Spot) -> None:
    os.truncate(at.target, 0)


@attack
def remove_outside(arena: ArenaFacts, at: Spot) -> None:
    os.unlink(at.target)


@attack
def make_folder_outside(arena: ArenaFacts, at: Spot) -> None:
    os.mkdir(os.path.join(at.outside, "folder"))


@attack
def make_pipe_outside(arena: ArenaFacts, at: Spot) -> None:
    os.mkfifo(os.path.join(at.outside, "pipe"))


@attack
def change_mode_outside(arena: ArenaFacts, at: Spot) -> None:
    os.chmod(at.target, 0o777)


@attack
def change_mode_of_descriptor(arena: ArenaFacts, at: Spot) -> None:
    handle = os.open(at.target, os.O_RDONLY)
    os.fchmod(handle, 0o777)


@attack
def rename_out(arena: ArenaFacts, at: Spot) -> None:
    write(os.path.join(at.free, "file"))
    os.rename(os.path.join(at.free, "file"), os.path.join(at.outside, "moved"))


@attack
def rename_in(arena: ArenaFacts, at: Spot) -> None:
    os.rename(at.target, os.path.join(at.free, "taken"))


@attack
def link_out(arena: ArenaFacts, at: Spot) -> None:
    write(os.path.join(at.free, "file"))
    os.link(os.path.join(at.free, "file"), os.path.join(at.outside, "linked"))


@attack
def write_over_linked_folder(arena: ArenaFacts, at: Spot) -> None:
    link = os.path.join(at.free, "link")
    os.symlink(at.outside, link)
    write(os.path.join(link, "created"))


@attack
def write_over_hardlink(arena: ArenaFacts, at: Spot) -> None:
    link = os.path.join(at.free, "link")
    os.link(at.target, link)
    write(link)


@attack
def write_over_proc_root(arena: ArenaFacts, at: Spot) -> None:
    write(f"/proc/self/root{at.target}")


@attack
def write_over_root_of_first_process(arena: ArenaFacts, at: Spot) -> None:
    write(f"/proc/1/root{at.target}")


@attack
def write_over_root_of_victim(arena: ArenaFacts, at: Spot) -> None:
    write(f"/proc/{arena['victim']}/root{at.target}")


@attack
def write_over_folder_of_victim(arena: ArenaFacts, at: Spot) -> None:
    write(f"/proc/{arena['victim']}/cwd/{at.name}/target")  # it stands in the folder outside


@attack
def write_over_parent_folders(arena: ArenaFacts, at: Spot) -> None:
    os.chdir(at.free)
    write(os.path.relpath(at.target))


@attack
def create_in_kept(arena: ArenaFacts, at: Spot) -> None:
    write(os.path.join(at.kept, "hooks", "post-commit"))


@attack
def replace_workspace_of_kept(arena: ArenaFacts, at: Spot) -> None:
    old = arena["workspace"] + "-old"
    os.rename(arena["workspace"], old)
    try:
        os.makedirs(at.kept)
        write(os.path.join(at.kept, "config"))
        os.rename(arena["workspace"], os.path.join(at.outside, "created"))
    finally:
        os.rename(old, arena["workspace"])


@attack
def exchange_kept(arena: ArenaFacts, at: Spot) -> None:
    other = os.path.join(at.free, "other")
    os.mkdir(other)
    write(os.path.join(other, "config"))
    number = 316 if X86 else 276  # renameat2
    called(LIBC.syscall(number, -100, other.encode(), -100, at.kept.encode(), 2))


@attack
def write_kept_over_hardlink(arena: ArenaFacts, at: Spot) -> None:
    link = os.path.join(at.free, "link")
    os.link(os.path.join(at.kept, "config"), link)
    write(link)


@attack
def write_kept_over_symlink(arena: ArenaFacts, at: Spot) -> None:
    link = os.path.join(at.free, "link")
    os.symlink(at.kept, link)
    write(os.path.join(link, "config"))


@attack
def move_into_kept(arena: ArenaFacts, at: Spot) -> None:
    write(os.path.join(at.free, "file"))
    os.rename(os.path.join(at.free, "file"), os.path.join(at.kept, "hooks", "pre-commit"))


@attack
def create_new_file(arena: ArenaFacts, at: Spot) -> None:
    write(at.new)


@attack
def move_to_new(arena: ArenaFacts, at: Spot) -> None:
    other = os.path.join(at.free, "other")
    os.mkdir(other)
    write(os.path.join(other, "hook"))
    os.rename(other, at.new)


@attack
def link_new(arena: ArenaFacts, at: Spot) -> None:
    os.symlink(at.free, at.new)
