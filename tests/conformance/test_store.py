"""The store passes the kit for stores, and the kit catches stores that do not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from arh.ports.sue import Store
from arh.records.setup import SeedRecord
from arh.records.state import CommitEntry, Operation, Record
from arh.state import store as store_module
from arh.state import versions
from arh.state.store import MemoryStore, Transaction
from arh.state.versions import Collection, RecordId, Version
from arh.testing import store_kit
from arh.testing.store_kit import CHECKS, Check

Patch = Callable[[pytest.MonkeyPatch], None]


class StoppedClock:
    """A clock that always shows the same time."""

    def now_ms(self) -> int:
        """Return that time."""
        return 7


def memory_store(records: tuple[SeedRecord, ...], collections: tuple[str, ...]) -> Store:
    """Return our store with these records."""
    versions.seeded.cache_clear()
    store = MemoryStore(StoppedClock())
    store.seed(records, collections)
    return store


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_memory_store_passes(check: Check) -> None:
    """The store does what every store must."""
    check(memory_store)


def ignores_expectations(patch: pytest.MonkeyPatch) -> None:
    """Every commit goes through."""
    patch.setattr(Transaction, "conflict_with", lambda _self, _current: None)


def ignores_what_was_read(patch: pytest.MonkeyPatch) -> None:
    """Only explicit expectations are checked."""
    patch.setattr(Transaction, "_see", lambda _self, _identity, _record: None)


def leaks_tenants(patch: pytest.MonkeyPatch) -> None:
    """A read falls back to whoever owns the key."""

    def get(self: Transaction, collection: str, key: str) -> Record | None:
        return self._version.collection(collection).owner(key)

    patch.setattr(Transaction, "get", get)


def leaks_in_searches(patch: pytest.MonkeyPatch) -> None:
    """A search shows every tenant's records."""
    patch.setattr(Collection, "_sees", lambda _self, _tenant, _record: True)


def reuses_revisions(patch: pytest.MonkeyPatch) -> None:
    """A record that comes back begins anew."""

    def next_revision(self: Version, identity: RecordId) -> int:
        return self.revision(identity) + 1

    patch.setattr(Version, "next_revision", next_revision)


def breaks_its_chain(patch: pytest.MonkeyPatch) -> None:
    """An entry forgets the one before it."""
    sealed = store_module._sealed

    def unlinked(entry: CommitEntry) -> CommitEntry:
        object.__setattr__(entry, "previous", "")
        return sealed(entry)

    patch.setattr(store_module, "_sealed", unlinked)


def never_closes(patch: pytest.MonkeyPatch) -> None:
    """A transaction may be used after its commit."""
    patch.setattr(Transaction, "_require_open", lambda _self: None)


def writes_to_everybody(patch: pytest.MonkeyPatch) -> None:
    """A tenant's write lands on the shared record."""
    patch.setattr(Transaction, "_own", lambda _self, collection, key: (collection, "*", key))


def hides_its_own_writes(patch: pytest.MonkeyPatch) -> None:
    """A transaction reads only what was committed."""

    def get(self: Transaction, collection: str, key: str) -> Record | None:
        return self._version.collection(collection).visible(self.operation.tenant, key)

    patch.setattr(Transaction, "get", get)


def digests_keys_only(patch: pytest.MonkeyPatch) -> None:
    """The digest does not depend on revisions."""
    patch.setattr(versions, "record_digest", lambda _record: "00" * 32)


def forgets_declared_collections(patch: pytest.MonkeyPatch) -> None:
    """A collection exists only once it has a record."""
    patch.setattr(Version, "declare", lambda self, _names: self)


def compares_loosely(patch: pytest.MonkeyPatch) -> None:
    """A search takes 1 for true."""
    patch.setattr(versions, "encode", lambda value: str(int(value) if value else value).encode())


@pytest.mark.parametrize(
    "defect",
    [
        ignores_expectations,
        ignores_what_was_read,
        leaks_tenants,
        leaks_in_searches,
        reuses_revisions,
        breaks_its_chain,
        never_closes,
        writes_to_everybody,
        hides_its_own_writes,
        digests_keys_only,
        forgets_declared_collections,
        compares_loosely,
    ],
)
def test_kit_catches(defect: Patch, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store with the defect fails at least one check, by name and with what was found."""
    defect(monkeypatch)

    assert store_kit.violations(memory_store) != ()


def test_kit_finds_nothing_wrong_with_the_store() -> None:
    """The list of violations of a sound store is empty."""
    assert store_kit.violations(memory_store) == ()


def test_kit_says_which_check_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A violation names the check, what was looked at, what was expected and what was found."""
    reuses_revisions(monkeypatch)

    assert store_kit.violations(memory_store) == (
        "never_repeats_a_revision: return: expected (0, 2), found (0, 1)",
    )


def test_kit_reports_a_store_that_raises() -> None:
    """A store whose code breaks fails every check, with the name of what it raised."""

    def broken(_records: tuple[SeedRecord, ...], _collections: tuple[str, ...]) -> Store:
        raise KeyError

    found = store_kit.violations(broken)

    assert found == tuple(f"{check.__name__}: raised KeyError" for check in CHECKS)


def test_operation_is_the_tenants() -> None:
    """The kit's operations belong to the tenant that is asked for."""
    made = store_kit.operation("t", "k")

    assert (made.tenant, made.key) == ("t", "k")
    assert isinstance(made, Operation)
