"""Recorded traces: read from any format, judged by rules, compared with a baseline."""
