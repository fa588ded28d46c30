"""Workflow packs that come with arh."""
