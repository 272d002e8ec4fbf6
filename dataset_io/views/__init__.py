"""Views of the samples and labels behind the numbers of a run."""
