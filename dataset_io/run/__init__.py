"""Process the samples of a run: read, compute in batches, write."""
