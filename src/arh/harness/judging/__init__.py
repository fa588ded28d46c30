"""From evidence to a verdict: what evaluators stand on, and the judge of a run."""
