"""What the harness itself costs: ratios of CPU time, all taken in one run on one machine."""
