"""Compute a run in several processes, on this machine or on many, which compare its samples in shards."""
