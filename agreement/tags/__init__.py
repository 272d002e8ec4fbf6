"""Agreement on tags: a set of classes (possibly empty) by every annotator on every sample."""
