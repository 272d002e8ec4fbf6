"""Agreement on ratings: one class, value or number by every annotator on every sample."""
