"""Conformance kits and seeded defects for tests of arh and of packs."""
