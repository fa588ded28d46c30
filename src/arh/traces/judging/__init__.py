"""One trace and one policy: the rules, the score, the verdict and its report."""
