"""Tests the sandboxes of this machine, and stores the proofs in the user's data folder."""

import hashlib
import os
import shutil
import sys
import tempfile
import weakref
from pathlib import Path

from callgate.formats.jsonable import to_json
from callgate.host.files import make_folders
from callgate.host.sandbox.sandbox import (
    BACKENDS,
    LAUNCHER,
    Backend,
    Proof,
    Sandbox,
    bubblewrap_program,
    missing,
    private_folder,
)
from callgate.policy.json_store import VERSION, Damaged, read_value, write_record
from callgate.words.errors import CallgateError, UsageError
from callgate.words.noun import noun

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_UNTRIED = "the sandbox of macOS has never been tested on a Mac"


@noun
class KeptProofs:
    """The stored proofs. ``key`` is a digest of everything on which the proofs depend."""

    version: int
    key: str
    proofs: tuple[Proof, ...]


class Proofs:
    """The proofs of sandboxes on this machine, stored in the user's data folder. They are valid for one boot,
    kernel, user, and version of bubblewrap, Python and the code of the sandbox.

    A proof is the result of the self-test or of the long proof, which replaces it.
    """

    def __init__(self, data: Path) -> None:
        self._own = private_folder(data)
        self._file = self._own / "proof.json"
        self._folder: Path | None = None
        self._scratch = ""

    def folder(self) -> Path:
        """Return the sandbox's own folder. If nothing can be written in the data folder, return a temporary folder,
        which is removed with this object."""
        if self._folder is None:
            self._folder = self._own if _is_usable(self._own) else Path(self._temporary("callgate-sandbox-"))
        return self._folder

    def scratch(self) -> str:
        """Return the temporary folder of commands. It is below the sandbox's own folder, where commands cannot replace
        it, and is removed with this object."""
        self._scratch = self._scratch or self._temporary("tmp-", self.folder())
        return self._scratch

    def _temporary(self, prefix: str, parent: Path | None = None) -> str:
        made = os.path.realpath(tempfile.mkdtemp(prefix=prefix, dir=parent))
        weakref.finalize(self, shutil.rmtree, made, ignore_errors=True)
        return made

    def kept(self) -> tuple[Proof, ...] | None:
        """Return the valid proofs; None if no proof is valid or the file cannot be read."""
        try:
            found = read_value(self._file, KeptProofs)
        except Damaged:
            return None
        return found.proofs if found is not None and found.key == _key() else None

    def test(self) -> "Sandbox | str":
        """Return the best sandbox that holds on this machine. Without a stored proof, run the self-test of each kind,
        best first, until one holds, and store the result if possible. Return the reason if none holds. Blocks for
        about 0.1 s."""
        try:
            kept = self.kept() or ()
            sandbox = self._proven(kept)
            if sandbox is not None:
                return sandbox
            from callgate.host.sandbox.prover import self_test  # imports the attacks, which later sessions do not need

            found = [proof for proof in kept if proof.escaped]
            unsafe = {proof.backend for proof in found}
            for backend in BACKENDS:
                if backend in unsafe:
                    continue
                why = _missing(backend)
                found.append(Proof(backend, fault=why) if why else self_test(self._sandbox(backend), self.folder()))
                if found[-1].holds:
                    self._keep(found)
                    return self._sandbox(backend)
        except (CallgateError, OSError) as error:
            return str(error)
        return why_none(found)

    def test_for_many_places(self) -> "Sandbox | None":
        """Return the launcher with namespaces if it holds on this machine, otherwise None. Bubblewrap needs seconds for
        some hundred protected places, and its command line is limited. Blocks for about 0.1 s."""
        try:
            kept = self.kept() or ()
            if any(proof.backend == "namespaces" and proof.escaped for proof in kept) or _missing("namespaces"):
                return None
            from callgate.host.sandbox.prover import self_test

            sandbox = self._sandbox("namespaces")
            return sandbox if self_test(sandbox, self.folder()).holds else None
        except (CallgateError, OSError):
            return None

    def prove(self, *, every: bool = False) -> tuple[Proof, ...]:
        """Run all attacks on the kinds of sandboxes, best first, until a kind holds, and store the results. Blocks for
        seconds. Raise UsageError if the results cannot be written.

        every  test all kinds, even after a success
        """
        from callgate.host.sandbox.prover import prove, try_outside

        found: list[Proof] = []
        control = None
        for backend in BACKENDS:
            why = _missing(backend)
            if why is not None:
                found.append(Proof(backend, fault=why))
                continue
            try:
                control = control or try_outside(self._own)
            except OSError as error:
                found.append(Proof(backend, fault=f"the escape tests could not run: {error}"))
                continue
            found.append(prove(Sandbox(backend, self._own), self._own, control=control))
            if found[-1].holds and not every:
                break
        write_record(self._file, to_json(KeptProofs(VERSION, _key(), tuple(found))))
        return tuple(found)

    def _keep(self, proofs: list[Proof]) -> None:
        """Store the proofs. If they cannot be written, the next session runs the self-test again."""
        if self.folder() == self._own:
            try:
                write_record(self._file, to_json(KeptProofs(VERSION, _key(), tuple(proofs))))
            except UsageError:
                return

    def _proven(self, kept: tuple[Proof, ...]) -> Sandbox | None:
        best = next((proof for proof in kept if proof.holds), None)
        return None if best is None or missing(best.backend) is not None else self._sandbox(best.backend)

    def _sandbox(self, backend: Backend) -> Sandbox:
        return Sandbox(backend, self.folder())


def why_none(proofs: list[Proof]) -> str:
    """Return the reasons why the tested kinds of sandboxes do not hold."""
    return "; ".join(f"{proof.backend}: {proof.why_not}" for proof in proofs if not proof.holds)


def _missing(backend: Backend) -> str | None:
    return missing(backend) or (_UNTRIED if backend == "seatbelt" else None)


def _is_usable(folder: Path) -> bool:
    try:
        make_folders(folder, 0o700)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except (OSError, CallgateError):
        return False


def _key() -> str:
    if not hasattr(os, "getuid"):
        raise UsageError("sandboxes are supported only on Linux and macOS")
    program = bubblewrap_program()
    status = os.stat(program) if program else None
    parts = [
        _BOOT.read_text() if _BOOT.exists() else "",
        " ".join(os.uname()),
        f"{os.getuid()} {os.getgid()}",
        "" if status is None else f"{program} {status.st_size} {status.st_mtime_ns} {status.st_mode}",
        sys.executable,
    ]
    sources = sorted(LAUNCHER.parent.rglob("*.py"))
    whole = hashlib.sha256("\n".join(parts).encode())
    for source in sources:
        whole.update(source.read_bytes())
    return whole.hexdigest()
