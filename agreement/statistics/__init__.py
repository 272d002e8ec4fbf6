"""Records of samples, numbers from their sums with intervals, and the report that holds them."""
