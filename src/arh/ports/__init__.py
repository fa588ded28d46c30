"""Protocols between the zones.

`sue` (zone 1 and packs), `environment` (zone 2), `control` (zone 3).
"""
