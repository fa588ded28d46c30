"""Untrusted text made safe, once for each sink."""
