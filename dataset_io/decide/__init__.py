"""Decisions on disputed objects: which version is right, by whom, and how right every annotator was."""
