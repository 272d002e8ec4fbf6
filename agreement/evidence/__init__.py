"""What the data are enough to say: rankings, and findings as tests."""
