"""The reference agent: a plan-act-observe loop that stops itself. Sees records and `ports.sue` only."""
