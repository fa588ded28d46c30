"""Plain mathematics for metrics; imports nothing of ours."""
