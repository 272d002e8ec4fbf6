"""Derived fields with one label for every object, and views, tags and annotation tasks from them."""
