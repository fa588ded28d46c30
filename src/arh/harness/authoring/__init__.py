"""What people write, read strictly: scenarios, datasets, plans, and what a lint warns of."""
