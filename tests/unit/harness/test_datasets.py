"""Data is read from below its root only, verified in every row, and digested as it was parsed."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from arh.canonical import Json
from arh.errors import AuthoringError
from arh.harness.authoring.datasets import Dataset, DatasetCatalogue
from arh.records.control.scenario import DatasetRef
from arh.records.packs import CollectionSpec, WorkflowPack
from arh.records.setup import SeedRecord

PACK = WorkflowPack(
    name="shop",
    version="2.1",
    description="Orders.",
    tools=(),
    collections=(
        CollectionSpec("items", ("sku",), tenant_field="tenant", fields=("sku", "name", "tenant")),
        CollectionSpec("offers", ("region", "week")),
        CollectionSpec("orders", ("id",), seeded=False),
    ),
    policies=(),
)
ROWS = b'{"sku":"S-1","tenant":"north"}\n\n{"sku":"S-1"}\r\n{"sku":7,"name":"x"}\n'


def made(
    root: Path, data: bytes = ROWS, name: str = "items", folder: str = "shop"
) -> DatasetCatalogue:
    """A catalogue over one file."""
    (root / folder).mkdir(parents=True, exist_ok=True)
    (root / folder / f"{name}.jsonl").write_bytes(data)
    return DatasetCatalogue(root, PACK)


def problems(catalogue: DatasetCatalogue, name: str = "items", **pin: str) -> list[str]:
    """What is wrong with a data set, the folder left out."""
    with pytest.raises(AuthoringError) as caught:
        catalogue.load_verified(DatasetRef(collection=name, **pin))
    return [line.rpartition(f"{name}.jsonl:")[2] for line in str(caught.value).splitlines()]


def test_rows_become_records_of_their_tenant(tmp_path: Path) -> None:
    """A row without a tenant is shared, keys are texts, the digest is that of the bytes."""
    dataset = made(tmp_path).load_verified(DatasetRef(collection="items"))

    assert dataset == Dataset(
        "items",
        "shop/items.jsonl",
        hashlib.sha256(ROWS).hexdigest(),
        (
            SeedRecord("north", "items", "S-1", Json.of({"sku": "S-1", "tenant": "north"})),
            SeedRecord("*", "items", "S-1", Json.of({"sku": "S-1"})),
            SeedRecord("*", "items", "7", Json.of({"sku": 7, "name": "x"})),
        ),
        frozenset({"sku", "tenant", "name"}),
    )


def test_a_key_of_several_fields_is_joined(tmp_path: Path) -> None:
    """The parts stand in the order of the declaration, and none may hold the separator."""
    good = made(tmp_path, b'{"week":3,"region":"north"}\n', "offers")
    assert good.load_verified(DatasetRef(collection="offers")).records[0].key == "north|3"

    bad = made(tmp_path, b'{"week":3,"region":"a|b"}\n', "offers")
    assert problems(bad, "offers") == ["1: `region`: expected a key without |, found `a|b`"]


def test_the_flat_layout_is_found(tmp_path: Path) -> None:
    """Without a workflow's folder, the file lies directly below the root."""
    catalogue = made(tmp_path, folder=".")

    assert catalogue.load_verified(DatasetRef(collection="items")).path == "items.jsonl"


@pytest.mark.parametrize("length", [16, 64])
def test_a_pin_that_fits_is_accepted(length: int, tmp_path: Path) -> None:
    """The whole digest or its published prefix of 16 digits will do."""
    pin = hashlib.sha256(ROWS).hexdigest()[:length]

    loaded = made(tmp_path).load_verified(DatasetRef(collection="items", content_hash=pin))

    assert loaded.path.endswith("items.jsonl")


def test_a_pin_that_differs_refuses(tmp_path: Path) -> None:
    """Data that has drifted is not run against."""
    (problem,) = problems(made(tmp_path), content_hash="0" * 16)

    assert "found `0000000000000000`; the data has drifted" in problem


def test_the_version_is_that_of_the_file_beside_the_data(tmp_path: Path) -> None:
    """VERSION says which data this is, and a reference to another one is refused."""
    catalogue = made(tmp_path)
    (tmp_path / "shop" / "VERSION").write_text("2026-06\n")

    catalogue.load_verified(DatasetRef(collection="items", version="2026-06"))
    assert problems(catalogue) == ["`version`: expected version 2026-06, found `1.0`"]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (
            b'{"sku":"a"}\n{"sku":"a"}',
            "2: expected a key that line 1 does not have already, found ",
        ),
        (b'{"sku":"a","sku":"b"}', "1: `sku`: not strict JSON: duplicate key at column 18"),
        (b'{"sku":"a"', "1: `sku`: not strict JSON: cut short"),
        (b'{"sku":NaN}', "1: `sku`: not strict JSON: malformed"),
        (b"\xef\xbb\xbf{}", "1: not strict JSON: byte order mark"),
        (b'{"sku":"\xff"}', "1: `sku`: not strict JSON: invalid UTF-8"),
        (b"[1]", "1: expected an object, one row a line, found `a list of 1`"),
        (b'{"name":"x"}', "1: `sku`: expected a text or a whole number as key, found nothing"),
        (b'{"sku":""}', "1: `sku`: expected a text or a whole number as key, found nothing"),
        (b'{"sku":true}', "1: `sku`: expected a text or a whole number as key, found `true`"),
        (b'{"sku":"a","tenant":5}', "1: `tenant`: expected the name of a tenant, found `5`"),
        (b'{"sku":"a","nme":1}', "1: `nme`: items has no such field; did you mean `name`?"),
    ],
)
def test_a_wrong_row_is_named(data: bytes, expected: str, tmp_path: Path) -> None:
    """The problem has the line and the field."""
    (problem,) = problems(made(tmp_path, data))

    assert problem.startswith(expected), problem


def test_all_wrong_rows_are_named_at_once(tmp_path: Path) -> None:
    """Every line is looked at."""
    assert len(problems(made(tmp_path, b'{"name":"x"}\n{"sku":"a"}\n[]\n'))) == 2


@pytest.mark.parametrize("name", ["orders", "itms", "..", "shop.items", "_operations"])
def test_only_declared_collections_are_data(name: str, tmp_path: Path) -> None:
    """A name that is no seeded collection is refused before any path is made of it."""
    found = made(tmp_path).load(name)

    assert isinstance(found, tuple)
    assert found[0].expected == "a collection that can be seeded"


def test_links_do_not_lead_out_of_the_root(tmp_path: Path) -> None:
    """A linked file and a linked folder are refused, wherever they lead."""
    outside = tmp_path / "outside"
    made(outside)
    root = tmp_path / "root"
    (root / "shop").mkdir(parents=True)
    (root / "shop" / "items.jsonl").symlink_to(outside / "shop" / "items.jsonl")
    assert isinstance(DatasetCatalogue(root, PACK).load("items"), tuple)

    other = tmp_path / "other"
    other.mkdir()
    (other / "shop").symlink_to(outside / "shop")
    assert isinstance(DatasetCatalogue(other, PACK).load("items"), tuple)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    """Nothing waits for a writer that never comes."""
    (tmp_path / "shop").mkdir()
    os.mkfifo(tmp_path / "shop" / "items.jsonl")

    assert "this is not a regular file" in problems(DatasetCatalogue(tmp_path, PACK))[0]


def test_a_missing_file_names_both_places(tmp_path: Path) -> None:
    """The message says where the file was looked for."""
    (problem,) = DatasetCatalogue(tmp_path, PACK).load("items")  # type: ignore[misc]

    assert str(problem) == (
        f"{tmp_path}/shop/items.jsonl: there is no such file; expected it there or at "
        f"{tmp_path}/items.jsonl"
    )


def test_a_file_is_read_once(tmp_path: Path) -> None:
    """What was verified is what is used, whatever happens to the file later."""
    catalogue = made(tmp_path)
    first = catalogue.load("items")
    (tmp_path / "shop" / "items.jsonl").write_bytes(b"")

    assert catalogue.load("items") is first
    assert catalogue.digests == (("shop/items.jsonl", hashlib.sha256(ROWS).hexdigest()),)
