"""What one run does with its samples: read, work through in batches, write."""
