"""Model adapters: what answers `Model.complete`."""
