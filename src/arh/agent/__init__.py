"""The reference agent: a plan-act-observe loop that stops itself; sees records and `ports.sue`."""
