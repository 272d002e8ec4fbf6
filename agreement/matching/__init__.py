"""Objects of a batch of samples: which are one, and what is said of each."""
