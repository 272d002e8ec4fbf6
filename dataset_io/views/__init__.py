"""Views of a dataset that show a part of what a run found."""
