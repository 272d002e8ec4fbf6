"""Annotation files of other tools: read into one form, then written into a dataset, with who looked at what."""
