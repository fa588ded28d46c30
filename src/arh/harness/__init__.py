"""The control plane: scenarios in, evidence and verdicts out."""
