"""Krippendorff's alpha with whole images as units: the expected distances, and those of objects and of masks."""
