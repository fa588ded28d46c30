"""Formats of recorded transcripts, one file each; they do not know one another."""
