"""Other programs side by side with ours on the same annotations: ``make compare``."""
