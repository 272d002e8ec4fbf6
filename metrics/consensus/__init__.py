"""The consensus of several annotators' labels."""
