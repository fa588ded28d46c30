"""Who may do what: the decision point, approvals, limits."""
