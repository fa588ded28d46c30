"""Streamed replies, joined into whole ones: deltas are concatenated and parsed once, at the end."""
