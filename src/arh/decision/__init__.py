"""From verdicts to a release decision: metrics, gates, baselines, scorecard."""
