"""A demo dataset with three simulated annotators whose habits are known, drawn over photographs of installed wheels."""
