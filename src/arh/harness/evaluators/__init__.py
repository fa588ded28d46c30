"""Evaluators, one file each; none knows another."""
