"""Compare other programs with ours on the same annotations: ``make compare``."""
