"""Records that the system under evaluation must never see: scenarios, verdicts, metrics, gates."""
