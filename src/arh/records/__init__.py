"""Frozen records that the zones share, one file a noun.

`records.control` is for the control plane.
"""
