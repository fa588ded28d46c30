"""Models that are asked over a wire: providers, their ceilings, and recordings of them."""
