"""Recorded outputs held against cases: what an agent decided, called and cited, once for each case.

Nothing runs. A case says what is expected, a snapshot holds one recorded output for each case, and
the same gates that decide on scenarios decide on the counts.
"""
