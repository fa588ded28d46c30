"""The support workflow: six tools, their policies, data and controls."""
