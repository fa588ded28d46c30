"""The tool gateway: the only path from a requested call to an executed one."""
