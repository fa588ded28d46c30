"""Decide whether a tool-using AI agent may ship."""

__version__ = "0.1.0"
