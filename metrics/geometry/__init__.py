"""Extents of labels and how far they overlap, one module a kind of geometry."""
