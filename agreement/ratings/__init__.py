"""Agreement on ratings: one class or number by every annotator on every sample."""
