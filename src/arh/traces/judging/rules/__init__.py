"""The rules, a file for each category, which know the facts of a trace and not one another."""
