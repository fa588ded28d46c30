"""A team's own source of state in twenty lines: a query becomes rows, arh does the rest.

`python examples/readers/orders.py` makes a small database and says whether the source does what
every source must.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
from pathlib import Path

from arh.records.external import ExternalState, Reading
from arh.records.packs import CollectionSpec
from arh.testing.source_kit import CHECKS, SourceCase, violations


class Orders:
    """The orders of a shop, and the number of the last change."""

    def __init__(self, path: str) -> None:
        """Open the database, which must exist."""
        self.db = sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None)

    def read(self) -> Reading:
        """Return all orders as of one moment."""
        self.db.execute("BEGIN")
        rows = self.db.execute("SELECT order_id, customer, state FROM orders").fetchall()
        ((last,),) = self.db.execute("SELECT COALESCE(MAX(number), 0) FROM changes").fetchall()
        self.db.execute("ROLLBACK")
        orders = [{"order_id": i, "customer": c, "state": s} for i, c, s in rows]
        return Reading(last, {"orders": orders})

    def close(self) -> None:
        """Close the database."""
        self.db.close()


def main() -> int:
    """Check the source over a database of its own; 0 if it does all that it must."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "shop.db")
        run(path, "CREATE TABLE orders (order_id TEXT, customer TEXT, state TEXT)")
        run(path, "CREATE TABLE changes (number INTEGER PRIMARY KEY)")
        spec = CollectionSpec("orders", ("order_id",), seeded=False)
        state = ExternalState("shop", ("orders",), connect=Orders, address=str(path))
        nowhere = str(Path(folder, "absent.db"))
        found = violations(SourceCase(state, (spec,), lambda: order(path), nowhere))
    print(*found or [f"{len(CHECKS)} checks hold"], sep="\n")
    return len(found)


def order(path: Path) -> None:
    """Place one more order."""
    run(
        path,
        "INSERT INTO orders SELECT 'O-' || (COUNT(*) + 1), 'C-7', 'open' FROM orders",
        "INSERT INTO changes DEFAULT VALUES",
    )


def run(path: Path, *statements: str) -> None:
    """Run statements in one transaction."""
    db = sqlite3.connect(path)
    with db:
        for statement in statements:
            db.execute(statement)
    db.close()


if __name__ == "__main__":
    sys.exit(main())
