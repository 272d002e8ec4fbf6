"""Geometry of labels and their overlaps, one module for each kind of geometry."""
