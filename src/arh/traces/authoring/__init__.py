"""What authors write: policies, patterns and assertions, strictly read."""
