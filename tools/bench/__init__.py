"""``make bench``: speed and memory, as ratios measured in one run."""
