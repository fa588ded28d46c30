"""Authoritative state: transactions, commit entries and snapshots."""
