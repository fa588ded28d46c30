"""What a run leaves behind: recorded, chained, stored, read back, reconciled."""
