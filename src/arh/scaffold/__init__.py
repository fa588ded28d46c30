"""What `arh new` writes: small, complete things that pass, for a team to make its own."""
