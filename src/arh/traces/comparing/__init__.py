"""Two reports: what is new, what is gone, and whether that may pass."""
