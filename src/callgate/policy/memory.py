"""Stores remembered answers: the answers "always" of a user, until they are revoked or expire.

All files, including the answers for one project, are in the user's data folder, so a repository cannot contain
answers. A damaged file fails closed: its allow answers are ignored. Because the file may have contained a deny or
ask answer, the gate denies every call until the user repairs or removes it.
"""

import math
import os
from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path
from time import time
from typing import Literal

from callgate.formats.jsonable import to_json
from callgate.policy.entries import SettingsFault
from callgate.policy.json_store import VERSION, Damaged, one_at_a_time, read_value, write_record
from callgate.words.decisions import ApprovalPolicy, Origin
from callgate.words.errors import UsageError
from callgate.words.noun import noun

KeptScope = Literal["user", "project"]


@noun
class Remembered:
    """A remembered answer. ``id`` stays the same when the policy changes. An expired answer is listed but never
    used."""

    id: str
    policy: ApprovalPolicy
    scope: KeptScope
    expired: bool = False


class Memory:
    """The remembered answers of the user and of one project. Each method reads the files."""

    def __init__(self, data: Path, root: Path, *, clock: Callable[[], float] = time) -> None:
        key = sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:24]
        self._root = os.path.realpath(root)
        self._clock = clock
        folder = data / "policies"
        self._files: dict[KeptScope, Path] = {"user": folder / "user.json", "project": folder / f"{key}.json"}

    def policies(self) -> tuple[Remembered, ...]:
        """Return all readable answers in the order of their creation. The answers for all projects come first."""
        found: list[Remembered] = []
        for scope in self._files:
            try:
                found += self._read(scope)
            except Damaged:
                continue
        return tuple(found)

    def in_force(self) -> tuple[ApprovalPolicy, ...]:
        return tuple(each.policy for each in self.policies() if not each.expired)

    def faults(self) -> tuple[SettingsFault, ...]:
        """Return a fault for each damaged file. While there is a fault, the judge denies every call and names the
        file."""
        found: list[SettingsFault] = []
        for scope, file in self._files.items():
            try:
                self._read(scope)
            except Damaged as error:
                text = f"these remembered answers cannot be used: the file {error}. Fix or remove the file"
                found.append(SettingsFault(text, Origin("remembered", str(file))))
        return tuple(found)

    def add(self, policy: ApprovalPolicy) -> Remembered:
        """Store an answer. An answer with the same effect, tool and pattern is replaced and keeps its id. Raise
        UsageError for the scope "session", which is not stored, and if the file is damaged or cannot be written."""
        if policy.scope == "session":
            raise UsageError("an answer for the session is not stored: choose project or user")
        _check_moments(policy)
        scope: KeptScope = policy.scope
        with one_at_a_time(self._files[scope]):
            found = self._usable(scope)
            same = next((each for each in found if _about(each.policy) == _about(policy)), None)
            taken = {each.id for each in self.policies()}
            added = Remembered(same.id if same else _new_id(taken), policy, scope, self._is_over(policy))
            self._write(scope, [each for each in found if each is not same] + [added])
        return added

    def revoke(self, id: str) -> Remembered:
        """Remove an answer and return it. Raise UsageError if the id is unknown."""
        return self._change(id, None)

    def replace(self, id: str, policy: ApprovalPolicy) -> Remembered:
        """Replace the policy of an answer; its id does not change. Raise UsageError if the id is unknown."""
        _check_moments(policy)
        return self._change(id, policy)

    def _change(self, id: str, policy: ApprovalPolicy | None) -> Remembered:
        for scope in self._files:
            with one_at_a_time(self._files[scope]):
                found = self._usable(scope)
                before = next((each for each in found if each.id == id), None)
                if before is None:
                    continue
                after = policy and Remembered(id, policy, scope, self._is_over(policy))
                kept = (after if each is before else each for each in found)
                self._write(scope, [each for each in kept if each is not None])
                return after or before
        known = ", ".join(each.id for each in self.policies()) or "none"
        raise UsageError(f"no remembered answer has the id {id!r}; known ids: {known}")

    def _usable(self, scope: KeptScope) -> list[Remembered]:
        try:
            return self._read(scope)
        except Damaged as error:
            raise UsageError(f"{self._files[scope]} {error}: fix or remove the file") from None

    def _read(self, scope: KeptScope) -> list[Remembered]:
        kept = read_value(self._files[scope], _Kept)
        if kept is None:
            return []
        if scope == "project" and kept.root != self._root:
            raise Damaged("belongs to another folder")
        return [self._remembered(each, scope) for each in kept.policies]

    def _remembered(self, found: "_Entry", scope: KeptScope) -> Remembered:
        if found.policy.scope != scope or not _has_real_moments(found.policy):
            raise Damaged(f"is damaged: the answer {found.id!r} does not belong in it")
        return Remembered(found.id, found.policy, scope, self._is_over(found.policy))

    def _write(self, scope: KeptScope, remembered: Iterable[Remembered]) -> None:
        root = self._root if scope == "project" else ""
        entries = tuple(_Entry(each.id, each.policy) for each in remembered)
        write_record(self._files[scope], to_json(_Kept(VERSION, root, entries)))

    def _is_over(self, policy: ApprovalPolicy) -> bool:
        return policy.expires_at is not None and policy.expires_at <= self._clock()


@noun
class _Entry:
    id: str
    policy: ApprovalPolicy


@noun
class _Kept:
    version: int
    root: str
    policies: tuple[_Entry, ...]


def _has_real_moments(policy: ApprovalPolicy) -> bool:
    """Return False if a time is infinite or not a number, because such an answer would never expire."""
    return math.isfinite(policy.created_at) and math.isfinite(policy.expires_at or 0.0)


def _check_moments(policy: ApprovalPolicy) -> None:
    if not _has_real_moments(policy):
        raise UsageError("created_at and expires_at must be times")


def _about(policy: ApprovalPolicy) -> tuple[object, ...]:
    return policy.effect, policy.tool, policy.pattern


def _new_id(taken: set[str]) -> str:
    return next(drawn for drawn in iter(lambda: os.urandom(3).hex(), "") if drawn not in taken)
